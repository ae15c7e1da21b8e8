"""What the collector did last, target by target, as a file that others may read while it runs."""

import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from ingest.config import Config, Target
from ingest.device import Poll
from ingest.errors import IngestError
from ingest.poller import Sweep
from ingest.spool import SpoolState

__all__ = ["STATUS_FILE", "Book", "Status", "TargetStatus", "read_status", "write_status"]

_GRACE_S: Final = 10.0  # for the write itself, on a machine that is busy
STATUS_FILE: Final = "collect.json"
"""Its name below ``FORELIGHT_HOME``."""


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


class Book:
    """Keeps the status as polls end; what an earlier process knew of a target goes on."""

    def __init__(self, config: Config, before: Status | None = None, at: datetime | None = None) -> None:
        self._interval_s = config.collect.interval_s
        self._targets = {(t.site, t.device): TargetStatus(t.site, t.device) for t in config.target}
        for old in before.targets if before else ():
            if (old.site, old.device) in self._targets:
                self._targets[old.site, old.device] = old
        now = at or datetime.now(UTC)
        self.status = Status(now, now, self._interval_s, targets=list(self._targets.values()))
        """As of the last sweep: replaced whole, so that other threads may read it."""

    def polled(self, poll: Poll, at: datetime | None = None) -> None:
        """A poll has ended."""
        key = (poll.target.site, poll.target.device)
        self._targets[key] = _after(self._targets[key], poll, at or datetime.now(UTC))

    def swept(self, sweep: Sweep, spool: SpoolState, at: datetime | None = None) -> Status:
        """A sweep has ended and is written."""
        now, before = at or datetime.now(UTC), self.status
        waiting: dict[tuple[str, str], float] = {_key(target): wait_s for target, wait_s in sweep.waiting}
        for key, target in self._targets.items():
            retry_at = now + timedelta(seconds=waiting[key]) if key in waiting else None
            self._targets[key] = replace(target, retry_at=retry_at)
        self.status = replace(
            before,
            written_at=now,
            sweeps=before.sweeps + 1,
            sweep_s=sweep.duration_s,
            overruns=before.overruns + (sweep.overrun_s > 0),
            spool=spool,
            targets=list(self._targets.values()),
        )
        return self.status


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


def _key(target: Target) -> tuple[str, str]:
    return target.site, target.device


def _after(before: TargetStatus, poll: Poll, at: datetime) -> TargetStatus:
    """What a poll makes of what was known; a failed one leaves the profile as it was."""
    failed = poll.failed
    return TargetStatus(
        site=before.site,
        device=before.device,
        profile=poll.profile or before.profile,
        last_attempt=at,
        last_success=before.last_success if failed else at,
        duration_s=poll.duration_s,
        rows=poll.lane_count,
        ports=poll.port_count,
        coverage=before.coverage if failed else poll.coverage,
        partial=poll.partial,
        error=poll.error,
        failures=before.failures + 1 if failed else 0,
        errors=before.errors + failed,
    )
