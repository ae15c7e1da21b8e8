"""What a table of the lake holds, from its log alone."""

from dataclasses import dataclass
from datetime import UTC, date, datetime

from deltalake import DeltaTable

from ingest.lake.delta import buckets_of, data_files
from ingest.lake.upkeep import waiting

__all__ = ["TableStats", "table_stats"]


@dataclass(frozen=True, slots=True)
class TableStats:
    """What one table holds: rows as stored, repeated keys counted each time.

    Attributes:
        name: of the table.
        rows: in all its files.
        files: that readers open.
        size_bytes: of them.
        version: Delta's, rising with each commit.
        first: day that has rows.
        last: day that has rows.
        buckets: that devices are divided into.
        waiting_files: of closed days, or of a table without days, that are not compacted.
    """

    name: str
    rows: int
    files: int
    size_bytes: int
    version: int
    first: date | None
    last: date | None
    buckets: int = 1
    waiting_files: int = 0

    @property
    def row_bytes(self) -> float:
        """Bytes on disk for one row; 0 where there is none."""
        return self.size_bytes / self.rows if self.rows else 0.0


def table_stats(name: str, handle: DeltaTable) -> TableStats:
    """Statistics of one version."""
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
        buckets=buckets_of(handle),
        waiting_files=sum(len(of) for of in waiting(files, datetime.now(UTC).date()).values()),
    )
