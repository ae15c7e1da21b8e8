"""Alarms and their life: what an alarm says, and which state may follow which.

    raise ──► open ──► acked ──► suppressed
               │ ▲       │          │
               │ └───────┼──────────┘   (suppressed may open again)
               ▼         ▼          ▼
            cleared · expired · confirmed   (cleared and expired may still be confirmed by a ticket)

Pure values and functions; the store keeps them, the service shows them.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from ingest.schema import Action, FailureType
from serving.errors import NoScoresError, StaleScoresError, TransitionError

__all__ = [
    "MUTABLE",
    "STANDING",
    "AlarmRecord",
    "Applied",
    "Clear",
    "Event",
    "Level",
    "ScoreRun",
    "Status",
    "Suspect",
    "check_transition",
    "fresh",
    "left_alone",
    "utc_now",
]


class Level(StrEnum):
    """How sure the policy is: ``act`` is what a drain may rest on."""

    WATCH = "watch"
    ACT = "act"


class Suspect(StrEnum):
    """What is wrong, as far as the model can tell."""

    MODULE = "module"
    FIBER = "fiber"
    UNKNOWN = "unknown"


class Status(StrEnum):
    """Where an alarm is in its life."""

    OPEN = "open"
    ACKED = "acked"
    SUPPRESSED = "suppressed"
    CLEARED = "cleared"
    EXPIRED = "expired"
    CONFIRMED = "confirmed"


STANDING: Final = frozenset({Status.OPEN, Status.ACKED, Status.SUPPRESSED})
"""States of an alarm that still holds; a fault unit has one such alarm at most."""

_CLOSED: Final = frozenset(Status) - STANDING
_NEXT: Final[Mapping[Status, frozenset[Status]]] = {
    Status.OPEN: _CLOSED | {Status.ACKED, Status.SUPPRESSED},
    Status.ACKED: _CLOSED | {Status.SUPPRESSED},
    Status.SUPPRESSED: _CLOSED | {Status.OPEN, Status.ACKED},
    Status.CLEARED: frozenset({Status.CONFIRMED}),
    Status.EXPIRED: frozenset({Status.CONFIRMED}),
    Status.CONFIRMED: frozenset(),
}


def utc_now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmRecord:
    """One alarm on one fault unit.

    Attributes:
        alarm_id: deterministic, so that the same run raises the same alarm.
        link_id: key of the fault unit.
        site, device, interface: the suspect end.
        serial: of the module in that cage, where known.
        risk_24h, risk_168h: calibrated P(failure within), 0 to 1.
        failure_type: most probable one, given failure.
        act_at: when it reached the level ``act``.
        expected_from, expected_to: when the failure is expected.
        reasons: in an operator's words, strongest first.
        suppressed_until: when a suppressed one opens again.
        renewed_at: when a run last spoke of it, by the store's clock.
        revision: the store's count of its changes; what it says has changed where this has.
    """

    alarm_id: str
    link_id: str
    site: str
    device: str
    interface: str
    suspect: Suspect
    level: Level
    raised_at: datetime
    risk_24h: float | None
    risk_168h: float | None
    failure_type: FailureType | None
    action: Action
    expected_from: datetime | None
    expected_to: datetime | None
    model_version: str
    act_at: datetime | None = None
    cleared_at: datetime | None = None
    serial: str | None = None
    peer_device: str | None = None
    peer_interface: str | None = None
    reasons: Sequence[str] = ()
    status: Status = Status.OPEN
    suppressed_until: datetime | None = None
    renewed_at: datetime | None = field(default=None, compare=False)
    revision: int = field(default=1, compare=False)

    def __post_init__(self) -> None:
        """Words become their enumerations; naive times and impossible risks are refused here, not on the wire."""
        for name, kind in _WORDS.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, kind(value))
        for name in ("raised_at", "act_at", "cleared_at", "expected_from", "expected_to", "suppressed_until"):
            _require_zone(name, getattr(self, name))
        for name in ("risk_24h", "risk_168h"):
            _require_probability(name, getattr(self, name))
        object.__setattr__(self, "reasons", tuple(self.reasons))


_WORDS: Final[Mapping[str, type[StrEnum]]] = {
    "suspect": Suspect,
    "level": Level,
    "failure_type": FailureType,
    "action": Action,
    "status": Status,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRun:
    """One batch run over the fleet; `at` and `model_name` identify it.

    Attributes:
        at: time the scores are as of.
        modules_unknown: modules that could not be scored.
        newest_data_at: time of the newest reading used.
    """

    at: datetime
    started_at: datetime
    finished_at: datetime
    model_version: str
    modules_scored: int
    modules_unknown: int
    newest_data_at: datetime | None = None
    model_name: str = "forelight"

    def __post_init__(self) -> None:
        """Refuse naive times."""
        for name in ("at", "started_at", "finished_at", "newest_data_at"):
            _require_zone(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clear:
    """The end of an alarm, with its reason: ``cleared``, ``expired`` or ``confirmed``."""

    alarm_id: str
    at: datetime
    why: str
    to: Status = Status.CLEARED

    def __post_init__(self) -> None:
        """Refuse naive times, and ends that are none."""
        _require_zone("at", self.at)
        if self.to in STANDING:
            msg = f"alarm {self.alarm_id}: {self.to} is not an end"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One step in an alarm's life; `from_status` is None where it was raised."""

    alarm_id: str
    at: datetime
    from_status: Status | None
    to_status: Status
    who: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What a run changed in the store.

    Attributes:
        new: False where the same run had been applied before, so that nothing changed.
        skipped: updates and clears of alarms that somebody had already closed.
    """

    new: bool
    raised: int = 0
    updated: int = 0
    cleared: int = 0
    skipped: int = 0


def check_transition(alarm_id: str, old: Status, new: Status) -> None:
    """Let legal steps pass.

    Raises:
        TransitionError: `new` may not follow `old`.

    >>> check_transition("a1", Status.OPEN, Status.ACKED)
    """
    if new not in _NEXT[old]:
        legal = ", ".join(sorted(_NEXT[old])) or "nothing"
        msg = f"alarm {alarm_id} is {old} and cannot become {new}; it may become {legal}"
        raise TransitionError(msg, alarm_id=alarm_id, current=str(old))


def fresh(run: ScoreRun | None, *, now: datetime, stale_after_s: float) -> ScoreRun:
    """The run, where its scores may still be acted on.

    A run from the future (a clock that is wrong) is trusted no further than an old one.

    Raises:
        NoScoresError: there is none.
        StaleScoresError: it is older than `stale_after_s`.
    """
    if run is None:
        msg = "no run was applied yet: `forelight score` makes one"
        raise NoScoresError(msg)
    age_s = (now - run.at).total_seconds()
    if abs(age_s) > stale_after_s:
        msg = f"the latest scores are as of {run.at.isoformat()}, {age_s:.0f} s ago; the limit is {stale_after_s:.0f} s"
        raise StaleScoresError(msg, scored_at=run.at.isoformat(), model_version=run.model_version)
    return run


def left_alone(alarm_id: str, share: float) -> bool:
    """Whether an alarm is one of those left alone at random: always the same answer for the same alarm and share."""
    return int(hashlib.sha256(alarm_id.encode()).hexdigest()[:8], 16) < share * 2**32


def _require_zone(name: str, time: datetime | None) -> None:
    if time is not None and time.tzinfo is None:
        msg = f"{name} {time.isoformat()} has no time zone"
        raise ValueError(msg)


def _require_probability(name: str, risk: float | None) -> None:
    if risk is not None and not (math.isfinite(risk) and 0.0 <= risk <= 1.0):
        msg = f"{name} is a probability, not {risk}"
        raise ValueError(msg)


MUTABLE: Final = frozenset(each.name for each in fields(AlarmRecord)) - {
    *{"alarm_id", "link_id", "raised_at", "cleared_at", "status"},
    *{"suppressed_until", "renewed_at", "revision"},
}
"""What a later run may change about a standing alarm; its life is changed by transitions only."""
