"""Faults as stochastic processes: a level in dB that grows smoothly, by steps or unsteadily, stalls or leaps.

Laser ageing is fitted well by inverse-Gaussian increments with a random rate (the GaAs laser set of Meeker and
Escobar: rate CV 0.23); here the rate's spread is `Kind.spread`, and the path may pause, recover and stop at any level.
Nothing here knows of failing: a link fails when physics says that its errors cannot be corrected any more.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data_samples.config import KINDS, FleetConfig
from data_samples.media import Media
from ingest.schema import FailureType

__all__ = ["DEAD_DB", "Fault", "gradual", "step", "sudden"]

DEAD_DB: Final = 45.0
"""A level that no margin survives."""

_SMOOTH_CV, _STAIRS_CV = 0.05, 0.2
"""Coefficient of variation of a path at the median lead's level [judgement; lasers 0.1 to 0.2]."""
_STAIRS, _FLICKERS = 0.4, 0.2
"""Paths that grow by steps with plateaus between, and paths that now and then recover for hours [judgement]."""


@dataclass(slots=True)
class Fault:
    """Something wrong, from `onset` on.

    Attributes:
        kind: failure type, as a perfect technician would name it.
        mode: what it acts on: laser (efficiency at `end`), eye (a penalty power does not show, at `end`),
            path (loss), receiver (penalty at `end`), host (errors behind the optics of `end`), seat (jitter).
        end: the module's end, or the receiving end for a fault of the fibre.
        directions: which directions of light a path fault hits (0: from end 0).
        lanes: which lanes.
        level_db: its level from `onset` on, shape (steps - onset,).
        stop: step at which it was repaired.
        benign: never fails by design: a confounder.
        shakes: flaps and read errors a step, per squared dB of level.
    """

    kind: FailureType
    mode: str
    end: int
    directions: tuple[bool, bool]
    lanes: NDArray[np.bool_]
    onset: int
    level_db: NDArray[np.float32]
    stop: int
    benign: bool = False
    stalled: bool = False
    shakes: float = 0.0
    seed: int = field(default=0)

    def at(self, first: int, last: int) -> tuple[int, NDArray[np.float32]]:
        """Its levels within [first, last): the step of the first and the values."""
        begin, end = max(first, self.onset), min(last, self.stop, self.onset + len(self.level_db))
        return begin, self.level_db[begin - self.onset : max(end, begin) - self.onset]


_HEADROOM_DB: Final = 1.4
"""What power control hides of a laser's ageing comes on top of the margin."""
_BOTH_WAYS: Final = (FailureType.FIBER_DAMAGE, FailureType.LOOSE_SEATING)
"""A bend and a loose module disturb both directions."""
_EYE_ONLY, _DIRT_ON_SOME, _DIRT_COVERS = 0.3, 0.5, 0.6
"""EML failures that power does not show; dirt that covers some lanes of a parallel fibre, and how many [judgement]."""
_MOSTLY_WORSE, _RECOVERS, _HITS_BOTH = 0.7, 0.5, 0.3
"""Of harmless steps [judgement]."""
_SHAKES: Final = {"seat": 0.012, "host": 0.008}
"""Flaps and failed reads a step and squared dB: some 60 in the last days of dying electronics [judgement]."""

_MODES: Final = {
    FailureType.LASER_DEGRADATION: "laser",
    FailureType.CONTAMINATION: "path",
    FailureType.FIBER_DAMAGE: "path",
    FailureType.RECEIVER_DEGRADATION: "receiver",
    FailureType.MODULE_ELECTRONICS: "host",
    FailureType.LOOSE_SEATING: "seat",
}


def sudden(
    rng: np.random.Generator, config: FleetConfig, media: Media, kind: FailureType, end: int, onset: int
) -> Fault:
    """From nothing to dead between two samples."""
    level = np.full(config.steps - onset, DEAD_DB, np.float32)
    return _fault(rng, media, kind, end, onset, level)


def gradual(
    rng: np.random.Generator, config: FleetConfig, media: Media, kind: FailureType, end: int, onset: int
) -> Fault:
    """A path that grows towards `reach` margins in about the kind's lead time, and perhaps stops for good."""
    traits, steps = KINDS[kind], config.steps - onset
    tau = max(4.0, rng.lognormal(np.log(traits.lead_days), traits.spread) * config.steps_per_day)
    hidden = _HEADROOM_DB if _MODES[kind] == "laser" and media.laser != "vcsel" else 0.0
    reach = config.reach * media.margin_db + hidden
    level = _path(rng, steps, tau, reach)
    if kind is FailureType.CONTAMINATION:
        level += rng.uniform(0.0, 1.5)
    stall = rng.exponential(config.stall_level * (media.margin_db + hidden))
    if rng.random() >= config.stall_share:
        stall = DEAD_DB
    stalled = bool(level[-1] >= stall < DEAD_DB)
    level = np.minimum(level, min(stall, DEAD_DB))
    if kind in _BOTH_WAYS:
        level *= _intermittent(rng, steps)
    elif rng.random() < _FLICKERS:
        level = np.maximum(level - _recoveries(rng, steps, config.steps_per_day / 24), 0.0)
    fault = _fault(rng, media, kind, end, onset, level.astype(np.float32))
    fault.stalled = stalled
    return fault


def step(rng: np.random.Generator, config: FleetConfig, media: Media, onset: int) -> Fault:
    """A harmless change of path loss, either way, for good or for some hours; 0.15 to 0.9 dB [judgement]."""
    size = rng.uniform(0.15, 0.9) * (1 if rng.random() < _MOSTLY_WORSE else -1)
    level = np.full(config.steps - onset, size, np.float32)
    if rng.random() < _RECOVERS:
        level[max(1, int(rng.exponential(10) * config.steps_per_day / 24)) :] = 0.0
    end, both = int(rng.integers(2)), bool(rng.random() < _HITS_BOTH)
    directions = (True, True) if both else (end == 1, end == 0)
    lanes = np.ones(media.lanes, bool)
    return Fault(FailureType.CONTAMINATION, "path", end, directions, lanes, onset, level, config.steps, benign=True)


def _fault(
    rng: np.random.Generator, media: Media, kind: FailureType, end: int, onset: int, level: NDArray[np.float32]
) -> Fault:
    directions = (True, True) if kind in _BOTH_WAYS else (end == 1, end == 0)  # else: light that arrives at `end`
    mode = _MODES[kind]
    if mode == "laser" and media.laser == "eml" and rng.random() < _EYE_ONLY:
        mode = "eye"
    fault = Fault(kind, mode, end, directions, _lanes(rng, kind, media), onset, level, onset + len(level))
    fault.shakes, fault.seed = _SHAKES.get(mode, 0.0), int(rng.integers(2**31))
    return fault


def _lanes(rng: np.random.Generator, kind: FailureType, media: Media) -> NDArray[np.bool_]:
    """A VCSEL, modulator or detector fails alone; one laser of silicon photonics feeds half of the lanes."""
    lanes = media.lanes
    mask = np.zeros(lanes, bool)
    if kind is FailureType.LASER_DEGRADATION and media.laser == "siph":
        half = int(rng.integers(2)) * lanes // 2
        mask[half : half + lanes // 2] = True
    elif kind in (FailureType.LASER_DEGRADATION, FailureType.RECEIVER_DEGRADATION):
        mask[rng.integers(lanes)] = True
    elif kind is FailureType.CONTAMINATION and media.laser in ("vcsel", "siph") and rng.random() < _DIRT_ON_SOME:
        mask = rng.random(lanes) < _DIRT_COVERS  # parallel fibre: each lane has its own core
        mask[rng.integers(lanes)] = True
    else:
        mask[:] = True
    return mask


def _path(rng: np.random.Generator, steps: int, tau: float, reach: float) -> NDArray[np.float64]:
    """A level in dB at each step: inverse-Gaussian growth along a power of the time spent active."""
    stairs = rng.random() < _STAIRS
    active = _clock(rng, steps, tau) if stairs else np.ones(steps, bool)
    mean = np.diff(reach * (np.cumsum(active) / tau) ** rng.uniform(0.9, 2.6), prepend=0.0)
    mean = np.maximum(mean, 1e-7)
    grown = rng.wald(mean, mean**2 / ((_STAIRS_CV if stairs else _SMOOTH_CV) ** 2 * reach))
    return np.cumsum(np.where(active, grown, 0.0))


def _clock(rng: np.random.Generator, steps: int, tau: float) -> NDArray[np.bool_]:
    """True while the process runs; plateaus of a sixth of `tau`, on average a third of the time."""
    active, at = np.ones(steps, bool), 0
    while at < steps:
        at += max(1, int(rng.exponential(tau / 3)))
        pause = max(1, int(rng.exponential(tau / 6)))
        active[at : at + pause] = False
        at += pause
    return active


def _recoveries(rng: np.random.Generator, steps: int, per_hour: float) -> NDArray[np.float64]:
    """How many dB a path is better for hours at a time: 2 to 3, a third of the time [judgement]."""
    better, at = np.zeros(steps), 0
    while at < steps:
        at += max(1, int(rng.exponential(8.0) * per_hour))
        length = max(1, int(rng.exponential(4.0) * per_hour))
        better[at : at + length] = rng.uniform(2.0, 3.0)
        at += length
    return better


def _intermittent(rng: np.random.Generator, steps: int) -> NDArray[np.float64]:
    """Bends and loose seats come and go: some hours at part of the level, some at all of it."""
    knots = rng.beta(0.6, 0.5, steps // 3 + 2)
    return np.repeat(knots, 3)[:steps]
