"""How a training did on links it had not seen: counted by hand, and drawn."""

import numpy as np
import pytest

from models.evidence import evidence, evidence_metrics, evidence_plots
from models.policy_fit import Unseen


class _Model:
    """Knows what it leans on."""

    def importance(self, count: int) -> dict[str, float]:
        return {"ber_margin_6h": 0.7, "flaps_24h": 0.3}


def _unseen(risk: list[float], until_event_h: list[float]) -> Unseen:
    """A link a value, seen for one hour."""
    wait = np.array(until_event_h, np.float32)[:, None]
    return Unseen(np.array(risk, np.float32)[:, None], np.isinf(wait), wait, 2.0)


def test_rows_are_those_that_fail_within_the_horizon_fail_later_or_are_known_to_be_well() -> None:
    found = evidence(_unseen([0.9, 0.1, 0.2], [24.0, np.inf, 300.0]), _Model(), 168)  # type: ignore[arg-type]
    mean = 1 / 3

    assert 3 == found["rows"]
    assert (
        pytest.approx(1 - (0.1**2 + 0.1**2 + 0.2**2) / ((1 - mean) ** 2 + 2 * mean**2), abs=1e-5)
        == found["brier_skill"]
    )


def test_a_link_whose_risk_is_unknown_is_no_row() -> None:
    found = evidence(_unseen([float("nan"), 0.1], [24.0, np.inf]), _Model(), 168)  # type: ignore[arg-type]

    assert 1 == found["rows"]


def test_what_cannot_be_had_is_left_out_of_the_metrics() -> None:
    """Nothing failed: there is no skill to speak of, and no line to fit."""
    found = evidence(_unseen([0.2, 0.1], [np.inf, np.inf]), _Model(), 168)  # type: ignore[arg-type]

    assert {} == evidence_metrics(found)


def test_plots_are_drawn_from_what_the_manifest_keeps() -> None:
    found = evidence(_unseen([0.9, 0.1], [24.0, np.inf]), _Model(), 168)  # type: ignore[arg-type]
    plots = evidence_plots(found)

    assert {"reliability.svg", "importance.svg"} == set(plots)
    assert "ber_margin_6h" in plots["importance.svg"]
