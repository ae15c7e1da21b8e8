"""Upkeep of a whole table: its closed days compacted, its old days dropped; one partition at a time, under a lease."""

from collections.abc import Callable
from datetime import date, datetime, timedelta

from deltalake import DeltaTable

from ingest.errors import LakeError
from ingest.lake.compact import by_partition, compact_partition, is_compacted
from ingest.lake.delta import DataFile, data_files
from ingest.lake.files import Partition
from ingest.lake.lease import Lease
from ingest.lake.prune import Pruned, drop_days, vacuum
from ingest.lake.table import open_table, retried
from ingest.schema import Table

__all__ = ["compact", "prune", "waiting"]


def waiting(files: list[DataFile], before: date) -> dict[Partition, list[DataFile]]:
    """Partitions of closed days, or of no day, that are not one sorted file, with their files."""
    found = by_partition(files)
    return {p: of for p, of in found.items() if (p[0] is None or p[0] < before) and not is_compacted(of)}


def compact(
    uri: str,
    table: Table,
    lease: Lease,
    before: date,
    *,
    keep_versions: bool,
    slice_rows: int,
    progress: Callable[[date | None], None],
) -> int:
    """Rewrite the days before a day, see `Lake.compact`; the number of days rewritten.

    Raises:
        LakeError: the lease is held or was lost, or some days could not be rewritten; the others are.
    """
    done: set[date | None] = set()
    failed: dict[date | None, str] = {}
    with lease:
        handle = open_table(uri, table)
        for place in waiting([] if handle is None else data_files(handle), before):

            def rewrite(handle: DeltaTable, place: Partition = place) -> bool:
                lease.check()
                return compact_partition(
                    handle, table, place, keep_versions=keep_versions, check=lease.check, slice_rows=slice_rows
                )

            day = place[0]
            try:
                if retried(uri, table, rewrite) and day not in done:
                    done.add(day)
                    progress(day)
            except LakeError as error:
                lease.check()
                failed.setdefault(day, str(error).removeprefix(f"{table.name}: "))
    if failed:
        day, reason = next(iter(failed.items()))
        tried = len(done | failed.keys())
        days = f"{len(failed)} of {tried} days were not compacted; {day}" if day else "it was not compacted"
        msg = f"{table.name}: {days}: {reason}"
        raise LakeError(msg)
    return len(done)


def prune(
    uri: str,
    table: Table,
    keep: timedelta | None,
    safe_age: timedelta,
    now: datetime,
    *,
    check: Callable[[], None],
) -> Pruned:
    """Drop old days and delete unreferenced files, see `Lake.prune`; the lease is the caller's."""
    if open_table(uri, table) is None:
        return Pruned(table.name)

    def drop(handle: DeltaTable) -> list[DataFile]:
        check()
        return [] if keep is None else drop_days(handle, keep, now)

    over = retried(uri, table, drop)
    files, size_bytes = retried(uri, table, lambda handle: vacuum(handle, safe_age))
    return Pruned(table.name, len({file.day for file in over}), sum(file.rows for file in over), files, size_bytes)
