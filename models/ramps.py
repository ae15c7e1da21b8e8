"""The score of a link: a sum of rising ramps over physical indices, none of which may fall.

A fleet has tens of failures to learn from, not thousands. With so few, trees learn the healthy links that happened to
look ill; a logistic regression whose every part may only rise, as physics has it, does not have the freedom to. Where
failures are many, trees correct it (see `models.hazard`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

__all__ = ["DAY_ONE", "RAMPS", "Hold", "RampModel"]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]

_SHARE: Final = (0.05, 0.3, 0.6)
_SPEED: Final = (-1.7, -0.5, 0.5)
_COUNT: Final = (0.0, 1.5, 3.0)

RAMPS: Final[Mapping[str, tuple[float, ...]]] = {
    **dict.fromkeys(("light_used_6h", "light_used_24h"), _SHARE),
    **{f"{metric}_spent_6h": _SHARE for metric in ("rx", "tx", "bias", "ber", "q")},
    **{f"{metric}_closing_{hours}h": _SPEED for metric in ("rx", "tx", "bias", "ber", "q") for hours in (24, 66)},
    **{f"flaps_{hours}h": _COUNT for hours in (1, 6, 24, 72, 168)},
    **{f"uncorrected_{hours}h": _COUNT for hours in (6, 24, 168)},
    **dict.fromkeys(("crc_24h", "symbol_24h", "readerr_24h"), _COUNT),
    **dict.fromkeys(("down_share_24h", "los_share_24h", "fault_share_24h"), (0.0,)),
    **dict.fromkeys(("missing_6h", "rx_scatter_24h", "bias_scatter_24h"), (0.9,)),
    "ber_scatter_24h": (0.9,),
    "rx_dip_24h": (0.5, 2.0),
    "volt_dip_24h": (0.05,),
    "volt_min_shift_24h": (0.01,),
    "temp_max_local_shift_6h": (1.0, 4.0),
    "ber_max_local_shift_6h": (0.2, 1.0),
    "bias_max_local_shift_6h": (0.02,),
    "loss_rise_in_6h": (0.3, 1.5),
}
"""Feature of a link's worse end: where its ramps begin, in its own unit, counted in the direction of more risk.

Shares of the way to a limit, decimal logarithms of what a day takes of the rest, log1p of counts, dB, decades, log of
bias, volts, degrees. Set from the physics (optics reference 4.5 to 4.7), not from data [judgement].
"""

DAY_ONE: Final[Mapping[str, tuple[float, ...]]] = {
    **dict.fromkeys(("light_used_6h", "ber_spent_6h"), (9.0, 6.0, 3.0)),
    **dict.fromkeys(("tx_spent_6h", "bias_spent_6h"), (4.5, 4.5, 4.5)),
    **dict.fromkeys(("rx_closing_24h", "ber_closing_24h"), (1.2, 1.2, 1.2)),
    "flaps_24h": (1.0, 1.0, 1.0),
    "uncorrected_24h": (0.45, 0.45, 0.45),
}
"""What ramps add to the log-odds before any failure was seen: about half of the way spent, and what is left gone within
days, makes it likelier than not to fail within a week, on whatever scale it shows [judgement]."""
_DAY_ONE_CALM: Final = -8.5
"""Log-odds of failing within a week where no ramp has begun: 1 % a year (optics reference 2.4)."""

_CALM: Final = -5.0
"""Log-odds where the search for them begins."""
_ROUNDS: Final = 200
_AT_ONCE: Final = 4_096
"""Rows whose ramps are computed together: what is held in between stays small."""


@dataclass(frozen=True, slots=True)
class Hold:
    """How hard coefficients are held: what a ramp adds must be worth it [judgement; `models.tuning` searches].

    Attributes:
        penalty: weight of the squares of the coefficients of standardised ramps, where one failure weighs one.
        least_scale: a ramp that hardly any row has begun is penalised as if its root mean square were this: what two
            failures showed is no law.
        doubt: a ramp that physics weighs (`DAY_ONE`) is held at that weight instead, give or take this share of it.
    """

    penalty: float = 0.3
    least_scale: float = 0.1
    doubt: float = 0.25


@dataclass
class RampModel:
    """Logistic regression on ramps with coefficients that are not negative; scikit-learn conventions.

    It starts from what physics says before any failure was seen, and learns how the fleet differs.

    Attributes:
        names: of the columns that it is given, in order; those without ramps, and ramps without a column, are left out.
        signs: of each column, whether risk rises (+1) or falls (-1) with it.
        hold: how hard coefficients are held where they start.
        weight_: shape (ramps,), what each ramp adds to the log-odds for each of its units.
        intercept_: log-odds where no ramp has begun.
    """

    names: tuple[str, ...]
    signs: tuple[int, ...]
    hold: Hold = field(default_factory=Hold)
    weight_: Floats64 = field(default_factory=lambda: np.zeros(0), init=False)
    intercept_: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._ramps = [
            (j, float(self.signs[j] or 1), start) for j, name in enumerate(self.names) for start in RAMPS.get(name, ())
        ]
        self._column = np.array([j for j, _, _ in self._ramps], np.int64)
        self._sign_and_start = np.array([ramp[1:] for ramp in self._ramps], np.float32).reshape(-1, 2).T.copy()

    def fit(self, rows: Floats, fails: NDArray[np.bool_], weight: Floats64) -> Self:
        """Learn from rows, whether each precedes a failure, and what it weighs.

        Args:
            rows: shape (n, columns), NaN is missing: its ramps have not begun.
            fails: shape (n,).
            weight: shape (n,).
        """
        ramps = self._begun(rows)
        common = np.sqrt(np.average(ramps.astype(np.float64) ** 2, axis=0, weights=weight))
        scale = np.maximum(common, self.hold.least_scale)
        held_at = self._physics() * scale
        penalty = np.where(held_at > 0, 1 / np.maximum(self.hold.doubt * held_at, 1e-9) ** 2, self.hold.penalty)
        design = np.column_stack([ramps / scale, np.ones(ramps.shape[0])]).astype(np.float64)

        def loss(coefficients: Floats64) -> tuple[float, Floats64]:
            score = design @ coefficients
            slack = weight * (expit(score) - fails)
            gradient = design.T @ slack
            moved = coefficients[:-1] - held_at
            gradient[:-1] += penalty * moved
            fit = weight @ (np.logaddexp(0, score) - fails * score)
            return float(fit + 0.5 * penalty @ moved**2), gradient

        start = np.append(held_at, _CALM)
        bounds = [(0.0, None)] * ramps.shape[1] + [(None, None)]
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _ROUNDS}).x
        self.weight_, self.intercept_ = found[:-1] / scale, float(found[-1])
        return self

    @classmethod
    def day_one(cls, names: Sequence[str], signs: Sequence[int]) -> Self:
        """What physics says before any failure was seen; the score is the log-odds of failing within a week."""
        made = cls(tuple(names), tuple(signs))
        made.weight_ = made._physics()
        made.intercept_ = _DAY_ONE_CALM
        return made

    def _physics(self) -> Floats64:
        """Shape (ramps,): `DAY_ONE`, 0 where it says nothing."""
        told = {(name, start): w for name, ws in DAY_ONE.items() for start, w in zip(RAMPS[name], ws, strict=True)}
        return np.array([told.get((self.names[j], start), 0.0) for j, _, start in self._ramps])

    def score(self, rows: Floats) -> Floats64:
        """Shape (n,): log-odds."""
        total: Floats64 = self._begun(rows) @ self.weight_ + self.intercept_
        return total

    def contributions(self, rows: Floats) -> Floats64:
        """Shape (n, columns): what each column adds to the score."""
        out = np.zeros(rows.shape, np.float64)
        parts = self._begun(rows) * self.weight_
        for k, (j, _, _) in enumerate(self._ramps):
            out[:, j] += parts[:, k]
        return out

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        ramps = [[self.names[j], start] for j, _, start in self._ramps]
        return {"ramps": ramps, "weight": self.weight_.tolist(), "intercept": self.intercept_}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], names: Sequence[str], signs: Sequence[int]) -> Self:
        """The inverse of `to_dict`.

        Raises:
            ValueError: the ramps are not those of this code.
        """
        made = cls(tuple(names), tuple(signs))
        made.weight_, made.intercept_ = np.array(values["weight"], np.float64), float(values["intercept"])
        if values["ramps"] != [[made.names[j], start] for j, _, start in made._ramps]:
            msg = "its ramps are other ones"
            raise ValueError(msg)
        return made

    def _begun(self, rows: Floats) -> Floats:
        """Shape (n, ramps): how far each ramp has been gone up."""
        out = np.empty((rows.shape[0], len(self._ramps)), np.float32)
        column, (sign, start) = self._column, self._sign_and_start
        for begin in range(0, rows.shape[0], _AT_ONCE):
            part = slice(begin, begin + _AT_ONCE)
            risen = sign * rows[part, column]
            np.maximum(np.nan_to_num(np.where(np.isnan(risen), start, risen)) - start, 0, out=out[part])
        return out
