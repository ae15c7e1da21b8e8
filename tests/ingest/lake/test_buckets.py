"""Buckets: devices divided among files of a day, so that a large fleet's days can be sorted and read in parts."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.lake.delta import bucket_of
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES, MODULES, PORT_EVENTS, PORT_SAMPLES

Rows = Callable[..., pl.DataFrame]
DEVICES = [f"leaf{n:02}" for n in range(12)]


@pytest.fixture(name="fleet")
def _fleet(rows: Rows) -> pl.DataFrame:
    return pl.concat(rows(4, device=device) for device in DEVICES)


@pytest.fixture(name="bucketed")
def _bucketed(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"), buckets=4)


def test_a_lake_has_no_buckets_unless_asked(lake: Lake, fleet: pl.DataFrame, tmp_path: Path) -> None:
    lake.append(LANE_SAMPLES, fleet)

    assert [1] == [entry.buckets for entry in lake.stats()]
    assert not list(tmp_path.rglob("bucket=*"))


def test_the_bucket_of_a_device_is_the_same_for_ever() -> None:
    """It stands in the paths of years of data."""
    assert [7, 2, 5] == [bucket_of(device, 8) for device in (("default", "leaf01"), ("s", "d"), ("", ""))]


def test_rows_of_a_device_lie_in_one_bucket_and_are_read_back_whole(
    bucketed: Lake, fleet: pl.DataFrame, tmp_path: Path
) -> None:
    bucketed.append(LANE_SAMPLES, fleet)

    assert fleet.height == bucketed.scan(LANE_SAMPLES).collect().height
    assert {f"bucket={bucket_of(('default', d), 4)}" for d in DEVICES} == {f.name for f in tmp_path.rglob("bucket=*")}
    assert [4] == [entry.buckets for entry in bucketed.stats()]
    assert [] == bucketed.check(deep=True)


def test_readers_of_some_devices_open_their_buckets_alone(bucketed: Lake, fleet: pl.DataFrame) -> None:
    bucketed.append(LANE_SAMPLES, fleet)
    wanted = [("default", "leaf01"), ("default", "leaf05")]

    scan = bucketed.latest(LANE_SAMPLES, devices=wanted)

    assert {"leaf01", "leaf05"} == set(scan.collect()["device"])
    assert 8 == scan.collect().height
    plan = bucketed.scan(LANE_SAMPLES, devices=wanted[:1]).explain()
    assert {f"bucket={bucket_of(wanted[0], 4)}"} == {f"bucket={n}" for n in range(4) if f"bucket={n}/" in plan}


def test_a_device_of_another_site_with_the_same_name_is_another_device(bucketed: Lake, rows: Rows) -> None:
    bucketed.append(LANE_SAMPLES, pl.concat([rows(2), rows(3, site="b")]))
    both = [("b", "leaf01"), ("default", "leaf02")]

    assert 3 == bucketed.scan(LANE_SAMPLES, devices=[("b", "leaf01")]).collect().height
    assert 3 == bucketed.scan(LANE_SAMPLES, devices=both).collect().height
    assert 0 == bucketed.scan(LANE_SAMPLES, devices=[]).collect().height


def test_devices_can_be_asked_for_where_there_are_no_buckets(lake: Lake, fleet: pl.DataFrame) -> None:
    lake.append(LANE_SAMPLES, fleet)

    assert 4 == lake.latest(LANE_SAMPLES, devices=[("default", "leaf03")]).collect().height


def test_each_bucket_of_a_day_becomes_one_sorted_file(bucketed: Lake, lease: FileLease, fleet: pl.DataFrame) -> None:
    for _ in range(2):
        bucketed.append(LANE_SAMPLES, fleet)

    assert 1 == bucketed.compact(LANE_SAMPLES, lease=lease)

    (entry,) = bucketed.stats()
    assert (fleet.height, len({bucket_of(("default", d), 4) for d in DEVICES}), 0) == (
        entry.rows,
        entry.files,
        entry.waiting_files,
    )
    assert [] == bucketed.check(deep=True)


def test_the_number_of_buckets_is_settled_when_the_table_is_created(
    bucketed: Lake, fleet: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ["lane_samples", "modules"] == bucketed.create([LANE_SAMPLES, MODULES])
    monkeypatch.setenv("FORELIGHT_LAKE_BUCKETS", "2")
    other = Lake(bucketed.uri)

    other.append(LANE_SAMPLES, fleet)

    assert [] == other.create([LANE_SAMPLES])
    assert [4, 1] == [entry.buckets for entry in other.stats()]


def test_the_environment_says_the_number_for_large_tables_only(
    lake: Lake, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORELIGHT_LAKE_BUCKETS", "2")

    lake.create([LANE_SAMPLES, PORT_SAMPLES, PORT_EVENTS])

    assert {"lane_samples": 2, "port_samples": 2, "port_events": 1} == {e.name: e.buckets for e in lake.stats()}


@pytest.mark.parametrize("number", ["0", "-1", "many", "5000"])
def test_a_number_of_buckets_that_makes_no_sense_is_refused(
    lake: Lake, rows: Rows, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    monkeypatch.setenv("FORELIGHT_LAKE_BUCKETS", number)

    with pytest.raises(LakeError, match=rf"{number} buckets \(FORELIGHT_LAKE_BUCKETS\): 1 to 1024 are possible"):
        lake.append(LANE_SAMPLES, rows(1))
