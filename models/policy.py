"""From risks to alarms: thresholds, persistence, hysteresis, storms. Thresholds are bought in `models.policy_fit`.

Each decision is a pure function of a link's scores of the last day, what stands on it, and what people
have already done; back-test and live scoring call the same one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Self

__all__ = [
    "ALARM_HORIZON_H",
    "CLEAR_BELOW",
    "LIFE_DAYS",
    "Change",
    "Policy",
    "Scored",
    "Standing",
    "Verb",
    "calm_storms",
]

ALARM_HORIZON_H: Final = 24
"""Alarms rest on the risk within a day. All horizons put links in the same order; within a week the risk of every link
that is far gone is all but 1, in which one could not be told from another, nor `act` from `watch`."""
CLEAR_BELOW: Final = 0.4
"""An alarm ends when risk stays below this part of its threshold."""
LIFE_DAYS: Final = 21
"""An alarm older than this has foretold nothing; until then a link that looks ill all the time costs one alarm."""


class Verb(StrEnum):
    """What a decision does."""

    RAISE = "raise"
    CLEAR = "clear"
    LEVEL = "level"


@dataclass(frozen=True, slots=True)
class Scored:
    """A link's risk at a time, as the policy reads it."""

    time: datetime
    risk: float


@dataclass(frozen=True, slots=True)
class Standing:
    """An alarm that holds."""

    raised_at: datetime
    level: str


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a link's alarm: raised or given another level, or cleared, and why."""

    verb: Verb
    level: str = "watch"
    why: str = ""


_EXPIRED: Final = Change(Verb.CLEAR, why="it foretold nothing")


@dataclass(frozen=True, slots=True)
class Policy:
    """When a risk becomes an alarm, and when the alarm ends.

    Attributes:
        watch: risk within `ALARM_HORIZON_H` hours that asks for attention.
        act: risk that a drain may rest on; None where healthy history is too short to say.
        act_reason: why `act` is not there.
        need, of: so many of the last so many scores must reach the threshold.
        sure: a risk that needs no second score: fast faults leave no time for it.
        clear_below: an alarm ends when risk stays below this part of `watch`…
        clear_after_h: …for so long.
        expire_after_days: an alarm older than this has foretold nothing.
        settle_h: so long after a repair or a swap none is raised: windows of a day still see what was mended.
        storm: new alarms on one device at one time beyond which they are held back: it is the device, not its optics.
        healthy_weeks: module-weeks the thresholds were read from.
    """

    watch: float
    act: float | None
    act_reason: str
    sure: float
    need: int = 2
    of: int = 3
    clear_below: float = CLEAR_BELOW
    clear_after_h: int = 24
    expire_after_days: int = LIFE_DAYS
    settle_h: int = 24
    storm: int = 4
    healthy_weeks: float = 0.0

    def decide(
        self, scores: Sequence[Scored], standing: Standing | None, *, busy: bool, touched_at: datetime | None
    ) -> Change | None:
        """What becomes of a link's alarm now.

        Args:
            scores: of the last `clear_after_h` hours, oldest first, the last one is now.
            standing: the alarm that holds, if any.
            busy: a ticket is open on the link or it is in maintenance: people are at it already.
            touched_at: when it was last swapped or repaired.
        """
        now = scores[-1]
        if standing is None:
            settling = touched_at is not None and now.time - touched_at < timedelta(hours=self.settle_h)
            level = None if busy or settling else self._level(scores)
            return Change(Verb.RAISE, level) if level else None
        if touched_at is not None and touched_at > standing.raised_at:
            return Change(Verb.CLEAR, why="the link was repaired")
        if self._expired(standing, now.time):
            return _EXPIRED
        if self._calm(scores, standing):
            return Change(Verb.CLEAR, why="risk has fallen")
        if standing.level == "watch" and self._level(scores) == "act":
            return Change(Verb.LEVEL, "act")
        return None

    def unheard(self, standing: Standing, at: datetime, *, exists: bool) -> Change | None:
        """What becomes of the alarm of a link that has no score now: silent, or no longer there."""
        if not exists:
            return Change(Verb.CLEAR, why="the link is no longer there")
        return _EXPIRED if self._expired(standing, at) else None

    def _expired(self, standing: Standing, at: datetime) -> bool:
        return at - standing.raised_at > timedelta(days=self.expire_after_days)

    def _level(self, scores: Sequence[Scored]) -> str | None:
        risks = [score.risk for score in scores[-self.of :]]

        def reached(limit: float, sure: float) -> bool:
            return risks[-1] >= sure or (risks[-1] >= limit and sum(r >= limit for r in risks) >= self.need)

        if self.act is not None and reached(self.act, max(self.sure, self.act)):
            return "act"
        return "watch" if reached(self.watch, self.sure) else None

    def _calm(self, scores: Sequence[Scored], standing: Standing) -> bool:
        begin = scores[-1].time - timedelta(hours=self.clear_after_h)
        return standing.raised_at <= begin and all(
            score.risk < self.clear_below * self.watch for score in scores if score.time > begin
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        return cls(**values)


def calm_storms(policy: Policy, raised: Mapping[str, Sequence[tuple[str, str, str]]]) -> dict[str, str]:
    """Links whose new alarm is held back because too many came up on one device at once, and why.

    Args:
        policy: its `storm` is the limit.
        raised: link to the ports (site, device, interface) of its ends.
    """
    devices = {link: {(site, device) for site, device, _ in ends} for link, ends in raised.items()}
    count = Counter(device for of_link in devices.values() for device in of_link)
    worst = {link: max(of_link, key=lambda device: (count[device], device)) for link, of_link in devices.items()}
    return {
        link: f"{count[device]} new alarms at once on {device[1]}, more than {policy.storm}: the device is looked at"
        for link, device in worst.items()
        if count[device] > policy.storm
    }
