"""How a training did on links that its models had not seen: numbers and plots, as JSON takes them."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from models.joint import JointModel
from models.policy_fit import Unseen
from models.reliability import brier_skill, calibration_line, observed_expected

__all__ = ["evidence", "evidence_metrics", "evidence_plots"]

_EVERY_H: Final = 6
"""Neighbouring hours say nearly the same: one of six is asked."""
_QUANTILES: Final = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
_SHOWN: Final = 25


def evidence(unseen: Unseen, model: JointModel, horizon_h: int) -> dict[str, Any]:
    """What is kept in the manifest of how risks of unseen links came true, and what the score leans on.

    Args:
        unseen: risks of links by scorers that had not seen them.
        model: fitted.
        horizon_h: of those risks.
    """
    fails = unseen.until_event_h <= horizon_h
    fails_later = np.isfinite(unseen.until_event_h) & ~fails
    known = (fails | fails_later | unseen.healthy) & ~np.isnan(unseen.risk)
    known[:, np.arange(known.shape[1]) % _EVERY_H != 0] = False
    risks, outcomes = unseen.risk[known].astype(float), fails[known].astype(float)
    line, skill = calibration_line(risks, outcomes), brier_skill(risks, outcomes)
    return {
        "horizon_h": horizon_h,
        "rows": int(known.sum()),
        "brier_skill": _rounded(skill),
        "calibration_intercept": _rounded(line[0] if line else None),
        "calibration_slope": _rounded(line[1] if line else None),
        "reliability": [
            [b.from_quantile, b.rows, round(b.expected, 4), b.observed]
            for b in observed_expected(risks, outcomes, _QUANTILES)
        ],
        "importance": model.importance(_SHOWN),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 6)


def evidence_metrics(found: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of `evidence`, flat, those that could not be had left out."""
    names = ("brier_skill", "calibration_intercept", "calibration_slope")
    return {f"unseen_{name}": found[name] for name in names if found[name] is not None}


def evidence_plots(found: Mapping[str, Any]) -> dict[str, str]:
    """Plots of `evidence` as SVG text by file name."""
    from models.plots import importance, reliability  # matplotlib takes a second that no scoring needs

    return {
        "reliability.svg": reliability(found["reliability"], found["horizon_h"]),
        "importance.svg": importance(found["importance"]),
    }
