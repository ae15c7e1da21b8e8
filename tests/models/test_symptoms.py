"""What a fault looks like: what is learnt of symptoms, the silent far end, and a journey through JSON."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from features.pipeline import Block, FeaturePipeline
from ingest.schema import FailureType
from models.base import FAULTS, Fault
from models.fault import FaultModel
from models.joint import JointModel
from models.symptoms import SYMPTOMS, SymptomModel, symptom_columns, without_peer
from models.training_data import TrainingData

Floats = NDArray[np.float32]
BENT = FAULTS.index(Fault(FailureType.FIBER_DAMAGE, here=True))
DIRTY = FAULTS.index(Fault(FailureType.CONTAMINATION, here=True))


def _dim(names: tuple[str, ...], count: int, *, both: bool) -> Floats:
    """Ends whose light fell by some decibels, both ways or not."""
    rows = np.full((count, len(names)), np.nan, np.float32)
    drop = np.linspace(2, 6, count, dtype=np.float32)
    rows[:, names.index("rx_min_shift_6h")] = -drop
    rows[:, names.index("loss_rise_both_6h")] = drop if both else 0
    rows[:, names.index("has_peer")] = 1
    return rows


@pytest.fixture(name="names")
def _names(pipeline: FeaturePipeline) -> tuple[str, ...]:
    return pipeline.names


@pytest.fixture(name="fitted")
def _fitted(names: tuple[str, ...]) -> SymptomModel:
    """Of five bent fibres and five dirty connectors."""
    rows = np.concatenate([_dim(names, 5, both=True), _dim(names, 5, both=False)])
    return SymptomModel(names).fit(rows, np.repeat([BENT, DIRTY], 5), np.ones(10))


def test_every_symptom_is_of_a_feature(names: tuple[str, ...]) -> None:
    own = {name.removeprefix("peer_") for name in names}

    assert [] == [name for name in SYMPTOMS if name not in own or f"peer_{name}" not in names]
    assert len(symptom_columns(names)) == len(set(symptom_columns(names)))


def test_five_failures_of_a_kind_suffice_for_a_plain_sign(fitted: SymptomModel, names: tuple[str, ...]) -> None:
    bent, dirty = fitted.predict(_dim(names, 1, both=True))[0], fitted.predict(_dim(names, 1, both=False))[0]

    assert (BENT, DIRTY) == (bent.argmax(), dirty.argmax())
    assert 0.6 < min(bent[BENT], dirty[DIRTY])
    assert 1.0 == pytest.approx(bent.sum(), abs=1e-5)


def test_more_of_a_plain_symptom_says_no_more(fitted: SymptomModel, names: tuple[str, ...]) -> None:
    rows = _dim(names, 1, both=True).repeat(2, axis=0)
    rows[:, names.index("loss_rise_both_6h")] = (5.0, 50.0)

    plain, glitch = fitted.predict(rows)

    assert np.allclose(plain, glitch, atol=1e-3)


def test_it_is_the_same_after_a_journey_through_json(fitted: SymptomModel, names: tuple[str, ...]) -> None:
    again = SymptomModel.from_dict(json.loads(json.dumps(fitted.to_dict())), names)

    rows = _dim(names, 9, both=True)
    assert np.array_equal(fitted.predict(rows), again.predict(rows))


def test_other_symptoms_are_refused(fitted: SymptomModel, names: tuple[str, ...]) -> None:
    told = fitted.to_dict()
    told["symptoms"] = told["symptoms"][1:]

    with pytest.raises(ValueError, match="its symptoms are other ones"):
        SymptomModel.from_dict(told, names)


def test_a_far_end_left_out_is_what_the_pipeline_makes_of_a_silent_one(block: Block, names: tuple[str, ...]) -> None:
    port, time = np.nonzero(block.present)

    hidden = without_peer(block.matrix(port, time), names)

    silent = block.matrix(port, time, hide_peer=np.ones(port.shape[0], bool))
    assert 1000 < port.size
    assert [] == [
        name for j, name in enumerate(names) if not np.array_equal(hidden[:, j], silent[:, j], equal_nan=True)
    ]


def test_rows_before_it_shows_tell_nothing_of_a_fault(data: TrainingData) -> None:
    """What weighs is the risk of a row, not how long before the failure it was: here only the last day has any."""
    pipeline = FeaturePipeline()
    model = JointModel(pipeline.names, pipeline.signs, fault_rounds=4).fault_
    shows = data.rows.until_event_h <= 24
    blank = np.where(shows[:, None], data.rows.rows, np.float32(np.nan))

    one, two = (
        FaultModel(model.names, model.turned, 4).fit(rows, data.fault, shows.astype(np.float64)).symptoms_
        for rows in (data.rows, data.rows.take(np.arange(shows.size), blank))
    )

    assert one is not None
    assert two is not None
    assert (data.fault[~shows & (data.rows.until_event_h <= 168)] >= 0).any()
    told = data.rows.rows[shows]
    assert np.allclose(one.predict(told), two.predict(told), atol=0.01)
