"""The report is one file that stands alone and says the scorecard's numbers."""

import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from models.points import BudgetPoint, HorizonCalibration, RiskBand
from models.report import write_report
from models.scorecard import Attribution, LeadScore, Scorecard

SCORE = LeadScore(24, 3, 0.75, 0.6, 0.67, 0.4, 0.8, 0.5, 0.1)


def _card(name: str = "model", **values: object) -> Scorecard:
    counts = {"alarms": 4, "failures": 5, "uncounted": {"no_fault_found": 2}, "modules": 100, "module_weeks": 400.0}
    rates = {"false_alarms": 1, "false_per_1000_module_weeks": 2.5, "base_rate_per_year": 0.01, "leads": (SCORE,)}
    period = {"start": datetime(2026, 3, 1, tzinfo=UTC), "end": datetime(2026, 3, 29, tzinfo=UTC)}
    return Scorecard(name=name, **{**period, **counts, **rates, **values})  # type: ignore[arg-type]


@pytest.fixture(name="page")
def _page(tmp_path: Path) -> Path:
    return tmp_path / "reports" / "backtest.html"


def test_scorecards_stand_side_by_side(page: Path) -> None:
    write_report(page, [_card(), _card("module limits", false_alarms=7)], note="synthetic fleet")

    text = page.read_text()
    assert re.search(r"F1 at 24 h</th>\s*<td>0.67</td>", text)
    assert re.search(r"false alarms</th>\s*<td>1</td>\s*<td>7</td>", text)
    assert "synthetic fleet" in text
    assert "2 no fault found" in text


def test_nothing_is_fetched_to_read_it(page: Path) -> None:
    write_report(page, [_card(lead_times_h=(3.0, 30.0, 500.0))])

    text = page.read_text()
    assert not re.search(r"<(script|link|img|iframe)\b|@import|url\(http", text)
    assert 3 == text.count("<svg")


def test_the_same_scorecards_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, [_card(alarms_by_day={date(2026, 3, 2): 4}, false_by_day={date(2026, 3, 2): 1})])

    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def _point(false: float, recall: float, budget: float | None = None) -> BudgetPoint:
    return BudgetPoint(0.5, false, {24: recall}, {24: None}, {24: recall}, budget)


def test_what_the_risks_tell_is_drawn_where_they_are_known(page: Path) -> None:
    bands = (RiskBand(0.0, 900, 3.0, 2), RiskBand(0.9, 90, 9.0, 12), RiskBand(0.99, 10, 5.0, 4))
    known = HorizonCalibration(24, 1000, 7, 0.93, 0.1, 0.211, bands, bands)
    curve = (_point(0.0, 0.2), _point(4.0, 0.7))

    write_report(page, [_card(curve=curve, at_budgets=(_point(0.0, 0.2, 1.0),), calibration=(known,))])

    text = page.read_text()
    assert 5 == text.count("<svg")
    assert "<td>0.93</td>" in text
    assert "1.33 (12 / 9.0)" in text
    assert re.search(
        r"at fixed alarm budgets</caption>(.|\n)*?<th scope=\"row\">1</th><td>0.00</td><td>0.20</td>", text
    )


def test_without_risks_nothing_is_claimed_of_them(page: Path) -> None:
    write_report(page, [_card()])

    assert "Calibration" not in page.read_text()
    assert "budgets" not in page.read_text()


def test_baselines_and_folds_are_compared(page: Path) -> None:
    write_report(page, [_card()], others=[_card(), _card("flap rule")], folds=[_card("links 1 of 3")])

    text = page.read_text()
    assert "Each fold by itself" in text
    assert re.search(r"<th scope=\"row\">links 1 of 3</th><td>0.67</td>", text)
    assert "flap rule" in text


def test_f1_is_restated_at_other_base_rates(page: Path) -> None:
    """Recall 0.6 at 5 % a year is 0.0006 right alarms a module and week beside 1 / 400 false ones."""
    failing = 0.05 * 7 / 365.25
    expected = 2 * 0.6 * failing / (0.6 * failing + 1 / 400 + failing)

    write_report(page, [_card()])

    assert pytest.approx(expected) == _card().f1_at(0.05, 24)
    assert f'<th scope="row">5 %</th><td>{expected:.2f}</td>' in page.read_text()


def test_confusion_marks_what_was_right(page: Path) -> None:
    told = Attribution(type_confusion={"contamination": {"contamination": 2, "fiber_damage": 1}})

    write_report(page, [_card(attribution=told)])

    assert '<td class="right">2</td>' in page.read_text()


def test_names_are_escaped(page: Path) -> None:
    write_report(page, [_card("<b>mine</b>")], title="a & b")

    text = page.read_text()
    assert "<b>mine" not in text.replace("<!-- ", "")
    assert "a &amp; b" in text
