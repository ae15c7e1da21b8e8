"""Two writers, two compactions and a prune at once, with and without a common lease, on disk and on S3."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES

Rows = Callable[..., pl.DataFrame]
Work = Callable[..., Any]
DAYS = 4
SECONDS = 6

WRITE = """
import time
until = time.monotonic() + seconds
n = 0
while time.monotonic() < until:
    times = [T0 + timedelta(hours=8 * i, seconds=n) for i in range(12)]
    rows = pl.DataFrame({"time": times, "received_at": times, "site": "s", "device": name, "interface": "e", "lane": 1,
                         "quality": 0, "source": "file"})
    assert lake.append(LANE_SAMPLES, rows, transaction=f"{name}-{n}") == 12
    n += 1
say(n)
"""
UPKEEP = """
import time
from ingest.errors import LakeError
until = time.monotonic() + seconds
done = 0
while time.monotonic() < until:
    try:
        if prune:
            done += lake.prune(LANE_SAMPLES, lease=lease, keep=timedelta(days=2), safe_age=timedelta(hours=1)).days
        else:
            done += lake.compact(LANE_SAMPLES, lease=lease)
    except LakeError as error:
        if "another rewrite" not in str(error):
            say(str(error))
            raise
    time.sleep(0.02)
say(done)
"""


@pytest.mark.slow
@pytest.mark.parametrize("leased", [True, False], ids=["one lease", "no common lease"])
def test_writers_compactions_and_a_prune_at_once_lose_nothing_and_double_nothing(
    anywhere: str, tmp_path: Path, rows: Rows, work: Work, t0: datetime, leased: bool
) -> None:
    """Without a lease it is Delta that keeps two rewrites of the same files apart."""
    lake = Lake(anywhere, buckets=2)
    lake.append(LANE_SAMPLES, rows(24 * DAYS))
    leases = [FileLease(tmp_path / ("lock" if leased else f"lock{n}")) for n in range(3)]
    writers = [work(WRITE, lake, leases[0], name=name, seconds=SECONDS) for name in ("a", "b")]
    keepers = [work(UPKEEP, lake, lease, prune=n == 2, seconds=SECONDS) for n, lease in enumerate(leases)]

    (commits_a,), (commits_b,) = (worker.said() for worker in writers)
    done = [worker.said() for worker in keepers]

    assert all(len(said) == 1 and isinstance(said[0], int) for said in done), done
    assert min(commits_a, commits_b) > 1
    assert done[0][0] + done[1][0] > 0
    kept = lake.scan(LANE_SAMPLES, since=t0 + timedelta(days=2)).collect()
    assert {"a": 6 * commits_a, "b": 6 * commits_b, "leaf01": 48} == dict(kept.group_by("device").len().iter_rows())
    assert kept.height == kept.unique(LANE_SAMPLES.key).height
    assert [] == lake.check(deep=True)
    lake.prune(LANE_SAMPLES, lease=leases[0], keep=timedelta(days=2))
    assert [date(2026, 3, 3), date(2026, 3, 4)] == lake.dates(LANE_SAMPLES)
