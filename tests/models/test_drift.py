"""Drift since training: the same fleet has none, what was moved is named, and nothing is silent."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from features.fleet import Fleet
from ingest.errors import ModelError
from models.artifact import Artifact
from models.drift import Drift, Seen, drift, ks, psi
from models.ramps import RAMPS
from models.reference import ALL, cuts_of, estimated, parts_of, shares
from models.training_data import TrainingData

Look = Callable[..., Drift]


@pytest.fixture(name="look")
def _look(data: TrainingData, artifact: Artifact, fleet: Fleet) -> Look:
    """The training's own rows, after `change` of a column, by a fleet; and risks."""

    def look(
        change: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] | None = None,
        records: Fleet = fleet,
        risk: NDArray[Any] | None = None,
        made: Artifact = artifact,
        days: float = 5,
    ) -> Drift:
        rows = data.rows.rows.copy()
        for name, moved in (change or {}).items():
            column = artifact.model.names.index(name)
            rows[:, column] = moved(rows[:, column])
        known = np.full((4, 10), 0.01) if risk is None else risk
        end = artifact.trained_until + timedelta(days=days)
        seen = Seen(rows, artifact.model.names, data.rows.place, known, end - timedelta(days=5), end)
        return drift(made, seen, records)

    return look


class TestShift:
    def test_the_same_rows_have_not_shifted(self, look: Look) -> None:
        found = look()

        assert () == found.shifts
        assert 0.0 == found.leaning

    def test_a_feature_that_was_moved_is_named(self, look: Look) -> None:
        found = look({"bias_scatter_24h": lambda values: values * 3 + 5})

        assert {"bias_scatter_24h"} == {shift.feature for shift in found.shifts}
        assert ALL in {shift.part_number for shift in found.shifts}
        assert found.shifts[0].ks >= 0.5

    def test_missing_ber_is_told_and_a_reason_to_train(self, look: Look) -> None:
        found = look({"ber_spent_6h": lambda values: np.full_like(values, np.nan)})

        assert found.missing_ber_then < 0.9
        assert 1.0 == found.missing_ber_now
        assert any(reason.startswith("modules without pre-FEC BER") for reason in found.advice)


class TestParts:
    def test_a_part_number_that_training_did_not_know_is_counted(self, look: Look, fleet: Fleet) -> None:
        first = pl.col("device") == fleet.modules["device"].sort()[0]
        new = fleet.modules.with_columns(part_number=pl.when(first).then(pl.lit("NEW-1")).otherwise("part_number"))

        found = look(records=replace(fleet, modules=new))

        assert {"NEW-1"} == set(found.unseen_parts)
        assert found.unseen_share == pytest.approx(found.unseen_parts["NEW-1"] / found.modules, abs=1e-4)

    def test_modules_without_inventory_are_of_an_unknown_one(self, look: Look, fleet: Fleet) -> None:
        found = look(records=replace(fleet, modules=fleet.modules.head(0)))

        assert {"unknown": found.modules} == found.unseen_parts
        assert any("part numbers that training did not know: unknown" in reason for reason in found.advice)

    def test_parts_are_of_the_cage(self, fleet: Fleet) -> None:
        cage = fleet.in_cages().head(1)

        assert cage["part_number"].to_list() == parts_of(cage, fleet).tolist()


class TestAdvice:
    def test_an_old_model_is_a_reason(self, look: Look) -> None:
        assert any("trained 100 days ago" in reason for reason in look(days=100).advice)
        assert not any("days ago" in reason for reason in look(days=5).advice)

    def test_risks_that_promise_less_are_a_reason(self, look: Look, artifact: Artifact) -> None:
        """No alarm where training had some: F1 falls to nothing."""
        promised = artifact.facts["reference"] | {"expected": {"f1": 0.5, "precision": 0.5, "recall": 0.5}}
        made = replace(artifact, facts={**artifact.facts, "reference": promised})

        found = look(risk=np.full((20, 10), 0.001), made=made)

        assert 0.0 == found.expected_now["f1"]
        assert any(reason.startswith("F1 that the risks promise fell") for reason in found.advice)

    def test_it_is_told_as_json(self, look: Look) -> None:
        told = look(days=100).to_dict()

        assert told["retrain"]
        assert isinstance(told["start"], str)

    def test_a_model_that_does_not_say_what_it_knew_is_refused(self, look: Look, artifact: Artifact) -> None:
        facts = {name: value for name, value in artifact.facts.items() if name != "reference"}

        with pytest.raises(ModelError, match="does not say what its training knew: train again"):
            look(made=replace(artifact, facts=facts))


class TestReference:
    def test_it_is_of_the_features_that_ramps_read_and_small(self, artifact: Artifact) -> None:
        known = artifact.facts["reference"]

        assert set(known["cuts"]) == set(RAMPS) & set(artifact.model.names)
        assert max(len(cuts) for cuts in known["cuts"].values()) <= 9
        assert all(
            1.0 == pytest.approx(sum(part), abs=1e-3) for group in known["shares"].values() for part in group.values()
        )

    def test_shares_of_counts_that_are_mostly_nothing(self) -> None:
        values = np.array([0.0] * 95 + [1.0] * 5)

        assert [0.0] == cuts_of(values)
        assert [0.0, 0.95, 0.05] == shares(values, [0.0])

    def test_weights_count(self) -> None:
        assert [0.0, 0.75, 0.25] == shares(np.array([0.0, 1.0]), [0.0], np.array([3.0, 1.0]))

    def test_expected_worth_counts_by_hand(self) -> None:
        """Two alarms of 0.8 and 0.6, a miss of 0.2, and a link that did not speak."""
        expected = {"precision": 0.7, "recall": 0.875, "f1": 0.7778}

        assert expected == estimated(np.array([[0.8], [0.6], [0.2], [np.nan]]), 0.5)

    def test_expected_worth_comes_true_where_risks_are_calibrated(self) -> None:
        random = np.random.default_rng(3)
        risk = random.beta(0.3, 3, (400, 100))
        fails = random.random(risk.shape) < risk
        alarmed = risk >= 0.3

        found = estimated(risk, 0.3)

        assert (fails & alarmed).sum() / alarmed.sum() == pytest.approx(found["precision"], abs=0.02)
        assert (fails & alarmed).sum() / fails.sum() == pytest.approx(found["recall"], abs=0.02)


def test_psi_and_ks_of_known_shares() -> None:
    """PSI by hand: 0.3 * ln(0.8 / 0.5) + 0.3 * ln(0.5 / 0.2)."""
    assert 0.4159 == psi([0.0, 0.5, 0.5], [0.0, 0.8, 0.2])
    assert 0.3 == ks([0.0, 0.5, 0.5], [0.0, 0.8, 0.2])
