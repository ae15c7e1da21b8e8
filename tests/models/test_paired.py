"""Champion against challenger on hand-made fleets: what counts as better."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import polars as pl
import pytest

from features.fleet import Fleet
from models.alarm import ALARM_COLUMNS
from models.paired import Comparison, compare

MakeFrame = Callable[..., pl.DataFrame]
Alarms = Sequence[tuple[int, float]]
LINKS = 40


@pytest.fixture(name="judged")
def _judged(begin: datetime, make_events: MakeFrame) -> Callable[..., Comparison]:
    """Compares alarms given as link number and hour: each of the first `failing` links fails in hour 72."""

    def judge(champion: Alarms, challenger: Alarms, failing: int = 10) -> Comparison:
        places = [("default", f"leaf{i:02}", "Ethernet0", "default", f"spine{i:02}", "Ethernet0") for i in range(LINKS)]
        ends = ["a_site", "a_device", "a_interface", "z_site", "z_device", "z_interface"]
        fleet = Fleet.from_frames(links=pl.DataFrame(places, schema=ends, orient="row"))
        names = dict(zip(fleet.ends()["device"], fleet.ends()["link_id"], strict=True))
        events = make_events(*((names[f"leaf{i:02}"], 72.0, "counted") for i in range(failing)))
        frames = [_alarms(alarms, begin) for alarms in (champion, challenger)]
        return compare(frames[0], frames[1], events, fleet, start=begin, end=begin + timedelta(days=4))

    return judge


def _alarms(alarms: Alarms, begin: datetime) -> pl.DataFrame:
    rows = [
        {
            "site": "default",
            "device": f"leaf{link:02}",
            "interface": "Ethernet0",
            "suspect": "module",
            "raised_at": begin + timedelta(hours=hour),
        }
        for link, hour in alarms
    ]
    return pl.DataFrame(rows, schema=ALARM_COLUMNS)


def test_one_that_catches_what_the_other_misses_is_better(judged: Callable[..., Comparison]) -> None:
    found = judged([(0, 10)], [(i, 10) for i in range(8)])

    assert found.better
    assert 10 == found.failures
    assert [(24, 2 / 11), (1, 2 / 11)] == [(each.lead_h, each.champion) for each in found.differences]
    assert [16 / 18, 16 / 18] == [each.challenger for each in found.differences]


def test_the_same_alarms_are_not_better(judged: Callable[..., Comparison]) -> None:
    alarms = [(i, 10) for i in range(8)]

    found = judged(alarms, alarms)

    assert not found.better
    assert [(0.0, 0.0)] * 2 == [(each.low, each.high) for each in found.differences]


def test_one_failure_more_may_be_chance(judged: Callable[..., Comparison]) -> None:
    found = judged([(i, 10) for i in range(5)], [(i, 10) for i in range(6)])

    assert found.differences[0].challenger > found.differences[0].champion
    assert not found.better


def test_false_alarms_make_it_worse(judged: Callable[..., Comparison]) -> None:
    right = [(i, 10) for i in range(5)]

    found = judged(right, [*right, *((i, 10) for i in range(20, 35))])

    assert (0, 15) == (found.false_champion, found.false_challenger)
    assert found.differences[0].high < 0


def test_a_gain_a_day_ahead_does_not_pay_for_a_loss_an_hour_ahead(judged: Callable[..., Comparison]) -> None:
    """Three days ahead it catches six of thirty that the other misses; at one hour it misses the rest."""
    found = judged([(i, 60) for i in range(30)], [(i, 10) for i in range(6)], failing=30)

    assert found.differences[0].low > 0
    assert found.differences[1].high < 0
    assert not found.better


def test_without_a_failure_none_is_better(judged: Callable[..., Comparison]) -> None:
    found = judged([(3, 10)], [], failing=0)

    assert not found.better
    assert "nothing that counts failed from 2026-03-01 00:00Z to 2026-03-05 00:00Z" == found.said
