"""Reasons: what the model itself gave weight to, in an operator's words."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from features.pipeline import Block, FeaturePipeline
from models.artifact import Artifact
from models.explain import CAUSES, evidence, reasons

Floats = NDArray[np.float32]

SILENT = {"admin", "technology", "lanes", "has"}
"""Features that tell no operator why: what a port is, and that somebody switched it off."""


@pytest.fixture(name="riskiest", scope="module")
def _riskiest(artifact: Artifact, block: Block) -> Floats:
    """Rows, the riskiest first."""
    port, time = np.nonzero(block.first)
    rows = block.matrix(port, time)
    return rows[np.argsort(-artifact.model.predict(rows, artifact.model.names).risk[:, -1])]


def test_every_feature_is_put_into_words_or_known_to_say_nothing(pipeline: FeaturePipeline) -> None:
    stems = {name.removeprefix("peer_").split("_", 1)[0] for name in pipeline.names}

    assert set() == stems - set(CAUSES) - SILENT
    assert set() == set(CAUSES) - stems


def test_reasons_are_at_most_three_and_none_twice(artifact: Artifact, riskiest: Floats) -> None:
    said = [reasons(found) for found in evidence(artifact.model, riskiest)]

    assert riskiest.shape[0] == len(said)
    assert all(len(words) == len(set(words)) <= 3 for words in said)
    assert {word for words in said for word in words} <= set(CAUSES.values())


def test_who_is_at_risk_is_told_why(artifact: Artifact, riskiest: Floats) -> None:
    assert all(evidence(artifact.model, riskiest[:10]))


def test_the_strongest_cause_comes_first(artifact: Artifact, riskiest: Floats) -> None:
    model, row = artifact.model, riskiest[:1]
    share: dict[str, float] = {}
    for name, value in zip(model.link_names, model.contributions(row)[0], strict=True):
        cause = CAUSES.get(name.split("_", 1)[0])
        if cause:
            share[cause] = share.get(cause, 0.0) + value

    raising = [cause for cause, value in share.items() if value > 0]
    assert sorted(raising, key=lambda cause: -share[cause])[:3] == list(reasons(evidence(model, row)[0]))


def test_a_row_alone_has_the_same_reasons_as_among_others(artifact: Artifact, riskiest: Floats) -> None:
    assert evidence(artifact.model, riskiest[:20])[7] == evidence(artifact.model, riskiest[7:8])[0]


def test_of_no_rows_there_are_no_reasons(artifact: Artifact, riskiest: Floats) -> None:
    assert [] == evidence(artifact.model, riskiest[:0])


def test_both_ends_of_a_link_are_told_the_same(artifact: Artifact, block: Block) -> None:
    peer = block.history.peer
    port, time = np.nonzero(block.first & (peer >= 0)[:, None] & block.present[peer])
    port, time = port[:30], time[:30]

    near, far = block.matrix(port, time), block.matrix(peer[port], time)

    turned = {"near": "far", "far": "near", "both": "both"}
    said, mirrored = evidence(artifact.model, near), evidence(artifact.model, far)
    assert any(each.end == "far" for found in said for each in found)
    assert said == [tuple(replace(each, end=turned[each.end]) for each in found) for found in mirrored]


def test_evidence_is_the_value_of_the_worse_end_and_raises_the_odds(artifact: Artifact, riskiest: Floats) -> None:
    names, rows = artifact.model.names, riskiest[:20]
    own, far = (
        {name: dict(zip(names, row.tolist(), strict=True)).get(f"{end}{name}") for name in names}
        for end, row in (("", rows[0]), ("peer_", rows[0]))
    )
    for each in evidence(artifact.model, rows[:1])[0]:
        value = (far if each.end == "far" else own)[each.feature]
        assert each.odds > 1
        assert value is None or each.value is None or each.value == pytest.approx(value)


def test_no_more_than_two_features_stand_behind_a_reason(artifact: Artifact, riskiest: Floats) -> None:
    for found in evidence(artifact.model, riskiest[:50]):
        assert {1, 2} >= set(Counter(each.cause for each in found).values())
        assert list(reasons(found)) == sorted(reasons(found), key=[each.cause for each in found].index)
