"""The lake: what is appended is read, once, whatever runs beside it."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES, MODULES, TICKETS, Table

Rows = Callable[..., pl.DataFrame]

T0 = datetime(2026, 3, 1, 22, tzinfo=UTC)
"""Two hours before a day ends."""


def test_nothing_is_created_until_the_first_append(lake: Lake, tmp_path: Path) -> None:
    assert not lake.exists(LANE_SAMPLES)
    assert [] == lake.dates(LANE_SAMPLES)
    assert [] == lake.stats()
    assert not list(tmp_path.iterdir())


def test_a_table_that_does_not_exist_reads_as_empty_with_its_schema(lake: Lake) -> None:
    empty = lake.scan(LANE_SAMPLES, since=T0).collect()

    assert LANE_SAMPLES.schema.names == empty.columns
    assert pl.Datetime("us", "UTC") == empty.schema["time"]


def test_what_is_appended_is_read_back_in_canonical_types(lake: Lake, rows: Rows) -> None:
    assert 4 == lake.append(LANE_SAMPLES, rows(4, start=T0))

    read = lake.scan(LANE_SAMPLES).collect()

    assert LANE_SAMPLES.schema.names == read.columns
    assert pl.Int8 == read.schema["lane"]
    assert pl.Float32 == read.schema["rx_power_dbm"]
    assert 4 == read.get_column("tx_power_dbm").null_count()


def test_an_arrow_table_with_dictionary_columns_is_taken_as_plain_strings(lake: Lake, rows: Rows) -> None:
    arrow = rows(3, start=T0).to_arrow()
    position = arrow.schema.get_field_index("device")
    coded = arrow.set_column(position, "device", arrow.column("device").cast(pa.string()).dictionary_encode())

    lake.append(LANE_SAMPLES, coded)

    assert pl.String == lake.scan(LANE_SAMPLES).collect().schema["device"]


@pytest.mark.parametrize(
    ("spoiled", "said"),
    [
        (lambda row: row.with_columns(colour=pl.lit("red")), "has no column colour"),
        (lambda row: row.with_columns(lane=pl.lit("first")), "lane_samples.lane"),
        (lambda row: row.with_columns(device=pl.lit(None, pl.String)), "lane_samples.device must not be null"),
        (lambda row: row.drop("quality"), "lane_samples.quality must not be null"),
    ],
    ids=["unknown column", "wrong type", "null in a key", "required column missing"],
)
def test_rows_of_another_shape_are_refused_by_name(
    lake: Lake, rows: Rows, spoiled: Callable[[pl.DataFrame], pl.DataFrame], said: str
) -> None:
    with pytest.raises(LakeError, match=said):
        lake.append(LANE_SAMPLES, spoiled(rows(1)))


def test_a_transaction_is_appended_once(lake: Lake, rows: Rows) -> None:
    assert 4 == lake.append(LANE_SAMPLES, rows(4, start=T0), transaction="file-a")
    assert 0 == lake.append(LANE_SAMPLES, rows(4, start=T0), transaction="file-a")

    assert lake.has_transaction(LANE_SAMPLES, "file-a")
    assert not lake.has_transaction(LANE_SAMPLES, "file-b")
    assert 4 == lake.scan(LANE_SAMPLES).collect().height


def test_several_transactions_are_recorded_together_and_no_rows_are_enough(lake: Lake, rows: Rows) -> None:
    lake.append(LANE_SAMPLES, rows(0, start=T0), transaction=["file-a", "file-b"])

    assert {"file-a", "file-b"} == lake.recorded(LANE_SAMPLES, ["file-a", "file-b", "file-c"])


def test_a_writers_highest_mark_is_kept_over_checkpoints_and_rewrites(lake: Lake, rows: Rows, lease: FileLease) -> None:
    """Delta writes a checkpoint each hundred commits; what went before may be cleaned away."""
    assert 0 == lake.mark(LANE_SAMPLES, "one")

    for number in (7, 10**17):
        lake.append(LANE_SAMPLES, rows(1, start=T0), mark=("one", number))
    for _ in range(100):
        lake.append(LANE_SAMPLES, rows(1, start=T0))
    lake.compact(LANE_SAMPLES, lease=lease)
    (checkpoint,) = Path(lake.uri, "lane_samples", "_delta_log").glob("*.checkpoint.parquet")
    for commit in checkpoint.parent.glob("*.json"):
        if commit.name[:20] <= checkpoint.name[:20]:
            commit.unlink()

    assert 10**17 == lake.mark(LANE_SAMPLES, "one")
    assert 0 == lake.mark(LANE_SAMPLES, "two")


def test_a_scan_is_half_open_and_reads_only_the_days_it_needs(lake: Lake, rows: Rows) -> None:
    lake.append(LANE_SAMPLES, rows(72, start=T0))
    since, until = T0 + timedelta(hours=2), T0 + timedelta(hours=26)

    scan = lake.scan(LANE_SAMPLES, since=since, until=until, columns=["time"])

    assert [since + timedelta(hours=i) for i in range(24)] == sorted(scan.collect().get_column("time"))
    assert "date=2026-03-02" in scan.explain()
    assert "date=2026-03-04" not in scan.explain()


def test_a_table_without_time_cannot_be_selected_by_it(lake: Lake) -> None:
    with pytest.raises(LakeError, match="modules has no time"):
        lake.scan(MODULES, since=T0)


def test_of_a_key_the_row_received_last_is_the_latest_whatever_the_order_of_commits(lake: Lake, rows: Rows) -> None:
    lake.append(LANE_SAMPLES, rows(3, start=T0, rx_power_dbm=-5.0, received=timedelta(minutes=5)))
    lake.append(LANE_SAMPLES, rows(3, start=T0, rx_power_dbm=-3.0))

    latest = lake.latest(LANE_SAMPLES, columns=["rx_power_dbm"]).collect()

    assert [-5.0] * 3 == latest.get_column("rx_power_dbm").to_list()
    assert ["rx_power_dbm"] == latest.columns


def test_of_rows_received_at_once_the_one_committed_last_is_the_latest(
    lake: Lake, rows: Rows, lease: FileLease
) -> None:
    """A corrected file of an export has the same keys and the same ``received_at``."""
    for rx_dbm in (-3.0, -4.0, -5.0):
        lake.append(LANE_SAMPLES, rows(3, start=T0, rx_power_dbm=rx_dbm))

    before = lake.latest(LANE_SAMPLES).collect().get_column("rx_power_dbm").to_list()
    lake.compact(LANE_SAMPLES, lease=lease)
    after = lake.scan(LANE_SAMPLES).collect().get_column("rx_power_dbm").to_list()

    assert [-5.0] * 3 == before == after


def test_a_null_in_a_key_is_a_value_like_any_other(lake: Lake) -> None:
    rows = pl.DataFrame({"received_at": [T0, T0 + timedelta(1)], "site": "s", "device": "d", "interface": "e"})

    lake.append(MODULES, rows)

    assert [T0 + timedelta(1)] == lake.latest(MODULES).collect().get_column("received_at").to_list()


def test_compaction_leaves_one_sorted_file_a_closed_day_and_the_same_rows(
    lake: Lake, rows: Rows, lease: FileLease
) -> None:
    for start in (10, 0, 5):
        lake.append(LANE_SAMPLES, rows(10, start=T0 + timedelta(hours=start)))
    before = lake.latest(LANE_SAMPLES).sort(LANE_SAMPLES.key).collect()

    assert 2 == lake.compact(LANE_SAMPLES, lease=lease)

    after = lake.scan(LANE_SAMPLES).collect()
    assert before.equals(after)
    assert [(20, 2)] == [(entry.rows, entry.files) for entry in lake.stats()]
    assert [date(2026, 3, 1), date(2026, 3, 2)] == lake.dates(LANE_SAMPLES)


def test_compaction_leaves_open_days_and_compacted_days_alone(lake: Lake, rows: Rows, lease: FileLease) -> None:
    lake.append(LANE_SAMPLES, rows(4, start=T0))

    assert 1 == lake.compact(LANE_SAMPLES, lease=lease, before=date(2026, 3, 2))
    assert 0 == lake.compact(LANE_SAMPLES, lease=lease, before=date(2026, 3, 2))
    lake.append(LANE_SAMPLES, rows(1, start=T0))
    assert 1 == lake.compact(LANE_SAMPLES, lease=lease, before=date(2026, 3, 2))


def test_two_compactions_at_once_are_refused(lake: Lake, rows: Rows, lease: FileLease) -> None:
    lake.append(LANE_SAMPLES, rows(2, start=T0))

    with lease, pytest.raises(LakeError, match="another rewrite"):
        lake.compact(LANE_SAMPLES, lease=FileLease(lease.path))


def test_a_column_that_a_table_gained_later_is_null_in_old_rows(lake: Lake, rows: Rows) -> None:
    fewer = Table("lane_samples", pa.schema(list(LANE_SAMPLES.schema)[:9]), LANE_SAMPLES.key, "time")
    lake.append(fewer, rows(1, start=T0).drop("quality", "source"))
    gained = [field.with_nullable(nullable=True) for field in LANE_SAMPLES.schema]

    lake.append(Table("lane_samples", pa.schema(gained), LANE_SAMPLES.key, "time"), rows(1, start=T0 + timedelta(1)))

    assert [None, 0] == lake.scan(LANE_SAMPLES).sort("time").collect().get_column("quality").to_list()


def test_a_folder_with_a_space_in_its_name_is_read(tmp_path: Path, rows: Rows) -> None:
    lake = Lake(str(tmp_path / "my läke"))

    lake.append(LANE_SAMPLES, rows(2, start=T0))

    assert 2 == lake.scan(LANE_SAMPLES).collect().height


def test_statistics_tell_rows_files_and_days(lake: Lake, rows: Rows) -> None:
    lake.append(LANE_SAMPLES, rows(26, start=T0))
    lake.append(
        TICKETS,
        pl.DataFrame(
            {"received_at": [T0], "ticket_id": "T1", "site": "s", "device": "d", "interface": "e", "opened_at": [T0]}
        ),
    )

    lanes, tickets = lake.stats()

    assert ("lane_samples", 26, 2) == (lanes.name, lanes.rows, lanes.files)
    assert (date(2026, 3, 1), date(2026, 3, 2)) == (lanes.first, lanes.last)
    assert ("tickets", 1, None) == (tickets.name, tickets.rows, tickets.first)
