"""Retention: days that are over leave the table, and files that nobody can be reading any more leave the disk.

Age is counted from the newest that the table itself holds where that is earlier than the wall clock: a clock that
runs ahead prunes nothing that it should not.
"""

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from ingest.lake.delta import DataFile, data_files
from ingest.lake.files import exchange, file_system, stored_path

__all__ = ["SAFE_AGE", "Pruned", "drop_days", "unreferenced", "vacuum"]

SAFE_AGE: Final = timedelta(hours=24)
"""Files that left the table later than this may still be read by someone who opened it before."""

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pruned:
    """What one table lost: whole days by retention, and files that were no longer part of it."""

    name: str
    days: int = 0
    rows: int = 0
    files: int = 0
    size_bytes: int = 0


def drop_days(handle: DeltaTable, keep: timedelta, now: datetime) -> list[DataFile]:
    """Take the days that ended longer ago than `keep` out of the table; their files stay for readers that hold them.

    Raises:
        CommitFailedError: someone rewrote one of them meanwhile; open the table again and repeat.
    """
    files = [file for file in data_files(handle) if file.day is not None]
    if not files:
        return []
    ends = {file.path: datetime(f.year, f.month, f.day, tzinfo=UTC) + _DAY for file in files if (f := file.day)}
    cutoff = min(now, max(ends.values())) - keep
    over = [file for file in files if ends[file.path] <= cutoff]
    if over:
        exchange(handle, [], over)
    return over


def unreferenced(handle: DeltaTable, safe_age: timedelta) -> dict[str, int]:
    """Parquet files below the table that it has not referred to for longer than `safe_age`: size in bytes by path.

    What was removed from the table counts from its removal, what never belonged to it from when it was written.
    """
    hours = max(int(safe_age / timedelta(hours=1)), 0)
    listed = handle.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
    held = {stored_path(file.path) for file in data_files(handle)}
    paths = [path for path in map(stored_path, listed) if path.endswith(".parquet") and path not in held]
    if not paths:
        return {}
    infos = file_system(handle).get_file_info(paths)
    limit = datetime.now(UTC) - safe_age
    return {path: info.size for path, info in zip(paths, infos, strict=True) if info.mtime and info.mtime <= limit}


def vacuum(handle: DeltaTable, safe_age: timedelta) -> tuple[int, int]:
    """Delete what is unreferenced and old log entries; files deleted and their bytes."""
    found = unreferenced(handle, safe_age)
    files = file_system(handle)
    for path in found:
        files.delete_file(path)
    with contextlib.suppress(DeltaError):  # old log entries cost space alone; the next prune finds them again
        handle.cleanup_metadata()
    return len(found), sum(found.values())
