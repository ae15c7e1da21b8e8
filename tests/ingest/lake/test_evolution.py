"""Tables change: columns are gained, other versions of forelight write beside this one."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES, Table

Rows = Callable[..., pl.DataFrame]
NEWER = Table(
    "lane_samples", LANE_SAMPLES.schema.append(pa.field("wavelength_nm", pa.float64())), LANE_SAMPLES.key, "time"
)
WIDER = Table(
    "lane_samples",
    LANE_SAMPLES.schema.set(5, pa.field("lane", pa.int32(), nullable=False)),
    LANE_SAMPLES.key,
    "time",
)


def test_an_optional_column_appears_without_rewriting_what_is_there(lake: Lake, rows: Rows, tmp_path: Path) -> None:
    lake.append(LANE_SAMPLES, rows(2))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}

    lake.append(NEWER, rows(2, start=rows(1)["time"][0] + timedelta(hours=2), wavelength_nm=1311.0))

    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert [None, None, 1311.0, 1311.0] == lake.scan(NEWER).sort("time").collect()["wavelength_nm"].to_list()


def test_a_day_written_by_a_newer_version_is_read_without_what_is_unknown_here(lake: Lake, rows: Rows) -> None:
    lake.append(NEWER, rows(2, wavelength_nm=1311.0))

    assert LANE_SAMPLES.schema.names == lake.scan(LANE_SAMPLES).collect().columns
    assert 2 == lake.latest(LANE_SAMPLES).collect().height
    assert 3 == lake.append(LANE_SAMPLES, rows(3))


def test_compaction_by_an_older_version_keeps_the_columns_that_it_does_not_know(
    lake: Lake, lease: FileLease, rows: Rows
) -> None:
    lake.append(NEWER, rows(2, wavelength_nm=1311.0))
    lake.append(LANE_SAMPLES, rows(1, interface="Ethernet4"))

    lake.compact(LANE_SAMPLES, lease=lease)

    assert [1311.0, 1311.0, None] == lake.scan(NEWER).collect()["wavelength_nm"].to_list()
    assert [] == lake.check(deep=True)


def test_a_column_of_another_type_is_refused_by_name(lake: Lake, lease: FileLease, rows: Rows) -> None:
    lake.append(WIDER, rows(2))
    said = r"lane_samples\.lane was written by another version of forelight: it is int32 in the lake, int8 here"

    with pytest.raises(LakeError, match=said):
        lake.scan(LANE_SAMPLES)
    with pytest.raises(LakeError, match=said):
        lake.append(LANE_SAMPLES, rows(1))
    with pytest.raises(LakeError, match=said):
        lake.compact(LANE_SAMPLES, lease=lease)
    assert ["schema"] == [finding.kind for finding in lake.check() if not finding.path]
    assert 2 == lake.scan(WIDER).collect().height


def test_columns_keep_their_encodings_and_times_their_zone_through_compaction(
    lake: Lake, lease: FileLease, rows: Rows, tmp_path: Path
) -> None:
    lake.append(LANE_SAMPLES, rows(5, serial="SN1"))
    lake.compact(LANE_SAMPLES, lease=lease)

    (file,) = tmp_path.rglob("compacted-*.parquet")
    chunk = pq.read_metadata(file).row_group(0)
    encodings = {chunk.column(i).path_in_schema: chunk.column(i).encodings for i in range(chunk.num_columns)}

    assert "DELTA_BINARY_PACKED" in encodings["time"]
    assert LANE_SAMPLES.schema.equals(pq.read_schema(file))
    assert {"ZSTD"} == {chunk.column(i).compression for i in range(chunk.num_columns)}
