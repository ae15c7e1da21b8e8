"""Whether a fleet is still the one that a model learnt from, told without a single ticket.

PSI and KS of each feature that the ramps read, for all modules and by part number; of the risks; part numbers that
training had not seen; what is missing; and what alarms are worth by the risks' own word (`models.reference`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.fleet import PORT, Fleet
from ingest.errors import ModelError
from models.artifact import Artifact
from models.card import REFERENCE
from models.reference import ALL, Estimate, estimated, parts_of, shares

__all__ = ["Drift", "Seen", "Shift", "drift", "ks", "psi"]

Floats = NDArray[np.floating[Any]]

_LEAST: Final = 1e-3
"""An empty bin counts as so much."""
_PSI: Final = 0.25
"""From here on a shift is large (the rule of thumb of credit scoring, where PSI is from)."""
_IMPORTANT: Final = 0.25
"""Part of what the model leans on that has to have shifted [judgement]."""
_UNSEEN: Final = 0.1
"""Part of the modules that training did not know [judgement]."""
_WORSE: Final = 0.8
"""Of the F1 expected in training [judgement]."""
_OLD_DAYS: Final = 90
"""A model of a season ago is worth another look [judgement]."""
_BER: Final = "ber_spent_6h"
"""Missing where a module gives no pre-FEC BER."""


@dataclass(frozen=True, slots=True)
class Shift:
    """A feature of one part number, or of all modules, now against training.

    Attributes:
        part_number: or "all".
        feature: its name.
        psi, ks: population stability index; largest difference of the cumulative shares at training's deciles.
        noise: PSI that so few modules show without any shift, on average.
        missing_then, missing_now: share of rows without the feature.
    """

    part_number: str
    feature: str
    psi: float
    ks: float
    noise: float
    missing_then: float
    missing_now: float

    @property
    def large(self) -> bool:
        """Beyond the rule of thumb and the noise."""
        return self.psi >= _PSI + self.noise


@dataclass(frozen=True)
class Seen:
    """What is compared with the training.

    Attributes:
        rows: shape (n, columns), of module ends that speak.
        names: of the columns.
        place: site, device, interface of each row.
        risk: any shape, of links at times, NaN where a link did not speak.
        start, end: of the times.
    """

    rows: Floats
    names: Sequence[str]
    place: pl.DataFrame
    risk: Floats
    start: datetime
    end: datetime


@dataclass(frozen=True)
class Drift:
    """How far from its training a model works.

    Attributes:
        model_version: of the artefact.
        start, end: times looked at.
        modules: that spoke.
        days_old: since training.
        shifts: large ones, the largest first.
        leaning: share of what the model leans on that has shifted, over all modules.
        risk_psi, risk_ks, risk_noise: of the risks of links, as of a feature; a link is two modules.
        unseen_parts: modules by part number that training did not know.
        unseen_share: of the modules.
        missing_ber_then, missing_ber_now: share of rows without pre-FEC BER.
        expected_then, expected_now: precision, recall and F1 of `watch` by the risks' own word.
        advice: reasons to train again; empty where there is none.
    """

    model_version: str
    start: datetime
    end: datetime
    modules: int
    days_old: float
    shifts: tuple[Shift, ...]
    leaning: float
    risk_psi: float
    risk_ks: float
    risk_noise: float
    unseen_parts: Mapping[str, int]
    unseen_share: float
    missing_ber_then: float
    missing_ber_now: float
    expected_then: Estimate
    expected_now: Estimate
    advice: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        times = {"start": self.start.isoformat(), "end": self.end.isoformat()}
        return {**asdict(self), **times, "retrain": bool(self.advice)}


def psi(then: Sequence[float], now: Sequence[float]) -> float:
    """Population stability index of two lists of shares: 0 where they are the same.

    >>> psi([0.5, 0.5], [0.5, 0.5])
    0.0
    """
    a, b = (np.maximum(np.asarray(each, np.float64), _LEAST) for each in (then, now))
    return round(float(((b - a) * np.log(b / a)).sum()), 4)


def ks(then: Sequence[float], now: Sequence[float]) -> float:
    """Largest difference of cumulative shares, of rows that are not missing (the first share): KS at the deciles.

    >>> ks([0.0, 0.5, 0.5], [0.5, 0.5, 0.0])
    0.5
    """
    told = [np.asarray(each[1:], np.float64) for each in (then, now)]
    if not all(each.sum() > 0 for each in told):
        return 0.0
    a, b = (np.cumsum(each / each.sum()) for each in told)
    return round(float(np.abs(a - b).max()), 4)


def drift(artifact: Artifact, seen: Seen, fleet: Fleet) -> Drift:
    """Compare.

    Args:
        artifact: the model.
        seen: some days of the fleet.
        fleet: as known at their end.

    Raises:
        ModelError: the model does not say what it knew.
    """
    known = artifact.facts.get(REFERENCE)
    if not known:
        msg = f"model {artifact.version} does not say what its training knew: train again"
        raise ModelError(msg)
    part = parts_of(seen.place, fleet)
    ports = seen.place.select(PORT).with_columns(part=pl.Series(part, dtype=pl.String)).unique()
    counts: dict[str, int] = dict(ports.group_by("part").len().sort("part").iter_rows())
    shifts = _shifts(known, seen, part, {ALL: ports.height, **counts})
    unseen = {name: count for name, count in counts.items() if name not in known["modules"]}
    risk_now = shares(seen.risk[~np.isnan(seen.risk)], known["risk_cuts"])
    ber = [shift for shift in shifts if (shift.part_number, shift.feature) == (ALL, _BER)]
    large = sorted((shift for shift in shifts if shift.large), key=lambda shift: -shift.psi)
    leans = artifact.facts.get("unseen_links", {}).get("importance", {})
    return _advised(
        Drift(
            artifact.version,
            seen.start,
            seen.end,
            ports.height,
            (seen.end - artifact.trained_until).total_seconds() / 86400,
            tuple(large),
            round(sum(leans.get(shift.feature, 0.0) for shift in large if shift.part_number == ALL), 4),
            psi(known["risk_shares"], risk_now),
            ks(known["risk_shares"], risk_now),
            round(2 * (len(risk_now) - 1) * (1 / known["modules"][ALL] + 1 / max(ports.height, 1)), 4),
            unseen,
            round(sum(unseen.values()) / max(ports.height, 1), 4),
            ber[0].missing_then if ber else 1.0,
            ber[0].missing_now if ber else 1.0,
            known["expected"],
            estimated(seen.risk, artifact.policy.watch),
        )
    )


def _shifts(known: Mapping[str, Any], seen: Seen, part: NDArray[np.object_], counts: Mapping[str, int]) -> list[Shift]:
    """Of each part number that training knew and that is still there, each feature."""
    column = {name: j for j, name in enumerate(seen.names)}
    found = []
    for group, then in known["shares"].items():
        mine = np.ones(part.shape, bool) if group == ALL else part == group
        if not mine.any():
            continue
        for name, before in then.items():
            cuts = known["cuts"][name]
            now = shares(seen.rows[mine, column[name]], cuts)
            noise = (len(before) - 1) * (1 / known["modules"][group] + 1 / counts[group])
            shift = Shift(group, name, psi(before, now), ks(before, now), round(noise, 4), before[0], now[0])
            found.append(shift)
    return found


def _advised(found: Drift) -> Drift:
    """With the reasons to train again."""
    then, now = found.expected_then.get("f1", 0.0), found.expected_now.get("f1", 0.0)
    names = ", ".join(shift.feature for shift in found.shifts if shift.part_number == ALL)
    reasons = {
        f"{found.leaning:.0%} of what the model leans on has shifted: {names}": found.leaning >= _IMPORTANT,
        f"risks have shifted (PSI {found.risk_psi:.2f})": found.risk_psi >= _PSI + found.risk_noise,
        f"{found.unseen_share:.0%} of the modules have part numbers that training did not know: "
        f"{', '.join(found.unseen_parts)}": found.unseen_share >= _UNSEEN,
        f"F1 that the risks promise fell from {then:.2f} to {now:.2f}": now < _WORSE * then,
        f"modules without pre-FEC BER: {found.missing_ber_then:.0%} in training, {found.missing_ber_now:.0%} now": (
            abs(found.missing_ber_now - found.missing_ber_then) >= _UNSEEN
        ),
        f"it was trained {found.days_old:.0f} days ago": found.days_old >= _OLD_DAYS,
    }
    return replace(found, advice=tuple(reason for reason, holds in reasons.items() if holds))
