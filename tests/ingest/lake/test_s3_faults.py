"""An S3 server that fails on the way, and processes that die there: nothing acknowledged is lost, nothing doubled."""

import random
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES

Rows = Callable[..., pl.DataFrame]
Work = Callable[..., Any]
BadS3 = Any  # of conftest.py

DAY = timedelta(days=1)
ROUNDS = 10
KINDS = ("busy", "lost answer", "reset", "reset after")

APPEND = """
for n in range(1000):
    times = [T0 + timedelta(hours=12 * i, seconds=n) for i in range(8)]
    rows = pl.DataFrame({"time": times, "received_at": times, "site": "s", "device": name, "interface": "e", "lane": 1,
                         "quality": 0, "source": "file"})
    lake.append(LANE_SAMPLES, rows)
    say(n)
"""
COMPACT = "lake.compact(LANE_SAMPLES, lease=lease, slice_rows=20)"
PRUNE = "lake.prune(LANE_SAMPLES, lease=lease, keep=timedelta(days=2), safe_age=timedelta())"
CHAOS = """
import time
from ingest.errors import LakeError
until = time.monotonic() + seconds
acknowledged, failed, n = [], [], 0
while time.monotonic() < until:
    n += 1
    try:
        if task == "append":
            times = [T0 + timedelta(hours=12 * i, seconds=n) for i in range(8)]
            rows = pl.DataFrame({"time": times, "received_at": times, "site": "s", "device": name, "interface": "e",
                                 "lane": 1, "quality": 0, "source": "file"})
            lake.append(LANE_SAMPLES, rows)
        elif task == "compact":
            lake.compact(LANE_SAMPLES, lease=lease)
        else:
            lake.prune(LANE_SAMPLES, lease=lease, keep=timedelta(days=2), safe_age=timedelta(hours=1))
        acknowledged.append(n)
    except LakeError as error:
        failed.append(n)
say((acknowledged, failed))
"""

pytestmark = pytest.mark.slow


def test_writers_compactions_and_prunes_killed_anywhere_on_s3(
    s3: str, lease: FileLease, rows: Rows, t0: datetime, work: Work
) -> None:
    """Thirty kills: what was acknowledged is there, once, and days are there whole or dropped whole."""
    lake, chance = Lake(s3), random.Random(6)
    lake.append(LANE_SAMPLES, rows(96))
    for n in range(ROUNDS):
        acknowledged = work(APPEND, lake, lease, name=f"w{n}").killed(chance.uniform(0.0, 0.8))
        found = lake.scan(LANE_SAMPLES).filter(pl.col("device") == f"w{n}").collect()
        groups = found.height // 8
        assert len(acknowledged) <= groups <= len(acknowledged) + 1
        assert found.height == 8 * groups == found.unique(LANE_SAMPLES.key).height
        before = lake.scan(LANE_SAMPLES).sort(LANE_SAMPLES.key).collect()

        work(COMPACT, lake, lease).killed(chance.uniform(0.0, 1.2))

        assert before.equals(lake.scan(LANE_SAMPLES).sort(LANE_SAMPLES.key).collect())
        work(PRUNE, lake, lease).killed(chance.uniform(0.0, 0.6))
        days = lake.dates(LANE_SAMPLES)
        assert days in ([date(2026, 3, day) for day in (1, 2, 3, 4)], [date(2026, 3, day) for day in (3, 4)])
        kept = before.filter(pl.col("time").dt.date().is_in(days))
        assert kept.equals(lake.scan(LANE_SAMPLES).sort(LANE_SAMPLES.key).collect())
        assert [] == lake.check([LANE_SAMPLES])
    lake.compact(LANE_SAMPLES, lease=lease)
    lake.prune(LANE_SAMPLES, lease=lease, keep=2 * DAY, safe_age=timedelta())
    assert [] == lake.check([LANE_SAMPLES], deep=True)
    assert 2 == len(lake.files(LANE_SAMPLES))


@pytest.mark.parametrize(
    ("kind", "within"), [*((kind, "_delta_log") for kind in KINDS), ("lost answer", ".parquet"), ("reset", ".parquet")]
)
def test_one_request_that_fails_costs_no_row_and_doubles_none(
    bad_s3: BadS3, s3: str, lease: FileLease, rows: Rows, kind: str, within: str
) -> None:
    """Also where the server did what was asked and its answer was lost: Delta then takes the commit for another's."""
    lake, not_made = Lake(s3), kind == "reset" and within == "_delta_log"
    for device in ("d1", "d2"):
        lake.append(LANE_SAMPLES, rows(48, device=device))
    devices = ["d1", "d2", *([] if not_made else ["d3"])]
    tasks = (
        (lambda: lake.append(LANE_SAMPLES, rows(48, device="d3")), 48, 2),
        (lambda: lake.compact(LANE_SAMPLES, lease=lease), 2, 2),
        (lambda: lake.prune(LANE_SAMPLES, lease=lease, keep=DAY).days, 1, 2 if not_made else 1),
    )
    for task, done, days in tasks:
        bad_s3.plan(kind, within=within, times=1)
        assert ("one line" if not_made else done) == outcome(task)
        bad_s3.plan()

        counts = lake.scan(LANE_SAMPLES).collect()["device"].value_counts()
        assert dict.fromkeys(devices, 24 * days) == dict(counts.iter_rows())
        assert [] == lake.check([LANE_SAMPLES])


def outcome(task: Callable[[], int]) -> int | str:
    """What it returned, or what its error is."""
    try:
        return task()
    except LakeError as error:
        return "one line" if 1 == len(str(error).splitlines()) else str(error)


def test_two_writers_two_compactions_and_a_prune_by_a_bad_way_to_s3(
    bad_s3: BadS3, s3: str, lease: FileLease, rows: Rows, t0: datetime, work: Work
) -> None:
    """One request in twelve fails, by one of five ways."""
    lake = Lake(s3)
    lake.append(LANE_SAMPLES, rows(96))
    bad_s3.plan(*KINDS, "silence", chance=1 / 12, methods=["GET", "PUT", "DELETE", "HEAD", "POST"], silence_s=3)
    leases = [FileLease(lease.path.with_name(f"lock{n}")) for n in range(5)]
    tasks = (("a", "append"), ("b", "append"), ("", "compact"), ("", "compact"), ("", "prune"))
    workers = [
        work(CHAOS, lake, of, name=name, task=task, seconds=8) for of, (name, task) in zip(leases, tasks, strict=True)
    ]
    said = [worker.said() for worker in workers]
    faults = bad_s3.done()
    bad_s3.plan()

    assert all(1 == len(each) for each in said), said
    assert len(faults) > 20
    kept = lake.scan(LANE_SAMPLES, since=t0 + 2 * DAY).collect()
    assert 48 == kept.filter(pl.col("device") == "leaf01").height
    for name, ((acknowledged, failed),) in zip("ab", said, strict=False):
        found = kept.filter(pl.col("device") == name)
        seconds = set(found["time"].dt.second() + 60 * found["time"].dt.minute())
        assert set(acknowledged) <= seconds <= {*acknowledged, *failed}
        assert found.height == 4 * len(seconds) == found.unique(LANE_SAMPLES.key).height
    assert [] == lake.check([LANE_SAMPLES], deep=True)


def test_a_full_store_is_told_in_one_line_and_nothing_changes(
    bad_s3: BadS3, s3: str, lease: FileLease, rows: Rows
) -> None:
    lake = Lake(s3)
    for device in ("d1", "d2"):
        lake.append(LANE_SAMPLES, rows(24, device=device))
    bad_s3.plan("full")

    tasks: tuple[Callable[[], object], ...] = (
        lambda: lake.append(LANE_SAMPLES, rows(24, device="d3")),
        lambda: lake.compact(LANE_SAMPLES, lease=lease),
    )
    for task in tasks:
        with pytest.raises(LakeError, match=r"lane_samples: .*507 Insufficient Storage.*") as caught:
            task()
        assert 1 == len(str(caught.value).splitlines())

    bad_s3.plan()
    assert 48 == lake.scan(LANE_SAMPLES).collect().height
    assert [] == lake.check([LANE_SAMPLES], deep=True)
    assert 1 == lake.compact(LANE_SAMPLES, lease=lease)


def test_a_check_that_cannot_read_takes_no_file_for_a_torn_one(bad_s3: BadS3, s3: str, rows: Rows) -> None:
    """`--repair` would take it out of the table."""
    lake = Lake(s3)
    lake.append(LANE_SAMPLES, rows(24))
    bad_s3.plan("busy", methods=["GET"], within=".parquet")

    with pytest.raises(LakeError, match=r"lane_samples: .*503.*; it was not checked"):
        lake.check([LANE_SAMPLES])
    bad_s3.plan()
    assert [] == lake.check([LANE_SAMPLES], deep=True)
