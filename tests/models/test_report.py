"""The report is one file that stands alone and says the scorecard's numbers."""

import re
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest

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
    assert 2 == text.count("<svg")


def test_the_same_scorecards_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, [_card(alarms_by_day={date(2026, 3, 2): 4}, false_by_day={date(2026, 3, 2): 1})])

    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_calibration_is_drawn_where_risks_are_given(page: Path) -> None:
    rng = np.random.default_rng(0)
    risks = rng.uniform(0.001, 0.3, 2000)

    write_report(page, [_card()], risks=risks, outcomes=rng.uniform(size=2000) < risks)

    text = page.read_text()
    assert "Calibration slope" in text
    assert "From the top 1 %" in text


def test_risks_without_any_failure_say_so(page: Path) -> None:
    write_report(page, [_card()], risks=[0.1, 0.2, 0.3], outcomes=[0, 0, 0])

    assert "too few failures" in page.read_text()


def test_confusion_marks_what_was_right(page: Path) -> None:
    told = Attribution(type_confusion={"contamination": {"contamination": 2, "fiber_damage": 1}})

    write_report(page, [_card(attribution=told)])

    assert '<td class="right">2</td>' in page.read_text()


def test_names_are_escaped(page: Path) -> None:
    write_report(page, [_card("<b>mine</b>")], title="a & b")

    text = page.read_text()
    assert "<b>mine" not in text.replace("<!-- ", "")
    assert "a &amp; b" in text
