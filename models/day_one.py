"""Before any ticket: a model of physics alone, for a fleet's first day and for the day when no champion can be loaded.

It has learnt nothing: what fails at which end is told by how faults look (`models.symptoms.LOOKS`), and its thresholds
are probabilities set by hand, not bought with a budget. `forelight backtest` judges it beside the champion on the same
failures.
"""

from datetime import UTC, datetime
from typing import Final

from models.artifact import Artifact
from models.joint import joint_model
from models.policy import Policy

__all__ = ["VERSION", "day_one"]

VERSION: Final = "day-one"
"""Stands in scores and alarms where a trained model's version does."""

_WATCH: Final = 0.24
"""Risk within a day that asks for attention: 0.8 within a week [judgement]."""
_SURE: Final = 0.44
"""Risk within a day that needs no second hour: 0.95 within a week [judgement]."""


def day_one() -> Artifact:
    """Ready to score; it was trained on nothing, so it may score any time."""
    model = joint_model()
    model.hazard_.start()
    policy = Policy(_WATCH, None, "no healthy history was seen: thresholds are set by hand", _SURE)
    facts = {"trained_on": "nothing: physics alone"}
    return Artifact(model, policy, datetime(1970, 1, 1, tzinfo=UTC), facts, VERSION)
