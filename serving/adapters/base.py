"""What an adapter is: it puts a message into a consumer's own words and hands it over, once each time it is asked."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from serving.alarms import AlarmRecord
from serving.deliveries.errors import RefusedError
from serving.notices import Notice

__all__ = ["LONGEST_MESSAGE", "Adapter", "Telling", "as_bytes", "headline", "message", "when"]

LONGEST_MESSAGE: Final = 1024
_LONGEST_BODY: Final = 65_536
_LONGEST_HEADLINE: Final = 80


@dataclass(frozen=True, slots=True)
class Telling:
    """A message, and what of it holds now.

    Attributes:
        active: the alarm stands and is to be acted on; False takes back what was told of it before.
        at: now.
        left_alone: drawn at random not to be acted on.
        stale: it is not active because nothing is known of it any more: the scores are too old.
    """

    notice: Notice
    active: bool
    at: datetime
    left_alone: bool = False
    stale: bool = False


class Adapter(Protocol):
    """One consumer.

    Attributes:
        name: by which the outbox knows it.
        keeps: the consumer keeps a state for each alarm, and is told when what it holds is no longer so; others are
            told of each message once.
        repeats: what stands is told again each `check_s`.
        check_s: seconds after which an alarm that stands is looked at again.
        uses_nodes: it says which nodes an alarm affects.
        needs_nodes: alarms without a known node are nothing for it.
        tells_storms: it wants messages of storms.
        timeout_s: the longest that one `send` takes.
    """

    name: str
    keeps: bool
    repeats: bool
    check_s: float
    uses_nodes: bool
    needs_nodes: bool
    tells_storms: bool
    timeout_s: float

    def render(self, telling: Telling) -> Sequence[dict[str, object]]:
        """What `send` would send, for people: no secrets in it."""
        ...

    def send(self, telling: Telling) -> None:
        """Hand the message over; returns when the consumer has acknowledged it.

        Raises:
            UnreachableError: the consumer does not answer.
            FailedError: it could not take the message just now.
            RefusedError: it never will.
        """
        ...

    def close(self) -> None:
        """Give connections back."""
        ...


def headline(alarm: AlarmRecord) -> str:
    """What is expected where, in 80 characters at most."""
    what = (alarm.failure_type or "failure").replace("_", " ")
    return _cut(f"{what} expected at {alarm.device} {alarm.interface}", _LONGEST_HEADLINE)


def message(alarm: AlarmRecord, *, longest: int = LONGEST_MESSAGE) -> str:
    """The alarm in a few sentences, cut where a consumer takes no more."""
    said = [headline(alarm)]
    if alarm.risk_24h is not None:
        said.append(f"risk {alarm.risk_24h:.0%} within 24 h")
    if alarm.expected_from is not None and alarm.expected_to is not None:
        said.append(f"between {when(alarm.expected_from)} and {when(alarm.expected_to)}")
    said.append(f"{alarm.level} alarm {alarm.alarm_id}, suspect {alarm.suspect}, action {alarm.action}")
    said.extend(alarm.reasons)
    return _cut("; ".join(said), longest)


def when(time: datetime) -> str:
    """ISO 8601 in UTC, to the millisecond at most.

    >>> when(datetime(2026, 11, 29, 12, tzinfo=UTC))
    '2026-11-29T12:00:00.000Z'
    """
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_bytes(value: object) -> bytes:
    """JSON without NaN, of a bounded size.

    Raises:
        RefusedError: it would be longer than any consumer should be asked to read.
    """
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    if len(text) > _LONGEST_BODY:
        msg = f"the message would have {len(text)} bytes; {_LONGEST_BODY} is the limit"
        raise RefusedError(msg)
    return text


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
