"""One Delta table of the lake: opened, created, appended to, and worked on until nobody is in the way."""

import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final, TypeVar

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from ingest.errors import LakeError
from ingest.lake.delta import BUCKET, PARTITION, buckets_of, canonical, file_actions, partitions, stored
from ingest.lake.files import SortedFile, add, certainly
from ingest.schema import Table

__all__ = ["address", "append_chunk", "create_table", "one_line", "open_table", "recorded", "retried"]

_ATTEMPTS: Final = 60
_WRITER: Final = WriterProperties(compression="ZSTD", compression_level=3, max_row_group_size=262_144)
_LOG: Final = {"delta.logRetentionDuration": "interval 2 days"}  # a commit a minute is 43,200 files in Delta's 30 days
_BUCKETS: Final = 1024  # more are small files again
_SAID: Final = 600  # characters of an error of others, which may go on with a document of an object store's
_Done = TypeVar("_Done")


def address(uri: str, table: Table) -> str:
    """Where a table lies."""
    return f"{uri}/{table.name}"


def open_table(uri: str, table: Table) -> DeltaTable | None:
    """The table's newest version; None where it was never created.

    Raises:
        LakeError: there is something that cannot be opened.
    """
    if "://" not in uri and not Path(address(uri, table), "_delta_log").is_dir():
        return None
    try:
        return DeltaTable(address(uri, table))
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        raise _lake_error(table, error) from error


def create_table(uri: str, table: Table, buckets: int | None) -> bool:
    """An empty table; False where it is there already, whoever made it.

    Args:
        uri: of the lake.
        table: its columns.
        buckets: of a large table; ``FORELIGHT_LAKE_BUCKETS`` where None.

    Raises:
        LakeError: the table cannot be created, or the number of buckets makes no sense.
    """
    buckets = _buckets(buckets)
    by = partitions(table, buckets)
    try:
        DeltaTable.create(
            address(uri, table),
            canonical(table, table.schema.empty_table(), buckets=buckets).schema,
            partition_by=by,
            configuration=_LOG,
            description=f"buckets={buckets}" if BUCKET in by else None,
        )
    except (DeltaError, OSError) as error:
        if open_table(uri, table) is None:
            raise _lake_error(table, error) from error
        return False
    return True


def _buckets(buckets: int | None) -> int:
    said = str(buckets if buckets is not None else os.environ.get("FORELIGHT_LAKE_BUCKETS") or 1)
    if not said.isdigit() or not 1 <= int(said) <= _BUCKETS:
        msg = f"{said} buckets (FORELIGHT_LAKE_BUCKETS): 1 to {_BUCKETS} are possible"
        raise LakeError(msg)
    return int(said)


def recorded(handle: DeltaTable | None, names: Iterable[str]) -> set[str]:
    """Those of the names that an append was committed under."""
    return {name for name in names if handle is not None and handle.transaction_version(name) is not None}


def append_chunk(
    uri: str,
    table: Table,
    rows: pa.Table | pl.DataFrame,
    names: Sequence[str] = (),
    mark: tuple[str, int] | None = None,
    *,
    buckets: int | None = None,
) -> bool:
    """One Delta commit; False where another process recorded all the names, or the mark, meanwhile.

    Raises:
        LakeError: rows of another shape, or the table cannot be written.
    """
    rows = canonical(table, rows)
    if rows.num_rows == 0 and not names:
        return True
    if open_table(uri, table) is None:
        create_table(uri, table, buckets)

    attempts = count()

    def append(handle: DeltaTable) -> bool:
        # Of names that two recorded at once, the other's rows are in: ours may repeat keys, never lose any.
        done = recorded(handle, names)
        marked = mark is not None and (handle.transaction_version(mark[0]) or 0) >= mark[1]
        if next(attempts) and (marked or (names and done == set(names))):
            return False
        marks = [Transaction(name, 1) for name in names if name not in done] + ([Transaction(*mark)] if mark else [])
        certainly(handle, lambda properties: _write(handle, table, rows, properties), marks)
        return True

    return retried(uri, table, append)


def _write(handle: DeltaTable, table: Table, rows: pa.Table, properties: CommitProperties) -> None:
    stored(table, handle)
    rows = canonical(table, rows.select(table.schema.names), buckets=buckets_of(handle))
    newest_ms = _newest_ms(handle)
    known = {field.name for field in handle.schema().fields}
    if newest_ms > time.time() * 1000 and rows.num_rows and known >= set(table.schema.names):
        _write_behind(handle, table, rows, newest_ms + 1, properties)
        return
    write_deltalake(
        handle, rows, mode="append", schema_mode="merge", writer_properties=_WRITER, commit_properties=properties
    )


def _newest_ms(handle: DeltaTable) -> int:
    """The latest time that a file of the table was committed."""
    return int(pc.max(file_actions(handle).column("modification_time")).as_py() or 0)


def _write_behind(
    handle: DeltaTable, table: Table, rows: pa.Table, modified_ms: int, properties: CommitProperties
) -> None:
    """Append while the clock runs behind an earlier commit's: the files still come after it in commit order."""
    by = handle.metadata().partition_columns
    files = []
    places = rows.select(by).group_by(by).aggregate([]).to_pylist() if by else [{}]
    for place in places:
        part = rows
        for name, value in place.items():
            part = part.filter(pc.equal(part[name], pa.scalar(value, part[name].type)))
        partition = (place.get(PARTITION), place.get(BUCKET))
        with SortedFile(handle, table, partition, modified_ms, prefix="part-") as out:
            out.write(part.select(table.schema.names))
        files.append(out)
    add(handle, files, properties)


def retried(uri: str, table: Table, work: Callable[[DeltaTable], _Done]) -> _Done:
    """Do something with the newest version of a table that exists, again for as long as others commit first.

    Raises:
        LakeError: it failed, or others never stopped.
    """
    for wait_s in _waits():
        try:
            return work(DeltaTable(address(uri, table)))
        except CommitFailedError:
            time.sleep(wait_s)
        except (DeltaError, OSError, pa.ArrowException, pl.exceptions.PolarsError) as error:
            raise _lake_error(table, error) from error
    msg = f"{table.name}: others kept committing; this was given up after {_ATTEMPTS} attempts"
    raise LakeError(msg)


def _waits() -> Iterator[float]:
    """Seconds to wait after each failed attempt: growing, never in step with another process."""
    return (random.uniform(0.2, 1.0) * min(0.02 * 2**attempt, 1.0) for attempt in range(_ATTEMPTS))  # noqa: S311 - jitter, not secrecy


def _lake_error(table: Table, error: Exception) -> LakeError:
    return LakeError(f"{table.name}: {one_line(error)}")


def one_line(error: Exception) -> str:
    r"""What an error says, without the colours, arrows and lines that deltalake sets its causes in.

    >>> one_line(OSError("Generic S3 error\n \x1b[31m↳\x1b[0m Error performing PUT"))
    'Generic S3 error: Error performing PUT'
    """
    plain = re.sub(r"\x1b\[[\d;]*m", "", str(error))
    causes = [line.strip(" \t↳│╰─▶") for line in plain.splitlines()]
    said = ": ".join(cause for cause in causes if cause) or type(error).__name__
    return said if len(said) <= _SAID else f"{said[:_SAID]}…"
