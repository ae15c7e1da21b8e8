"""How the lake's tables lie in Delta: their files in commit order, and rows in a table's own types."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from ingest.errors import LakeError
from ingest.schema import Table

__all__ = ["PARTITION", "DataFile", "canonical", "data_files", "latest_of_key", "read"]

PARTITION: Final = "date"
"""Partition column of every table that has a time: its day in UTC."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One data file of a table's current version."""

    uri: str
    day: date | None
    rows: int
    size_bytes: int


def canonical(table: Table, rows: pa.Table | pl.DataFrame) -> pa.Table:
    """Rows in the table's own columns, order and types, with the partition column beside them."""
    arrow = rows.to_arrow(compat_level=pl.CompatLevel.oldest()) if isinstance(rows, pl.DataFrame) else rows
    unknown = set(arrow.column_names) - set(table.schema.names)
    if unknown:
        msg = f"{table.name} has no column {', '.join(sorted(unknown))}"
        raise LakeError(msg)
    columns = [_column(table, field, arrow) for field in table.schema]
    schema = table.schema
    if table.time is not None:
        columns.append(pc.cast(columns[schema.get_field_index(table.time)], pa.date32()))
        schema = schema.append(pa.field(PARTITION, pa.date32(), nullable=False))
    # The writer takes several chunks in any order; of one it keeps the rows' order.
    return pa.table(columns, schema=schema).combine_chunks()


def _column(table: Table, field: pa.Field, rows: pa.Table) -> pa.ChunkedArray:
    position = rows.schema.get_field_index(field.name)
    if position < 0:
        column = pa.chunked_array([pa.nulls(rows.num_rows, field.type)])
    else:
        try:
            column = rows.column(position).cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            msg = f"{table.name}.{field.name}: {str(error).splitlines()[0]}"
            raise LakeError(msg) from error
    if column.null_count and not field.nullable:
        msg = f"{table.name}.{field.name} must not be null"
        raise LakeError(msg)
    return column


def data_files(handle: DeltaTable, since: datetime | None = None, until: datetime | None = None) -> list[DataFile]:
    """Files of the handle's version that may hold rows of the days asked for: day by day, each in commit order."""
    known = pa.table(handle.get_add_actions(flatten=True))
    day = f"partition.{PARTITION}"
    wanted = {"path", "modification_time", "num_records", "size_bytes", day}
    actions = known.select([name for name in known.column_names if name in wanted]).to_pylist()
    root = handle.table_uri.rstrip("/")
    if root.startswith(("file://", "/")):
        root = unquote(root.removeprefix("file://"))
    actions.sort(key=lambda action: (action.get(day) or date.min, action["modification_time"], action["path"]))
    files = [DataFile(f"{root}/{a['path']}", a.get(day), a["num_records"] or 0, a["size_bytes"]) for a in actions]
    first, last = _day(since), _day(until)
    return [
        file
        for file in files
        if file.day is None or ((first is None or file.day >= first) and (last is None or file.day <= last))
    ]


def _day(moment: datetime | None) -> date | None:
    return None if moment is None else moment.astimezone(UTC).date()


def read(table: Table, files: list[DataFile]) -> pl.LazyFrame:
    """Rows of the files in the table's schema, file after file; columns a file lacks are null."""
    empty = pl.from_arrow(table.schema.empty_table())
    assert isinstance(empty, pl.DataFrame)  # noqa: S101 - tells mypy what a table becomes
    if not files:
        return empty.lazy()
    return pl.scan_parquet(
        [file.uri for file in files],
        schema=empty.schema,
        hive_partitioning=False,
        glob=False,
        missing_columns="insert",
        extra_columns="ignore",
    )


def latest_of_key(table: Table, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Of equal keys the row received last; of those the one that comes last."""
    ordered = rows.sort("received_at", maintain_order=True)
    return ordered.unique(table.key, keep="last", maintain_order=True)
