"""From optical margin to bit errors to FEC counters: tables once, look-ups after.

Thermal-noise limit, Q scales with optical power: PAM4 ``BER = 0.75 Q(q0 10^(M/10))``, NRZ without the factor,
with q0 such that margin 0 dB is the FEC limit. RS(544,514) corrects 15 symbols of ten bits, RS(528,514) seven.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from data_samples.media import Media

__all__ = ["ber_at_margin", "codeword_error_ratio", "log10_ber", "symbol_error_share", "uncorrectable"]

_LOW_DB, _HIGH_DB, _STEP_DB = -12.0, 9.0, 0.01
_LOW_BER, _BER_STEP = -16.0, 0.01
_NEVER_BELOW = 1e-7  # KR4 then loses a codeword in more than the age of the fleet
_CODES = {"KP4": (544, 15), "KR4": (528, 7)}


def _q(x: float) -> float:
    """Upper tail of the standard normal."""
    return 0.5 * math.erfc(x / math.sqrt(2.0))


@cache
def _q0(pam4: bool, ber_limit: float) -> float:
    """The argument at which the tail is the limit, by bisection."""
    low, high, target = 0.0, 40.0, ber_limit / (0.75 if pam4 else 1.0)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _q(middle) > target else (low, middle)
    return low


def ber_at_margin(margin_db: float, *, pam4: bool, ber_limit: float) -> float:
    """Bit error ratio at a margin in dB of optical power.

    >>> f"{ber_at_margin(1.0, pam4=True, ber_limit=2.4e-4):.1e}"
    '6.5e-06'
    >>> f"{ber_at_margin(1.0, pam4=False, ber_limit=5e-5):.1e}"
    '4.8e-07'
    """
    return (0.75 if pam4 else 1.0) * _q(_q0(pam4, ber_limit) * 10 ** (margin_db / 10))


@cache
def _ber_table(pam4: bool, ber_limit: float) -> NDArray[np.float32]:
    grid = np.arange(_LOW_DB, _HIGH_DB, _STEP_DB)
    values = [ber_at_margin(float(m), pam4=pam4, ber_limit=ber_limit) for m in grid]
    return np.log10(np.maximum(values, 1e-18)).astype(np.float32)


def log10_ber(margin_db: NDArray[np.float32], media: Media) -> NDArray[np.float32]:
    """log10 of the BER of each margin (dB), without floor; from 1e-18 up."""
    table = _ber_table(media.pam4, media.ber_limit)
    index = ((margin_db - np.float32(_LOW_DB)) * np.float32(1 / _STEP_DB)).astype(np.int32)
    return table[np.clip(index, 0, len(table) - 1)]


def codeword_error_ratio(ber: float, fec: str) -> float:
    """Share of codewords that cannot be corrected, errors being independent.

    >>> f"{codeword_error_ratio(2.4e-4, 'KP4'):.1e}"
    '8.2e-13'
    """
    n, t = _CODES[fec]
    ser = -math.expm1(10 * math.log1p(-min(ber, 0.5)))
    log_choose = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    terms = (log_choose[k] + k * math.log(ser) + (n - k) * math.log1p(-ser) for k in range(t + 1, n + 1))
    return min(sum(math.exp(term) for term in terms), 1.0)


@cache
def _cer_table(fec: str) -> NDArray[np.float64]:
    grid = 10 ** np.arange(_LOW_BER, 0.0, _BER_STEP)
    return np.array([codeword_error_ratio(float(b), fec) if b > _NEVER_BELOW else 0.0 for b in grid])


def uncorrectable(ber: NDArray[np.float64], fec: str) -> NDArray[np.float64]:
    """`codeword_error_ratio` of an array."""
    table = _cer_table(fec)
    index = ((np.log10(np.maximum(ber, 1e-16)) - _LOW_BER) / _BER_STEP).astype(np.int32)
    return table[np.clip(index, 0, len(table) - 1)]


def symbol_error_share(ber: NDArray[np.float64], fec: str) -> NDArray[np.float64]:
    """Share of codewords with at least one wrong symbol: what `fec_corrected` counts, until it cannot."""
    n, _ = _CODES[fec]
    wrong: NDArray[np.float64] = -np.expm1(10 * n * np.log1p(-np.minimum(ber, 0.5)))
    return wrong
