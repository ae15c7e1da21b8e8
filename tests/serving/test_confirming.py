"""Tickets confirm alarms."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from ingest.lake import Lake
from ingest.schema import TICKETS
from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.confirming import confirm
from serving.store import AlarmStore

MakeTicket = Callable[..., None]
H = timedelta(hours=1)


@pytest.fixture(name="raised")
def _raised(store: AlarmStore, make_run: Callable[..., ScoreRun], make_alarm: Callable[..., AlarmRecord]) -> None:
    """Alarms on the links of Ethernet1 to Ethernet3 of leaf01, raised 1, 2 and 3 hours ago."""
    store.apply(make_run(), [make_alarm(number) for number in (1, 2, 3)])


@pytest.fixture(name="ticket")
def _ticket(lake: Lake, now: datetime) -> MakeTicket:
    """Puts a ticket into the lake, closed just now with a failure on Ethernet1 unless told otherwise."""

    def put(**changes: Any) -> None:
        values = {
            "received_at": now,
            "ticket_id": "T1",
            "site": "default",
            "device": "leaf01",
            "interface": "Ethernet1",
            "opened_at": now - H / 2,
            "closed_at": now,
            "failure_type": "laser_degradation",
            "bench_verdict": None,
            "alarm_id": None,
        }
        schema = pl.Schema(
            {"bench_verdict": pl.String(), "alarm_id": pl.String(), "closed_at": pl.Datetime("us", "UTC")}
        )
        lake.append(TICKETS, pl.DataFrame([values | changes], schema_overrides=schema))

    return put


def _confirmed(store: AlarmStore) -> list[str]:
    return [record.alarm_id for record in store.alarms().alarms if record.status == Status.CONFIRMED]


def test_a_ticket_on_the_link_confirms_its_alarm_and_says_so(
    store: AlarmStore, lake: Lake, raised: None, ticket: MakeTicket, now: datetime
) -> None:
    ticket()

    assert 1 == confirm(store, lake, now)
    last = store.events("alarm-001")[-1]
    assert (Status.OPEN, Status.CONFIRMED, "tickets") == (last.from_status, last.to_status, last.who)
    assert "ticket T1 found laser_degradation" == last.why


def test_a_second_look_confirms_nothing_more(
    store: AlarmStore, lake: Lake, raised: None, ticket: MakeTicket, now: datetime
) -> None:
    ticket()
    confirm(store, lake, now)

    assert 0 == confirm(store, lake, now)
    assert 2 == len(store.events("alarm-001"))


def test_the_other_end_of_the_link_will_do(
    store: AlarmStore, lake: Lake, raised: None, ticket: MakeTicket, now: datetime
) -> None:
    ticket(device="spine01", interface="Ethernet2")

    confirm(store, lake, now)

    assert ["alarm-002"] == _confirmed(store)


def test_a_ticket_that_names_an_alarm_confirms_that_one_wherever_it_stands(
    store: AlarmStore, lake: Lake, raised: None, ticket: MakeTicket, now: datetime
) -> None:
    ticket(alarm_id="alarm-003", interface="Ethernet1")

    confirm(store, lake, now)

    assert ["alarm-003"] == _confirmed(store)


@pytest.mark.parametrize("status", [Status.CLEARED, Status.EXPIRED])
def test_one_that_has_ended_is_confirmed_all_the_same(
    store: AlarmStore, lake: Lake, raised: None, ticket: MakeTicket, now: datetime, status: Status
) -> None:
    store.transition("alarm-001", status, "ann", "")
    ticket()

    confirm(store, lake, now)

    assert ["alarm-001"] == _confirmed(store)


@pytest.mark.parametrize(
    "changes",
    [
        {"closed_at": None, "failure_type": None},  # an alarm may have opened it
        {"closed_at": None},
        {"failure_type": "no_fault_found"},
        {"bench_verdict": "no_trouble_found"},
        {"failure_type": None, "bench_verdict": "unknown"},
        {"interface": "Ethernet9"},
        {"site": "elsewhere"},
        {"opened_at": datetime.fromisoformat("2026-11-29T09:00:00Z")},  # before the alarm was raised
        {"closed_at": datetime.fromisoformat("2026-11-29T13:00:00Z")},  # not known yet
        {"alarm_id": "alarm-009"},
    ],
)
def test_what_has_found_no_failure_of_its_confirms_nothing(
    store: AlarmStore, lake: Lake, raised: None, ticket: MakeTicket, now: datetime, changes: dict[str, Any]
) -> None:
    ticket(**changes)

    assert 0 == confirm(store, lake, now)


def test_the_bench_alone_is_enough(
    store: AlarmStore, lake: Lake, raised: None, ticket: MakeTicket, now: datetime
) -> None:
    ticket(closed_at=None, failure_type=None, bench_verdict="confirmed")

    confirm(store, lake, now)

    assert ["alarm-001"] == _confirmed(store)


def test_an_alarm_that_ended_answers_for_a_week(
    store: AlarmStore, lake: Lake, raised: None, ticket: MakeTicket, now: datetime
) -> None:
    store.transition("alarm-001", Status.CLEARED, "ann", "")
    store.transition("alarm-002", Status.CLEARED, "ann", "")
    week = timedelta(days=7)
    ticket(opened_at=now - H + week, closed_at=now + week)
    ticket(ticket_id="T2", interface="Ethernet2", opened_at=now - H + week, closed_at=now + week)

    confirm(store, lake, now + week)

    assert ["alarm-001"] == _confirmed(store)
