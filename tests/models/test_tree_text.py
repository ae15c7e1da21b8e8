"""LightGBM's text: the same trees come out of it, and what would end or hold the process up is an error in one line."""

import re
from collections.abc import Callable

import lightgbm as lgb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from models import boosting
from models.tree_text import booster_text

COLUMNS = ["rx_min_shift_6h", "ber_max", "flaps_24h", "has_peer", "temp"]
RNG = np.random.default_rng(3)
ROWS = np.where(RNG.random((400, 5)) < 0.1, np.nan, RNG.normal(size=(400, 5))).astype(np.float32)


def _booster(classes: int, leaves: int = 7) -> lgb.Booster:
    target = (np.nan_to_num(ROWS[:, 0]) > 0).astype(int) + (np.nan_to_num(ROWS[:, 1]) > 1) * (classes > 1)
    objective = {"objective": "multiclass", "num_class": classes} if classes > 1 else {"objective": "binary"}
    return boosting.fit(ROWS, target, np.ones(400), COLUMNS, rounds=4, num_leaves=leaves, **objective)


TEXT = {classes: _booster(classes).model_to_string() for classes in (1, 3)}


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("ask", [{}, {"raw_score": True}, {"pred_contrib": True}])
def test_the_same_trees_say_the_same(classes: int, ask: dict[str, bool]) -> None:
    before, after = _booster(classes), lgb.Booster(model_str=booster_text(TEXT[classes], COLUMNS, classes))

    said: list[NDArray[np.float64]] = [np.asarray(booster.predict(ROWS, **ask)) for booster in (before, after)]
    assert np.array_equal(said[0], said[1])


def test_what_was_read_reads_the_same_again() -> None:
    once = booster_text(TEXT[1], COLUMNS, 1)

    assert booster_text(lgb.Booster(model_str=once).model_to_string(), COLUMNS, 1) == once


def test_trees_of_one_leaf_are_trees() -> None:
    """A target that nothing tells apart makes some."""
    text = boosting.fit(ROWS, np.zeros(400), np.ones(400), COLUMNS, rounds=2, objective="binary").model_to_string()

    assert "num_leaves=1" in text
    lgb.Booster(model_str=booster_text(text, COLUMNS, 1)).predict(ROWS)


def _first(name: str, value: str) -> Callable[[str], str]:
    """The first number after a name, replaced."""
    return lambda text: re.sub(rf"^({name}=)[^ \n]+", rf"\g<1>{value}", text, count=1, flags=re.MULTILINE)


POISON: dict[str, Callable[[str], str]] = {
    "a feature far away": _first("split_feature", "1000000000"),
    "a feature beyond the last": _first("split_feature", "5"),
    "a feature before the first": _first("split_feature", "-7"),
    "its own parent": _first("left_child", "0"),
    "a child that is not there": _first("left_child", "99999999"),
    "a leaf that is not there": _first("left_child", "-99999999"),
    "leaves without end": _first("num_leaves", "2000000000"),
    "no leaf": _first("num_leaves", "0"),
    "a category": _first("decision_type", "1"),
    "categories": _first("num_cat", "500"),
    "a leaf of infinity": _first("leaf_value", "inf"),
    "a leaf of more than that": _first("leaf_value", "1e999"),
    "a million classes": _first("num_class", "1000000"),
    "features without end": _first("feature_names", "a b"),
    "another objective": _first("objective", "custom"),
    "lines": _first("is_linear", "1"),
    "half of it": lambda text: text[: text.index("Tree=2")],
    "half of a tree": lambda text: re.sub(r"\nright_child=.*", "", text, count=1),
    "nothing": lambda _text: "",
    "a pickle": lambda _text: "\x80\x04\x95cposix\nsystem\n(S'touch /tmp/x'\ntR.",
}


@pytest.mark.parametrize("name", POISON)
def test_poison_is_an_error_in_one_line(name: str) -> None:
    """LightGBM itself ends the process at most of these, and never comes back from one."""
    poisoned = POISON[name](TEXT[1])
    assert poisoned != TEXT[1]

    with pytest.raises(ValueError) as raised:  # noqa: PT011 - whichever is wrong first
        booster_text(poisoned, COLUMNS, 1)

    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("part", [_first("tree_sizes", "99999999"), _first("max_feature_idx", "2000000000")])
def test_what_is_not_needed_is_not_believed(part: Callable[[str], str]) -> None:
    """Sizes and counts that can be known are written anew; LightGBM reads beyond its text where it is told to."""
    assert booster_text(part(TEXT[1]), COLUMNS, 1) == booster_text(TEXT[1], COLUMNS, 1)


@settings(deadline=None)
@given(st.data())
def test_a_letter_changed_anywhere_is_an_error_or_a_tree(data: st.DataObject) -> None:
    """What passes is given to LightGBM in this very process."""
    at = data.draw(st.integers(0, len(TEXT[3].partition("end of trees")[0]) - 1))
    letter = data.draw(st.sampled_from("0123456789-.e =\n"))
    changed = TEXT[3][:at] + letter + TEXT[3][at + 1 :]
    try:
        text = booster_text(changed, COLUMNS, 3)
    except ValueError:
        return
    assert (400, 3) == np.asarray(lgb.Booster(model_str=text).predict(ROWS)).shape
