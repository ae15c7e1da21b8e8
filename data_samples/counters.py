"""What a port counts, cumulative until a reset: FEC codewords, frames, flaps and failed reads."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from data_samples import fec
from data_samples.media import Media
from data_samples.ports import PortTime

__all__ = ["Counters", "count"]

Counters = dict[str, NDArray[np.int64]]
_BURST, _BURST_CODEWORDS = 2e-5, 3.0
"""Chance a step of a burst that FEC cannot correct, whatever the BER, and its mean length [judgement]."""
_FRAMES_PER_CODEWORD: Final = 0.6
"""Bad frames for each uncorrectable codeword of 5,140 bits, frames being longer [judgement]."""
_BITS_PER_FRAME, _LOAD = 1e4, 0.3
"""Of a jumbo frame and a bit more; share of the line rate in use [judgement]."""


def count(
    rng: np.random.Generator, media: Media, log10_ber: NDArray[np.float32], time: PortTime, step_s: float
) -> Counters:
    """Cumulative counters at each step; without FEC only frames are counted."""
    ber = np.where(time.up, 10.0 ** log10_ber.astype(np.float64), 0.0)
    events: Counters = {"link_flaps": time.flaps, "read_errors": time.read_errors}
    bursts = (rng.random(len(ber)) < _BURST) * rng.geometric(1 / _BURST_CODEWORDS, len(ber)) * time.up
    if media.fec == "none":
        frames = media.speed_gbps * 1e9 / _BITS_PER_FRAME * step_s * _LOAD
        events["crc_errors"] = rng.poisson(np.minimum(ber * _BITS_PER_FRAME, 1.0) * frames) + bursts
    else:
        codewords = media.codewords_s * step_s
        lost = rng.poisson(codewords * fec.uncorrectable(ber, media.fec)) + bursts
        spread = rng.lognormal(0, 0.05, len(ber))
        events["fec_corrected"] = np.maximum(
            (codewords * fec.symbol_error_share(ber, media.fec) * spread).astype(np.int64) - lost, 0
        )
        events["fec_uncorrected"] = lost
        events["crc_errors"] = rng.binomial(lost, _FRAMES_PER_CODEWORD) + (rng.random(len(ber)) < _BURST)
    return {name: _cumulative(rng, values.astype(np.int64), time.resets) for name, values in events.items()}


def _cumulative(rng: np.random.Generator, events: NDArray[np.int64], resets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Running sums from a start that is not 0, set to 0 at each reset."""
    total = np.cumsum(events) + int(rng.integers(0, 4))
    for reset in resets:
        total[reset:] -= total[reset] - events[reset]
    return np.maximum(total, 0)
