"""Curves of recall over false alarms, on risks small enough to count by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from features.fleet import Fleet
from features.labels import EVENT_SCHEMA
from models.budgets import at_budgets, curve_of_alarms, curve_of_risks
from models.risk_log import Risks

START = datetime(2026, 3, 1, tzinfo=UTC)
HOURS, LINKS = 28 * 24, 10
HOUR = timedelta(hours=1)
SPAN = (START, START + HOURS * HOUR)
FAILED_H = 400


@pytest.fixture(name="fleet")
def _fleet() -> Fleet:
    ports = [f"Ethernet{i}" for i in range(LINKS)]
    ends = {"a_device": ["leaf01"] * LINKS, "a_interface": ports, "z_device": ["spine01"] * LINKS, "z_interface": ports}
    return Fleet.from_frames(links=pl.DataFrame({**ends, "cable_id": [f"C{i}" for i in range(LINKS)]}))


@pytest.fixture(name="events")
def _events() -> pl.DataFrame:
    """Link C0 fails at hour 400, C1 at hour 500."""
    rows: list[dict[str, Any]] = [
        {"event_id": f"T{i}", "link_id": f"C{i}", "failed_at": START + hour * HOUR, "verdict": "counted"}
        for i, hour in enumerate((FAILED_H, FAILED_H + 100))
    ]
    times = [row["failed_at"] for row in rows]
    rows = [row | {"opened_at": at, "closed_at": at + HOUR} for row, at in zip(rows, times, strict=True)]
    return pl.DataFrame(rows, schema=EVENT_SCHEMA)


def _risks(spells: dict[int, tuple[int, int, float]]) -> Risks:
    """All risks are low but in a spell of each link: from hour, to hour, risk."""
    risk = np.full((LINKS, HOURS), 0.001, np.float32)
    for link, (begin, end, value) in spells.items():
        risk[link, begin:end] = value
    ports = [("default", "leaf01", f"Ethernet{i}") for i in range(LINKS)]
    times = [START + i * HOUR for i in range(HOURS)]
    return Risks([f"C{i}" for i in range(LINKS)], ports, times, {24: risk, 168: risk})


SPELLS = {0: (350, 400, 0.9), 5: (100, 110, 0.6), 1: (490, 500, 0.3), 6: (300, 310, 0.2)}


def test_the_curve_runs_from_sure_to_easy(fleet: Fleet, events: pl.DataFrame) -> None:
    """Above 0.9 one failure is caught and nothing is false; then one false, one caught late, one false."""
    curve = curve_of_risks(_risks(SPELLS), events, fleet, SPAN)

    by_limit = {round(point.threshold, 3): point for point in curve}
    per_alarm = 1000 / (2 * LINKS * 4)  # module-weeks
    found = [(limit, by_limit[limit]) for limit in (0.9, 0.6, 0.3, 0.2)]
    assert [(0.5, 0.0), (0.5, 1), (1.0, 1), (1.0, 2)] == [
        (point.recall[1], point.false_per_1000_module_weeks / per_alarm) for _, point in found
    ]
    assert [0.5, 0.5, 0.5, 0.5] == [point.recall[24] for _, point in found]


def test_one_score_above_is_not_enough(fleet: Fleet, events: pl.DataFrame) -> None:
    curve = curve_of_risks(_risks({5: (100, 101, 0.6)}), events, fleet, SPAN)

    assert all(point.threshold < 0.5 for point in curve)


def test_spells_less_than_a_day_apart_are_one_alarm(fleet: Fleet, events: pl.DataFrame) -> None:
    risks = _risks({5: (100, 110, 0.6)})
    risks.risk[24][5, 120:125] = 0.6  # hours 110 and 120 are of the same day and of one alarm

    point = next(point for point in curve_of_risks(risks, events, fleet, SPAN) if point.threshold > 0.5)

    assert pytest.approx(1000 / (2 * LINKS * 4)) == point.false_per_1000_module_weeks


@pytest.mark.parametrize(("between", "alarms"), [(0.3, 1), (0.1, 2)])
def test_an_alarm_stands_until_the_risk_is_far_below_its_threshold(
    fleet: Fleet, events: pl.DataFrame, between: float, alarms: int
) -> None:
    """Four days lie between two spells of 0.6: at half of that risk the alarm holds, at a sixth it has ended."""
    risks = _risks({5: (100, 110, 0.6)})
    risks.risk[24][5, 110:205] = between
    risks.risk[24][5, 205:210] = 0.6

    point = next(point for point in curve_of_risks(risks, events, fleet, SPAN) if point.threshold > 0.5)

    assert pytest.approx(alarms * 1000 / (2 * LINKS * 4)) == point.false_per_1000_module_weeks


def test_at_a_budget_the_lowest_threshold_within_it_counts(fleet: Fleet, events: pl.DataFrame) -> None:
    curve = curve_of_risks(_risks(SPELLS), events, fleet, SPAN)

    points = at_budgets(curve, (0.1, 15.0))

    assert [(0.1, 0.5), (15.0, 1.0)] == [(point.budget, point.recall[1]) for point in points]
    assert pytest.approx(0.3) == points[1].threshold
    assert [] == at_budgets([], (1.0,))


def test_a_risk_that_alarms_say_makes_a_curve_too(fleet: Fleet, events: pl.DataFrame) -> None:
    alarms = pl.DataFrame(
        {
            "device": ["leaf01"] * 3,
            "interface": ["Ethernet0", "Ethernet5", "Ethernet6"],
            "raised_at": [START + hour * HOUR for hour in (350, 100, 300)],
            "risk_24h": [0.9, 0.6, None],
        }
    )

    curve = curve_of_alarms(alarms, "risk_24h", events, fleet, SPAN)

    assert [(0.5, 1.0), (0.5, 0.5)] == [(curve[i].recall[24], curve[i].precision[24]) for i in (0, -1)]


def test_without_risks_there_is_no_curve(fleet: Fleet, events: pl.DataFrame) -> None:
    none = Risks([], [], [], {24: np.empty((0, 0), np.float32), 168: np.empty((0, 0), np.float32)})

    assert [] == curve_of_risks(none, events, fleet, SPAN)
