"""What the collector notes of its polls and sweeps, to become its status."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ingest.collect.poll import Poll
from ingest.collect.poller import Sweep
from ingest.collect.status import SpoolState, Status, TargetStatus
from ingest.config import Config, Target

__all__ = ["Book"]


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
        gaps=before.gaps + len(poll.gaps),
        gap_s=before.gap_s + sum((gap.end - gap.start).total_seconds() for gap in poll.gaps),
        gap_end=max((gap.end for gap in poll.gaps), default=before.gap_end),
    )
