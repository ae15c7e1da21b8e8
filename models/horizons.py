"""Whether the risks of a back-test came true, horizon by horizon: slope, skill, observed over expected on top."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.fleet import Fleet
from features.labels import UNSEEN_AFTER, Verdict, censoring
from models.points import HorizonCalibration, RiskBand
from models.reliability import brier_skill, calibration_line, observed_expected
from models.risk_log import Risks

__all__ = ["calibrations"]

TICKET_LAG: Final = timedelta(hours=48)
"""Tickets open up to two days late: the newest two days are not known to be well."""

_EVERY: Final = timedelta(hours=6)
"""Neighbouring hours say nearly the same: one of six is asked."""
_TOP: Final = 3
_CURVE: Final = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)

Floats = NDArray[np.float64]


def calibrations(
    risks: Risks, events: pl.DataFrame, fleet: Fleet, known_until: datetime
) -> tuple[HorizonCalibration, ...]:
    """Calibration of each horizon that was kept.

    Args:
        risks: of a span that the model had not seen.
        events: what ``failure_events`` gives.
        fleet: records as known in the end.
        known_until: end of telemetry; what may have failed later, or in the last two days of it, is not asked.
    """
    kept = _spaced(risks.times)
    at = np.array([risks.times[t].timestamp() for t in kept])
    wait, seen, well, which = _became(risks.links, at, events, fleet, known_until)
    return tuple(
        _calibration(hours, risk[:, kept], (wait, seen, well, which)) for hours, risk in sorted(risks.risk.items())
    )


def _spaced(times: Sequence[datetime]) -> list[int]:
    kept: list[int] = []
    for t, time in enumerate(times):
        if not kept or time - times[kept[-1]] >= _EVERY:
            kept.append(t)
    return kept


def _became(
    links: Sequence[str], at: Floats, events: pl.DataFrame, fleet: Fleet, until: datetime
) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.int64]]:
    """Shape (links, times) each: hours to the next failure, hours seen, whether anything counts, which failure."""
    number = {link: i for i, link in enumerate(links)}
    wait = np.full((len(links), at.size), np.inf)
    which = np.full(wait.shape, -1, np.int64)
    seen = np.repeat((((until - TICKET_LAG).timestamp() - at) / 3600)[None, :], len(links), axis=0)
    well = np.ones(wait.shape, bool)
    counted = events.with_row_index("row").filter(pl.col("verdict") == Verdict.COUNTED)
    for link, failed, row in counted.sort("failed_at", descending=True)["link_id", "failed_at", "row"].iter_rows():
        if (i := number.get(link)) is not None:
            before = at < failed.timestamp()
            wait[i, before], which[i, before] = (failed.timestamp() - at[before]) / 3600, row
    for link, start, end, reason in censoring(fleet, events).iter_rows():
        if (i := number.get(link)) is None:
            continue
        well[i, (at >= start.timestamp()) & (at <= (end.timestamp() if end else np.inf))] = False
        if reason in UNSEEN_AFTER:
            left = (start.timestamp() - at) / 3600
            seen[i] = np.where(left > 0, np.minimum(seen[i], left), seen[i])
    return wait, seen, well, which


def _calibration(
    hours: int,
    risk: NDArray[np.float32],
    became: tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.int64]],
) -> HorizonCalibration:
    wait, seen, well, which = became
    fails = wait <= hours
    known = well & (fails | (seen >= hours)) & ~np.isnan(risk)
    p, y = risk[known].astype(float), fails[known].astype(float)
    line = calibration_line(p, y)
    return HorizonCalibration(
        hours,
        int(known.sum()),
        np.unique(which[known & fails]).size,
        line[1] if line else None,
        line[0] if line else None,
        brier_skill(p, y),
        tuple(_bins(p, y, None)[-_TOP:]),
        tuple(_bins(p, y, _CURVE)),
    )


def _bins(p: Floats, y: Floats, quantiles: tuple[float, ...] | None) -> list[RiskBand]:
    found = observed_expected(p, y, quantiles) if quantiles else observed_expected(p, y)
    return [RiskBand(b.from_quantile, b.rows, b.expected, b.observed) for b in found]
