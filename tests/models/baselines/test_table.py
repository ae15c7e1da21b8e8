"""The table of all that were judged, a line each."""

from datetime import UTC, datetime

from rich.console import Console

from models.baselines.table import comparison_rows, comparison_table
from models.scorecard import LeadScore, Scorecard

START, END = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 8, tzinfo=UTC)


def _card(name: str, f1: float | None, per_1000: float | None, lead_h: float | None) -> Scorecard:
    leads = tuple(LeadScore(h, 1, None, f1, f1, None, None, None, None) for h in (1, 24))
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

    assert ("alarms of", "F1 1 h", "F1 24 h", "recall 1 h") == header[:4]
    assert ("forelight", "0.50", "0.50", "0.50", "1", "100.0", "24") == ours
    assert ("nobody", "-", "-", "-", "1", "-", "-") == theirs


def test_a_narrow_terminal_shows_whole_names() -> None:
    console = Console(width=80)
    with console.capture() as shown:
        console.print(
            comparison_table([_card("PDR as_documented, detector", 0.5, 1.0, 2.0)], title="The same failures")
        )

    assert "PDR as_documented, detector" in shown.get()
