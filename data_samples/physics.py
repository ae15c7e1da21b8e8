"""What truly happens on a link: power, bias and bit errors of each lane, from modules, faults and heat.

Direction 0 is light from end 0 to end 1. A laser with power control (all but VCSELs) hides its ageing in the
bias until the bias is at its limit; then Tx falls, with it the far Rx, and the errors follow.
"""

import itertools
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data_samples.config import FleetConfig
from data_samples.environment import Environment
from data_samples.faults import DEAD_DB, Fault
from data_samples.fec import log10_ber
from data_samples.layout import Link
from data_samples.modules import Module

__all__ = ["Light", "State", "first_failure", "healthy_margin", "host_ber", "light"]

_SENSITIVITY_DB_PER_C: Final = 0.012
"""Receiver and eye get worse with heat [judgement]."""
_WOBBLE_DB: Final = 0.05
"""Movement of the margin from sample to sample: polarisation, reflections [judgement]."""
_VCSEL_DB_PER_C: Final = 0.02
"""A VCSEL loses this much power a degree, though its driver raises the bias with heat [judgement]."""
_HELD_DB: Final = 0.1
"""Power control lets Tx sag this much before bias is at its limit [judgement]."""
_HOST_FROM, _HOST_DECADES = -12.5, 9.0
"""Errors behind the optics creep, not explode: log10 of the first and decades to a level of one margin [judgement]."""
_AT_ONCE: Final = 20.0
"""A link fails at the second sample above the FEC limit, or at the first this many times above it [judgement]."""


@dataclass(slots=True)
class State:
    """A link as it goes through time: its modules by end, its faults, and the random loss of its fibre."""

    link: Link
    modules: tuple[list[Module], list[Module]]
    loss_db: NDArray[np.float32]
    faults: list[Fault] = field(default_factory=list)

    def module(self, end: int, step: int) -> Module:
        """The module in a cage at a step."""
        return next(m for m in reversed(self.modules[end]) if m.first <= step)

    def segments(self, steps: int) -> list[tuple[int, int]]:
        """Stretches of time in which neither module changes."""
        cuts = sorted({0, steps, *(m.first for end in self.modules for m in end)})
        return list(itertools.pairwise(cuts))


@dataclass(frozen=True, slots=True)
class Light:
    """One direction over a stretch of steps; arrays are (lanes, steps) unless said."""

    tx_dbm: NDArray[np.float32]
    rx_dbm: NDArray[np.float32]
    bias_factor: NDArray[np.float32]
    log10_ber: NDArray[np.float32]


def healthy_margin(state: State, step: int, direction: int) -> NDArray[np.float32]:
    """Distance in dB between the light that arrives without any fault and the FEC limit, a value a lane."""
    media, sender, receiver = state.link.media, state.module(direction, step), state.module(1 - direction, step)
    light_db = (sender.tx_dbm - media.tx_dbm) - (state.loss_db[direction] - media.loss_db)
    margin: NDArray[np.float32] = np.float32(media.margin_db) + light_db + receiver.sensitivity_db
    return margin


def _levels(state: State, first: int, last: int, direction: int) -> dict[str, NDArray[np.float32]]:
    """Sum of fault levels in dB by what they act on: laser, eye, path, receiver."""
    lanes = state.link.media.lanes
    out: dict[str, NDArray[np.float32]] = {}
    for fault in state.faults:
        if fault.onset >= last or fault.stop <= first or not _hits(fault, direction):
            continue
        mode = "path" if fault.mode == "seat" else fault.mode
        begin, level = fault.at(first, last)
        total = out.setdefault(mode, np.zeros((lanes, last - first), np.float32))
        total[:, begin - first : begin - first + len(level)] += fault.lanes[:, None] * level
    return out


def _hits(fault: Fault, direction: int) -> bool:
    if fault.mode in ("path", "seat"):
        return fault.directions[direction]
    if fault.mode in ("laser", "eye"):
        return fault.end == direction
    return fault.mode == "receiver" and fault.end != direction


def light(state: State, env: Environment, first: int, last: int, direction: int) -> Light:
    """What one direction does within [first, last), a stretch without a change of modules."""
    link, media = state.link, state.link.media
    sender, receiver = state.module(direction, first), state.module(1 - direction, first)
    levels = _levels(state, first, last, direction)
    warm = env.temperature_c(link.ends[direction], media.temperature_c)[first:last] - np.float32(media.temperature_c)
    far = env.temperature_c(link.ends[1 - direction], media.temperature_c)[first:last] - np.float32(media.temperature_c)
    drop, bias = _laser(levels.get("laser"), warm, sender, media.laser, media.lanes)
    tx = sender.tx_dbm[:, None] - drop
    path = state.loss_db[direction][:, None] + levels.get("path", np.float32(0.0))
    rx = tx - path
    wobble = _wobble(env.config, link, direction)[:, first:last]
    sensitivity = np.float32(media.tx_dbm - media.loss_db - media.margin_db) - receiver.sensitivity_db[:, None]
    margin = rx - sensitivity - np.float32(_SENSITIVITY_DB_PER_C) * (far + warm) + wobble
    for penalty in ("eye", "receiver"):
        if penalty in levels:
            margin -= levels[penalty]
    ber = log10_ber(margin, media)
    floor = np.maximum(sender.floor_log10, receiver.floor_log10)[:, None]
    # The logarithm of the sum, nearly: at equal parts it is log10 2 above either.
    total = np.maximum(ber, floor) + np.float32(0.3) / (np.float32(1.0) + np.abs(ber - floor))
    return Light(tx, rx, bias, total.astype(np.float32))


def _wobble(config: FleetConfig, link: Link, direction: int) -> NDArray[np.float32]:
    """The margin's own noise over all steps: the same however often it is asked for."""
    rng = np.random.default_rng([config.seed, 6, link.index, direction])
    return rng.standard_normal((link.media.lanes, config.steps), np.float32) * np.float32(_WOBBLE_DB)


def _laser(
    level: NDArray[np.float32] | None, warm: NDArray[np.float32], sender: Module, laser: str, lanes: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Fall of Tx in dB and bias as a multiple, for a loss of efficiency and degrees above usual."""
    heat = np.float32(1.0) + np.float32(sender.bias_per_c) * warm
    if laser == "vcsel":
        drop = np.float32(_VCSEL_DB_PER_C) * warm + (level if level is not None else np.zeros((lanes, 1), np.float32))
        return np.broadcast_to(drop, (lanes, len(warm))), np.broadcast_to(heat, (lanes, len(warm)))
    if level is None:
        return np.zeros((lanes, len(warm)), np.float32), np.broadcast_to(heat, (lanes, len(warm)))
    headroom = np.float32(sender.headroom_db)
    held = np.minimum(level, headroom)
    drop = level - held + np.float32(_HELD_DB) * held / headroom
    bias = np.float32(10.0) ** (held / np.float32(10.0)) * heat
    return drop, np.where(level >= DEAD_DB, np.float32(0.0), bias)


def host_ber(state: State, first: int, last: int, end: int) -> NDArray[np.float32] | None:
    """log10 of the errors made behind the optics of an end, shape (steps,), or None where there are none."""
    total: NDArray[np.float32] | None = None
    for fault in state.faults:
        if fault.mode == "host" and fault.end == end and fault.onset < last and fault.stop > first:
            begin, level = fault.at(first, last)
            total = np.full(last - first, -18.0, np.float32) if total is None else total
            part = total[begin - first : begin - first + len(level)]
            creeping = np.minimum(_HOST_FROM + _HOST_DECADES * level / state.link.media.margin_db, -0.5)
            np.maximum(part, np.where(level > 0, creeping, -18.0), out=part)
    return total


def port_ber(lanes: Light, host: NDArray[np.float32] | None) -> NDArray[np.float64]:
    """BER that the receiving port's FEC sees: lanes interleave, so their mean, and the host's errors."""
    ber: NDArray[np.float64] = (10.0 ** lanes.log10_ber.astype(np.float64)).mean(axis=0)
    if host is not None:
        ber += 10.0 ** host.astype(np.float64)
    return ber


def first_failure(state: State, env: Environment, first: int, config: FleetConfig) -> int | None:
    """The step at which the errors have stayed above the FEC limit, from `first` on; None for never."""
    found: list[int] = []
    for direction in (0, 1):
        received = light(state, env, first, config.steps, direction)
        ber = port_ber(received, host_ber(state, first, config.steps, 1 - direction)) / state.link.media.ber_limit
        fails = (ber > 1.0) & (np.append(0.0, ber[:-1]) > 1.0) | (ber > _AT_ONCE)
        if fails.any():
            found.append(first + int(np.argmax(fails)))
    return min(found, default=None)
