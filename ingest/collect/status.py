"""What the collector did last, target by target, as a file that others may read while it runs."""

import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from ingest.errors import IngestError

__all__ = ["STATUS_FILE", "SpoolState", "Status", "TargetStatus", "read_status", "write_status"]

_GRACE_S: Final = 10.0  # for the write itself, on a machine that is busy
STATUS_FILE: Final = "collect.json"
"""Its name below ``FORELIGHT_HOME``."""


@dataclass(frozen=True, slots=True)
class SpoolState:
    """What waits and why.

    Attributes:
        files, size_bytes: on disk; the size with what was set aside.
        rows: that wait, on disk and in memory; `memory_rows` of them in memory.
        dropped_rows: for want of room, since the process began.
        bad_files: set aside because they could not be read.
        error: why the lake was not written last; None when it was.
        append_s: what the last append to the lake took.
    """

    files: int = 0
    size_bytes: int = 0
    rows: int = 0
    memory_rows: int = 0
    dropped_rows: int = 0
    bad_files: int = 0
    error: str | None = None
    append_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """One target.

    Attributes:
        last_attempt, last_success: when a poll ended, and one that gave rows.
        duration_s: of the last poll.
        rows, ports: lane rows and ports of the last poll.
        coverage: cages with readings among those with a module.
        failures: polls in a row that gave nothing; `errors` of them in all.
        retry_at: when a target that is left alone is asked again.
        gaps, gap_s: times for which a stream was not heard, and how long they were together; `gap_end` of the last one.
    """

    site: str
    device: str
    profile: str | None = None
    last_attempt: datetime | None = None
    last_success: datetime | None = None
    duration_s: float = 0.0
    rows: int = 0
    ports: int = 0
    coverage: float | None = None
    partial: bool = False
    error: str | None = None
    failures: int = 0
    errors: int = 0
    retry_at: datetime | None = None
    gaps: int = 0
    gap_s: float = 0.0
    gap_end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The collector after a sweep.

    Attributes:
        started_at: of the process, whose `sweeps` and `overruns` are counted here.
        interval_s: as configured.
        sweep_s: of the last sweep.
        overruns: sweeps that took longer than the interval.
    """

    written_at: datetime
    started_at: datetime
    interval_s: float
    sweeps: int = 0
    sweep_s: float = 0.0
    overruns: int = 0
    spool: SpoolState = field(default_factory=SpoolState)
    targets: list[TargetStatus] = field(default_factory=list)

    def age_s(self, at: datetime) -> float:
        """Seconds since it was written."""
        return (at - self.written_at).total_seconds()

    def stale(self, at: datetime) -> bool:
        """Whether the collector should have written another by now, and so is not running or hangs."""
        return self.age_s(at) > 2 * max(self.interval_s, self.sweep_s) + _GRACE_S


def write_status(path: Path, status: Status) -> None:
    """Put it into a file, whole or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        partial.write_bytes(_ADAPTER.dump_json(status, indent=1))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_status(path: Path) -> Status | None:
    """The status in a file; None where there is none.

    Raises:
        IngestError: the file cannot be read, or is not of this version.
    """
    try:
        return _ADAPTER.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        msg = f"{path}: {error.strerror}"
        raise IngestError(msg) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        msg = f"{path}: {place}: {first['msg']}; the next sweep writes it anew"
        raise IngestError(msg) from None


_ADAPTER: Final = TypeAdapter(Status)
