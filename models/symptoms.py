"""What a fault looks like: symptoms on the scales of physics, and a linear model of the fault on them.

A bent fibre dims all lanes and both ways within hours; a dirty connector dims some lanes of one way for days; a laser
is dim where it sends. Such signs add up, and a few failures show them: a sum is learnt from those, where trees need
many. A symptom is 0 where it is absent or not known and 1 where it is plain; more of it says no more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from ingest.schema import FailureType
from models.base import FAULTS

__all__ = ["LOOKS", "ONLY_SYMPTOMS", "SYMPTOMS", "SymptomModel", "symptom_columns", "without_peer"]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
Ints = NDArray[np.int64]

SYMPTOMS: Final[Mapping[str, tuple[float, float]]] = {
    "rx_min_shift_6h": (-1, 1.0),
    "tx_min_shift_6h": (-1, 0.5),
    "bias_max_local_shift_6h": (1, 0.05),
    "bias_min_shift_6h": (-1, 0.05),
    "ber_max_shift_6h": (1, 0.7),
    "rx_dip_24h": (-1, 1.5),
    "rx_min_one_lane_6h": (-1, 1.0),
    "tx_min_one_lane_6h": (-1, 0.5),
    "bias_max_one_lane_6h": (1, 0.05),
    "rx_lanes_moved_6h": (1, 1.0),
    "ber_lanes_moved_6h": (1, 1.0),
    **dict.fromkeys(("rx_scatter_24h", "bias_scatter_24h"), (1, 1.0)),
    "flaps_24h": (1, 1.0),
    "flaps_168h": (1, 1.5),
    "uncorrected_24h": (1, 2.0),
    "crc_24h": (1, 1.5),
    "readerr_24h": (1, 1.0),
    "missing_6h": (1, 0.7),
    "volt_dip_24h": (-1, 0.03),
    "temp_max_local_shift_6h": (1, 2.0),
    **dict.fromkeys(("fault_share_24h", "los_share_24h", "down_share_24h"), (1, 0.1)),
}
"""Feature of either end: the direction of its symptom, and how much of it is plain, in its own unit [judgement]."""

_OF_LINK: Final[Mapping[str, tuple[float, float]]] = {
    "loss_rise_in_6h": (1, 1.0),
    "loss_rise_out_6h": (1, 1.0),
    "loss_rise_both_6h": (1, 0.5),
    "flaps_both_24h": (1, 1.0),
}
_AGES: Final = ("rx_age_20", "rx_age_50", "ber_age_20")
ONLY_SYMPTOMS: Final = frozenset({"rx_lanes_moved_6h", "ber_lanes_moved_6h", "loss_rise_both_6h", *_AGES})
"""Features that tell what fails, not whether: the hazard's trees gained by chance from them, and ranked links worse."""
_HALF_SUDDEN: Final = 3.0
"""Twenty hours (log1p): less is sudden, more slow."""
_PENALTY: Final = 1.0
"""How hard coefficients are held at what physics says: weight of squares, where one failure weighs one [judgement]."""
_COMMON: Final = 0.1
"""The same for how common each fault is."""
_ROUNDS: Final = 80

LOOKS: Final[Mapping[FailureType, Mapping[str, float]]] = {
    FailureType.LASER_DEGRADATION: {
        **dict.fromkeys(("tx_min_shift_6h", "bias_max_local_shift_6h"), 3.0),
        **dict.fromkeys(("bias_min_shift_6h", "tx_min_one_lane_6h", "bias_max_one_lane_6h"), 2.0),
        "peer_rx_min_one_lane_6h": 1.0,
        **dict.fromkeys(("bias_scatter_24h", "peer_rx_min_shift_6h", "peer_ber_max_shift_6h"), 0.5),
    },
    FailureType.CONTAMINATION: {
        "loss_rise_in_6h": 3.0,
        "rx_min_shift_6h": 1.0,
        "ber_max_shift_6h": 0.5,
        "rx_age_20": 0.25,
        "flaps_24h": -0.5,
        **dict.fromkeys(("loss_rise_both_6h", "peer_bias_max_local_shift_6h"), -2.0),
        "peer_tx_min_shift_6h": -3.0,
    },
    FailureType.FIBER_DAMAGE: {
        "loss_rise_both_6h": 3.0,
        "loss_rise_in_6h": 1.5,
        "flaps_both_24h": 1.0,
        **dict.fromkeys(("rx_dip_24h", "rx_scatter_24h", "flaps_24h"), 0.5),
        "rx_age_20": -0.5,
        "peer_tx_min_shift_6h": -3.0,
    },
    FailureType.RECEIVER_DEGRADATION: {
        "ber_max_shift_6h": 3.0,
        "flaps_24h": -0.5,
        **dict.fromkeys(("loss_rise_in_6h", "peer_tx_min_shift_6h", "peer_bias_max_local_shift_6h"), -2.0),
        **dict.fromkeys(("tx_min_shift_6h", "bias_max_local_shift_6h"), -2.0),
        "rx_min_shift_6h": -3.0,
    },
    FailureType.MODULE_ELECTRONICS: {
        **dict.fromkeys(("fault_share_24h", "temp_max_local_shift_6h"), 2.0),
        "crc_24h": 1.5,
        **dict.fromkeys(("readerr_24h", "missing_6h", "uncorrected_24h"), 1.0),
        "volt_dip_24h": 0.5,
        "ber_max_shift_6h": -0.5,
        "tx_min_shift_6h": -1.5,
        "rx_min_shift_6h": -2.0,
    },
    FailureType.LOOSE_SEATING: {
        "volt_dip_24h": 2.5,
        "readerr_24h": 2.0,
        **dict.fromkeys(("flaps_24h", "missing_6h"), 1.5),
        **dict.fromkeys(("flaps_168h", "rx_scatter_24h"), 1.0),
        "rx_dip_24h": 0.5,
        "tx_min_shift_6h": -1.0,
        "loss_rise_in_6h": -1.5,
    },
}
"""Of a fault at this end: what a plain symptom adds to its log-odds before any was seen. A laser is dim where it sends
and its bias leaves its place; dirt loses light one way, a bend both ways and at once; a receiver errs at full light;
electronics err with light and bias in place; a loose module flaps, and cannot be read (optics reference 2.1, 4.7)."""
_SAME_FROM_AFAR: Final = frozenset({"loss_rise_both_6h", "flaps_both_24h"})


def _from_afar(name: str) -> str:
    """What a symptom is called at the other end."""
    if name in _SAME_FROM_AFAR:
        return name
    if name.startswith("loss_rise"):
        return "loss_rise_out_6h"
    return name.removeprefix("peer_") if name.startswith("peer_") else f"peer_{name}"


def symptom_columns(names: Sequence[str]) -> Ints:
    """Which of the feature columns say what fails."""
    own = (*SYMPTOMS, *_AGES)
    wanted = {*own, *(f"peer_{name}" for name in own), *_OF_LINK, "has_peer"}
    return np.array([j for j, name in enumerate(names) if name in wanted], np.int64)


def without_peer(rows: Floats, names: Sequence[str]) -> Floats:
    """The rows as they were if the far end were silent, as `features.pipeline.Block.matrix` hides it."""
    out = rows.copy()
    where = {name: j for j, name in enumerate(names)}
    out[:, [j for name, j in where.items() if name.startswith("peer_")]] = np.nan
    out[:, [where["loss_rise_out_6h"], where["loss_rise_both_6h"]]] = np.nan
    out[:, where["loss_rise_in_6h"]] = -rows[:, where["rx_min_shift_6h"]]
    out[:, where["flaps_both_24h"]] = rows[:, where["flaps_24h"]]
    out[:, where["has_peer"]] = 0
    return out


@dataclass
class SymptomModel:
    """Multinomial logistic regression of `FAULTS` on symptoms; scikit-learn conventions.

    Attributes:
        names: feature columns in order; ``peer_x`` is ``x`` of the far end.
        weight_: shape (faults, symptoms), what each adds to the log-odds; the last is the intercept. Before anything
            was learnt it is what physics says (`LOOKS`).
    """

    names: tuple[str, ...]
    weight_: Floats64 = field(init=False)

    def __post_init__(self) -> None:
        where = {name: j for j, name in enumerate(self.names)}
        told = {f"{end}{name}": value for end in ("", "peer_") for name, value in SYMPTOMS.items()} | dict(_OF_LINK)
        self._plain = [(where[name], *value) for name, value in told.items()]
        self._ages = [where[f"{end}{name}"] for end in ("", "peer_") for name in _AGES]
        self._has_peer = where["has_peer"]
        self.weight_ = self._physics()

    def fit(self, rows: Floats, fault: Ints, weight: Floats64) -> Self:
        """Learn from rows, the fault that each precedes (index into `FAULTS`), and what it weighs."""
        design, physics = self._symptoms(rows), self._physics()
        true = np.eye(len(FAULTS))[fault]
        held = np.append(np.full(physics.shape[1] - 1, _PENALTY), _COMMON)

        def loss(values: Floats64) -> tuple[float, Floats64]:
            weights = values.reshape(physics.shape)
            logs, moved = log_softmax(design @ weights.T, axis=1), weights - physics
            gradient = ((np.exp(logs) - true) * weight[:, None]).T @ design + held * moved
            return float(0.5 * (held * moved**2).sum() - weight @ (logs * true).sum(axis=1)), gradient.ravel()

        found = minimize(loss, physics.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _ROUNDS})
        self.weight_ = found.x.reshape(physics.shape)
        return self

    def _physics(self) -> Floats64:
        """Shape (faults, symptoms): `LOOKS`, for a fault at the far end with the ends exchanged."""
        column = {self.names[j]: k for k, j in enumerate([*(j for j, _, _ in self._plain), *self._ages])}
        out = np.zeros((len(FAULTS), len(column) + 2))
        for row, fault in zip(out, FAULTS, strict=True):
            for name, weight in LOOKS[fault.failure_type].items():
                row[column[name if fault.here else _from_afar(name)]] = weight
        return out

    def predict(self, rows: Floats) -> Floats:
        """Shape (n, faults)."""
        return np.asarray(softmax(self._symptoms(rows) @ self.weight_.T, axis=1), np.float32)

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {"symptoms": self._names(), "weight": self.weight_.tolist()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], names: Sequence[str]) -> Self:
        """The inverse of `to_dict`.

        Raises:
            ValueError: the symptoms are not those of this code.
        """
        made = cls(tuple(names))
        made.weight_ = np.array(values["weight"], np.float64)
        if values["symptoms"] != made._names():
            msg = "its symptoms are other ones"
            raise ValueError(msg)
        return made

    def _names(self) -> list[list[Any]]:
        plain = [[self.names[j], sign, scale] for j, sign, scale in self._plain]
        return [*plain, *([self.names[j]] for j in (*self._ages, self._has_peer))]

    def _symptoms(self, rows: Floats) -> Floats64:
        """Shape (n, symptoms), the last one 1."""
        plain = [np.tanh(np.maximum(sign * rows[:, j], 0) / scale) for j, sign, scale in self._plain]
        ages = [rows[:, j] - _HALF_SUDDEN for j in self._ages]
        columns = [*plain, *ages, rows[:, self._has_peer], np.ones(rows.shape[0])]
        return np.nan_to_num(np.column_stack(columns).astype(np.float64))
