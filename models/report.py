"""One HTML file that tells how alarms did: scorecards side by side, plots, confusion; nothing is fetched to read it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, StrictUndefined

from models.plots import alarms_over_time, calibration, lead_times
from models.reliability import brier_skill, calibration_line, observed_expected
from models.scorecard import Scorecard, scorecard_rows

__all__ = ["write_report"]


def write_report(
    path: Path,
    scorecards: Sequence[Scorecard],
    *,
    title: str = "forelight back-test",
    note: str = "",
    risks: npt.ArrayLike | None = None,
    outcomes: npt.ArrayLike | None = None,
) -> None:
    """Write the report; the first scorecard is the one reported on, the others stand beside it.

    Args:
        path: HTML file to write; its folder is made.
        scorecards: of the same period, leads and base rate.
        title: heads the page.
        note: one sentence under it, such as that the fleet is synthetic.
        risks: probabilities of failure of the rows scored, for the calibration plot.
        outcomes: 1 where the failure came, 0 where not; as long as ``risks``.
    """
    first = scorecards[0]
    plots = [
        _plot(
            "Lead time", lead_times(scorecards), "Failures by how long before them the first right alarm was raised."
        ),
        _plot(
            "Alarms over time", alarms_over_time(first), f"Alarms of {first.name}, and false ones (one a link and day)."
        ),
    ]
    if risks is not None and outcomes is not None and np.size(risks):
        plots.append(_plot("Calibration", calibration(risks, outcomes), _reliability(risks, outcomes)))
    told = first.attribution
    confusions = [
        _confusion(f"{first.name}: {what}", counts)
        for what, counts in (("failure type", told.type_confusion), ("fault unit", told.unit_confusion))
        if counts
    ]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(Path(__file__).with_name("report.html").read_text(encoding="utf-8")).render(
        title=title,
        note=note,
        period=f"{first.start:%Y-%m-%d %H:%M} to {first.end:%Y-%m-%d %H:%M} UTC, {first.modules:,} modules",
        cards=scorecards,
        rows=scorecard_rows(*scorecards),
        uncounted=_uncounted(first.uncounted),
        plots=plots,
        confusions=confusions,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


def _plot(title: str, svg: str, caption: str) -> dict[str, str]:
    return {"title": title, "svg": svg, "caption": caption}


def _uncounted(reasons: Mapping[str, int]) -> str:
    """Which tickets were no failures to be predicted."""
    if not reasons:
        return "Every ticket of the period is counted."
    told = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in reasons.items())
    return f"Tickets of the period that are not counted: {told}."


def _reliability(risks: npt.ArrayLike, outcomes: npt.ArrayLike) -> str:
    """Slope, skill, and observed over expected in the top bins, in words."""
    line, skill = calibration_line(risks, outcomes), brier_skill(risks, outcomes)
    parts = [f"Calibration slope {line[1]:.2f}." if line else "No slope: too few failures."]
    if skill is not None:
        parts.append(f"Brier skill {skill:.3f}.")
    for risk_bin in observed_expected(risks, outcomes)[1:]:
        if risk_bin.rows:
            top = 100 * (1 - risk_bin.from_quantile)
            parts.append(f"From the top {top:.2g} %: {risk_bin.observed} observed, {risk_bin.expected:.1f} expected.")
    return " ".join(parts)


def _confusion(title: str, counts: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    columns = sorted({said for row in counts.values() for said in row} | set(counts))
    return {"title": title, "columns": columns, "rows": sorted(counts.items())}
