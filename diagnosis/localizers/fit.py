"""Losses of several links fitted together with the background: Shepp and Vardi's EM for Poisson counts."""

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from diagnosis.localizers.profile import MOST, Lossy
from diagnosis.observations import Floats, Observations

__all__ = ["Fit", "fitted", "rates", "surviving", "usual_background"]

_FITS: Final = 300
_SETTLED: Final = 1e-5
_ALL: Final = 0.9995
_PRIOR_LOSSES: Final = 2.0
"""Weight of the usual background among what a window says of its own, in lost packets."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Links held to be lossy and their rates of loss, beside the background of all.

    Attributes:
        mean: losses that are expected of each lossy observation.
    """

    links: NDArray[np.intp]
    rate: Floats
    background: float
    mean: Floats

    def of_losses(self) -> Self:
        """The rates of a fit that took every packet sent to cross every link: these are shares lost."""
        return replace(self, rate=np.minimum(-np.log1p(-np.minimum(self.rate, _ALL)), MOST))


def usual_background(lossy: Lossy, usual: float) -> float:
    """Loss of a crossing where little is wrong: the lower quartile of the links, and the usual one where data is thin.

    It starts the search. A start too high finds the worst links first, and fitting them lowers it.
    """
    links = np.repeat(np.arange(lossy.total.size), np.diff(lossy.crossed.indptr))
    lost = np.bincount(links, weights=lossy.lost[lossy.crossed.indices], minlength=lossy.total.size)
    rate = (lost / np.maximum(lossy.exposed, 1.0))[lossy.total > 0.0]
    quartile = float(np.quantile(rate, 0.25)) if rate.size else 0.0
    exposed = float(lossy.total.sum()) / 4.0
    return (quartile * exposed + _PRIOR_LOSSES) / (exposed + _PRIOR_LOSSES / usual)


def fitted(lossy: Lossy, links: NDArray[np.intp], usual: float, background: float) -> Fit:
    """The likeliest losses of these links and the background."""
    crossed = sparse.csr_array(lossy.crossed[:, links])
    total, everything = lossy.total[links], float(lossy.total.sum())
    rate = np.full(links.size, max(10.0 * background, 1e-3))
    for _ in range(_FITS):
        mean = background * lossy.base + crossed @ rate
        ratio = lossy.lost / mean
        after = np.minimum(rate * (crossed.T @ ratio) / total, MOST)
        usually = (background * (lossy.base @ ratio) + _PRIOR_LOSSES) / (everything + _PRIOR_LOSSES / usual)
        moved = max(np.max(np.abs(after - rate) / rate, initial=0.0), abs(usually - background) / background)
        rate, background = np.maximum(after, 1e-12), usually
        if moved < _SETTLED:
            break
    return Fit(links, rate, background, background * lossy.base + crossed @ rate)


def rates(seen: Observations, fit: Fit) -> Floats:
    """Rate of loss that the fit expects of each observation, all its links together."""
    of_links = np.full(seen.links, fit.background)
    of_links[fit.links] += fit.rate
    return np.asarray(seen.paths @ of_links, dtype=np.float64)


def surviving(seen: Observations, fit: Fit) -> Floats:
    """Packets of each observation that cross a link of its path, on average over where they die."""
    rate = rates(seen, fit)
    return np.asarray(seen.sent * (-np.expm1(-rate) / rate), dtype=np.float64)
