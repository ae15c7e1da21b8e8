"""Every model, every check: what ``models.base.FailureModel`` promises, whoever keeps it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.errors import ModelError
from models.artifact import Artifact
from models.base import FAULTS, HORIZONS_H, FailureModel
from models.joint import JointModel
from models.policy import Policy
from models.training_data import TrainingData

Floats = NDArray[np.float32]
Make = Callable[[TrainingData, JointModel, Path], FailureModel]


def _fitted(data: TrainingData, quick: JointModel, _folder: Path) -> FailureModel:
    return quick.fit(data.rows, data.fault)


def _loaded(data: TrainingData, quick: JointModel, folder: Path) -> FailureModel:
    model = quick.fit(data.rows, data.fault)
    Artifact(model, Policy(0.5, None, "", 0.6), data.times[-1], {}, "v").save(folder)
    return Artifact.load(folder).model


def _without_faults(data: TrainingData, quick: JointModel, _folder: Path) -> FailureModel:
    return quick.fit(data.rows, np.full_like(data.fault, -1))


MODELS: Final[dict[str, Make]] = {"joint": _fitted, "joint, loaded": _loaded, "joint, no types": _without_faults}
"""A model joins the checks by a line here."""


@dataclass(frozen=True)
class Case:
    """A model, and rows of its columns."""

    model: FailureModel
    rows: Floats


@pytest.fixture(name="case", scope="module", params=MODELS)
def _case(
    request: pytest.FixtureRequest,
    data: TrainingData,
    quick: Callable[..., JointModel],
    tmp_path_factory: pytest.TempPathFactory,
) -> Case:
    model = MODELS[request.param](data, quick(), tmp_path_factory.mktemp("model"))
    return Case(model, data.rows.rows[::20].copy())


def test_risk_is_a_probability_that_rises_with_the_horizon(case: Case) -> None:
    risk = case.model.predict(case.rows, case.model.names).risk

    assert (case.rows.shape[0], len(HORIZONS_H)) == risk.shape
    assert np.float32 == risk.dtype
    assert (risk >= 0).all()
    assert (risk <= 1).all()
    assert (np.diff(risk, axis=1) >= 0).all()


def test_faults_are_a_distribution(case: Case) -> None:
    fault = case.model.predict(case.rows, case.model.names).fault

    assert (case.rows.shape[0], len(FAULTS)) == fault.shape
    assert (fault >= 0).all()
    assert np.allclose(1.0, fault.sum(axis=1), atol=1e-5)


def test_predicting_changes_nothing(case: Case) -> None:
    before = case.rows.copy()

    once, again = (case.model.predict(case.rows, case.model.names) for _ in range(2))

    assert np.array_equal(before, case.rows, equal_nan=True)
    assert np.array_equal(once.risk, again.risk)
    assert np.array_equal(once.fault, again.fault)


def test_a_row_alone_is_the_same_as_among_others(case: Case) -> None:
    everything = case.model.predict(case.rows, case.model.names)

    alone = case.model.predict(case.rows[7:8], case.model.names)

    assert np.array_equal(everything.risk[7:8], alone.risk)
    assert np.array_equal(everything.fault[7:8], alone.fault)


def test_columns_are_taken_by_name(case: Case) -> None:
    names = list(case.model.names)
    order = np.random.default_rng(1).permutation(len(names))
    extra = np.full((case.rows.shape[0], 1), 7.0, np.float32)

    known = case.model.predict(case.rows, names)
    shuffled = case.model.predict(
        np.hstack([extra, case.rows[:, order]]), ["unheard_of", *(names[j] for j in order.tolist())]
    )

    assert np.array_equal(known.risk, shuffled.risk)
    assert np.array_equal(known.fault, shuffled.fault)


def test_a_missing_column_is_named(case: Case) -> None:
    names = list(case.model.names)

    with pytest.raises(ModelError, match=rf"features {names[3]} are missing \(1 in all\)"):
        case.model.predict(np.delete(case.rows, 3, axis=1), [*names[:3], *names[4:]])


def test_missing_values_are_no_obstacle(case: Case) -> None:
    nothing = np.full((2, len(case.model.names)), np.nan, np.float32)

    found = case.model.predict(nothing, case.model.names)

    assert np.isfinite(found.risk).all()
    assert np.isfinite(found.fault).all()


def test_of_no_rows_there_are_no_risks(case: Case) -> None:
    found = case.model.predict(case.rows[:0], case.model.names)

    assert (0, len(HORIZONS_H)) == found.risk.shape
    assert (0, len(FAULTS)) == found.fault.shape
