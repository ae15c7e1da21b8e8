"""Whether shadow has shown enough, counted by hand."""

from datetime import datetime, timedelta

import polars as pl
import pytest

from features.labels import EVENT_SCHEMA
from serving.drains.activation import Shadow, refused_activation, shadow_of
from serving.drains.advice import Mode
from serving.drains.config import Activation
from serving.drains.fabric import LinkClass
from serving.drains.records import Entry, Kind


def _entry(alarm: int, at: datetime, outcome: str = "drain", mode: Mode = Mode.SHADOW) -> Entry:
    told = {"alarm_id": f"a{alarm}", "link_id": f"link{alarm}", "link_class": LinkClass.FABRIC, "mode": mode}
    return Entry(at=at, kind=Kind.ADVICE, outcome=outcome, why="", who="forelight 7", **told)  # type: ignore[arg-type]


def _failures(*failures: tuple[int, datetime]) -> pl.DataFrame:
    rows = [{"link_id": f"link{link}", "failed_at": at, "verdict": "counted"} for link, at in failures]
    return pl.DataFrame(rows, schema_overrides={"failed_at": EVENT_SCHEMA["failed_at"]})


def test_an_advised_drain_is_right_where_the_link_failed_within_a_week(now: datetime) -> None:
    day = timedelta(days=1)
    entries = [
        _entry(1, now - 30 * day),  # fails after 3 days: right
        _entry(1, now - 29 * day),  # the same alarm: counted once
        _entry(2, now - 20 * day),  # fails after 8 days: wrong
        _entry(3, now - 20 * day),  # never fails: wrong
        _entry(4, now - 2 * day),  # not yet known
        _entry(5, now - 2 * day),  # failed already: right
        _entry(6, now - 20 * day, outcome="hold"),  # no drain was advised
        _entry(7, now - 20 * day, mode=Mode.ACTIVE),  # not in shadow
    ]
    events = _failures((1, now - 27 * day), (2, now - 12 * day), (5, now - day))
    shadow = shadow_of(entries, events, LinkClass.FABRIC, now)

    assert (30.0, 4, 2) == (shadow.days, shadow.advised, shadow.right)
    assert pytest.approx(0.0676, abs=1e-4) == shadow.least_precision, "Clopper and Pearson's table for 2 of 4"


@pytest.mark.parametrize(
    ("shadow", "told"),
    [
        (Shadow(27.9, 40, 40, 0.91), "27.9 days of shadow; 28 are asked for"),
        (Shadow(40.0, 10, 6, 0.26), "6 of 10 advised drains were followed by a failure"),
        (Shadow(40.0, 0, 0, 0.0), "0 of 0"),
        (Shadow(28.0, 40, 30, 0.59), None),
    ],
)
def test_a_class_is_active_after_four_weeks_with_enough_precision_only(shadow: Shadow, told: str | None) -> None:
    refused = refused_activation(shadow, Activation())

    assert (told is None) is (refused is None)
    assert (told or "") in (refused or "")
