"""The least loss of a link that a window would have shown: what an all-clear is worth.

A link is found when the packets lost on its paths are more than chance explains. The power is that of their sum,
which is what the likelihood ratio has at least on average; it is found at this loss but for one window in 10,000.
"""

from typing import Final

import numpy as np
from scipy.special import gammainccinv, xlogy

from diagnosis.localizers.fit import Fit, rates
from diagnosis.localizers.profile import Lossy
from diagnosis.observations import Floats, Observations

__all__ = ["least_found", "least_loss"]

_MISSED: Final = 1e-4
_STEPS: Final = 60


def least_loss(seen: Observations, fit: Fit, lossy: Lossy, threshold: Floats) -> Floats:
    """Least loss of each link that would have been found beside what the fit holds; 1 where none would."""
    of_each = rates(seen, fit) * seen.sent
    return least_found(lossy.total, np.asarray(seen.crosses.T @ of_each, dtype=np.float64), threshold)


def least_found(crossed: Floats, expected: Floats, threshold: Floats) -> Floats:
    """The same from sums.

    Args:
        crossed: packets that crossed each link.
        expected: packets lost on the paths through each link by what is known already.
        threshold: log-likelihood ratio from which a link is held to be lossy.

    >>> least_found(np.array([2_000.0, 200_000.0]), np.array([0.8, 80.0]), np.array([9.0, 9.0])).round(5)
    array([0.01108, 0.00043])
    """
    needed = np.ceil(_losses_needed(np.maximum(expected, 1e-12), threshold))
    found = gammainccinv(needed, _MISSED) - expected
    loss = np.divide(found, crossed, out=np.ones_like(crossed), where=crossed > 0.0)
    return np.minimum(loss, 1.0)


def _losses_needed(expected: Floats, threshold: Floats) -> Floats:
    """Losses s with s log(s / m) - (s - m) at the threshold, s over m; Newton from above."""
    s = expected + 2.0 * threshold + np.sqrt(4.0 * expected * threshold)
    for _ in range(_STEPS):
        over = xlogy(s, s / expected) - (s - expected) - threshold
        s = np.maximum(s - over / np.log(s / expected), expected * (1.0 + 1e-9))
    return s
