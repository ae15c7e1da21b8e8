"""The lake: Delta tables over Parquet that collectors, compaction and readers share.

Appends may repeat a key (re-polls, re-imports): ``Lake.latest`` takes the row with
the latest ``received_at``, of equal ones the one committed last, and ``compact``
makes that physical. What deltalake 1.6 demands is kept in this file and nowhere else:

* an append beside a rewrite fails with ``CommitFailedError`` and is tried again;
* a stream is collected whole by the writer, so rows go in chunks of a million;
* ``optimize.compact`` and ``z_order`` double rows when two run at once, so a rewrite
  is ours: one pinned handle is read and overwritten, under an exclusive lease.
"""

import hashlib
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from ingest.delta import PARTITION, DataFile, canonical, data_files, latest_of_key, read
from ingest.errors import LakeError
from ingest.lease import Lease
from ingest.schema import TABLES, Table

__all__ = ["Lake", "TableStats"]

_CHUNK_ROWS: Final = 1_000_000  # a larger append costs memory and is no faster
_ATTEMPTS: Final = 60
_WRITER: Final = WriterProperties(compression="ZSTD", compression_level=3, max_row_group_size=262_144)
_ONE_FILE_BYTES: Final = 1 << 40  # a compacted day is one file


@dataclass(frozen=True, slots=True)
class TableStats:
    """What one table holds: rows as stored, repeated keys counted each time."""

    name: str
    rows: int
    files: int
    size_bytes: int
    version: int
    first: date | None
    last: date | None


class Lake:
    """Tables below one address, a folder or ``s3://``; nothing is created until the first append."""

    def __init__(self, uri: str) -> None:
        self.uri = uri.rstrip("/")

    def append(
        self,
        table: Table,
        rows: pa.Table | pl.DataFrame,
        *,
        transaction: str | Sequence[str] | None = None,
        mark: tuple[str, int] | None = None,
    ) -> int:
        """Append rows, cast to the table's schema; missing nullable columns are null.

        Args:
            table: where to.
            rows: columns in any order; dictionary columns are stored as plain strings.
            transaction: a name, or several, recorded with the last chunk; where all are
                recorded already nothing is appended, so that an import can be repeated.
                It is recorded for no rows, too.
            mark: a writer's name and this append's rising number, recorded with the last chunk; `Lake.mark` tells it.

        Returns:
            Rows appended.

        Raises:
            LakeError: an unknown column, a wrong type, null where the table has none.
        """
        names = [transaction] if isinstance(transaction, str) else list(transaction or ())
        if names and self.recorded(table, names) == set(names):
            return 0
        count = rows.height if isinstance(rows, pl.DataFrame) else rows.num_rows
        for start in range(0, max(count, 1), _CHUNK_ROWS):
            chunk = canonical(table, rows.slice(start, _CHUNK_ROWS))
            last = start + _CHUNK_ROWS >= count
            if not self._commit(table, chunk, names if last else [], mark if last else None):
                return start
        return count

    def mark(self, table: Table, writer: str) -> int:
        """The highest number that an append of this writer was committed under; 0 where none was."""
        handle = self._open(table)
        return 0 if handle is None else handle.transaction_version(writer) or 0

    def has_transaction(self, table: Table, transaction: str) -> bool:
        """Whether an append of this name was committed."""
        return bool(self.recorded(table, [transaction]))

    def recorded(self, table: Table, transactions: Iterable[str]) -> set[str]:
        """Those of the names that an append was committed under."""
        handle = self._open(table)
        if handle is None:
            return set()
        return {name for name in transactions if handle.transaction_version(name) is not None}

    def exists(self, table: Table) -> bool:
        """Whether anything was ever appended."""
        return self._open(table) is not None

    def scan(
        self,
        table: Table,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        columns: Sequence[str] | None = None,
    ) -> pl.LazyFrame:
        """Rows as they were appended, day by day and each in commit order, with ``since <= time < until``.

        A key may occur more than once. A table that does not exist has no rows.
        """
        if table.time is None and (since or until):
            msg = f"{table.name} has no time to select by"
            raise LakeError(msg)
        handle = self._open(table)
        rows = read(table, [] if handle is None else data_files(handle, since, until))
        if since is not None:
            rows = rows.filter(pl.col(str(table.time)) >= since)
        if until is not None:
            rows = rows.filter(pl.col(str(table.time)) < until)
        return rows if columns is None else rows.select(columns)

    def latest(
        self,
        table: Table,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        columns: Sequence[str] | None = None,
    ) -> pl.LazyFrame:
        """As ``scan``, but of equal keys only the row received last."""
        rows = self.scan(table, since=since, until=until)
        if columns is not None:
            rows = rows.select(list(dict.fromkeys((*columns, *table.key, "received_at"))))
        rows = latest_of_key(table, rows)
        return rows if columns is None else rows.select(columns)

    def dates(self, table: Table) -> list[date]:
        """Days (UTC) that have rows, in order."""
        handle = self._open(table)
        return [] if handle is None else sorted({file.day for file in data_files(handle) if file.day is not None})

    def files(self, table: Table, *, since: datetime | None = None, until: datetime | None = None) -> list[DataFile]:
        """Data files of the newest version that may hold rows of the times asked for, in commit order by day."""
        handle = self._open(table)
        return [] if handle is None else data_files(handle, since, until)

    def fingerprints(self, table: Table) -> dict[date, str]:
        """By day a digest of its data files: equal as long as nothing was appended to or rewritten in that day."""
        handle = self._open(table)
        names: dict[date, list[str]] = {}
        for file in [] if handle is None else data_files(handle):
            if file.day is not None:
                names.setdefault(file.day, []).append(file.uri)
        return {day: hashlib.sha256("\n".join(sorted(uris)).encode()).hexdigest() for day, uris in names.items()}

    def compact(
        self,
        table: Table,
        *,
        lease: Lease,
        before: date | None = None,
        progress: Callable[[date], None] | None = None,
    ) -> int:
        """Rewrite each closed day as one sorted file without repeated keys.

        Not for tables whose earlier versions of a key are still asked for, as tiles are.

        Args:
            table: one with a time.
            lease: taken for as long as the rewrite runs.
            before: days before this one are closed; today (UTC) by default.
            progress: called with each day that was rewritten.

        Returns:
            Days rewritten; a day that nothing was appended to since the last time is left alone.

        Raises:
            LakeError: another rewrite holds the lease.
        """
        if table.time is None:
            msg = f"{table.name} is not partitioned by date: nothing to compact"
            raise LakeError(msg)
        before = before or datetime.now(UTC).date()
        done = 0
        with lease:
            for day in self.dates(table):
                if day < before and self._compact_day(table, day):
                    done += 1
                    if progress is not None:
                        progress(day)
        return done

    def stats(self, tables: Iterable[Table] = ()) -> list[TableStats]:
        """One entry for each canonical table, and each of `tables`, that exists."""
        handles = {table.name: self._open(table) for table in (*TABLES.values(), *tables)}
        return [_stats(name, handle) for name, handle in handles.items() if handle is not None]

    def _address(self, table: Table) -> str:
        return f"{self.uri}/{table.name}"

    def _open(self, table: Table) -> DeltaTable | None:
        if "://" not in self.uri and not Path(self._address(table), "_delta_log").is_dir():
            return None
        try:
            return DeltaTable(self._address(table))
        except TableNotFoundError:
            return None

    def _commit(self, table: Table, rows: pa.Table, names: list[str], mark: tuple[str, int] | None) -> bool:
        """One Delta commit; False where another process recorded all the names meanwhile."""
        if rows.num_rows == 0 and not names:
            return True
        marks = [Transaction(*mark)] if mark else []
        for wait_s in _waits():
            try:
                write_deltalake(
                    self._address(table),
                    rows,
                    mode="append",
                    schema_mode="merge",
                    partition_by=[PARTITION] if table.time else None,
                    writer_properties=_WRITER,
                    commit_properties=CommitProperties(
                        app_transactions=[Transaction(name, 1) for name in names] + marks
                    ),
                )
            except CommitFailedError:
                # Of names that two recorded at once, the other's rows are in: ours may repeat keys, never lose any.
                done = self.recorded(table, names)
                if (names and done == set(names)) or (mark and self.mark(table, mark[0]) >= mark[1]):
                    return False
                names = [name for name in names if name not in done]
                time.sleep(wait_s)
            except DeltaError as error:
                raise _lake_error(table, error) from error
            else:
                return True
        msg = f"{table.name}: others kept committing; the append was given up after {_ATTEMPTS} attempts"
        raise LakeError(msg)

    def _compact_day(self, table: Table, day: date) -> bool:
        """Rewrite one day through the handle it was read by, so that no append in between is lost."""
        name = f"compact:{day}"
        for wait_s in _waits():
            handle = DeltaTable(self._address(table))
            files = [file for file in data_files(handle) if file.day == day]
            if not files or (len(files) == 1 and handle.transaction_version(name) is not None):
                return False
            rows = latest_of_key(table, read(table, files)).sort(table.key).collect()
            try:
                write_deltalake(
                    handle,
                    canonical(table, rows),
                    mode="overwrite",
                    predicate=f"{PARTITION} = '{day}'",
                    target_file_size=_ONE_FILE_BYTES,
                    writer_properties=_WRITER,
                    commit_properties=CommitProperties(app_transactions=[Transaction(name, handle.version())]),
                )
            except CommitFailedError:
                time.sleep(wait_s)
            except DeltaError as error:
                raise _lake_error(table, error) from error
            else:
                return True
        msg = f"{table.name}: {day} was appended to all the time; its rewrite was given up"
        raise LakeError(msg)


def _waits() -> Iterator[float]:
    """Seconds to wait after each failed attempt: growing, never in step with another process."""
    return (random.uniform(0.2, 1.0) * min(0.02 * 2**attempt, 1.0) for attempt in range(_ATTEMPTS))  # noqa: S311 - jitter, not secrecy


def _lake_error(table: Table, error: Exception) -> LakeError:
    return LakeError(f"{table.name}: {str(error).splitlines()[0]}")


def _stats(name: str, handle: DeltaTable) -> TableStats:
    files = data_files(handle)
    days = sorted(file.day for file in files if file.day is not None)
    return TableStats(
        name=name,
        rows=sum(file.rows for file in files),
        files=len(files),
        size_bytes=sum(file.size_bytes for file in files),
        version=handle.version(),
        first=days[0] if days else None,
        last=days[-1] if days else None,
    )
