"""What was acted on before it failed is a class of its own; drained links show nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from features.fleet import Fleet
from features.label_reasons import explained
from features.labels import censoring, failure_events

OPENED = datetime(2026, 3, 10, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
POLL = timedelta(minutes=15)
LINKS = pl.DataFrame(
    {
        "a_device": ["leaf01"],
        "a_interface": ["Ethernet0"],
        "z_device": ["spine01"],
        "z_interface": ["Ethernet0"],
        "cable_id": ["C1"],
        "kind": ["fiber"],
    }
)


def _fleet(*tickets: dict[str, Any], **frames: pl.DataFrame) -> Fleet:
    """One link; a ticket opened by an alarm, six hours later closed by a new transceiver, where not said otherwise."""
    common = {"ticket_id": "T1", "device": "leaf01", "interface": "Ethernet0", "opened_at": OPENED}
    common |= {"closed_at": OPENED + 6 * HOUR, "failure_type": "laser_degradation", "action": "replace_transceiver"}
    common |= {"alarm_id": "a1", "bench_verdict": None, "drained_at": None}
    kinds: dict[str, Any] = {"bench_verdict": pl.String, "drained_at": pl.Datetime("us", "UTC"), "alarm_id": pl.String}
    rows = [common | ticket for ticket in tickets]
    return Fleet.from_frames(links=LINKS, tickets=pl.DataFrame(rows, schema_overrides=kinds), **frames)


def _samples(down_since: datetime | None = None) -> pl.DataFrame:
    """Ten days of polls of the leaf's port up to six hours after the ticket."""
    times = [OPENED - timedelta(days=10) + i * POLL for i in range(10 * 96 + 24)]
    up = [down_since is None or time < down_since for time in times]
    ports = {"site": "default", "device": "leaf01", "interface": "Ethernet0"}
    return pl.DataFrame({"time": times, "oper_up": up}).with_columns(
        *(pl.lit(value).alias(name) for name, value in ports.items()), admin_up=pl.lit(value=True)
    )


@pytest.mark.parametrize(
    ("bench", "weight"), [("confirmed", 1.0), ("unknown", 0.5), (None, 0.5), ("no_trouble_found", 0.0)]
)
def test_a_module_swapped_on_an_alarm_weighs_what_the_bench_says(bench: str | None, weight: float) -> None:
    events = failure_events(_fleet({"bench_verdict": bench}), _samples())

    assert [("rescued", weight, OPENED)] == events.select("verdict", "weight", "failed_at").rows()


def test_what_failed_before_anybody_acted_is_a_failure_though_an_alarm_foretold_it() -> None:
    events = failure_events(_fleet({"bench_verdict": "unknown"}), _samples(OPENED - 2 * HOUR))

    assert [("counted", 1.0, OPENED - 2 * HOUR)] == events.select("verdict", "weight", "failed_at").rows()


def test_a_ticket_without_an_alarm_is_no_rescue() -> None:
    assert ["counted"] == failure_events(_fleet({"alarm_id": None}), _samples())["verdict"].to_list()


def test_an_alarm_that_nobody_acted_on_and_nothing_came_of_was_none() -> None:
    """Or else every false alarm could be excused by a ticket."""
    let_be = _fleet({"action": "none"})
    looked_and_found_nothing = _fleet({"failure_type": "no_fault_found"})

    for fleet in (let_be, looked_and_found_nothing):
        assert [("no_fault_found", 0.0)] == failure_events(fleet, _samples()).select("verdict", "weight").rows()


def test_a_drained_link_that_is_down_has_not_failed() -> None:
    drained = OPENED - 4 * HOUR

    events = failure_events(_fleet({"drained_at": drained}), _samples(drained))

    assert [("rescued", drained, False)] == events.select("verdict", "failed_at", "evidence").rows()


def test_a_failure_before_the_drain_is_dated_before_the_drain() -> None:
    events = failure_events(_fleet({"drained_at": OPENED - HOUR}), _samples(OPENED - 3 * HOUR))

    assert [("counted", OPENED - 3 * HOUR)] == events.select("verdict", "failed_at").rows()


def test_a_drain_and_a_rescue_censor_until_two_days_after_the_repair() -> None:
    fleet = _fleet({"drained_at": OPENED - 4 * HOUR})

    windows = censoring(fleet, failure_events(fleet, _samples())).rows()

    closed = OPENED + 6 * HOUR
    assert [
        ("C1", OPENED - 4 * HOUR, closed, "drain"),
        ("C1", OPENED - 4 * HOUR, closed + timedelta(days=2), "rescued"),
    ] == windows


def test_a_swap_on_an_alarm_is_not_a_preventive_swap_as_well() -> None:
    modules = pl.DataFrame(
        {"device": ["leaf01"], "interface": ["Ethernet0"], "serial": ["A"], "removed_at": [OPENED + HOUR]}
    )
    fleet = _fleet({}, modules=modules)

    windows = censoring(fleet, failure_events(fleet, _samples()))

    assert ["rescued"] == windows["reason"].to_list()


def test_a_ticket_on_a_link_being_rescued_is_a_duplicate() -> None:
    second = {"ticket_id": "T2", "opened_at": OPENED + HOUR, "alarm_id": None}

    assert ["rescued", "duplicate"] == failure_events(_fleet({}, second), _samples())["verdict"].to_list()


def test_as_of_the_day_of_the_alarm_the_bench_has_not_spoken() -> None:
    fleet = _fleet({"bench_verdict": "confirmed"})

    known = failure_events(fleet.as_of(OPENED + HOUR), _samples())

    assert [("rescued", 0.5)] == known.select("verdict", "weight").rows()


class TestWords:
    def _why(self, fleet: Fleet, samples: pl.DataFrame) -> str:
        why: str = explained(failure_events(fleet, samples), fleet.ends())["why"].item()
        return why

    def test_a_rescue_says_its_weight(self) -> None:
        expected = (
            "an alarm was acted on before anything failed; weighs 0.5 by the bench's word; no outage is seen, so "
            "dated by the ticket"
        )

        assert expected == self._why(_fleet({}), _samples())

    def test_a_late_ticket_says_how_late(self) -> None:
        fleet = _fleet({"alarm_id": None})

        why = self._why(fleet, _samples(OPENED - 30 * HOUR))

        assert "a failure to be predicted; the ticket came 30 h after the outage began" == why

    def test_a_ticket_on_the_wrong_port_says_how_it_was_found(self) -> None:
        modules = pl.DataFrame({"device": ["leaf01"], "interface": ["Ethernet0"], "serial": ["SN7"]})
        fleet = _fleet({"device": "laef01", "serial": "SN7", "alarm_id": None}, modules=modules)

        assert "its port is none of this link's; the serial told" in self._why(fleet, _samples())
