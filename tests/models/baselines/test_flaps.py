"""The flap rule, on histories short enough to read."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from features.fleet import Fleet, polars_schema
from ingest.schema import PORT_EVENTS
from models.baselines.flaps import flap_issues

MakeFleet = Callable[..., Fleet]
Rule = Callable[..., list[tuple[float, str]]]

PORT = {"site": "default", "device": "leaf01", "interface": "Ethernet0"}
MINUTE = timedelta(minutes=1)


@pytest.fixture(name="polled")
def _polled(make_fleet: MakeFleet, start: datetime) -> Rule:
    """What is complained of, with the minute, of polls a minute apart."""

    def run(
        *, up: Sequence[bool | None] = (), flaps: Sequence[int | None] = (), **others: Any
    ) -> list[tuple[float, str]]:
        count = max(len(up), len(flaps))
        columns = {
            "time": [start + i * MINUTE for i in range(count)],
            "oper_up": list(up) or [True] * count,
            "link_flaps": list(flaps) or [None] * count,
        }
        frame = pl.DataFrame(columns, schema_overrides={"link_flaps": pl.Int64, "oper_up": pl.Boolean})
        frame = frame.with_columns(
            pl.lit(value).alias(name) for name, value in {**PORT, "quality": 0, **others}.items()
        )
        none = polars_schema(PORT_EVENTS).to_frame().lazy()
        return _told(flap_issues([frame.lazy()], none, make_fleet()), start)

    return run


@pytest.fixture(name="heard")
def _heard(make_fleet: MakeFleet, start: datetime) -> Rule:
    """What is complained of, of events: second and kind."""

    def run(*events: tuple[float, str], cause: str | None = None) -> list[tuple[float, str]]:
        rows = [{**PORT, "time": start + timedelta(seconds=s), "kind": kind, "cause": cause} for s, kind in events]
        frame = pl.DataFrame(rows, schema_overrides={"cause": pl.String})
        return _told(flap_issues([], frame.lazy(), make_fleet()), start)

    return run


def _told(issues: pl.DataFrame, start: datetime) -> list[tuple[float, str]]:
    return [((time - start) / MINUTE, quantity) for time, quantity in issues.select("time", "quantity").iter_rows()]


def test_the_third_return_within_twelve_hours_complains(polled: Rule) -> None:
    assert [(6.0, "returns")] == polled(up=[True, False, True, False, True, False, True])


def test_returns_further_apart_do_not(polled: Rule) -> None:
    once = [True] * 400 + [False]

    assert [] == polled(up=[*once, *once, *once, True])


def test_a_return_of_a_port_that_was_switched_off_is_none(polled: Rule) -> None:
    up = [True, False, True, False, True, False, True]

    assert [] == polled(up=up, admin_up=False)


def test_the_fifth_loss_of_carrier_within_a_day_complains(polled: Rule) -> None:
    assert [(4.0, "lost_carrier"), (5.0, "lost_carrier")] == polled(flaps=[3, 4, 4, 6, 8, 9, 9])


def test_a_counter_that_starts_anew_or_is_missing_counts_nothing(polled: Rule) -> None:
    assert [] == polled(flaps=[70, None, 70, 2, 2, 3])


def test_doubtful_polls_are_left_out(polled: Rule) -> None:
    assert [] == polled(flaps=[3, 9, 9], quality=1)


def test_events_tell_what_polls_miss(heard: Rule) -> None:
    """Outages of half a minute are returns, shorter ones losses of carrier alone."""
    long = [event for i in range(3) for event in ((60.0 * i, "down"), (60.0 * i + 25, "up"))]
    short = [event for i in range(5) for event in ((60.0 * i, "down"), (60.0 * i + 24, "up"))]

    assert [((2 * 60 + 25) / 60, "returns")] == heard(*long)
    assert [(4.0, "lost_carrier")] == heard(*short)


def test_events_of_switching_off_are_no_losses(heard: Rule) -> None:
    assert [] == heard(*((60.0 * i + s, kind) for i in range(6) for s, kind in ((0, "down"), (5, "up"))), cause="admin")


def test_where_there_are_events_polls_are_not_counted_besides(make_fleet: MakeFleet, start: datetime) -> None:
    samples = pl.DataFrame({"time": [start, start + MINUTE], "link_flaps": [0, 9]}).with_columns(
        pl.lit(value).alias(name) for name, value in {**PORT, "quality": 0}.items()
    )
    event = pl.DataFrame(
        [{**PORT, "time": start, "kind": "down", "cause": None}], schema_overrides={"cause": pl.String}
    )

    assert 1 == flap_issues([samples.lazy()], event.clear().lazy(), make_fleet()).height
    assert flap_issues([samples.lazy()], event.lazy(), make_fleet()).is_empty()
