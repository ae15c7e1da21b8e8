"""Thresholds bought with a budget of false alarms, on links that the model had not seen."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from models.policy import LIFE_DAYS, Policy

__all__ = ["Scale", "Unseen", "fit_policy", "persistent"]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]

WATCH_BUDGET: Final = 1.0
"""False alarms per 1,000 modules and week that `watch` may cost."""
ACT_BUDGET: Final = 0.1
"""The same for `act`: what a drain may rest on."""
_WEEK_H: Final = 168
_TAIL: Final = 50
"""Highest healthy peaks that the tail beyond the data is read from."""
_FIRM: Final = 10
"""So many peaks above a level and more say by themselves where it is; fewer are smoothed."""
_ABOVE: Final = 1e-3
"""A threshold above every peak lies so far above the highest (in the tail's scale), not at it."""
_BEYOND: Final = 0.1
"""`act` is read from the tail down to a tenth of an expected alarm; below that, history is too short to bear it."""


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
        shown, life_h = np.where(self.healthy, np.nan_to_num(level), 0.0), LIFE_DAYS * 24
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
