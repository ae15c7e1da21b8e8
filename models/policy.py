"""From risks to alarms: thresholds bought with a budget of false alarms, persistence, hysteresis, storms.

Each decision is a pure function of a link's scores of the last day, what stands on it, and what people
have already done; back-test and live scoring call the same one.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

__all__ = [
    "ALARM_HORIZON_H",
    "CLEAR_BELOW",
    "Change",
    "Policy",
    "Scale",
    "Scored",
    "Standing",
    "Unseen",
    "Verb",
    "calm_storms",
    "fit_policy",
]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]

ALARM_HORIZON_H: Final = 24
"""Alarms rest on the risk within a day. All horizons put links in the same order; within a week the risk of every link
that is far gone is all but 1, in which one could not be told from another, nor `act` from `watch`."""
WATCH_BUDGET: Final = 1.0
"""False alarms per 1,000 modules and week that `watch` may cost."""
ACT_BUDGET: Final = 0.1
"""The same for `act`: what a drain may rest on."""
_WEEK_H: Final = 168
CLEAR_BELOW: Final = 0.4
"""An alarm ends when risk stays below this part of its threshold."""
_LIFE_DAYS: Final = 21
"""An alarm older than this has foretold nothing; until then a link that looks ill all the time costs one alarm."""
_TAIL: Final = 50
"""Highest healthy peaks that the tail beyond the data is read from."""
_FIRM: Final = 10
"""So many peaks above a level and more say by themselves where it is; fewer are smoothed."""
_ABOVE: Final = 1e-3
"""A threshold above every peak lies so far above the highest (in the tail's scale), not at it."""
_BEYOND: Final = 0.1
"""`act` is read from the tail down to a tenth of an expected alarm; below that, history is too short to bear it."""


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
    expire_after_days: int = _LIFE_DAYS
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


def persistent(risk: Floats, need: int, of: int) -> Floats:
    """Shape as `risk` (links, times): the level that `need` of the last `of` scores, the newest among them, reach."""
    padded = np.concatenate([np.zeros((risk.shape[0], of - 1), risk.dtype), np.nan_to_num(risk)], axis=1)
    stacked = np.stack([padded[:, i : i + risk.shape[1]] for i in range(of)])
    level = np.sort(stacked, axis=0)[of - need]
    lower: Floats = np.minimum(level, stacked[-1])
    return lower


@dataclass(frozen=True)
class Unseen:
    """Risks of links by models that had not seen them, and what became of the links.

    Attributes:
        risk: shape (links, hours), NaN where unknown.
        healthy: same shape, True where an alarm would have been false, as `models.counting` counts.
        until_event_h: same shape, hours to the link's next failure, inf where none is known.
        modules_per_link: budgets count modules.
    """

    risk: Floats
    healthy: NDArray[np.bool_]
    until_event_h: Floats
    modules_per_link: float

    @property
    def module_weeks(self) -> float:
        """Healthy time seen."""
        return float(self.healthy.sum()) / _WEEK_H * self.modules_per_link

    def peaks(self, level: Floats) -> Floats:
        """Highest healthy level of each link in each life of an alarm, descending: what false alarms are counted on."""
        shown, life_h = np.where(self.healthy, np.nan_to_num(level), 0.0), _LIFE_DAYS * 24
        lives = [shown[:, i : i + life_h].max(axis=1) for i in range(0, shown.shape[1], life_h)]
        peaks = np.sort(np.concatenate(lives))[::-1]
        return np.asarray(peaks[peaks > 0], np.float32)


class Scale(NamedTuple):
    """Where the peaks of healthy links thin out evenly, as an exponential does: from risks to there, and back."""

    of_risk: Callable[[Floats64], Floats64]
    risk: Callable[[Floats64], Floats64]


_LOG_ODDS: Final = Scale(logit, expit)


def fit_policy(
    unseen: Unseen, scale: Scale = _LOG_ODDS, *, watch_budget: float = WATCH_BUDGET, act_budget: float = ACT_BUDGET
) -> Policy:
    """Thresholds that healthy links of the past would have crossed as often as the budgets allow.

    Args:
        unseen: risks and what became of the links.
        scale: of the tail beyond the data: the model's scores, where it has any. A calibration stretches some of their
            log-odds and draws others together, and with them the tail.
        watch_budget: false alarms per 1,000 modules and week.
        act_budget: the same for `act`.
    """
    need, of = 2, 3
    peaks, weeks = unseen.peaks(persistent(unseen.risk, need, of)), unseen.module_weeks
    allowed, act_allowed = (budget * weeks / 1000.0 for budget in (watch_budget, act_budget))
    watch = _crossed(peaks, allowed, scale)
    bears = act_allowed >= _BEYOND
    reason = f"{weeks:,.0f} healthy module-weeks are too few; {_BEYOND / act_budget * 1000:,.0f} are needed"
    return Policy(
        watch,
        max(_crossed(peaks, act_allowed, scale), watch) if bears else None,
        "" if bears else reason,
        max(_crossed(unseen.peaks(unseen.risk), allowed / 2, scale), watch),
        need,
        of,
        healthy_weeks=weeks,
    )


def _crossed(peaks: Floats, allowed: float, scale: Scale) -> float:
    """The level that `allowed` of the peaks exceed: one of them where many are allowed, else one of their tail.

    The third highest of hundreds is where it is by chance: where few are allowed, the ten highest say together where
    so many will lie above; where half of one or less is, those and the fifty highest do, and none seen lies above.
    From one to a half the level goes from the one rule to the other: a module more or less is no other policy.
    """
    if peaks.size == 0:
        return 0.5
    scores = scale.of_risk(np.clip(peaks.astype(np.float64), 1e-6, 1 - 1e-6))
    return float(scale.risk(np.array([_level(scores, allowed)]))[0])


def _level(scores: Floats64, allowed: float) -> float:
    """The score that `allowed` of the descending ones exceed."""
    if allowed >= _FIRM:
        return _seen(scores, allowed)
    few = max(_seen(scores, _FIRM), _beyond(scores, _FIRM, max(allowed, 1.0)))
    if allowed >= 1:
        return few
    none = max(few, _beyond(scores, _TAIL, allowed), scores[0] + _ABOVE)
    return float(few + (none - few) * min(2 * (1 - allowed), 1.0))


def _seen(scores: Floats64, allowed: float) -> float:
    """The score that at most `allowed` of the descending scores exceed: fewer where several tie."""
    if allowed >= scores.size:
        return float(scores[-1])
    level = scores[int(allowed)]
    higher = scores[scores > level]
    return float(0.5 * (higher[-1] + level) if higher.size else level + _ABOVE)


def _beyond(scores: Floats64, count: int, allowed: float) -> float:
    """The score that `allowed` will exceed, by the exponential tail of the `count` highest."""
    tail = scores[:count]
    steep = max(float(np.mean(tail - tail[-1])), 0.05)
    return float(tail[-1] + steep * np.log(tail.size / max(allowed, 1e-3)))
