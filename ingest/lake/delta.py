"""How the lake's tables lie in Delta: their files in commit order, and rows in a table's own types."""

import re
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from ingest.errors import LakeError
from ingest.schema import Table

__all__ = [
    "BUCKET",
    "PARTITION",
    "DataFile",
    "Device",
    "bucket_of",
    "buckets_of",
    "canonical",
    "data_files",
    "file_actions",
    "latest_of_key",
    "partitions",
    "read",
    "same_type",
    "stored",
]

PARTITION: Final = "date"
"""Partition column of every table that has a time: its day in UTC."""

BUCKET: Final = "bucket"
"""Second partition column of the large tables of a lake that was created with buckets."""

_TIMES: Final = ("time", "hour")
_STAT: Final = timedelta(milliseconds=1)
"""The log keeps statistics of times in milliseconds, cut off."""

_BUCKETED: Final = {"lane_samples", "port_samples", "lane_tiles", "port_tiles", "lane_days", "port_days"}
_DESCRIPTION: Final = re.compile(r"buckets=(\d+)")

Device = tuple[str, str]
"""A site and a device."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One data file of a table's current version.

    Attributes:
        uri: where readers find it.
        day: its partition; None for tables without a time.
        rows: as the log has it.
        size_bytes: likewise.
        path: as the log has it, below the table.
        bucket: its other partition; None where the table has no buckets.
        modified_ms: when it was committed, by the writer's clock.
        first: the earliest time in it, None where the log does not tell.
        last: the latest, up to a millisecond more.
    """

    uri: str
    day: date | None
    rows: int
    size_bytes: int
    path: str = ""
    bucket: int | None = None
    modified_ms: int = 0
    first: datetime | None = None
    last: datetime | None = None

    def may_hold(self, since: datetime | None, until: datetime | None) -> bool:
        """Whether rows with ``since <= time < until`` can be in it."""
        early = until is not None and self.first is not None and self.first >= until
        return not early and (since is None or self.last is None or self.last >= since)


def bucket_of(device: Device, buckets: int) -> int:
    """The bucket of a device: the same for ever, on every machine."""
    return zlib.crc32("\0".join(device).encode()) % buckets


def buckets_of(handle: DeltaTable) -> int:
    """How many buckets a table was created with; 1 where it has no such column."""
    found = _DESCRIPTION.search(handle.metadata().description or "")
    return int(found[1]) if found else 1


def partitions(table: Table, buckets: int) -> list[str]:
    """Columns that a table is partitioned by when it is created."""
    by = [PARTITION] if table.time else []
    return [*by, BUCKET] if buckets > 1 and table.name in _BUCKETED else by


def stored(table: Table, handle: DeltaTable) -> Table:
    """The table as it lies in the lake: with the columns that a newer version of forelight added to it.

    Raises:
        LakeError: a column has another type there.
    """
    known = {field.name: field for field in table.schema}
    extra = []
    for field in pa.schema(handle.schema().to_arrow()):
        if field.name not in known:
            if field.name not in {PARTITION, BUCKET}:
                extra.append(pa.field(field.name, _plain(field.type)))
        elif not same_type(field.type, known[field.name].type):
            types = f"{field.type} in the lake, {known[field.name].type} here"
            msg = f"{table.name}.{field.name} was written by another version of forelight: it is {types}"
            raise LakeError(msg)
    return replace(table, schema=pa.schema([*table.schema, *extra])) if extra else table


def same_type(there: pa.DataType, here: pa.DataType) -> bool:
    """Whether values of a stored type can be read as ours; a newer struct may have more members."""
    there = _plain(there)
    if pa.types.is_struct(there) and pa.types.is_struct(here):
        ours = {here.field(i).name: here.field(i).type for i in range(here.num_fields)}
        return all(same_type(f.type, ours[f.name]) for f in map(there.field, range(there.num_fields)) if f.name in ours)
    if pa.types.is_list(there) and pa.types.is_list(here):
        return same_type(there.value_type, here.value_type)
    return bool(there == here)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Delta's Arrow types in the ones that we write."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    return kind


def canonical(table: Table, rows: pa.Table | pl.DataFrame, *, buckets: int = 1) -> pa.Table:
    """Rows in the table's own columns, order and types, with the partition columns beside them."""
    arrow = rows.to_arrow(compat_level=pl.CompatLevel.oldest()) if isinstance(rows, pl.DataFrame) else rows
    unknown = set(arrow.column_names) - set(table.schema.names)
    if unknown:
        msg = f"{table.name} has no column {', '.join(sorted(unknown))}"
        raise LakeError(msg)
    columns = [_column(table, field, arrow) for field in table.schema]
    schema = table.schema
    by = partitions(table, buckets)
    if PARTITION in by:
        columns.append(pc.cast(columns[schema.get_field_index(table.time)], pa.date32()))
        schema = schema.append(pa.field(PARTITION, pa.date32(), nullable=False))
    if BUCKET in by:
        site, device = (columns[schema.get_field_index(name)] for name in ("site", "device"))
        columns.append(_bucket_column(site, device, buckets))
        schema = schema.append(pa.field(BUCKET, pa.int32(), nullable=False))
    # The writer takes several chunks in any order; of one it keeps the rows' order.
    return pa.table(columns, schema=schema).combine_chunks()


def _bucket_column(site: pa.ChunkedArray, device: pa.ChunkedArray, buckets: int) -> pa.Array:
    names = pl.DataFrame({"site": pl.Series(site), "device": pl.Series(device)})
    each = names.unique()
    each = each.with_columns(bucket=pl.Series([bucket_of(d, buckets) for d in each.iter_rows()], dtype=pl.Int32))
    return names.join(each, on=["site", "device"], how="left", maintain_order="left")["bucket"].to_arrow()


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


def data_files(
    handle: DeltaTable,
    since: datetime | None = None,
    until: datetime | None = None,
    devices: Collection[Device] | None = None,
) -> list[DataFile]:
    """Files of the handle's version that may hold rows of the days and devices asked for.

    Day by day, each in commit order.
    """
    known = file_actions(handle)
    day, bucket = f"partition.{PARTITION}", f"partition.{BUCKET}"
    time = next((name for name in _TIMES if f"min.{name}" in known.column_names), _TIMES[0])
    wanted = {"path", "modification_time", "num_records", "size_bytes", day, bucket, f"min.{time}", f"max.{time}"}
    actions = known.select([name for name in known.column_names if name in wanted]).to_pylist()
    root = handle.table_uri.rstrip("/")
    if root.startswith(("file://", "/")):
        root = unquote(root.removeprefix("file://"))
    actions.sort(key=lambda action: (action.get(day) or date.min, action["modification_time"], action["path"]))
    first, last = _day(since), _day(until)
    held = None if devices is None else _buckets(devices, buckets_of(handle))
    files = [
        DataFile(
            uri=f"{root}/{action['path']}",
            day=action.get(day),
            rows=action["num_records"] or 0,
            size_bytes=action["size_bytes"],
            path=action["path"],
            bucket=action.get(bucket),
            modified_ms=action["modification_time"],
            first=action.get(f"min.{time}"),
            last=None if action.get(f"max.{time}") is None else action[f"max.{time}"] + _STAT,
        )
        for action in actions
        if _within(action.get(day), first, last) and (held is None or action.get(bucket, None) in held | {None})
    ]
    return [file for file in files if file.may_hold(since, until)]


def file_actions(handle: DeltaTable) -> pa.Table:
    """One row a file of the handle's version, as the log has it (`pa.table` would import pandas, for a second)."""
    return pa.RecordBatchReader.from_stream(handle.get_add_actions(flatten=True)).read_all()


def _within(day: date | None, first: date | None, last: date | None) -> bool:
    return day is None or ((first is None or day >= first) and (last is None or day <= last))


def _buckets(devices: Iterable[Device], buckets: int) -> set[int | None]:
    return {bucket_of(device, buckets) for device in devices}


def _day(moment: datetime | None) -> date | None:
    return None if moment is None else moment.astimezone(UTC).date()


def read(table: Table, files: list[DataFile]) -> pl.LazyFrame:
    """Rows of the files in the table's schema, file after file; columns a file lacks are null, others are not read."""
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
        cast_options=pl.ScanCastOptions(missing_struct_fields="insert", extra_struct_fields="ignore"),
    )


def latest_of_key(table: Table, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Of equal keys the row received last; of those the one that comes last."""
    ordered = rows.sort("received_at", maintain_order=True)
    return ordered.unique(table.key, keep="last", maintain_order=True)
