"""Steps of an alarm's life that somebody asks for over HTTP: once a key, and only on what the caller has seen."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from serving import queries
from serving.access.idempotency import Answer, Request, once
from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.errors import PreconditionError
from serving.store import AlarmStore

__all__ = ["Step", "take"]

_STRONG: Final = re.compile(r'(?<!W/)"([^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is asked for.

    Attributes:
        until: when what is suppressed opens again.
        if_match: entity tags, one of which the alarm must have.
    """

    alarm_id: str
    to: Status
    why: str
    until: datetime | None = None
    if_match: str | None = None


def take(
    store: AlarmStore, step: Step, request: Request, answer: Callable[[AlarmRecord, ScoreRun | None], Answer]
) -> tuple[Answer, bool]:
    """Take the step in one transaction, and say what `answer` makes of alarm and run; or repeat what was said before.

    Raises:
        AlarmNotFoundError: there is no such alarm.
        IdempotencyError: the key was given for another request.
        PreconditionError: the alarm has changed since the caller saw it.
        TransitionError: the step is not legal.
    """
    with store.changing(request.who) as change:

        def made() -> Answer:
            record = queries.alarm(change.connection, step.alarm_id)
            if step.if_match is not None:
                _check(record, step.if_match)
            record = change.take(step.alarm_id, step.to, why=step.why, until=step.until)
            return answer(record, queries.latest_run(change.connection))

        return once(change, request, made)


def _check(record: AlarmRecord, if_match: str) -> None:
    """A tag begins with the alarm's revision; the run beside which it was answered may be another by now."""
    seen = {tag.partition(".")[0] for tag in _STRONG.findall(if_match)}
    if if_match.strip() != "*" and str(record.revision) not in seen:
        msg = f"alarm {record.alarm_id} has changed since that answer: it is {record.status} now; look again"
        raise PreconditionError(msg, current=str(record.status))
