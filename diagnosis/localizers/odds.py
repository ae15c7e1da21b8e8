"""What is known of a link beside the probes, as log-odds: the optic's risk and the port's own counters."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import logit, xlogy

from diagnosis.observations import Evidence, Floats, PortErrors

__all__ = ["Odds", "log_odds", "port_gain"]

_LEAST_OFFSET: Final = -3.0
"""A sound optic speaks against its link so far and no further: links lose packets for other reasons, too."""
_SOUND_ERRORS: Final = 1e-9
"""Share of packets that a sound port drops for their checksum [IEEE 802.3's frame loss ratio is a tenth of it]."""
_MOST_PORT_GAIN: Final = 10.0
"""Counters of millions of packets would outweigh any probes; and they err in ways that packets do not show."""
_ENDS: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Odds:
    """Log-odds that a link is faulty: ``base`` of the usual one, and what each link adds to it."""

    base: float
    offset: Floats


def log_odds(also: Evidence, links: int, base_rate: float) -> Odds:
    """Prior and port counters together, a counter that the prior has read already left out."""
    prior = np.full(links, np.nan) if also.prior is None else also.prior
    known = np.isfinite(prior)
    base = float(np.clip(prior[known].mean(), _ENDS, 0.5)) if known.any() else base_rate
    offset = np.zeros(links)
    offset[known] = logit(np.clip(prior[known], _ENDS, 1.0 - _ENDS)) - logit(base)
    offset = np.maximum(offset, _LEAST_OFFSET)
    if also.ports is not None:
        gain = port_gain(also.ports)
        offset += np.where(known & also.prior_reads_counters, 0.0, gain)
    return Odds(float(logit(base)), offset)


def port_gain(ports: PortErrors) -> Floats:
    """How much better a lossy receiver explains a port's errors than a sound one; 0 where it says nothing.

    It never speaks for a link: a switch loses packets that no port counts.
    """
    packets, errors = np.nan_to_num(ports.packets), np.nan_to_num(ports.errors)
    usual = packets * _SOUND_ERRORS + _ENDS
    gain = np.where(errors > usual, xlogy(errors, errors / usual) - (errors - usual), 0.0)
    return np.minimum(gain, _MOST_PORT_GAIN)
