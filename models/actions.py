"""What to do about a link, cheapest first: each action's chance to cure, and what trying it costs.

Faults are tried away one at a time. Of actions whose outcomes are independent given the fault, the order that ends
soonest for the least cost takes the highest chance for its cost first (Smith's rule, 1956); after an action that did
not cure, the faults that it would have cured are less likely.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ingest.schema import Action, FailureType

__all__ = ["CURES", "HOURS", "Step", "expected_cost_h", "first", "ranked"]

HOURS: Final[Mapping[Action, float]] = {
    Action.RESET: 1.0,
    Action.RESEAT: 2.0,
    Action.CLEAN_CONNECTOR: 2.25,
    Action.REPLACE_TRANSCEIVER: 3.5,
    Action.REPLACE_FIBER: 8.0,
}
"""Hours that trying costs: the work, the way there, the link's capacity meanwhile, the part [judgement]."""

CURES: Final[Mapping[FailureType, Mapping[Action, float]]] = {
    FailureType.LASER_DEGRADATION: {Action.REPLACE_TRANSCEIVER: 0.97},
    FailureType.RECEIVER_DEGRADATION: {Action.REPLACE_TRANSCEIVER: 0.97},
    FailureType.MODULE_ELECTRONICS: {Action.REPLACE_TRANSCEIVER: 0.95, Action.RESEAT: 0.15, Action.RESET: 0.15},
    FailureType.CONTAMINATION: {
        Action.CLEAN_CONNECTOR: 0.85,
        Action.REPLACE_FIBER: 0.7,
        Action.REPLACE_TRANSCEIVER: 0.3,
        Action.RESEAT: 0.2,
    },
    FailureType.FIBER_DAMAGE: {Action.REPLACE_FIBER: 0.95},
    FailureType.LOOSE_SEATING: {
        Action.RESEAT: 0.9,
        Action.REPLACE_TRANSCEIVER: 0.9,
        Action.CLEAN_CONNECTOR: 0.5,
    },
}
"""P(the action cures, given the fault), 0 where not said; which action cures what is CorrOpt's table of root causes
(SIGCOMM 2017), how surely is [judgement]."""

_LEAST: Final = 0.02
"""An action less likely to cure than this is not worth naming."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to try.

    Attributes:
        action: what.
        cures: P(it cures, given that the steps before did not).
        cost_h: hours that trying it costs.
    """

    action: Action
    cures: float
    cost_h: float


def ranked(types: Mapping[FailureType, float]) -> tuple[Step, ...]:
    """What to try in turn; nothing where no failure type is likely.

    Args:
        types: P(type, given failure); those without a known cure only lower the chance of every step.
    """
    left, actions, steps = dict(types), list(HOURS), list[Step]()
    while step := _next(left, actions):
        steps.append(step)
        actions.remove(step.action)
        left = {kind: p * (1 - CURES.get(kind, {}).get(step.action, 0.0)) for kind, p in left.items()}
    return tuple(steps)


def first(types: Mapping[FailureType, float]) -> Action:
    """The first of the steps that `ranked` gives; none where it gives none."""
    step = _next(types, list(HOURS))
    return step.action if step else Action.NONE


def _next(types: Mapping[FailureType, float], actions: Sequence[Action]) -> Step | None:
    """The action that is worth most for its cost."""
    total = sum(types.values())
    if not actions or total <= 0:
        return None
    chance = {a: sum(p * CURES.get(kind, {}).get(a, 0.0) for kind, p in types.items()) / total for a in actions}
    best = max(actions, key=lambda action: chance[action] / HOURS[action])
    return Step(best, chance[best], HOURS[best]) if chance[best] >= _LEAST else None


def expected_cost_h(steps: tuple[Step, ...]) -> float:
    """Hours that trying the steps in turn costs until one cures, in the mean."""
    reached = np.cumprod([1.0, *(1.0 - step.cures for step in steps)])[:-1]
    return float(sum(p * step.cost_h for p, step in zip(reached, steps, strict=True)))
