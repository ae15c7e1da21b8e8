"""LightGBM as it is used here: fixed seeds, few threads, no categories, text in and out."""

from collections.abc import Sequence
from typing import Any, Final

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from ingest.errors import ModelError

__all__ = ["fit", "in_order"]

Floats = NDArray[np.float32]

_PARAMETERS: Final[dict[str, Any]] = {
    "num_threads": 2,
    "verbosity": -1,
    "seed": 7,
    "deterministic": True,
    "force_col_wise": True,
    "max_bin": 63,
    "feature_pre_filter": False,
}


def fit(
    rows: Floats,
    target: NDArray[Any],
    weight: NDArray[np.float64],
    names: Sequence[str],
    *,
    rounds: int,
    init_score: NDArray[np.float64] | None = None,
    **parameters: Any,
) -> lgb.Booster:
    """A booster of `rounds` rounds; `parameters` are LightGBM's own and come on top of ours.

    Where `init_score` is given the trees correct it; the booster predicts the correction alone.
    """
    data = lgb.Dataset(
        rows,
        target,
        weight=weight,
        init_score=init_score,
        feature_name=list(names),
        params={"max_bin": 63, "verbosity": -1},
    )
    return lgb.train({**_PARAMETERS, **parameters}, data, num_boost_round=rounds)


def in_order(rows: Floats, names: Sequence[str], wanted: Sequence[str]) -> Floats:
    """Columns by name in the order wanted: LightGBM itself would take them by position.

    Raises:
        ModelError: a column is missing.
    """
    if list(names) == list(wanted):
        return rows
    where = {name: j for j, name in enumerate(names)}
    if missing := [name for name in wanted if name not in where]:
        msg = f"features {', '.join(missing[:3])} are missing ({len(missing)} in all)"
        raise ModelError(msg)
    return rows[:, [where[name] for name in wanted]]
