"""What people do about a failure: late, in steps, sometimes the wrong step first, sometimes to no avail.

Times as CorrOpt tells them: four in five within two days, the rest four. Its finding that half to four fifths of
first attempts are right is `FleetConfig.first_action_right`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from data_samples.config import FleetConfig
from data_samples.faults import Fault
from data_samples.layout import Link
from ingest.schema import Action, FailureType

__all__ = ["Repair", "Visit", "plan_visit"]

RIGHT: Final = {
    FailureType.LASER_DEGRADATION: Action.REPLACE_TRANSCEIVER,
    FailureType.RECEIVER_DEGRADATION: Action.REPLACE_TRANSCEIVER,
    FailureType.MODULE_ELECTRONICS: Action.REPLACE_TRANSCEIVER,
    FailureType.CONTAMINATION: Action.CLEAN_CONNECTOR,
    FailureType.FIBER_DAMAGE: Action.REPLACE_FIBER,
    FailureType.LOOSE_SEATING: Action.RESEAT,
    FailureType.OTHER: Action.RESET,
}
"""The action that cures each kind."""

_FIRST_TRIED: Final = {Action.CLEAN_CONNECTOR: 0.5, Action.RESEAT: 0.35, Action.REPLACE_TRANSCEIVER: 0.15}
"""What a wrong first attempt is, cheapest first [judgement]."""
_RESET_CURES, _PUSHED_IN = 0.25, 0.5
"""Electronics that a reset cures (firmware); visits without finding that push the module in again [judgement]."""


@dataclass(frozen=True, slots=True)
class Repair:
    """One attempt."""

    step: int
    end: int
    action: Action
    cures: bool
    swapped: bool


@dataclass(frozen=True, slots=True)
class Visit:
    """A ticket's life: when it was opened and closed, and the attempts between."""

    opened: int
    closed: int
    cured: bool
    repairs: tuple[Repair, ...]


def plan_visit(rng: np.random.Generator, config: FleetConfig, link: Link, fault: Fault, failed: int) -> Visit:
    """Decide how a failure will be handled."""
    hour = config.steps_per_day / 24
    late = min(rng.exponential(config.late_hours / 8), config.late_hours)
    opened = failed + max(1, int(late * hour))
    hours = rng.uniform(2, 30) if rng.random() < config.fast_repair else rng.uniform(48, 96)
    closed = opened + max(4, int(hours * hour))
    cured = bool(rng.random() >= config.no_fault_found)
    return Visit(opened, closed, cured, tuple(_attempts(rng, config, link, fault, closed, cured=cured)))


def _attempts(
    rng: np.random.Generator, config: FleetConfig, link: Link, fault: Fault, closed: int, *, cured: bool
) -> list[Repair]:
    """The attempts in order; the last ends the visit."""
    if not cured:
        action = Action.RESEAT if rng.random() < _PUSHED_IN else Action.NONE
        return [Repair(closed, fault.end, action, cures=False, swapped=False)]
    right = RIGHT[fault.kind]
    if link.kind != "fiber" and right is Action.REPLACE_TRANSCEIVER:
        right = Action.REPLACE_CABLE
    elif fault.kind is FailureType.MODULE_ELECTRONICS and rng.random() < _RESET_CURES:
        right = Action.RESET
    swapped = right in (Action.REPLACE_TRANSCEIVER, Action.REPLACE_CABLE)
    attempts = [Repair(closed, fault.end, right, cures=True, swapped=swapped)]
    if rng.random() >= config.first_action_right:
        wrong = {action: weight for action, weight in _FIRST_TRIED.items() if action is not right}
        action = rng.choice(np.array(list(wrong), object), p=np.array(list(wrong.values())) / sum(wrong.values()))
        swap = action is Action.REPLACE_TRANSCEIVER and link.kind == "fiber"
        end = 1 - fault.end if swap else fault.end
        attempts.insert(0, Repair(closed - 2, end, action, cures=False, swapped=swap))
    return attempts
