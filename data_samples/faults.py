"""Faults as stochastic processes: a level in dB that grows by inverse-Gaussian jumps, pauses, stalls or leaps.

Laser ageing is fitted well by inverse-Gaussian increments with a random rate (the GaAs laser set of Meeker and
Escobar: rate CV 0.23); here the rate's spread is `Kind.spread`, and the path may pause and stop at any level.
Nothing here knows of failing: a link fails when physics says that its errors cannot be corrected any more.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data_samples.config import KINDS, FleetConfig
from ingest.schema import FailureType

__all__ = ["DEAD_DB", "Fault", "gradual", "step", "sudden"]

DEAD_DB: Final = 45.0
"""A level that no margin survives."""

_IG_CV: Final = 0.18
"""Coefficient of variation of a path at the median lead's level [judgement; lasers 0.1 to 0.2]."""


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
        shakes: chance of a flap or read error a step, per dB of level.
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


_MODES: Final = {
    FailureType.LASER_DEGRADATION: "laser",
    FailureType.CONTAMINATION: "path",
    FailureType.FIBER_DAMAGE: "path",
    FailureType.RECEIVER_DEGRADATION: "receiver",
    FailureType.MODULE_ELECTRONICS: "host",
    FailureType.LOOSE_SEATING: "seat",
}


def _fault(
    rng: np.random.Generator,
    kind: FailureType,
    end: int,
    lanes: int,
    onset: int,
    level: NDArray[np.float32],
    config: FleetConfig,
    laser: str,
) -> Fault:
    both = kind in (FailureType.FIBER_DAMAGE, FailureType.LOOSE_SEATING)
    directions = (True, True) if both else (end == 1, end == 0)  # light that arrives at `end`
    mode = _MODES[kind]
    if mode == "laser" and laser == "eml" and rng.random() < 0.3:  # noqa: PLR2004 (extinction ratio is invisible in power)
        mode = "eye"
    return Fault(
        kind, mode, end, directions, _lanes(rng, kind, lanes, laser), onset, level, config.steps,
        shakes={"seat": 0.05, "host": 0.01}.get(mode, 0.0), seed=int(rng.integers(2**31)),
    )  # fmt: skip


def _lanes(rng: np.random.Generator, kind: FailureType, lanes: int, laser: str) -> NDArray[np.bool_]:
    """A VCSEL, modulator or detector fails alone; one laser of silicon photonics feeds half of the lanes."""
    mask = np.ones(lanes, bool)
    if kind is FailureType.LASER_DEGRADATION and laser == "siph":
        mask[:] = False
        half = int(rng.integers(2)) * lanes // 2
        mask[half : half + lanes // 2] = True
    elif kind in (FailureType.LASER_DEGRADATION, FailureType.RECEIVER_DEGRADATION):
        mask[:] = False
        mask[rng.integers(lanes)] = True
    elif kind is FailureType.CONTAMINATION and laser in ("vcsel", "siph") and rng.random() < 0.5:  # noqa: PLR2004 (parallel fibre: dirt covers some)
        mask = rng.random(lanes) < 0.6  # noqa: PLR2004
        mask[rng.integers(lanes)] = True
    return mask


def sudden(
    rng: np.random.Generator, kind: FailureType, end: int, lanes: int, onset: int, config: FleetConfig, laser: str
) -> Fault:
    """From nothing to dead between two samples."""
    level = np.full(config.steps - onset, DEAD_DB, np.float32)
    return _fault(rng, kind, end, lanes, onset, level, config, laser)


def gradual(
    rng: np.random.Generator, kind: FailureType, end: int, lanes: int, onset: int, config: FleetConfig, laser: str
) -> Fault:
    """A path that grows towards `reach_db` in about the kind's lead time, pausing and perhaps stopping for good."""
    traits, steps = KINDS[kind], config.steps - onset
    tau = max(4.0, rng.lognormal(np.log(traits.lead_days), traits.spread) * config.steps_per_day)
    reach = config.reach_db * (1.4 if kind is FailureType.LASER_DEGRADATION else 1.0)
    active = _clock(rng, steps, tau)
    clock = np.cumsum(active) / tau
    mean = np.diff(reach * clock ** rng.uniform(0.7, 2.8), prepend=0.0)
    eta = 1.0 / (_IG_CV**2 * reach)
    grown = rng.wald(np.maximum(mean, 1e-7), eta * np.maximum(mean, 1e-7) ** 2)
    level = np.cumsum(np.where(active, grown, 0.0))
    if kind is FailureType.CONTAMINATION:
        level += rng.uniform(0.0, 1.5)
    stall = rng.exponential(config.stall_db)
    level = np.minimum(level, stall)
    if kind in (FailureType.FIBER_DAMAGE, FailureType.LOOSE_SEATING):
        level *= _intermittent(rng, steps)
    fault = _fault(rng, kind, end, lanes, onset, np.minimum(level, DEAD_DB).astype(np.float32), config, laser)
    fault.stalled = bool(level[-1] >= stall)
    return fault


def step(rng: np.random.Generator, lanes: int, onset: int, config: FleetConfig) -> Fault:
    """A harmless change of path loss, either way, for good or for some hours."""
    size = rng.uniform(0.15, 0.9) * (1 if rng.random() < 0.7 else -1)  # noqa: PLR2004 (mostly worse)
    level = np.full(config.steps - onset, size, np.float32)
    if rng.random() < 0.5:  # noqa: PLR2004 (half recover)
        level[max(1, int(rng.exponential(10) * config.steps_per_day / 24)) :] = 0.0
    end, both = int(rng.integers(2)), bool(rng.random() < 0.3)  # noqa: PLR2004
    directions = (True, True) if both else (end == 1, end == 0)
    return Fault(
        FailureType.CONTAMINATION,
        "path",
        end,
        directions,
        np.ones(lanes, bool),
        onset,
        level,
        config.steps,
        benign=True,
    )


def _clock(rng: np.random.Generator, steps: int, tau: float) -> NDArray[np.bool_]:
    """True while the process runs; plateaus of a sixth of `tau`, on average a third of the time."""
    active, at = np.ones(steps, bool), 0
    while at < steps:
        at += max(1, int(rng.exponential(tau / 3)))
        pause = max(1, int(rng.exponential(tau / 6)))
        active[at : at + pause] = False
        at += pause
    return active


def _intermittent(rng: np.random.Generator, steps: int) -> NDArray[np.float64]:
    """Bends and loose seats come and go: some hours at part of the level, some at all of it."""
    knots = rng.beta(0.6, 0.5, steps // 3 + 2)
    return np.repeat(knots, 3)[:steps]
