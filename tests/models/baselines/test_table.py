"""The table of all that were judged, a line each."""

from dataclasses import replace
from datetime import UTC, datetime

from rich.console import Console

from models.baselines.table import comparison_rows, comparison_table
from models.points import BudgetPoint
from models.scorecard import LeadScore, Scorecard
from models.tables import budget_table, rich_table

START, END = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 8, tzinfo=UTC)


def _card(name: str, f1: float | None, per_1000: float | None, lead_h: float | None) -> Scorecard:
    leads = tuple(LeadScore(h, 1, None, f1, f1, None, None, None, None) for h in (1, 6, 24))
    return Scorecard(
        name=name,
        start=START,
        end=END,
        alarms=3,
        failures=2,
        uncounted={},
        modules=10,
        module_weeks=10.0,
        false_alarms=1,
        false_per_1000_module_weeks=per_1000,
        base_rate_per_year=0.01,
        leads=leads,
        lead_quantiles_h={} if lead_h is None else {"50%": lead_h},
    )


def test_each_set_of_alarms_has_its_line() -> None:
    header, ours, theirs = comparison_rows([_card("forelight", 0.5, 100.04, 24.4), _card("nobody", None, None, None)])

    assert ("alarms of", "F1 1 h", "F1 6 h", "F1 24 h", "recall 1 h") == header[:5]
    assert ("forelight", "0.50", "0.50", "0.50", "0.50", "1", "100.0", "24") == ours
    assert ("nobody", "-", "-", "-", "-", "1", "-", "-") == theirs


def test_a_narrow_terminal_shows_whole_names_and_headings() -> None:
    console = Console(width=80)
    with console.capture() as shown:
        console.print(
            comparison_table([_card("PDR as_documented, detector", 0.5, 1.0, 2.0)], title="The same failures")
        )

    assert "PDR as_documented, detector" in shown.get()
    assert "modules" in shown.get()
    assert "…" not in shown.get()


def test_a_narrow_terminal_shows_the_headings_of_budgets() -> None:
    leads = dict.fromkeys((1, 6, 24), 0.5)
    point = BudgetPoint(0.9, 0.1, leads, leads, leads, 0.1)
    small = budget_table(replace(_card("forelight", 0.5, 1.0, 2.0), curve=(point,), at_budgets=(point,)))
    console = Console(width=80)
    assert small is not None
    with console.capture() as shown:
        console.print(rich_table(small))

    assert "precision" in shown.get()
    assert "…" not in shown.get()


def test_where_no_threshold_is_within_a_budget_there_is_no_table() -> None:
    point = BudgetPoint(0.9, 99.0, {1: 0.5}, {1: 0.5}, {1: 0.5})

    assert budget_table(replace(_card("forelight", 0.5, 1.0, 2.0), curve=(point,))) is None
