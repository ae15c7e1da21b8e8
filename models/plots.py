"""The report's plots, as SVG text: drawn without a display, the same bytes each time."""

import io
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Final

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from models.scorecard import Scorecard

__all__ = ["alarms_over_time", "calibration", "importance", "lead_times", "reliability"]

_COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")  # Okabe and Ito's, safe for colour-blind readers
_EPOCH: Final = date(1970, 1, 1)
_SIZE_IN: Final = (8.0, 3.2)
_LEADS_H: Final = (0, 1, 6, 12, 24, 48, 72, 96, 120, 144, 168)


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "forelight", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]


def _day(day: date) -> float:
    """Days since 1970, as matplotlib counts them."""
    return float(day.toordinal() - _EPOCH.toordinal())


def lead_times(cards: Sequence[Scorecard]) -> str:
    """How long before the failure the first right alarm stood: failures caught, by hours of lead."""
    figure = Figure(figsize=_SIZE_IN)
    axes = figure.subplots()
    positions = np.arange(len(_LEADS_H) - 1)
    width = 0.8 / len(cards)
    for i, card in enumerate(cards):
        hours = np.clip(card.lead_times_h, 0, _LEADS_H[-1]) if card.lead_times_h else np.empty(0)
        counts, _ = np.histogram(hours, bins=_LEADS_H)
        axes.bar(positions + i * width, counts, width, label=card.name, color=_COLOURS[i % len(_COLOURS)])
    axes.set_xticks(positions + 0.4 - width / 2, [f"{a}-{b}" for a, b in pairwise(_LEADS_H)])
    axes.set(xlabel="lead time, h (the last bin holds longer ones too)", ylabel="failures")
    axes.legend(frameon=False)
    return _svg(figure)


def alarms_over_time(card: Scorecard) -> str:
    """Alarms raised each day, and which links and days of them were false."""
    figure = Figure(figsize=_SIZE_IN)
    axes = figure.subplots()
    for counts, label, colour in (
        (card.alarms_by_day, "raised", _COLOURS[0]),
        (card.false_by_day, "false", _COLOURS[1]),
    ):
        if counts:
            axes.bar([_day(day) for day in counts], list(counts.values()), label=label, color=colour)
    axes.xaxis_date()
    axes.set_xlim(_day(card.start), _day(card.end) + 1)
    axes.set(ylabel="alarms a day")
    if card.alarms_by_day:
        axes.legend(frameon=False)
    figure.autofmt_xdate()
    return _svg(figure)


def calibration(risks: npt.ArrayLike, outcomes: npt.ArrayLike, *, bins: int = 12) -> str:
    """Observed against predicted, rows in bins of equal expected failures; on the diagonal risks mean what they say."""
    p, y = np.asarray(risks, float), np.asarray(outcomes, float)
    order = np.argsort(p, kind="stable")
    share = np.cumsum(p[order]) / max(p.sum(), 1e-300)
    groups = [rows for rows in np.split(order, np.searchsorted(share, np.arange(1, bins) / bins)) if len(rows)]
    predicted = [float(p[rows].mean()) for rows in groups]
    observed = [float(y[rows].mean()) for rows in groups]
    figure = Figure(figsize=(4.5, 4.0))
    axes = figure.subplots()
    seen = [value for value in (*predicted, *observed) if value > 0] or [1.0]
    span = [min(seen) / 2, 1.0]
    axes.plot(span, span, color="#8c959f", linewidth=1)
    axes.plot(predicted, observed, "o", color=_COLOURS[0])
    axes.set(xscale="log", yscale="log", xlim=span, ylim=span, xlabel="predicted risk", ylabel="observed share")
    return _svg(figure)


def reliability(bins: Sequence[Sequence[float]], horizon_h: int) -> str:
    """Failures observed against expected, between quantiles of the risk.

    Args:
        bins: from quantile, rows, expected, observed of each.
        horizon_h: of the risks.
    """
    figure = Figure(figsize=(_SIZE_IN[1] + 1, _SIZE_IN[1] + 1))
    axes = figure.subplots()
    rows, expected, observed = (np.array([b[k] for b in bins], float) for k in (1, 2, 3))
    seen = (rows > 0) & (expected > 0) & (observed > 0)
    axes.loglog(expected[seen] / rows[seen], observed[seen] / rows[seen], "o-", color=_COLOURS[0])
    ends = [float((expected[seen] / rows[seen]).min()) if seen.any() else 1e-3, 1.0]
    axes.loglog(ends, ends, "--", color="grey", linewidth=1)
    axes.set(xlabel=f"predicted risk within {horizon_h} h", ylabel="share that failed")
    return _svg(figure)


def importance(gains: Mapping[str, float]) -> str:
    """What the trees lean on: share of the gain of each feature, the greatest on top."""
    figure = Figure(figsize=(_SIZE_IN[0], 0.25 * max(len(gains), 1) + 0.8))
    axes = figure.subplots()
    axes.barh(list(gains)[::-1], list(gains.values())[::-1], color=_COLOURS[0])
    axes.set(xlabel="share of the trees' gain")
    return _svg(figure)
