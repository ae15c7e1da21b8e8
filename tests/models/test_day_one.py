"""Day one: what physics says of a link before any failure was seen."""

import numpy as np
import pytest
from numpy.typing import NDArray

from features.pipeline import FeaturePipeline
from models.base import FAULTS, HORIZONS_H
from models.day_one import day_one
from models.policy import ALARM_HORIZON_H

ARTIFACT = day_one()
Floats = NDArray[np.float32]


def _risk(pipeline: FeaturePipeline, **values: float) -> Floats:
    """Risks of a link that is well but for these columns."""
    row = np.zeros((1, len(pipeline.names)), np.float32)
    row[0, [j for j, name in enumerate(pipeline.names) if "closing" in name]] = np.log10(3e-3)
    for name, value in values.items():
        row[0, pipeline.names.index(name)] = value
    risk: Floats = ARTIFACT.model.risk(row)[0]
    return risk


def test_a_link_that_is_well_fails_as_links_do_that_nothing_is_known_of(pipeline: FeaturePipeline) -> None:
    week = 1 - (1 - 0.01) ** (168 / 8766)

    assert 2 * week == pytest.approx(float(_risk(pipeline)[-1]), rel=0.1)


@pytest.mark.parametrize(
    "seen",
    [
        {"light_used_6h": 0.8},
        {"ber_spent_6h": 0.8},
        {"light_used_6h": 0.65, "rx_closing_24h": 0.3},
        {"ber_spent_6h": 0.4, "ber_closing_24h": 0.5, "flaps_24h": 3.0},
    ],
)
def test_who_has_spent_most_of_the_way_is_alarmed_about(pipeline: FeaturePipeline, seen: dict[str, float]) -> None:
    assert ARTIFACT.policy.watch < _risk(pipeline, **seen)[HORIZONS_H.index(ALARM_HORIZON_H)]


@pytest.mark.parametrize(
    "seen",
    [{"light_used_6h": 0.25}, {"ber_spent_6h": 0.3}, {"flaps_24h": 1.1}, {"rx_closing_24h": 0.0}, {"rx_spent_6h": 0.3}],
)
def test_a_small_step_is_no_alarm(pipeline: FeaturePipeline, seen: dict[str, float]) -> None:
    assert 0.05 > _risk(pipeline, **seen)[-1]


def test_risks_rise_with_the_horizon(pipeline: FeaturePipeline) -> None:
    risk = _risk(pipeline, light_used_6h=0.6)

    assert (np.diff(risk) > 0).all()
    assert len(HORIZONS_H) == risk.size


def test_it_tells_no_fault_and_offers_no_act(pipeline: FeaturePipeline) -> None:
    fault = ARTIFACT.model.fault(np.zeros((1, len(pipeline.names)), np.float32))

    assert np.allclose(1 / len(FAULTS), fault)
    assert ARTIFACT.policy.act is None
    assert "no healthy history" in ARTIFACT.policy.act_reason
