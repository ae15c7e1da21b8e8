"""The generalised likelihood ratio of lossy links under Poisson losses, with fractional paths.

Links are added while one explains the losses better than chance would, all of them are fitted together, and those
whose losses the others explain are dropped again. One code serves known paths, spray and adaptive routing: only the
incidence differs. The optic's risk and the port's own counters add to the log-odds of their link.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from scipy.stats import chi2

from diagnosis.localize import NAMED_SHARE, Finding, Localization
from diagnosis.localizers.fit import Fit, fitted, surviving, usual_background
from diagnosis.localizers.odds import Odds, log_odds
from diagnosis.localizers.power import least_loss
from diagnosis.localizers.profile import Lossy
from diagnosis.observations import Evidence, Floats, Observations

__all__ = ["Glrt", "distinct"]

_ROUNDS: Final = 100
_PASSES: Final = 4
_HEAVY: Final = 0.01
"""From this loss on it matters that a packet dies once: what a link loses does not cross those behind it."""
_OWN_GAIN: Final = 3.0
"""A link needs as much from the probes alone: no prior makes a finding by itself."""
_TIED: Final = 1e-6
_CLEARED: Final = 1e-3
"""A link is cleared of a fault which is at it with no more than this probability."""


@dataclass(frozen=True, slots=True)
class Glrt:
    """Poisson GLRT.

    Attributes:
        background: loss of a sound link, a crossing; a window with much data says it better itself.
        alarm_rate: chance of a finding in a window where nothing is wrong.
        least: a link that loses less is suspected, not a finding.
        base_rate: P(a link is faulty) where nobody scored any.
    """

    background: float = 5e-5
    alarm_rate: float = 0.005
    least: float = 2e-4
    base_rate: float = 1e-4
    name: str = "glrt"

    def localize(self, seen: Observations, also: Evidence | None = None) -> Localization:
        """Findings with their shares, and the least loss that would have been one."""
        odds = log_odds(also or Evidence(), seen.links, self.base_rate)
        lossy = Lossy.of(seen, seen.sent)
        crossed = distinct(seen)
        fit = self._search(lossy, odds.offset, crossed)
        heavy = fit.rate.max(initial=0.0) > _HEAVY
        fit = fit.of_losses() if heavy else fit
        for _ in range(_PASSES if heavy else 0):
            lossy, before = Lossy.of(seen, surviving(seen, fit)), fit
            fit = self._search(lossy, odds.offset, crossed, fit)
            if set(fit.links) == set(before.links):
                break
        blamed = [_blamed(lossy, fit, place, odds) for place in range(fit.links.size)]
        found = sorted((each.finding for each in blamed), key=lambda finding: -finding.gain)
        suspected = sorted({int(link) for each in blamed for link in each.possible})
        power = least_loss(seen, fit, lossy, self.threshold(crossed) - np.minimum(odds.offset, 0.0))
        findings = tuple(finding for finding in found if finding.loss >= self.least)
        return Localization(findings, tuple(suspected), power)

    def threshold(self, links: int, found: int = 1) -> float:
        """Log-likelihood ratio that a finding needs [Benjamini and Hochberg]; ``alarm_rate`` bounds two things.

        Where nothing is wrong, the chance of any finding; where much is wrong, the share of findings that are false.
        Links count that probes tell apart: what is one class (spray) is asked one question.

        >>> [round(Glrt().threshold(*count), 1) for count in ((512, 1), (512, 52), (100_000, 1))]
        [9.1, 5.4, 14.2]
        """
        return float(chi2.isf(min(2.0 * self.alarm_rate * found / max(links, 1), 1.0), 1)) / 2.0

    def _search(self, lossy: Lossy, offset: Floats, crossed: int, start: Fit | None = None) -> Fit:
        """Add what explains most, fit, drop what others explain; until nothing changes, or what was comes again."""
        if start is None:
            background = usual_background(lossy, self.background)
            fit = fitted(lossy, np.array([], dtype=np.intp), self.background, background)
        else:
            fit = fitted(lossy, start.links, self.background, start.background)
            fit = self._pruned(lossy, fit, offset, crossed)
        met: set[frozenset[int]] = set()
        for _ in range(_ROUNDS):
            profile = lossy.profile(fit.mean)
            total = np.where(profile.gain > _OWN_GAIN, profile.gain + offset, 0.0)
            total[fit.links] = 0.0
            added = _apart(lossy, total, self.threshold(crossed, fit.links.size + 1))
            if not added:
                break
            fit = fitted(lossy, np.append(fit.links, added), self.background, fit.background)
            fit = self._pruned(lossy, fit, offset, crossed)
            links = frozenset(fit.links.tolist())
            if links in met:
                break
            met.add(links)
        return fit

    def _pruned(self, lossy: Lossy, fit: Fit, offset: Floats, crossed: int) -> Fit:
        """Without the links that the others and the background make needless, the weakest first."""
        while fit.links.size:
            gain = np.array([_own_gain(lossy, fit, place) for place in range(fit.links.size)])
            total = np.where(gain > _OWN_GAIN, gain + offset[fit.links], 0.0)
            weakest = int(np.argmin(total))
            if total[weakest] > self.threshold(crossed, fit.links.size):
                break
            fit = fitted(lossy, np.delete(fit.links, weakest), self.background, fit.background)
        return fit


def distinct(seen: Observations) -> int:
    """How many links the observations tell apart: links with equal columns are one, those that nothing crosses none.

    >>> from diagnosis.fabric import incidence
    >>> distinct(Observations(incidence([(0,), {1: 0.5, 2: 0.5}], 4), np.ones(2), np.zeros(2)))
    2
    """
    columns = seen.paths.T @ np.random.default_rng(0).random(seen.sent.size)  # equal columns, equal sums
    return int(np.unique(columns[columns > 0.0]).size)


def _apart(lossy: Lossy, total: Floats, threshold: float) -> list[int]:
    """Links over the threshold that have no lossy observation in common, the strongest first."""
    taken = np.zeros(lossy.lost.size, dtype=bool)
    found: list[int] = []
    for link in np.argsort(-total, kind="stable"):
        if total[link] <= threshold:
            break
        rows = lossy.rows(link)
        if not taken[rows].any():
            found.append(int(link))
        taken[rows] = True
    return found


def _own_gain(lossy: Lossy, fit: Fit, place: int) -> float:
    """What a link of the fit explains that the others do not."""
    link, rate = fit.links[place], fit.rate[place]
    rows, crossed = lossy.rows(link), lossy.crossing(link)
    more = crossed * rate
    return float(np.sum(lossy.lost[rows] * -np.log1p(-more / fit.mean[rows])) - rate * lossy.total[link])


class _Blamed(NamedTuple):
    """A finding, and every link that it may be at, the unlikely ones too."""

    finding: Finding
    possible: NDArray[np.int32]


def _blamed(lossy: Lossy, fit: Fit, place: int, odds: Odds) -> _Blamed:
    """The link of the fit and every other that explains its losses about as well."""
    link = fit.links[place]
    rows = lossy.rows(link)
    mean = fit.mean.copy()
    mean[rows] = np.maximum(mean[rows] - lossy.crossing(link) * fit.rate[place], fit.background * lossy.base[rows])
    rivals = np.setdiff1d(lossy.links_of(rows), np.delete(fit.links, place))
    profile = lossy.only(rivals).profile(mean)
    weight = profile.gain + odds.offset[rivals]
    shares = np.exp(weight - logsumexp(weight))
    named = _credible(shares)
    losses = max(float(profile.rate[named[0]] * lossy.total[rivals[named[0]]]), 1.0)
    odds_of_any = odds.base + float(logsumexp(weight)) - 0.5 * np.log(losses)
    finding = Finding(
        tuple(int(rivals[at]) for at in named),
        tuple(float(shares[at] / shares[named].sum()) for at in named),
        float(-np.expm1(-fit.rate[place])),
        float(profile.gain[named[0]]),
        float(expit(odds_of_any)),
    )
    return _Blamed(finding, rivals[shares > _CLEARED])


def _credible(shares: Floats) -> NDArray[np.intp]:
    """The fewest that together have the named share; what is as likely as the last of them belongs to them."""
    order = np.argsort(-shares, kind="stable")
    enough = int(np.searchsorted(np.cumsum(shares[order]), NAMED_SHARE)) + 1
    last = shares[order[min(enough, order.size) - 1]]
    return np.asarray(order[shares[order] >= last * (1.0 - _TIED)], dtype=np.intp)
