"""`Lake.check` finds and names what is wrong, whatever it is, and `repair` mends what can be mended."""

import os
import shutil
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable

from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.lake.check import Kind
from ingest.lake.delta import canonical
from ingest.lake.files import SortedFile, add
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES, TICKETS, Table

Rows = Callable[..., pl.DataFrame]


@pytest.fixture(name="table")
def _table(lake: Lake, lease: FileLease, rows: Rows) -> Path:
    """Three days: the first compacted, the others as they were appended."""
    lake.append(LANE_SAMPLES, rows(24))
    lake.compact(LANE_SAMPLES, lease=lease)
    lake.append(LANE_SAMPLES, rows(48, start=rows(1)["time"][0] + timedelta(days=1)))
    return Path(lake.uri, "lane_samples")


def parquet(table: Path, day: int) -> Path:
    return min(table.glob(f"date=2026-03-0{day}/*.parquet"))  # "compacted-…" before "part-…"


def kinds(lake: Lake, *, deep: bool = False) -> list[Kind]:
    return [finding.kind for finding in lake.check(deep=deep)]


def old(path: Path) -> Path:
    """As if it had been written days ago."""
    os.utime(path, (1, 1))
    return path


def test_a_lake_that_is_whole_has_no_findings(lake: Lake, table: Path) -> None:
    assert [] == lake.check()
    assert [] == lake.check(deep=True)


def test_a_lake_that_is_not_there_has_none_either(lake: Lake) -> None:
    assert [] == lake.check()


def test_a_file_cut_short_is_named(lake: Lake, table: Path) -> None:
    file = parquet(table, 2)
    size = file.stat().st_size
    file.write_bytes(file.read_bytes()[:-100])

    (finding,) = lake.check()

    assert f"lane_samples: torn: date=2026-03-02/{file.name}: {size - 100} bytes of {size}" == str(finding)


def test_a_lost_file_is_named_with_the_rows_it_had(lake: Lake, table: Path) -> None:
    parquet(table, 1).unlink()

    (finding,) = lake.check()

    assert ("missing", "24 rows are in the log and not on disk") == (finding.kind, finding.what)


def test_a_file_of_the_same_size_that_is_no_parquet_is_named(lake: Lake, table: Path) -> None:
    file = parquet(table, 3)
    file.write_bytes(b"\0" * file.stat().st_size)

    assert ["torn"] == kinds(lake)


def test_a_flipped_bit_among_the_values_is_found_by_a_deep_check(lake: Lake, table: Path) -> None:
    """What was compacted has a checksum on each page."""
    file = parquet(table, 1)
    content = bytearray(file.read_bytes())
    chunk = pq.read_metadata(file).row_group(0).column(0)
    content[chunk.data_page_offset + chunk.total_compressed_size - 4] ^= 0xFF
    file.write_bytes(bytes(content))

    assert [] == kinds(lake)
    assert ["torn"] == kinds(lake, deep=True)


def test_an_old_file_that_the_log_does_not_know_is_foreign_and_a_young_one_may_be_under_way(
    lake: Lake, table: Path
) -> None:
    copy = Path(shutil.copy(parquet(table, 2), table / "date=2026-03-02" / "part-mine.parquet"))
    assert [] == lake.check()

    old(copy)

    (finding,) = lake.check()
    assert ("foreign", "date=2026-03-02/part-mine.parquet") == (finding.kind, finding.path)


def test_a_file_that_is_none_of_a_table_is_foreign_at_once(lake: Lake, table: Path) -> None:
    (table / "notes.txt").write_text("do not delete")

    assert ["lane_samples: foreign: notes.txt: no file of a table"] == list(map(str, lake.check()))


def test_files_that_compaction_left_behind_are_not_findings(lake: Lake, lease: FileLease, table: Path) -> None:
    """They are in the log, as removed, and wait for prune."""
    lake.compact(LANE_SAMPLES, lease=lease)
    for file in table.rglob("part-*.parquet"):
        old(file)

    assert [] == lake.check(deep=True)


def test_a_folder_without_a_log_where_a_table_would_be_is_foreign(lake: Lake) -> None:
    folder = Path(lake.uri, "tickets")
    folder.mkdir(parents=True)
    (folder / "tickets.csv").touch()

    assert ["tickets: a folder without a Delta log stands where the table would be"] == list(map(str, lake.check()))


def _put(lake: Lake, rows: pa.Table, day: str) -> None:
    """Commit a file past all checks, as a program that knows no rules would."""
    handle = DeltaTable(f"{lake.uri}/lane_samples")
    table = Table("lane_samples", rows.schema, (), "time")
    with SortedFile(handle, table, (date.fromisoformat(day), None), 0, prefix="part-") as out:
        out.write(rows)
    add(handle, [out], CommitProperties())


def test_rows_of_another_day_are_named_and_brought_home(lake: Lake, lease: FileLease, table: Path, rows: Rows) -> None:
    stray = canonical(LANE_SAMPLES, rows(30, lane=2)).select(LANE_SAMPLES.schema.names)
    _put(lake, stray, "2026-03-03")
    before = lake.scan(LANE_SAMPLES).collect().sort("lane", "time")

    (finding,) = lake.check()
    mended = lake.repair([finding], lease=lease)

    assert "rows of 2026-03-01, 2026-03-02 in date=2026-03-03" == finding.what
    assert [finding] == mended
    assert [] == lake.check(deep=True)
    assert before.equals(lake.scan(LANE_SAMPLES).collect().sort("lane", "time"))


def test_a_file_out_of_schema_is_named_by_its_columns(lake: Lake, table: Path, rows: Rows) -> None:
    whole = canonical(LANE_SAMPLES, rows(2, lane=3)).select(LANE_SAMPLES.schema.names)
    wrong = whole.set_column(5, "lane", whole["lane"].cast(pa.string())).append_column("colour", whole["site"])
    _put(lake, wrong.drop(["quality"]), "2026-03-01")

    (finding,) = lake.check()

    assert "schema" == finding.kind
    assert "no column of the table: colour; lane is string and not int8; quality is missing" == finding.what


def test_a_gap_in_the_log_is_named(lake: Lake, table: Path) -> None:
    log = table / "_delta_log"
    (log / f"{1:020}.json").unlink()

    assert [("log", "_delta_log/00000000000000000001.json")] == [(f.kind, f.path) for f in lake.check()]


def test_a_commit_of_no_bytes_is_named(lake: Lake, table: Path) -> None:
    """As a file system leaves it that lost power."""
    newest = max((table / "_delta_log").glob("*.json"))
    newest.write_bytes(b"")

    assert "this commit is empty" in [finding.what for finding in lake.check()]


def test_a_log_that_cannot_be_read_is_an_error_with_one_line_for_readers(lake: Lake, table: Path) -> None:
    newest = max((table / "_delta_log").glob("*.json"))
    newest.write_text("{broken")

    assert ["log"] == kinds(lake)
    with pytest.raises(LakeError, match="lane_samples: "):
        lake.scan(LANE_SAMPLES)


def test_repair_takes_lost_and_broken_files_out_and_keeps_what_is_left_of_them(
    lake: Lake, lease: FileLease, table: Path
) -> None:
    parquet(table, 1).unlink()
    broken = parquet(table, 2)
    broken.write_bytes(b"nonsense")
    findings = lake.check()

    mended = lake.repair(findings, lease=lease)

    assert findings == mended
    assert [] == lake.check(deep=True)
    assert 24 == lake.scan(LANE_SAMPLES).collect().height
    assert [b"nonsense"] == [file.read_bytes() for file in (table / "_broken").iterdir()]


def test_what_cannot_be_mended_is_left_as_it_is(lake: Lake, lease: FileLease, table: Path) -> None:
    (table / "notes.txt").write_text("do not delete")
    findings = lake.check()

    assert [] == lake.repair(findings, lease=lease)
    assert findings == lake.check()


def test_a_corrupt_file_stops_neither_the_compaction_of_other_days_nor_their_readers(
    lake: Lake, lease: FileLease, rows: Rows, t0: object
) -> None:
    for day in range(3):
        for half in range(2):
            start = rows(1)["time"][0] + timedelta(days=day, hours=12 * half)
            lake.append(LANE_SAMPLES, rows(12, start=start))
    bad = next(Path(lake.uri).rglob("date=2026-03-02/part-*.parquet"))
    bad.write_bytes(b"\0" * bad.stat().st_size)

    with pytest.raises(LakeError, match=rf"1 of 3 days were not compacted; 2026-03-02: .*{bad.name}"):
        lake.compact(LANE_SAMPLES, lease=lease)

    since = rows(1)["time"][0] + timedelta(days=2)
    assert 24 == lake.scan(LANE_SAMPLES, since=since).collect().height
    assert [4] == [entry.files for entry in lake.stats()]
    lake.repair(lake.check(), lease=lease)
    assert 1 == lake.compact(LANE_SAMPLES, lease=lease)
    assert 60 == lake.scan(LANE_SAMPLES).collect().height


def test_tables_without_days_are_checked_too(lake: Lake, rows: Rows) -> None:
    ticket = rows(1).select("received_at", "site", "device", "interface", ticket_id=pl.lit("T1"), opened_at="time")
    lake.append(TICKETS, ticket)
    assert [] == lake.check(deep=True)

    next(Path(lake.uri, "tickets").glob("*.parquet")).unlink()

    assert ["missing"] == kinds(lake)


def test_whoever_reads_a_corrupt_file_among_good_ones_is_told_which_it_is(lake: Lake, table: Path) -> None:
    files = sorted(table.rglob("*.parquet"))
    files[0].write_bytes(b"nonsense")
    name = files[0].relative_to(table).as_posix()

    with (
        pytest.raises(LakeError, match=rf"lane_samples: {name} cannot be read \(.*\); see forelight lake check"),
        lake.reading(LANE_SAMPLES),
    ):
        lake.scan(LANE_SAMPLES).collect()
    with pytest.raises(pl.exceptions.ColumnNotFoundError), lake.reading(LANE_SAMPLES):
        lake.scan(LANE_SAMPLES).head(0).select("no such column").collect()
