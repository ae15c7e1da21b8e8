"""How complaints become alarms: the merge rule, on complaints at hours that can be read."""

from collections.abc import Callable
from datetime import datetime, timedelta

import polars as pl
import pytest

from features.fleet import Fleet
from models.baselines.issues import ISSUE_SCHEMA, merged
from models.baselines.limits import ALARM_SCHEMA

MakeFleet = Callable[..., Fleet]
Merge = Callable[..., list[tuple[float, float | None]]]

HOUR = timedelta(hours=1)


@pytest.fixture(name="merge")
def _merge(make_fleet: MakeFleet, start: datetime) -> Merge:
    """Hours at which alarms are raised and cleared, of complaints at hours."""

    def run(*hours: float, end: float = 500.0, **records: pl.DataFrame) -> list[tuple[float, float | None]]:
        rows = [("default", "leaf01", "Ethernet0", start + h * HOUR, "flaps") for h in hours]
        issues = pl.DataFrame(rows, ISSUE_SCHEMA, orient="row")
        alarms = merged(issues, make_fleet(**records), end=start + end * HOUR)
        spans = alarms.select("raised_at", "cleared_at").rows()
        return [((up - start) / HOUR, None if down is None else (down - start) / HOUR) for up, down in spans]

    return run


def test_complaints_within_a_day_of_each_other_are_one_alarm(merge: Merge) -> None:
    assert [(1, 49), (50, 74)] == merge(25, 1, 50, 1)


def test_an_alarm_that_would_end_after_the_end_still_stands(merge: Merge) -> None:
    assert [(1, None)] == merge(1, end=20)


def test_a_repair_at_either_end_ends_an_alarm(merge: Merge, start: datetime) -> None:
    """What is complained of after it is another alarm."""
    ticket = pl.DataFrame(
        {"ticket_id": ["T"], "device": ["spine01"], "interface": ["Ethernet0"], "opened_at": [start + 3 * HOUR]}
    ).with_columns(closed_at=start + 5 * HOUR)

    assert [(1, 5), (6, 30)] == merge(1, 4, 6, tickets=ticket)


def test_in_announced_work_nothing_is_complained_of(merge: Merge, start: datetime) -> None:
    work = pl.DataFrame({"device": ["spine01"], "start": [start], "end": [start + 2 * HOUR]})

    assert [(3, 27)] == merge(1, 3, maintenance=work)


def test_nothing_to_complain_of_is_no_alarm(merge: Merge) -> None:
    assert [] == merge()


def test_what_a_quantity_means_is_said_where_it_means_something(make_fleet: MakeFleet, start: datetime) -> None:
    rows = [("default", device, "Ethernet0", start, q) for device, q in (("leaf01", "flaps"), ("spine01", "pdr"))]
    issues = pl.DataFrame(rows, ISSUE_SCHEMA, orient="row")

    alarms = merged(issues, make_fleet(), end=start, meaning={"flaps": ("module", "loose_seating", "reseat")})

    assert ALARM_SCHEMA == alarms.schema
    said = alarms.select("suspect", "failure_type", "action").rows()
    assert [("module", "loose_seating", "reseat"), (None, None, None)] == said
