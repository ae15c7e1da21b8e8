"""LightGBM's text, read by us before LightGBM reads it: what is no tree is an error in one line.

LightGBM 4 trusts its text: a feature or a child that is not there reads memory that is not its own, a child that is its
own parent never ends, a wrong size ends the process. A model comes from a registry that others can write to, so only
what was understood here, written anew, is given to it.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

__all__ = ["booster_text"]

_MOST_TREES: Final = 20_000
_MOST_LEAVES: Final = 4_096
_NUMBER: Final = re.compile(r"-?\d{1,20}(\.\d{1,30})?(e[-+]?\d{1,3})?", re.ASCII)
_WHOLE: Final = re.compile(r"-?\d{1,9}", re.ASCII)
_NAME: Final = re.compile(r"\w{1,200}", re.ASCII)
_OF_SPLIT: Final = ("split_gain", "threshold", "internal_value", "internal_weight")
_NUMERIC: Final = frozenset((0, 2, 4, 6, 8, 10))
"""Decision types of numbers: bit 0 is a category, bit 1 sends what is missing to the left, bits 2 and 3 say what is
missing (LightGBM 4, `include/LightGBM/tree.h`)."""
_OBJECTIVES: Final = frozenset(("binary", "multiclass"))
_PER_ROUND: Final = ("num_class", "num_tree_per_iteration")


def booster_text(text: str, columns: Sequence[str], classes: int) -> str:
    """The same trees in LightGBM's text, of nothing but what was understood.

    Args:
        text: what ``Booster.model_to_string`` gave, or says to have given.
        columns: names of the features, in order.
        classes: of the objective: 1, or as many as faults.

    Raises:
        ValueError: it is no such text, or one of other features or classes.
    """
    trees_text, end, _ = text.partition("\nend of trees\n")
    head, *rest = trees_text.split("\nTree=")
    said = _fields(head.splitlines()[1:])
    if not end or head.splitlines()[:1] != ["tree"] or said.get("feature_names", "").split() != list(columns):
        msg = "it is no tree of these features"
        raise ValueError(msg)
    objective = said.get("objective", "").split()
    if not objective or objective[0] not in _OBJECTIVES or {said.get(n) for n in _PER_ROUND} != {str(classes)}:
        msg = "its objective is another"
        raise ValueError(msg)
    if len(rest) > _MOST_TREES or len(rest) % classes or not all(map(_NAME.fullmatch, columns)):
        msg = f"{len(rest)} trees of {classes} classes"
        raise ValueError(msg)
    of_all = {
        "version": "v4",
        "num_class": str(classes),
        "num_tree_per_iteration": str(classes),
        "label_index": "0",
        "max_feature_idx": str(len(columns) - 1),
        "objective": f"multiclass num_class:{classes}" if classes > 1 else "binary sigmoid:1",
        "feature_names": " ".join(columns),
        "feature_infos": " ".join(["none"] * len(columns)),
    }
    trees = [f"Tree={k}\n{_tree(part, len(columns))}" for k, part in enumerate(rest)]
    return "\n".join(["tree", *_lines(of_all), "", *trees, "end of trees", ""])


def _tree(text: str, columns: int) -> str:
    said = _fields(text.splitlines()[1:])
    leaves = _whole(said.get("num_leaves", ""))
    if not 1 <= leaves <= _MOST_LEAVES or said.get("num_cat") != "0" or said.get("is_linear", "0") != "0":
        msg = f"a tree of {leaves} leaves, or one with categories or lines"
        raise ValueError(msg)
    splits = leaves - 1
    whole = {
        name: _wholes(said, name, splits) for name in ("split_feature", "decision_type", "left_child", "right_child")
    }
    counts = {
        "leaf_count": _wholes(said, "leaf_count", leaves),
        "internal_count": _wholes(said, "internal_count", splits),
    }
    numbers = {name: _numbers(said, name, splits) for name in _OF_SPLIT}
    numbers |= {"leaf_value": _numbers(said, "leaf_value", leaves)}
    numbers |= {"leaf_weight": _numbers(said, "leaf_weight", leaves if splits else 0)}
    if not all(0 <= feature < columns for feature in whole["split_feature"]) or not _NUMERIC.issuperset(
        whole["decision_type"]
    ):
        msg = "a tree splits by what is no number of these features"
        raise ValueError(msg)
    if sorted([*whole["left_child"], *whole["right_child"]]) != [*range(-leaves, 0), *range(1, splits)] * (splits > 0):
        msg = "a tree whose branches do not lead to each leaf once"
        raise ValueError(msg)
    if any(0 < child <= node for side in ("left_child", "right_child") for node, child in enumerate(whole[side])):
        msg = "a tree with a branch that leads back"
        raise ValueError(msg)
    fields = {"num_leaves": str(leaves), "num_cat": "0"}
    fields |= {name: " ".join(map(str, values)) for name, values in (whole | counts).items()}
    fields |= {name: " ".join(values) for name, values in numbers.items()}
    fields |= {"is_linear": "0", "shrinkage": _numbers(said, "shrinkage", 1)[0]}
    return "\n".join([*_lines(fields), "", ""])


def _lines(fields: dict[str, str]) -> Iterator[str]:
    return (f"{name}={value}" for name, value in fields.items())


def _fields(lines: Sequence[str]) -> dict[str, str]:
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        msg = f"{text[:40]!r} is no whole number"
        raise ValueError(msg)
    return int(text)


def _wholes(said: dict[str, str], name: str, count: int) -> list[int]:
    return [_whole(text) for text in _words(said, name, count)]


def _numbers(said: dict[str, str], name: str, count: int) -> list[str]:
    """As they stand: what LightGBM wrote is what it reads. A threshold of infinity tells missing from the rest."""
    words = _words(said, name, count)
    endless = ("inf",) if name == "threshold" else ()
    for word in words:
        if word not in endless and not (_NUMBER.fullmatch(word) and math.isfinite(float(word))):
            msg = f"{name} of a tree is no number: {word[:40]!r}"
            raise ValueError(msg)
    return words


def _words(said: dict[str, str], name: str, count: int) -> list[str]:
    words = said.get(name, "").split()
    if len(words) != count:
        msg = f"a tree has {len(words)} {name} where {count} are needed"
        raise ValueError(msg)
    return words
