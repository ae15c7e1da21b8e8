"""Day one: what physics says of a link before any failure was seen."""

import numpy as np
import pytest
from numpy.typing import NDArray

from features.pipeline import FeaturePipeline
from ingest.schema import FailureType
from models.base import FAULTS, HORIZONS_H, Fault
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


@pytest.mark.parametrize(
    ("seen", "fault"),
    [
        ({"tx_min_shift_6h": -2.0, "bias_max_local_shift_6h": 0.1}, Fault(FailureType.LASER_DEGRADATION, here=True)),
        ({"peer_tx_min_shift_6h": -2.0, "rx_min_shift_6h": -2.0}, Fault(FailureType.LASER_DEGRADATION, here=False)),
        ({"loss_rise_in_6h": 3.0, "rx_min_shift_6h": -3.0}, Fault(FailureType.CONTAMINATION, here=True)),
        ({"loss_rise_out_6h": 3.0, "peer_rx_min_shift_6h": -3.0}, Fault(FailureType.CONTAMINATION, here=False)),
        ({"ber_max_shift_6h": 3.0, "rx_min_shift_6h": 0.0}, Fault(FailureType.RECEIVER_DEGRADATION, here=True)),
        ({"volt_dip_24h": -0.2, "flaps_24h": 2.0, "readerr_24h": 2.0}, Fault(FailureType.LOOSE_SEATING, here=True)),
    ],
)
def test_it_tells_a_fault_by_how_it_looks(pipeline: FeaturePipeline, seen: dict[str, float], fault: Fault) -> None:
    rows = np.full((1, len(pipeline.names)), np.nan, np.float32)
    for name, value in {"has_peer": 1.0, **seen}.items():
        rows[0, pipeline.names.index(name)] = value

    assert fault == FAULTS[int(ARTIFACT.model.fault(rows)[0].argmax())]


def test_it_tells_no_fault_where_nothing_shows_and_offers_no_act(pipeline: FeaturePipeline) -> None:
    fault = ARTIFACT.model.fault(np.full((1, len(pipeline.names)), np.nan, np.float32))

    assert np.allclose(1 / len(FAULTS), fault)
    assert ARTIFACT.policy.act is None
    assert "no healthy history" in ARTIFACT.policy.act_reason
