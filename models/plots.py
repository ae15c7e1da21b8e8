"""The report's plots, as SVG text: drawn without a display, the same bytes each time."""

import io
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from models.points import BudgetPoint, HorizonCalibration
from models.scorecard import Scorecard

__all__ = [
    "alarms_over_time",
    "f1_bars",
    "horizon_calibration",
    "importance",
    "lead_times",
    "readings",
    "recall_curve",
    "reliability",
]

_COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")  # Okabe and Ito's, safe for colour-blind readers
_EPOCH: Final = date(1970, 1, 1)
_SIZE_IN: Final = (8.0, 3.2)
_LEAST: Final = 0.05
"""Where no false alarm was seen, a logarithmic axis shows this many."""
_LEADS_H: Final = (0, 1, 6, 12, 24, 48, 72, 96, 120, 144, 168)


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "forelight", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]


def _day(day: date | datetime) -> float:
    """Days since 1970, as matplotlib counts them."""
    if isinstance(day, datetime):
        return day.timestamp() / 86_400
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


def readings(lines: Mapping[str, tuple[Sequence[datetime], Sequence[float]]], limits: Sequence[float]) -> str:
    """Readings over time, a line each, and limits as dashed lines where they are near what was read."""
    figure = Figure(figsize=_SIZE_IN)
    axes = figure.subplots()
    for number, (name, (times, values)) in enumerate(lines.items()):
        axes.plot(
            [_day(time) for time in times], values, linewidth=1, label=name, color=_COLOURS[number % len(_COLOURS)]
        )
    axes.xaxis_date()
    low, high = axes.get_ylim()
    for limit in limits:
        if low - (high - low) <= limit <= high + (high - low):
            axes.axhline(limit, linestyle="--", color="grey", linewidth=1)
    axes.legend(frameon=False, ncols=max(len(lines) // 4, 1))
    figure.autofmt_xdate()
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


def f1_bars(cards: Sequence[Scorecard]) -> str:
    """F1 of each card at each lead, with its bootstrap interval."""
    leads = [score.lead_h for score in cards[0].leads]
    figure = Figure(figsize=(_SIZE_IN[0], 0.35 * len(cards) * max(len(leads), 1) ** 0.5 + 1.2))
    axes = figure.subplots()
    height = 0.8 / len(leads)
    for k, lead in enumerate(leads):
        scores = [card.at(lead) for card in cards]
        f1 = np.array([score.f1 or 0.0 for score in scores])
        low, high = (
            np.array([f if bound is None else bound for f, bound in zip(f1, bounds, strict=True)])
            for bounds in ([score.f1_low for score in scores], [score.f1_high for score in scores])
        )
        spread = np.clip([f1 - low, high - f1], 0, None)
        places = np.arange(len(cards)) + (k - (len(leads) - 1) / 2) * height
        axes.barh(places, f1, height, xerr=spread, label=f"{lead} h ahead", color=_COLOURS[k % len(_COLOURS)])
    axes.set_yticks(np.arange(len(cards)), [card.name for card in cards])
    axes.invert_yaxis()
    axes.set(xlabel="F1, with 90 % interval", xlim=(0, 1))
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(leads))
    return _svg(figure)


def recall_curve(curve: Sequence[BudgetPoint], cards: Sequence[Scorecard]) -> str:
    """Recall over false alarms as the threshold moves; a dot is where each card's alarms stood, at the longest lead."""
    figure = Figure(figsize=_SIZE_IN)
    axes = figure.subplots()
    leads = list(curve[0].recall)
    for k, lead in enumerate(leads):
        false = [max(point.false_per_1000_module_weeks, _LEAST) for point in curve]
        recall = [point.recall[lead] or 0.0 for point in curve]
        axes.plot(false, recall, "-", color=_COLOURS[k % len(_COLOURS)], label=f"{lead} h ahead")
    for card in cards:
        place = max(card.false_per_1000_module_weeks or 0.0, _LEAST), card.at(leads[-1]).recall or 0.0
        axes.plot(*place, "o", color="#57606a", markersize=4)
        axes.annotate(card.name, place, textcoords="offset points", xytext=(4, 4), fontsize=7)
    axes.set(xscale="log", ylim=(0, 1), xlabel="false alarms per 1,000 modules and week", ylabel="recall")
    axes.legend(frameon=False)
    return _svg(figure)


def horizon_calibration(found: Sequence[HorizonCalibration]) -> str:
    """Share that failed over predicted risk, between quantiles of the risk, a line a horizon."""
    figure = Figure(figsize=(_SIZE_IN[1] + 1, _SIZE_IN[1] + 1))
    axes = figure.subplots()
    least = 1.0
    for k, each in enumerate(found):
        shown = [band for band in each.curve if band.rows and band.expected > 0 and band.observed]
        x = [band.expected / band.rows for band in shown]
        y = [band.observed / band.rows for band in shown]
        least = min([least, *x, *y])
        axes.loglog(x, y, "o-", color=_COLOURS[k % len(_COLOURS)], label=f"within {each.horizon_h} h")
    axes.loglog([least, 1.0], [least, 1.0], "--", color="grey", linewidth=1)
    axes.set(xlabel="predicted risk", ylabel="share that failed")
    axes.legend(frameon=False)
    return _svg(figure)
