"""Compaction: each closed day, its bucket, or a table without days, becomes one sorted file without repeated keys.

One pinned handle is read, a file is written beside the others, and one commit exchanges them. What was appended
meanwhile stays, since only files that were read are removed; where another rewrite came first the commit fails and
the partition is read again. A day larger than memory is sorted in slices of ports.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Final

import polars as pl
import pyarrow as pa
from deltalake import DeltaTable

from ingest.errors import LakeError
from ingest.lake.broken import named
from ingest.lake.delta import DataFile, data_files, read, stored
from ingest.lake.files import PREFIX, Partition, SortedFile, delete_file, exchange
from ingest.lake.table import one_line
from ingest.schema import Table

__all__ = ["SLICE_ROWS", "by_partition", "compact_partition", "is_compacted", "sorted_rows"]

SLICE_ROWS: Final = 2_000_000
"""Rows sorted at a time: below 1.5 GiB with all columns; a day of 20 M rows is read ten times, which costs seconds."""

_PORT: Final = ("site", "device", "interface")
_RANK: Final = "port_rank"
Port = tuple[str, str, str]


def by_partition(files: Sequence[DataFile]) -> dict[Partition, list[DataFile]]:
    """Files of each day and bucket, both in their order."""
    found: dict[Partition, list[DataFile]] = {}
    for file in sorted(files, key=lambda file: (file.day or date.min, file.bucket or 0)):
        found.setdefault((file.day, file.bucket), []).append(file)
    return found


def is_compacted(files: Sequence[DataFile]) -> bool:
    """Whether the files of a partition are one sorted file."""
    return len(files) == 1 and files[0].path.rsplit("/", 1)[-1].startswith(PREFIX)


def compact_partition(
    handle: DeltaTable,
    table: Table,
    partition: Partition,
    *,
    keep_versions: bool = False,
    check: Callable[[], None] = lambda: None,
    slice_rows: int = SLICE_ROWS,
) -> bool:
    """Rewrite one partition as it is in the handle's version.

    Args:
        handle: the version that is read and exchanged.
        table: whose it is.
        partition: day and bucket.
        keep_versions: keep every row of a key, as tiles need it.
        check: called before the commit; raises where the right to rewrite was lost.
        slice_rows: rows sorted at a time.

    Returns:
        Whether there was anything to do.

    Raises:
        CommitFailedError: another rewrite came first.
    """
    files = [file for file in data_files(handle) if (file.day, file.bucket) == partition]
    if not files or is_compacted(files):
        return False
    table = stored(table, handle)
    with SortedFile(handle, table, partition, max(file.modified_ms for file in files)) as out:
        try:
            for rows in _slices(table, files, slice_rows):
                out.write(_arrow(table, sorted_rows(table, rows, keep_versions=keep_versions)))
        except (pl.exceptions.PolarsError, OSError) as error:
            said = named(handle, table, files, error)
            raise said or LakeError(f"{table.name}: {one_line(error)}") from error
    try:
        check()
    except BaseException:
        delete_file(handle, out.path)
        raise
    exchange(handle, [out], files)
    return True


def sorted_rows(table: Table, rows: pl.DataFrame, *, keep_versions: bool = False) -> pl.DataFrame:
    """Rows by key; of equal keys the row received last, of those the one that came last.

    Of tables with a history, of each time of receipt the row that came last: whatever was known at a time is left.
    """
    rows = _sorted(table, rows)
    if keep_versions:
        return rows
    same = (*table.key, "received_at") if table.history else table.key
    last = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(-1)) for name in same)
    at_end = pl.int_range(pl.len()) == pl.len() - 1
    return rows.filter(last | at_end)


def _sorted(table: Table, rows: pl.DataFrame) -> pl.DataFrame:
    """By key and receipt, stable; ports as their rank, since sorting by text costs twice as much."""
    order = [*table.key, "received_at"]
    if not set(_PORT) <= set(table.key):
        return rows.sort(order, maintain_order=True)
    ports = rows.select(_PORT).unique().sort(_PORT).with_row_index(_RANK)
    ranks = rows.select(_PORT).join(ports, on=_PORT, how="left", maintain_order="left")[_RANK]
    rest = [name for name in order if name not in _PORT]
    return rows.with_columns(ranks).sort(_RANK, *rest, maintain_order=True).drop(_RANK)


def _arrow(table: Table, rows: pl.DataFrame) -> pa.Table:
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(table.schema)


def _slices(table: Table, files: Sequence[DataFile], slice_rows: int) -> Iterator[pl.DataFrame]:
    """Rows of the files in ranges of ports, each range in commit order."""
    for span in _spans(table, files, slice_rows):
        rows = read(table, list(files))
        yield (rows if span is None else rows.filter(span)).collect(engine="streaming")


def _spans(table: Table, files: Sequence[DataFile], slice_rows: int) -> Iterator[pl.Expr | None]:
    """Filters that cut a partition into ranges of ports of so many rows, in order; None where one range is enough."""
    if sum(file.rows for file in files) <= slice_rows or not set(_PORT) <= set(table.key):
        yield None
        return
    ports = read(table, list(files)).group_by(_PORT).len().collect(engine="streaming").sort(_PORT)
    first: Port | None = None
    count = 0
    for site, device, interface, rows in ports.iter_rows():
        if count and count + rows > slice_rows:
            yield _span(first, (site, device, interface))
            first, count = (site, device, interface), 0
        count += rows
    yield _span(first, None)


def _span(first: Port | None, end: Port | None) -> pl.Expr:
    """Ports from the first on and before the end."""
    low = pl.lit(value=True) if first is None else ~_before(first)
    return low if end is None else low & _before(end)


def _before(port: Port) -> pl.Expr:
    site, device, interface = map(pl.col, _PORT)
    within = (device < port[1]) | ((device == port[1]) & (interface < port[2]))
    return (site < port[0]) | ((site == port[0]) & within)
