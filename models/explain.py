"""Why a link is at risk, in an operator's words: the model's own contributions, grouped by physical cause."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.joint import JointModel

__all__ = ["CAUSES", "reasons"]

Floats = NDArray[np.float32]

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


def reasons(model: JointModel, rows: Floats) -> list[list[str]]:
    """For each feature row the causes that raise its risk most, strongest first, at most three.

    Args:
        model: fitted.
        rows: shape (n, columns), columns as ``model.names``.
    """
    if rows.shape[0] == 0:
        return []
    shares, line_of = _once_each(model, rows)
    stems = [name.split("_", 1)[0] for name in model.link_names]
    causes = list(dict.fromkeys(CAUSES[stem] for stem in stems if stem in CAUSES))
    grouped = np.zeros((shares.shape[0], len(causes)))
    for j, stem in enumerate(stems):
        if stem in CAUSES:
            grouped[:, causes.index(CAUSES[stem])] += shares[:, j]
    order = np.argsort(-grouped, axis=1)[:, :_SAID]
    said = [[causes[k] for k in best if line[k] > 0] for line, best in zip(grouped, order, strict=True)]
    return [list(said[i]) for i in line_of]


def _once_each(model: JointModel, rows: Floats) -> tuple[NDArray[np.float64], list[int]]:
    """Contributions of rows that differ, and which of them is each row's: both ends of a link are explained once."""
    view = np.ascontiguousarray(model.link_view(rows))
    line = view.view(np.dtype((np.void, view.dtype.itemsize * view.shape[1]))).ravel()
    _, first, which = np.unique(line, return_index=True, return_inverse=True)
    return model.contributions(rows[first]), which.ravel().tolist()
