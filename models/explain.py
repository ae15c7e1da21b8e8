"""Why a link is at risk, in an operator's words: the model's own contributions, grouped by physical cause."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.joint import JointModel

__all__ = ["CAUSES", "Evidence", "evidence", "reasons"]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
Ints = NDArray[np.int64]

CAUSES: Final = {
    "ber": "pre-FEC bit errors rise towards the FEC limit",
    "q": "pre-FEC bit errors rise towards the FEC limit",
    "rx": "received power is falling or unsteady",
    "light": "received power is falling or unsteady",
    "loss": "the path loses more light than it did",
    "tx": "a lane launches less light",
    "bias": "laser bias is rising at equal temperature",
    "flaps": "the link flaps",
    "uncorrected": "codewords are lost",
    "crc": "frames are lost",
    "symbol": "frames are lost",
    "volt": "supply voltage dips: a bad contact",
    "temp": "the module runs hotter than its neighbours",
    "readerr": "the module's memory cannot be read at times",
    "down": "the link is down at times",
    "los": "light is lost at times",
    "fault": "the module reports a transmitter fault",
    "missing": "readings are missing while the device answers",
    "neighbour": "hands were at a neighbouring port",
    "link": "it has failed recently",
    "lot": "its lot fails more often than others",
    "age": "it is newly installed",
    "since": "it was touched recently",
}
"""Beginning of a feature's name: what it tells an operator."""

_SAID: Final = 3
_SHOWN: Final = 2
"""Features behind a cause: more of them say the same over other windows."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A feature that raises the risk.

    Attributes:
        cause: one of `CAUSES`.
        feature: its column; `features.told.told` puts it into words.
        end: whose value it is: ``near`` for the row's own end, ``far``, or ``both``.
        value: as the column has it; None where missing is what speaks.
        odds: the odds of failing are so many times those without it.
    """

    cause: str
    feature: str
    end: str
    value: float | None
    odds: float


def reasons(found: Sequence[Evidence]) -> tuple[str, ...]:
    """The causes, strongest first, at most three."""
    return tuple(dict.fromkeys(each.cause for each in found))


def evidence(model: JointModel, rows: Floats) -> list[tuple[Evidence, ...]]:
    """For each feature row the causes that raise its risk most, at most three, with the two strongest features of each.

    Args:
        model: fitted.
        rows: shape (n, columns), columns as ``model.names``.

    Returns:
        Of each row, by the weight of the cause, then of the feature, the strongest first.
    """
    if rows.shape[0] == 0:
        return []
    view, ends = model.link_view(rows), model.whose(rows)
    shares, line_of = _once_each(model, rows, view)
    columns = _by_cause(model.link_names)
    return [
        tuple(_strongest(columns, model.link_names, shares[line], view[i], ends[i])) for i, line in enumerate(line_of)
    ]


def _by_cause(names: Sequence[str]) -> dict[str, Ints]:
    """The columns that tell of each cause."""
    found: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        if cause := CAUSES.get(name.split("_", 1)[0]):
            found.setdefault(cause, []).append(j)
    return {cause: np.array(columns) for cause, columns in found.items()}


def _strongest(
    columns: Mapping[str, Ints], names: Sequence[str], shares: Floats64, values: Floats, ends: NDArray[np.str_]
) -> Iterator[Evidence]:
    """Of one row."""
    weight = {cause: float(shares[which].sum()) for cause, which in columns.items()}
    for cause in sorted((one for one in weight if weight[one] > 0), key=lambda one: -weight[one])[:_SAID]:
        which = columns[cause]
        for j in which[np.argsort(-shares[which], kind="stable")][:_SHOWN]:
            if shares[j] > 0:
                value = None if np.isnan(values[j]) else float(values[j])
                yield Evidence(cause, names[j], str(ends[j]), value, float(np.exp(shares[j])))


def _once_each(model: JointModel, rows: Floats, view: Floats) -> tuple[Floats64, list[int]]:
    """Contributions of rows that differ, and which of them is each row's: both ends of a link are explained once."""
    view = np.ascontiguousarray(view)
    line = view.view(np.dtype((np.void, view.dtype.itemsize * view.shape[1]))).ravel()
    _, first, which = np.unique(line, return_index=True, return_inverse=True)
    return model.contributions(rows[first]), which.ravel().tolist()
