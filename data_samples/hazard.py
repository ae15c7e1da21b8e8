"""When faults begin: Poisson onsets, by what they sit in (a module or the fibre), faster for bad lots and infants."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from data_samples import faults
from data_samples.config import KINDS, FleetConfig
from data_samples.faults import Fault
from data_samples.layout import Link
from data_samples.media import Media
from data_samples.modules import Module
from ingest.schema import FailureType

__all__ = ["FIBER_KINDS", "draw_benign", "draw_fiber", "draw_module", "touch"]

FIBER_KINDS: Final = (FailureType.CONTAMINATION, FailureType.FIBER_DAMAGE)
"""What counts to the fibre: the connector at the receiving end is part of it."""
_COPPER_KINDS: Final = (FailureType.MODULE_ELECTRONICS, FailureType.LOOSE_SEATING)
_TOUCH_DIRT: Final = 0.7
"""Of touches that harm, the part that leaves dirt; the rest leave a loose module [judgement]."""
_BENIGN_DB: Final = 1.2
"""Harmless steps of one link stay below this together: less than the margin that every link has."""
_BEFORE_DAYS: Final = 10.0
"""Faults may have begun this long before the window."""


@dataclass(frozen=True, slots=True)
class Span:
    """Steps [first, last) and the failures a step that begin in them."""

    first: int
    last: int
    rate: float


def _onsets(rng: np.random.Generator, per_step: float, first: int, last: int) -> list[int]:
    return [int(rng.integers(first, last)) for _ in range(rng.poisson(max(per_step * (last - first), 0.0)))]


def _draw(
    rng: np.random.Generator, config: FleetConfig, media: Media, kind: FailureType, end: int, span: Span
) -> list[Fault]:
    """Faults of one kind with onsets in a span of steps."""
    first, last = span.first, span.last
    at_once = KINDS[kind].sudden if config.sudden_share is None else config.sudden_share
    out = [
        faults.sudden(rng, config, media, kind, end, onset) for onset in _onsets(rng, span.rate * at_once, first, last)
    ]
    early = first - int(_BEFORE_DAYS * config.steps_per_day) if first == 0 else first
    for onset in _onsets(rng, span.rate * (1 - at_once) / config.gradual_fail_share, early, last):
        fault = faults.gradual(rng, config, media, kind, end, onset)
        if onset >= 0 or fault.level_db[-onset] < media.margin_db / 2:  # what had failed before was repaired before
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
        found += _draw(rng, config, link.media, kind, end, Span(first, config.steps, rate))
        if infant > first:
            found += _draw(rng, config, link.media, kind, end, Span(first, infant, rate * (config.infant_factor - 1)))
    return found


def draw_fiber(rng: np.random.Generator, config: FleetConfig, link: Link, first: int) -> list[Fault]:
    """All faults that the fibre and its connectors will have, from a step on."""
    if link.kind != "fiber" or first >= config.steps:
        return []
    return [
        fault
        for kind in FIBER_KINDS
        for end in (0, 1)
        for fault in _draw(rng, config, link.media, kind, end, Span(first, config.steps, _rate(config, kind) / 2))
    ]


def draw_benign(rng: np.random.Generator, config: FleetConfig, link: Link) -> list[Fault]:
    """Harmless steps and passing bends."""
    rate = config.benign_per_link_month / 30 / config.steps_per_day
    steps = [faults.step(rng, config, link.media, onset) for onset in _onsets(rng, rate, 0, config.steps)]
    kept: list[Fault] = []
    for step in steps:
        if sum(max(float(each.level_db[0]), 0.0) for each in (*kept, step)) < _BENIGN_DB:
            kept.append(step)
    return kept


def touch(rng: np.random.Generator, config: FleetConfig, link: Link, end: int, at: int) -> list[Fault]:
    """What a hand at a connector may leave behind: a harmless step, or dirt that goes on to grow."""
    if link.kind != "fiber" or at >= config.steps:
        return []
    if rng.random() < config.touch_harms:
        kind = FailureType.CONTAMINATION if rng.random() < _TOUCH_DIRT else FailureType.LOOSE_SEATING
        return [faults.gradual(rng, config, link.media, kind, end, at)]
    return [faults.step(rng, config, link.media, at)]
