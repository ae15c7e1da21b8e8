"""What becomes of a port over time: up, shut, silent, flapping; everything that is not light."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data_samples.faults import DEAD_DB
from data_samples.history import History
from data_samples.physics import State
from data_samples.repair import Repair
from ingest.schema import Action

__all__ = ["PortTime", "port_time"]

_LASER_STAYS_ON = ("nxos", "junos")
"""Systems that leave the laser on when a port is shut [judgement]."""

_SHAKEN_DB = 7.0
"""Flaps and failed reads grow no more above this level [judgement]."""
_READ_ERRORS = 2e-4
"""Chance a step that a healthy module's memory cannot be read [judgement]."""
_LONE_FLAPS_DAY = 0.05
"""Flaps of a healthy port a day [judgement]."""
_SAGS, _SAG_V = 0.3, np.float32(0.02)
"""Samples of a loose module in which the supply sags, and by how much a dB [judgement]."""


@dataclass(slots=True)
class PortTime:
    """One end through all steps; arrays have the shape (steps,).

    Attributes:
        up, admin_up: of this end. dark: its laser is off. seen: a sample was collected.
        flaps, read_errors: events a step. sag_v: fall of the supply while the seat shakes.
        fault: the module says of itself that it is broken. mute: its memory cannot be read.
        resets: steps at which counters start anew.
    """

    up: NDArray[np.bool_]
    admin_up: NDArray[np.bool_]
    dark: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    flaps: NDArray[np.int64]
    read_errors: NDArray[np.int64]
    sag_v: NDArray[np.float32]
    fault: NDArray[np.bool_]
    mute: NDArray[np.bool_]
    resets: NDArray[np.int64]


def port_time(history: History, state: State, end: int) -> PortTime:
    """Everything about one end that needs no optics."""
    config, link, steps = history.config, state.link, history.config.steps
    rng = np.random.default_rng([config.seed, 8, link.index, end])
    device = history.env.device(link.ends[end])
    admin = _outside(steps, history.drained.get((link.index, end), []))
    far_admin = _outside(steps, history.drained.get((link.index, 1 - end), []))
    up = admin & far_admin & _outside(steps, [(a, b, "") for a, b in history.down(link.index)])
    dark = ~admin if link.ends[end].system not in _LASER_STAYS_ON else np.zeros(steps, bool)
    clears = rng.poisson(config.clears_per_port_month * config.days / 30)
    time = PortTime(
        up=up,
        admin_up=admin,
        dark=dark,
        seen=~device.gap & (rng.random(steps) >= config.missing),
        flaps=np.zeros(steps, np.int64),
        read_errors=(rng.random(steps) < _READ_ERRORS).astype(np.int64),
        sag_v=np.zeros(steps, np.float32),
        fault=np.zeros(steps, bool),
        mute=np.zeros(steps, bool),
        resets=np.sort(np.append(device.reboots, rng.integers(0, steps, clears))),
    )
    time.flaps[1:] += up[:-1] & ~up[1:]
    time.flaps += rng.random(steps) < _LONE_FLAPS_DAY / config.steps_per_day
    far_reboots = history.env.device(link.ends[1 - end]).reboots
    time.flaps[np.concatenate([device.reboots, far_reboots])] += 1
    _shake(history, state, end, rng, time)
    for failure in history.by_link.get(link.index, []):
        _pull(failure.visit.repairs, end, time)
    return time


def _outside(steps: int, spans: list[tuple[int, int, str]]) -> NDArray[np.bool_]:
    inside = np.zeros(steps, bool)
    for first, last, _ in spans:
        inside[first:last] = True
    return ~inside


def _shake(history: History, state: State, end: int, rng: np.random.Generator, time: PortTime) -> None:
    """Flaps, sags, failed reads and fault flags of faults that are not of the light alone."""
    steps = history.config.steps
    for fault in state.faults:
        if fault.mode not in ("seat", "host") or fault.onset >= steps or fault.stop <= 0:
            continue
        begin, level = fault.at(0, steps)
        where = slice(begin, begin + len(level))
        own = np.random.default_rng([history.config.seed, fault.seed])  # both ends see the same flaps
        time.flaps[where] += own.poisson(np.minimum(level, _SHAKEN_DB) ** 2 * fault.shakes)
        if fault.end != end:
            continue
        time.read_errors[where] += rng.poisson(np.minimum(level, _SHAKEN_DB) ** 2 * fault.shakes)
        if fault.mode == "seat":
            time.sag_v[where] += (rng.random(len(level)) < _SAGS) * np.minimum(level, 4.0) * _SAG_V
        else:
            broken = rng.random(len(level)) < np.clip((level - 3.0) / 8, 0, 0.8)
            time.fault[where] |= broken
            time.mute[where] |= (level >= DEAD_DB) & bool(fault.seed % 2)  # half of the dead do not answer


def _pull(repairs: tuple[Repair, ...], end: int, time: PortTime) -> None:
    for repair in repairs:
        if repair.end == end and repair.action in (Action.REPLACE_TRANSCEIVER, Action.RESEAT):
            time.seen[max(repair.step - 2, 0) : repair.step] = False
