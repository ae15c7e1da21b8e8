"""When faults begin: Poisson onsets, by what they sit in (a module or the fibre), faster for bad lots and infants."""

from typing import Final

import numpy as np

from data_samples import faults
from data_samples.config import KINDS, FleetConfig
from data_samples.faults import Fault
from data_samples.layout import Link
from data_samples.modules import Module
from ingest.schema import FailureType

__all__ = ["FIBER_KINDS", "draw_benign", "draw_fiber", "draw_module", "touch"]

FIBER_KINDS: Final = (FailureType.CONTAMINATION, FailureType.FIBER_DAMAGE)
"""What counts to the fibre: the connector at the receiving end is part of it."""
_COPPER_KINDS: Final = (FailureType.MODULE_ELECTRONICS, FailureType.LOOSE_SEATING)
_BEFORE_DAYS: Final = 10.0
"""Faults may have begun this long before the window."""


def _onsets(rng: np.random.Generator, per_step: float, first: int, last: int) -> list[int]:
    return [int(rng.integers(first, last)) for _ in range(rng.poisson(max(per_step * (last - first), 0.0)))]


def _draw(
    rng: np.random.Generator,
    config: FleetConfig,
    link: Link,
    kind: FailureType,
    end: int,
    span: tuple[int, int],
    rate: float,
) -> list[Fault]:
    """Faults of one kind with onsets in a span of steps; `rate` is failures a step."""
    traits, (first, last) = KINDS[kind], span
    lanes, laser = link.media.lanes, link.media.laser
    out = [
        faults.sudden(rng, kind, end, lanes, onset, config, laser)
        for onset in _onsets(rng, rate * traits.sudden, first, last)
    ]
    early = first - int(_BEFORE_DAYS * config.steps_per_day) if first == 0 else first
    for onset in _onsets(rng, rate * (1 - traits.sudden) / config.gradual_fail_share, early, last):
        fault = faults.gradual(rng, kind, end, lanes, onset, config, laser)
        if onset >= 0 or fault.level_db[-onset] < 0.5 * config.reach_db:  # noqa: PLR2004 (what had failed before was repaired before)
            out.append(fault)
    return out


def _rate(config: FleetConfig, kind: FailureType) -> float:
    return config.failures_per_link_year / 365 / config.steps_per_day * KINDS[kind].share


def draw_module(rng: np.random.Generator, config: FleetConfig, link: Link, end: int, module: Module) -> list[Fault]:
    """All faults that a module will ever have, from its first step on."""
    factor = config.bad_lot_factor if module.bad_lot else 1.0
    copper = link.kind != "fiber"
    kinds = _COPPER_KINDS if copper else tuple(kind for kind in KINDS if kind not in FIBER_KINDS)
    first, found = module.first, []
    age = (config.time(first) - module.installed_at).total_seconds() / 86400
    infant = min(config.steps, first + max(0, int((config.infant_days - age) * config.steps_per_day)))
    for kind in kinds:
        rate = _rate(config, kind) * factor / 2
        found += _draw(rng, config, link, kind, end, (first, config.steps), rate)
        if infant > first:
            found += _draw(rng, config, link, kind, end, (first, infant), rate * (config.infant_factor - 1))
    return found


def draw_fiber(rng: np.random.Generator, config: FleetConfig, link: Link, first: int) -> list[Fault]:
    """All faults that the fibre and its connectors will have, from a step on."""
    if link.kind != "fiber" or first >= config.steps:
        return []
    return [
        fault
        for kind in FIBER_KINDS
        for end in (0, 1)
        for fault in _draw(rng, config, link, kind, end, (first, config.steps), _rate(config, kind) / 2)
    ]


def draw_benign(rng: np.random.Generator, config: FleetConfig, link: Link) -> list[Fault]:
    """Harmless steps and passing bends."""
    rate = config.benign_per_link_month / 30 / config.steps_per_day
    return [faults.step(rng, link.media.lanes, onset, config) for onset in _onsets(rng, rate, 0, config.steps)]


def touch(rng: np.random.Generator, config: FleetConfig, link: Link, end: int, at: int) -> list[Fault]:
    """What a hand at a connector may leave behind: a harmless step, or dirt that goes on to grow."""
    if link.kind != "fiber" or at >= config.steps:
        return []
    lanes, laser = link.media.lanes, link.media.laser
    if rng.random() < 0.35:  # noqa: PLR2004 (a third of touches harm [judgement])
        kind = FailureType.CONTAMINATION if rng.random() < 0.7 else FailureType.LOOSE_SEATING  # noqa: PLR2004
        return [faults.gradual(rng, kind, end, lanes, at, config, laser)]
    return [faults.step(rng, lanes, at, config)]
