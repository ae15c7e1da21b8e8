"""What the training knew: how features and risks were spread then, small enough to be kept with the model.

Of each feature that the ramps read, where the deciles of training lie, and of each part number which share of its rows
fell between them. Shares are all that a later comparison needs, and name no module.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.fleet import PORT, Fleet
from models.ramps import RAMPS

__all__ = ["ALL", "NO_PART", "Estimate", "cuts_of", "estimated", "parts_of", "reference", "shares"]

Floats = NDArray[np.floating[Any]]

ALL: Final = "all"
"""All part numbers together."""
NO_PART: Final = "unknown"
"""Part number of modules that no inventory knows."""
_DECILES: Final = np.arange(0.1, 0.95, 0.1)
_PARTS: Final = 30
"""Part numbers whose features are told apart: at most so many, the commonest…"""
_FEW: Final = 10
"""…of at least so many modules: of fewer, each module's own ways would be taken for the part number's."""
_ROWS: Final = 200_000
"""Rows that deciles are read from, evenly taken."""

Estimate = dict[str, float]
"""Expected by calibrated risks: precision, recall, f1."""


def reference(
    rows: Floats,
    names: Sequence[str],
    place: pl.DataFrame,
    weight: Floats,
    fleet: Fleet,
    risk: Floats,
    watch: float,
) -> dict[str, Any]:
    """What is kept, as JSON takes it.

    Args:
        rows: shape (n, columns), of module ends.
        names: of the columns.
        place: site, device, interface of each row.
        weight: shape (n,), how many rows each stands for.
        fleet: as known in training.
        risk: any shape, of links at times by the fitted model, as it scores later; NaN where a link did not speak.
        watch: risk from which alarms are raised.
    """
    chosen = np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], _ROWS)).astype(np.int64)
    values, weight, place = rows[chosen], weight[chosen], place[chosen]
    part = parts_of(place, fleet)
    ports = place.select(PORT).with_columns(part=pl.Series(part)).unique()
    counts = dict(ports.group_by("part").len().sort("len", "part", descending=[True, False]).iter_rows())
    common = [name for name, count in counts.items() if count >= _FEW][:_PARTS]
    column = {name: j for j, name in enumerate(names) if name in RAMPS}
    cuts = {name: cuts_of(values[:, j]) for name, j in column.items()}
    groups = {ALL: np.ones(values.shape[0], bool)} | {name: part == name for name in common}
    known = risk[~np.isnan(risk)]
    return {
        "cuts": cuts,
        "modules": {ALL: ports.select(PORT).unique().height, **counts},
        "shares": {
            group: {name: shares(values[mine, j], cuts[name], weight[mine]) for name, j in column.items()}
            for group, mine in groups.items()
        },
        "risk_cuts": cuts_of(known),
        "risk_shares": shares(known, cuts_of(known)),
        "expected": estimated(risk, watch),
    }


def parts_of(place: pl.DataFrame, fleet: Fleet) -> NDArray[np.object_]:
    """Shape (n,): part number of the module in the cage of each row, by the records."""
    cages = fleet.in_cages().select(*PORT, "part_number")
    found = place.select(PORT).join(cages, on=list(PORT), how="left", maintain_order="left")["part_number"]
    return found.fill_null(NO_PART).to_numpy().astype(object)


def cuts_of(values: Floats) -> list[float]:
    """Deciles, each once: a count that is mostly 0 has few. Rounded as they are kept."""
    known = values[~np.isnan(values)]
    return sorted({float(f"{cut:.5g}") for cut in np.quantile(known, _DECILES)}) if known.size else []


def shares(values: Floats, cuts: Sequence[float], weight: Floats | None = None) -> list[float]:
    """Share of rows that are missing, then of those up to each cut, and beyond the last; they sum to 1.

    >>> shares(np.array([np.nan, 1.0, 2.0, 3.0]), [1.0, 2.0])
    [0.25, 0.25, 0.25, 0.25]
    """
    place = np.where(np.isnan(values), 0, 1 + np.searchsorted(cuts, values, side="left"))
    counted = np.bincount(place, weight, minlength=len(cuts) + 2)
    return [round(float(share), 5) for share in counted / max(float(counted.sum()), 1e-9)]


def estimated(risk: Floats, watch: float) -> Estimate:
    """What alarms are worth if the risks mean what they say: no ticket is asked.

    CBPE (confidence-based performance estimation): at each time a link at or above `watch` counts as alarmed; of it
    its risk is the expected true alarm, the rest the expected false one; the risks of the others are what is missed.
    F1, precision and recall are of sums over links and times, of failures within the week after.

    >>> estimated(np.array([[0.9], [0.1]]), 0.5)
    {'precision': 0.9, 'recall': 0.9, 'f1': 0.9}
    """
    known = risk[~np.isnan(risk)].astype(np.float64)
    alarmed = known >= watch
    right, alarms, failures = float(known[alarmed].sum()), int(alarmed.sum()), float(known.sum())
    values: Mapping[str, float] = {
        "precision": right / alarms if alarms else 0.0,
        "recall": right / failures if failures else 0.0,
        "f1": 2 * right / (alarms + failures) if failures else 0.0,
    }
    return {name: round(value, 4) for name, value in values.items()}
