"""One HTML file that tells how alarms did: scorecards side by side, plots, confusion; nothing is fetched to read it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from models.baselines.table import comparison_rows
from models.page import write_page
from models.plots import alarms_over_time, f1_bars, horizon_calibration, lead_times, recall_curve
from models.scorecard import Scorecard, scorecard_rows
from models.tables import Small, small_tables

__all__ = ["write_report"]


def write_report(
    path: Path,
    scorecards: Sequence[Scorecard],
    *,
    title: str = "forelight back-test",
    note: str = "",
    others: Sequence[Scorecard] = (),
    folds: Sequence[Scorecard] = (),
) -> None:
    """Write the report; the first scorecard is the one reported on, the others stand beside it.

    Args:
        path: HTML file to write; its folder is made.
        scorecards: of the same period, leads and base rate.
        title: heads the page.
        note: one sentence under it, such as that the fleet is synthetic.
        others: all that were judged on the same events, baselines too, for the comparison; the scorecards where empty.
        folds: scorecards of each fold.
    """
    first, compared = scorecards[0], others or scorecards
    plots = [
        _plot("F1", f1_bars(compared), "By event, never by row. Whiskers: 90 % bootstrap interval over links."),
        *_risk_plots(first, compared),
        _plot(
            "Lead time", lead_times(scorecards), "Failures by how long before them the first right alarm was raised."
        ),
        _plot(
            "Alarms over time", alarms_over_time(first), f"Alarms of {first.name}, and false ones (one a link and day)."
        ),
    ]
    told = first.attribution
    confusions = [
        _confusion(f"{first.name}: {what}", counts)
        for what, counts in (("failure type", told.type_confusion), ("fault unit", told.unit_confusion))
        if counts
    ]
    write_page(
        path,
        "report.html",
        title=title,
        note=note,
        period=f"{first.start:%Y-%m-%d %H:%M} to {first.end:%Y-%m-%d %H:%M} UTC, {first.modules:,} modules",
        cards=scorecards,
        rows=scorecard_rows(*scorecards),
        uncounted=_uncounted(first.uncounted),
        plots=plots,
        confusions=confusions,
        tables=_tables(scorecards, compared, folds),
    )


def _risk_plots(card: Scorecard, compared: Sequence[Scorecard]) -> list[dict[str, str]]:
    """What the risks behind the alarms show, where they are known."""
    plots = []
    if card.curve:
        said = (
            f"As the threshold on the risks of {card.name} moves, in hindsight. Dots: where each set of alarms stood, "
            f"{card.leads[-1].lead_h} h ahead."
        )
        plots.append(_plot("Recall over false alarms", recall_curve(card.curve, compared), said))
    if card.calibration:
        said = "On the diagonal risks mean what they say. Slopes and the highest bins are in the table below."
        plots.append(_plot("Calibration by horizon", horizon_calibration(card.calibration), said))
    return plots


def _tables(cards: Sequence[Scorecard], compared: Sequence[Scorecard], folds: Sequence[Scorecard]) -> list[Small]:
    found = small_tables(cards)
    for title, group in (("Each fold by itself", folds), ("The same failures, by whose alarms", compared)):
        if group:
            header, *rows = comparison_rows(group)
            found.append(Small(title, header, tuple(rows)))
    return found


def _plot(title: str, svg: str, caption: str) -> dict[str, str]:
    return {"title": title, "svg": svg, "caption": caption}


def _uncounted(reasons: Mapping[str, int]) -> str:
    """Which tickets were no failures to be predicted."""
    if not reasons:
        return "Every ticket of the period is counted."
    told = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in reasons.items())
    return f"Tickets of the period that are not counted: {told}."


def _confusion(title: str, counts: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    columns = sorted({said for row in counts.values() for said in row} | set(counts))
    return {"title": title, "columns": columns, "rows": sorted(counts.items())}
