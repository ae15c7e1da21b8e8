"""Calibration by horizon: what is asked, and what it answers for risks of known truth."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from features.fleet import Fleet
from features.labels import EVENT_SCHEMA
from models.horizons import calibrations
from models.points import HorizonCalibration
from models.risk_log import Risks

START = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURS = 40 * 24


def _risks(risk: np.ndarray[Any, Any]) -> Risks:
    links = [f"C{i}" for i in range(risk.shape[0])]
    ports = [("default", "leaf01", f"Ethernet{i}") for i in range(len(links))]
    values = risk.astype(np.float32)
    return Risks(links, ports, [START + i * HOUR for i in range(risk.shape[1])], {24: values, 168: values})


def _fleet(count: int) -> Fleet:
    ports = [f"Ethernet{i}" for i in range(count)]
    ends = {"a_device": ["leaf01"] * count, "a_interface": ports, "z_device": ["spine01"] * count, "z_interface": ports}
    return Fleet.from_frames(links=pl.DataFrame({**ends, "cable_id": [f"C{i}" for i in range(count)]}))


def _event(link: int, hour: float, verdict: str = "counted") -> dict[str, Any]:
    at = START + hour * HOUR
    times = {"failed_at": at, "opened_at": at, "closed_at": at + HOUR}
    return {"event_id": f"T{link}-{hour}", "link_id": f"C{link}", "verdict": verdict, "weight": 1.0, **times}


def _asked(*events: dict[str, Any], links: int = 1, until_h: int = HOURS) -> dict[int, HorizonCalibration]:
    table = pl.DataFrame(list(events), schema=EVENT_SCHEMA)
    risk = np.random.default_rng(0).uniform(0.01, 0.02, (links, HOURS))
    found = calibrations(_risks(risk), table, _fleet(links), START + until_h * HOUR)
    return {each.horizon_h: each for each in found}


def test_a_well_link_is_asked_every_six_hours_until_it_is_not_known_what_came() -> None:
    """Two days of tickets' delay and the horizon itself before the end of telemetry."""
    found = _asked()

    assert {24: (HOURS - 48 - 24) // 6 + 1, 168: (HOURS - 48 - 168) // 6 + 1} == {h: c.rows for h, c in found.items()}
    assert found[24].slope is None


def test_a_failure_is_observed_by_each_hour_within_the_horizon_and_counted_once() -> None:
    found = _asked(_event(0, 480))

    assert {24: 4, 168: 28} == {h: sum(band.observed for band in c.curve) for h, c in found.items()}
    assert {24: 1, 168: 1} == {h: c.failures for h, c in found.items()}


def test_between_failure_and_two_days_after_repair_nothing_is_asked() -> None:
    """From hour 480 to 480 + 1 + 48, both inclusive, nine times fall out."""
    assert _asked()[24].rows - 9 == _asked(_event(0, 480))[24].rows


def test_what_was_rescued_is_not_known_to_have_been_well() -> None:
    """The horizon before it is not asked, besides what is left out after it."""
    assert _asked()[24].rows - 9 - 3 == _asked(_event(0, 480, "rescued"))[24].rows
    assert 0 == sum(band.observed for band in _asked(_event(0, 480, "rescued"))[24].curve)


def test_true_risks_have_slope_one_and_overconfident_ones_less() -> None:
    """Each link has one chance to fail, a day's, with the risk that it is said to have."""
    rng = np.random.default_rng(1)
    chance = rng.uniform(0.02, 0.8, 1500)
    fails = np.flatnonzero(rng.uniform(size=chance.size) < chance)
    said = np.full((chance.size, HOURS), np.nan)
    said[:, 240] = chance
    odds = chance / (1 - chance)
    bold = np.full_like(said, np.nan)
    bold[:, 240] = odds**2 / (1 + odds**2)
    table = pl.DataFrame([_event(int(link), 250) for link in fails], schema=EVENT_SCHEMA)

    true, over = (
        calibrations(_risks(risk), table, _fleet(chance.size), START + HOURS * HOUR)[0] for risk in (said, bold)
    )

    assert pytest.approx(1.0, abs=0.15) == true.slope
    assert pytest.approx(0.5, abs=0.1) == over.slope
    assert [0.9, 0.99, 0.999] == [band.from_quantile for band in true.top]
    assert pytest.approx(1.0, abs=0.25) == true.top[0].ratio
