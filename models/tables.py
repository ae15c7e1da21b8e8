"""What a scorecard tells besides its columns, as small tables for a terminal and for the report."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from models.scorecard import BASE_RATES_PER_YEAR, Scorecard, figure

__all__ = [
    "Small",
    "base_rate_table",
    "budget_table",
    "calibration_table",
    "longest_word",
    "rich_table",
    "small_tables",
]


@dataclass(frozen=True, slots=True)
class Small:
    """A table: title, header, rows of text; and a sentence on how to read it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def budget_table(card: Scorecard) -> Small | None:
    """F1, recall and precision at fixed budgets of false alarms; None where no risk is known, or each is beyond."""
    if not card.at_budgets:
        return None
    leads = tuple(card.curve[0].f1)
    header = (
        "budget",
        "false alarms",
        *(f"F1 {h} h" for h in leads),
        *(f"recall {h} h" for h in leads),
        "precision 24 h",
    )
    rows = tuple(
        (
            f"{point.budget:g}",
            f"{point.false_per_1000_module_weeks:.2f}",
            *(figure(point.f1[lead]) for lead in leads),
            *(figure(point.recall[lead]) for lead in leads),
            figure(point.precision.get(24)),
        )
        for point in card.at_budgets
    )
    note = (
        "False alarms per 1,000 modules and week. The threshold is moved in hindsight: what the ranking of risks could "
        "do, not what the alarms did."
    )
    return Small(f"{card.name} at fixed alarm budgets", header, rows, note)


def calibration_table(card: Scorecard) -> Small | None:
    """Slope, skill and observed over expected in the top bins by horizon; None where no risk is known."""
    if not card.calibration:
        return None
    header = ("horizon", "failures", "slope", "Brier skill", "90-99 %", "99-99.9 %", "above")
    rows = tuple(
        (
            f"{found.horizon_h} h",
            f"{found.failures}",
            figure(found.slope),
            figure(found.brier_skill, 3),
            *(f"{figure(band.ratio)} ({band.observed} / {band.expected:.1f})" for band in found.top),
        )
        for found in card.calibration
    )
    return Small(
        f"{card.name}: did the risks come true",
        header,
        rows,
        "Slope 1 is calibrated, below 1 too sure; then observed over expected, of links and hours in the highest bins.",
    )


def base_rate_table(cards: Sequence[Scorecard]) -> Small:
    """F1 at several base rates, of each card at each lead."""
    leads = [score.lead_h for score in cards[0].leads]
    header = ("failures a year", *(f"{card.name}, {lead} h" for card in cards for lead in leads))
    rows = tuple(
        (f"{100 * rate:g} %", *(figure(card.f1_at(rate, lead)) for card in cards for lead in leads))
        for rate in BASE_RATES_PER_YEAR
    )
    return Small("F1 where modules fail so often", header, rows, "Recall and the rate of false alarms are kept.")


def small_tables(cards: Sequence[Scorecard]) -> list[Small]:
    """All that there are: of the first card, and base rates of it."""
    found = [budget_table(cards[0]), calibration_table(cards[0]), base_rate_table(cards[:1])]
    return [table for table in found if table is not None]


def longest_word(name: str) -> int:
    """How wide a column must be for its heading to be read.

    >>> longest_word("per 1,000 modules and week")
    7
    """
    return max((len(word) for word in name.split()), default=0)


def rich_table(small: Small) -> Table:
    """For a terminal."""
    table = Table(title=small.title, title_justify="left", padding=0)
    table.caption, table.caption_justify = small.note or None, "left"
    for k, name in enumerate(small.header):
        table.add_column(name, justify="right" if k else "left", min_width=longest_word(name))
    for row in small.rows:
        table.add_row(*row)
    return table
