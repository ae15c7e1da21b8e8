"""Data files that we write ourselves: sorted, in large row groups, encoded for readings; and their entries in the log.

Appends are written by deltalake. A rewrite is not: its writer knows no slices, collects what it is given, and takes no
encodings by column.
"""

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from types import TracebackType
from typing import Final, Self
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import AddAction, RemoveAction

from ingest.lake.delta import BUCKET, PARTITION, DataFile
from ingest.schema import Table

__all__ = [
    "PREFIX",
    "Partition",
    "SortedFile",
    "add",
    "certainly",
    "delete_file",
    "exchange",
    "file_system",
    "stored_path",
]

PREFIX: Final = "compacted-"
"""Names of sorted files begin so; before ``part-``, so that of one moment they come first in commit order."""

ROW_GROUP_ROWS: Final = 131_072
"""The least of 128 k to 512 k: a reader of one port reads half of what it would with 256 k; files are a tenth more."""

_ZSTD_LEVEL: Final = 3
_FEW: Final = 0.15  # distinct values by rows; benchmarks/lake.py prints what comes of it
_EXCHANGE: Final = "forelight:exchange"  # a transaction of Delta, by which it tells two exchanges at once
_NAME: Final = "forelight:commit"
Partition = tuple[date | None, int | None]
"""Day and bucket."""


def file_system(handle: DeltaTable) -> pyarrow.fs.FileSystem:
    """Files below a table, with its own credentials; paths as `stored_path` gives them."""
    return pyarrow.fs.PyFileSystem(DeltaStorageHandler.from_table(handle._table))  # noqa: SLF001 - its only constructor


def stored_path(path: str) -> str:
    """A path of the log as the storage knows it: the log's are URL-encoded."""
    return unquote(path)


def delete_file(handle: DeltaTable, path: str) -> None:
    """Delete a file that nothing refers to; one that cannot be deleted waits for the next prune."""
    with contextlib.suppress(OSError):
        file_system(handle).delete_file(stored_path(path))


def add(handle: DeltaTable, files: Sequence["SortedFile"], properties: CommitProperties) -> None:
    """Add closed files to the table in one commit.

    Raises:
        CommitFailedError: days were dropped meanwhile, or one of the transactions was committed by another.
    """
    by = handle.metadata().partition_columns
    actions: list[AddAction | RemoveAction] = [file.action(new_data=True) for file in files]
    handle.create_write_transaction(actions, "append", handle.schema(), partition_by=by, commit_properties=properties)


def exchange(handle: DeltaTable, files: Sequence["SortedFile"], removed: Sequence[DataFile]) -> None:
    """Take files out of the table, and put others with their rows in their place, in one commit.

    The commit carries a transaction that all exchanges have in common, and Delta refuses one that another came
    before: two rewrites of the same files would double their rows. It is marked as no change of data, also where days
    are dropped: then appends that run beside it need not try again, and what they add stays. Where it fails the new
    files are deleted, but for those of a commit that an object store may still have under way.

    Raises:
        CommitFailedError: another exchange was committed since the handle was opened.
    """
    now_ms = int(time.time() * 1000)
    # Readers may hold a file from when it is removed, which is never before it was written, whatever the clock says.
    removals = [
        RemoveAction(f.path, False, max(now_ms, f.modified_ms), f.size_bytes, _values((f.day, f.bucket)))
        for f in removed
    ]
    actions: list[AddAction | RemoveAction] = [*(file.action(new_data=False) for file in files), *removals]
    by = handle.metadata().partition_columns

    def commit(properties: CommitProperties) -> None:
        handle.create_write_transaction(
            actions, "append", handle.schema(), partition_by=by, commit_properties=properties
        )

    try:
        certainly(handle, commit, [Transaction(_EXCHANGE, handle.version() + 1)])
    except (DeltaError, OSError) as error:
        if isinstance(error, CommitFailedError) or handle.table_uri.startswith("file:"):
            for file in files:
                delete_file(handle, file.path)
        raise


def certainly(
    handle: DeltaTable, commit: Callable[[CommitProperties], None], transactions: Sequence[Transaction] = ()
) -> None:
    """Commit; what the commit raises is raised only where it did not come through all the same.

    An object store may take a commit while its answer is lost. The commit is then made again, and refused for being
    there: taken at its word, this would delete files that belong to the table, or append rows twice. So each commit
    carries a name, which is looked for in the log where there is doubt.

    Args:
        handle: the version that the commit is based on.
        commit: makes it, with the properties that it is given.
        transactions: to be recorded with it.
    """
    name, version = uuid4().hex, handle.version()
    try:
        commit(CommitProperties(custom_metadata={_NAME: name}, app_transactions=list(transactions)))
    except (DeltaError, OSError):
        newest = DeltaTable(handle.table_uri)
        since = newest.version() - version
        if since < 1 or all(entry.get(_NAME) != name for entry in newest.history(since)):
            raise


def _values(partition: Partition) -> dict[str, str | None]:
    day, bucket = partition
    values: dict[str, str | None] = {} if day is None else {PARTITION: str(day)}
    return values if bucket is None else values | {BUCKET: str(bucket)}


class SortedFile:
    """A Parquet file written slice by slice; nothing of it counts until its `action` is committed.

    Left by an exception, it is deleted.

    Args:
        handle: the table it will belong to.
        table: its columns.
        partition: its place.
        modified_ms: where it stands in commit order.
        prefix: of its name.
    """

    def __init__(
        self, handle: DeltaTable, table: Table, partition: Partition, modified_ms: int, *, prefix: str = PREFIX
    ) -> None:
        self._handle = handle
        self._table = table
        self._partition = partition
        self._modified_ms = modified_ms
        folders = "".join(f"{name}={value}/" for name, value in _values(partition).items())
        self.path = f"{folders}{prefix}{uuid4()}.zstd.parquet"
        self.rows = 0
        self._stats = _Stats(table)
        self._waiting = [table.schema.empty_table()]
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        self._out = file_system(self._handle).open_output_stream(self.path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._write(sum(rows.num_rows for rows in self._waiting))
            if self._writer is not None:
                self._writer.close()
            self._out.close()
        except BaseException:
            delete_file(self._handle, self.path)
            raise
        if error is not None:
            delete_file(self._handle, self.path)

    def write(self, rows: pa.Table) -> None:
        """Append rows that come after all that were written."""
        self.rows += rows.num_rows
        self._stats.add(rows)
        self._waiting.append(rows)
        waiting = sum(part.num_rows for part in self._waiting)
        if waiting >= ROW_GROUP_ROWS:
            self._write(waiting - waiting % ROW_GROUP_ROWS)

    def _write(self, count: int) -> None:
        """Write whole row groups; the rest waits for the next slice."""
        if not count and self._writer is not None:
            return
        rows = pa.concat_tables(self._waiting)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._out, rows.schema, **_options(rows.slice(0, ROW_GROUP_ROWS)))
        self._writer.write_table(rows.slice(0, count), row_group_size=ROW_GROUP_ROWS)
        self._waiting = [rows.slice(count)]

    def action(self, *, new_data: bool) -> AddAction:
        """The log entry that adds the closed file: with new rows, or with rows that other files had."""
        size = file_system(self._handle).get_file_info([self.path])[0].size
        return AddAction(
            self.path,
            size,
            _values(self._partition),
            self._modified_ms,
            new_data,
            json.dumps({"numRecords": self.rows, **self._stats.as_json()}),
        )


def _options(rows: pa.Table) -> dict[str, object]:
    """Writer options that suit some rows of sorted series.

    Times and counters are small steps. Readings are few distinct values where the device rounds them, as most do: a
    dictionary takes half of what byte streams take. Where it does not, the dictionary would only be carried along.
    """
    steps = [f.name for f in rows.schema if pa.types.is_timestamp(f.type) or f.type == pa.int64()]
    floats = [f.name for f in rows.schema if pa.types.is_floating(f.type)]
    noise = [name for name in floats if pc.count_distinct(rows[name]).as_py() > _FEW * rows.num_rows]
    encodings = dict.fromkeys(steps, "DELTA_BINARY_PACKED") | dict.fromkeys(noise, "BYTE_STREAM_SPLIT")
    return {
        "compression": "zstd",
        "compression_level": _ZSTD_LEVEL,
        "use_dictionary": [name for name in rows.schema.names if name not in encodings],
        "column_encoding": encodings,
        "write_page_checksum": True,
    }


class _Stats:
    """Least and greatest value of each key column that is text, a number or a time, as Delta's log has them."""

    def __init__(self, table: Table) -> None:
        self._names = [n for n in table.key if not pa.types.is_nested(table.schema.field(n).type)]
        self._low: dict[str, object] = {}
        self._high: dict[str, object] = {}
        self._nulls = dict.fromkeys(self._names, 0)

    def add(self, rows: pa.Table) -> None:
        for name in self._names:
            bounds = pc.min_max(rows[name]).as_py()
            self._nulls[name] += rows[name].null_count
            if bounds["min"] is not None:
                self._low[name] = min(self._low.get(name, bounds["min"]), bounds["min"])
                self._high[name] = max(self._high.get(name, bounds["max"]), bounds["max"])

    def as_json(self) -> dict[str, object]:
        low = {name: _as_json(value) for name, value in self._low.items()}
        high = {name: _as_json(value) for name, value in self._high.items()}
        return {"minValues": low, "maxValues": high, "nullCount": self._nulls}


def _as_json(value: object) -> object:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
