"""The lake: Delta tables over Parquet that collectors, compaction and readers share.

Appends may repeat a key (re-polls, re-imports): ``Lake.latest`` takes the row with
the latest ``received_at``, of equal ones the one committed last, and ``compact``
makes that physical. What deltalake 1.6 demands is kept here and in ``lake_*.py``:

* an append beside a rewrite fails with ``CommitFailedError`` and is tried again;
* a stream is collected whole by the writer, so rows go in chunks of a million;
* ``optimize.compact`` and ``z_order`` double rows when two run at once, so a rewrite
  is ours: one pinned handle is read and its files are exchanged in one commit.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Final

import polars as pl
import pyarrow as pa
from deltalake import DeltaTable

from ingest.errors import LakeError
from ingest.lake.broken import named
from ingest.lake.check import Finding, check_table
from ingest.lake.compact import SLICE_ROWS
from ingest.lake.delta import DataFile, Device, data_files, latest_of_key, read, stored
from ingest.lake.lease import Lease
from ingest.lake.prune import SAFE_AGE, Pruned
from ingest.lake.repair import repair
from ingest.lake.stats import TableStats, table_stats
from ingest.lake.table import append_chunk, create_table, open_table, recorded
from ingest.lake.upkeep import compact, prune
from ingest.schema import TABLES, Table

__all__ = ["Finding", "Lake", "Pruned", "TableStats"]

_CHUNK_ROWS: Final = 1_000_000  # a larger append costs memory and is no faster


class Lake:
    """Tables below one address, a folder or ``s3://``; nothing is created until the first append.

    Args:
        uri: where.
        buckets: into how many buckets devices are divided in the large tables that this object creates;
            ``FORELIGHT_LAKE_BUCKETS`` where not given, else 1. Tables that are there keep theirs.
    """

    def __init__(self, uri: str, *, buckets: int | None = None) -> None:
        self.uri = uri.rstrip("/")
        self._buckets = buckets

    def create(self, tables: Iterable[Table]) -> list[str]:
        """Make tables without rows, so that their buckets are settled before the first append; names of new ones."""
        return [
            table.name for table in tables if self._open(table) is None and create_table(self.uri, table, self._buckets)
        ]

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
            last = start + _CHUNK_ROWS >= count
            named = (names, mark) if last else ([], None)
            chunk = rows.slice(start, _CHUNK_ROWS)
            if not append_chunk(self.uri, table, chunk, *named, buckets=self._buckets):
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
        return recorded(self._open(table), transactions)

    def exists(self, table: Table) -> bool:
        """Whether it was created or appended to."""
        return self._open(table) is not None

    def scan(
        self,
        table: Table,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        columns: Sequence[str] | None = None,
        devices: Collection[Device] | None = None,
        files: Sequence[DataFile] | None = None,
    ) -> pl.LazyFrame:
        """Rows as they were appended, day by day and each in commit order, with ``since <= time < until``.

        A key may occur more than once. A table that does not exist has no rows. Where devices are named, only their
        buckets and, in compacted days, only their row groups are read. Where `files` are given, it is not opened.

        Raises:
            LakeError: the table has no time, or a column's type is another than this version's.
        """
        if table.time is None and (since or until):
            msg = f"{table.name} has no time to select by"
            raise LakeError(msg)
        files = self.files(table, since=since, until=until, devices=devices) if files is None else files
        files = [file for file in files if file.may_hold(since, until)]
        rows = read(table, files)
        if devices is not None:
            rows = rows.filter(_is_one_of(devices))
        # A filter that every row of whole days passes is left out: it would copy them all.
        if since is not None and not all(file.first is not None and file.first >= since for file in files):
            rows = rows.filter(pl.col(str(table.time)) >= since)
        if until is not None and not all(file.last is not None and file.last < until for file in files):
            rows = rows.filter(pl.col(str(table.time)) < until)
        return rows if columns is None else rows.select(columns)

    def latest(
        self,
        table: Table,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        columns: Sequence[str] | None = None,
        devices: Collection[Device] | None = None,
    ) -> pl.LazyFrame:
        """As ``scan``, but of equal keys only the row received last."""
        rows = self.scan(table, since=since, until=until, devices=devices)
        if columns is not None:
            rows = rows.select(list(dict.fromkeys((*columns, *table.key, "received_at"))))
        rows = latest_of_key(table, rows)
        return rows if columns is None else rows.select(columns)

    @contextmanager
    def reading(self, table: Table, *, since: datetime | None = None, until: datetime | None = None) -> Iterator[None]:
        """Rows of these times are read meanwhile: a file that cannot be read is named.

        Raises:
            LakeError: in the place of what polars raises for a broken or lost file.
        """
        try:
            yield
        except (pl.exceptions.ComputeError, OSError) as error:
            handle = self._open(table)
            said = None if handle is None else named(handle, table, data_files(handle, since, until), error)
            if said is None:
                raise
            raise said from error

    def dates(self, table: Table) -> list[date]:
        """Days (UTC) that have rows, in order."""
        handle = self._open(table)
        return [] if handle is None else sorted({file.day for file in data_files(handle) if file.day is not None})

    def files(
        self,
        table: Table,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        devices: Collection[Device] | None = None,
    ) -> list[DataFile]:
        """Data files of the newest version that may hold rows of what is asked for, in commit order by day.

        Raises:
            LakeError: a column's type is another than this version's.
        """
        if (handle := self._open(table)) is None:
            return []
        stored(table, handle)
        return data_files(handle, since, until, devices)

    def compact(
        self,
        table: Table,
        *,
        lease: Lease,
        before: date | None = None,
        keep_versions: bool = False,
        progress: Callable[[date | None], None] | None = None,
        slice_rows: int = SLICE_ROWS,
    ) -> int:
        """Rewrite each closed day as one sorted file (one a bucket) without repeated keys.

        A day that cannot be read is named at the end, when the others are done. A table without days is rewritten
        whole; of tables with a history every version received is kept.

        Args:
            table: any.
            lease: taken for as long as the rewrite runs.
            before: days before this one are closed; today (UTC) by default.
            keep_versions: keep all rows of a key, for tables whose earlier versions are asked for, as tiles are.
            progress: called with each day that was rewritten, None for a table without days.
            slice_rows: rows that are sorted in memory at a time.

        Returns:
            Days rewritten, 1 for a table without days; what nothing was appended to since the last time is left alone.

        Raises:
            LakeError: another rewrite holds the lease; a day could not be rewritten.
        """
        return compact(
            self.uri,
            table,
            lease,
            before or datetime.now(UTC).date(),
            keep_versions=keep_versions,
            progress=progress or (lambda _: None),
            slice_rows=slice_rows,
        )

    def prune(
        self,
        table: Table,
        *,
        lease: Lease,
        keep: timedelta | None = None,
        safe_age: timedelta = SAFE_AGE,
        now: datetime | None = None,
    ) -> Pruned:
        """Drop the days that ended longer ago than `keep`, and delete files that nothing refers to.

        Args:
            table: any; without a time, or without `keep`, no rows are dropped.
            lease: taken meanwhile.
            keep: counted from the end of the table's last day where that is before `now`.
            safe_age: files that left the table later are kept, for whoever still reads them.
            now: the wall clock where not given.

        Raises:
            LakeError: another rewrite holds the lease.
        """
        with lease:
            return prune(self.uri, table, keep, safe_age, now or datetime.now(UTC), check=lease.check)

    def check(self, tables: Iterable[Table] = tuple(TABLES.values()), *, deep: bool = False) -> list[Finding]:
        """What is wrong with some tables, the canonical ones where none are named; nothing is changed.

        Args:
            tables: which.
            deep: read every value instead of each file's footer.
        """
        return [found for table in tables for found in check_table(self.uri, table, deep=deep)]

    def repair(self, findings: Iterable[Finding], tables: Iterable[Table] = (), *, lease: Lease) -> list[Finding]:
        """Mend what can be mended: lost and broken files leave the table, misplaced rows go where they belong.

        Returns:
            Those that were mended.

        Raises:
            LakeError: another rewrite holds the lease.
        """
        by_name = {table.name: table for table in (*TABLES.values(), *tables)}
        with lease:
            return [f for f in findings if f.table in by_name and repair(self.uri, by_name[f.table], f)]

    def stats(self, tables: Iterable[Table] = ()) -> list[TableStats]:
        """One entry for each canonical table, and each of `tables`, that exists."""
        handles = {table.name: self._open(table) for table in (*TABLES.values(), *tables)}
        return [table_stats(name, handle) for name, handle in handles.items() if handle is not None]

    def _open(self, table: Table) -> DeltaTable | None:
        return open_table(self.uri, table)


def _is_one_of(devices: Collection[Device]) -> pl.Expr:
    """A filter that row groups' statistics can be held against."""
    of_site: dict[str, list[str]] = {}
    for site, device in devices:
        of_site.setdefault(site, []).append(device)
    each = [(pl.col("site") == site) & pl.col("device").is_in(names) for site, names in of_site.items()]
    return pl.any_horizontal(each) if each else pl.lit(value=False)
