"""Who would have said what: scorecards of many sets of alarms on the same events, a line each."""

from collections.abc import Sequence

from rich.table import Table

from models.scorecard import Scorecard, figure
from models.tables import longest_word

__all__ = ["comparison_rows", "comparison_table"]


def comparison_rows(cards: Sequence[Scorecard]) -> list[tuple[str, ...]]:
    """A header, then of each scorecard name, F1 at each lead, recall at the shortest, false alarms and lead time."""
    leads = [score.lead_h for score in cards[0].leads]
    header = (
        *("alarms of", *(f"F1 {lead_h} h" for lead_h in leads), f"recall {leads[0]} h"),
        *("false alarms", "per 1,000 modules and week", "median lead h"),
    )
    return [header, *(_row(card) for card in cards)]


def _row(card: Scorecard) -> tuple[str, ...]:
    return (
        card.name,
        *(figure(score.f1) for score in card.leads),
        figure(card.leads[0].recall),
        str(card.false_alarms),
        figure(card.false_per_1000_module_weeks, 1),
        figure(card.lead_quantiles_h.get("50%"), 0),
    )


def comparison_table(cards: Sequence[Scorecard], *, title: str) -> Table:
    """The same for a terminal; the cards have the same leads."""
    header, *rows = comparison_rows(cards)
    table = Table(title=title, title_justify="left", padding=0)
    for name in header:
        first = name == header[0]
        table.add_column(name, justify="left" if first else "right", no_wrap=first, min_width=longest_word(name))
    for row in rows:
        table.add_row(*row)
    return table
