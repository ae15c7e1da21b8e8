"""Maintenance from calendars and spreadsheets: recurrence, zones, whole days, what was moved or cancelled."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import ExportError
from ingest.exports import ImportReport
from ingest.schema import MAINTENANCE

Write = Callable[..., Path]
Take = Callable[..., ImportReport]
Latest = Callable[..., list[dict[str, Any]]]


def event(*lines: str, summary: str = "Firmware upgrade leaf01", uid: str = "1") -> list[str]:
    return ["BEGIN:VEVENT", f"UID:{uid}", f"SUMMARY:{summary}", *lines, "END:VEVENT"]


def calendar(*events: list[str], head: tuple[str, ...] = ()) -> list[str]:
    lines = [line for each in events for line in each]
    return ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN", *head, *lines, "END:VCALENDAR"]


def test_an_event_is_a_window_of_the_device_that_it_names(write: Write, take: Take, latest: Latest) -> None:
    ics = calendar(event("CREATED:20260601T000000Z", "DTSTART:20260701T200000Z", "DTEND:20260701T220000Z"))

    take(write("plan.ics", *ics))

    row = latest(MAINTENANCE)[0]
    assert ("leaf01", None, "firmware") == (row["device"], row["interface"], row["kind"])
    assert (datetime(2026, 7, 1, 20, tzinfo=UTC), datetime(2026, 7, 1, 22, tzinfo=UTC)) == (row["start"], row["end"])
    assert datetime(2026, 6, 1, tzinfo=UTC) == row["announced_at"]


def test_a_recurrence_keeps_its_hour_on_the_wall_through_summer_time(write: Write, take: Take, latest: Latest) -> None:
    """Clocks go forward in Berlin on 29 March 2026; one date is left out."""
    times = ("DTSTART;TZID=Europe/Berlin:20260318T220000", "DTEND;TZID=Europe/Berlin:20260319T000000")
    rule = ("RRULE:FREQ=WEEKLY;UNTIL=20260415T220000Z", "EXDATE;TZID=Europe/Berlin:20260325T220000")

    take(write("plan.ics", *calendar(event(*times, *rule))))

    assert [(18, 3, 21), (1, 4, 20), (8, 4, 20), (15, 4, 20)] == [
        (row["start"].day, row["start"].month, row["start"].hour) for row in latest(MAINTENANCE)
    ]
    assert {timedelta(hours=2)} == {row["end"] - row["start"] for row in latest(MAINTENANCE)}


def test_an_occurrence_that_was_moved_counts_where_it_went(write: Write, take: Take, latest: Latest) -> None:
    series = event("DTSTART:20260701T200000Z", "DURATION:PT1H", "RRULE:FREQ=DAILY;COUNT=3")
    moved = event("RECURRENCE-ID:20260702T200000Z", "DTSTART:20260702T230000Z", "DURATION:PT3H")

    take(write("plan.ics", *calendar(series, moved)))

    assert [(1, 20, 1), (2, 23, 3), (3, 20, 1)] == [
        (row["start"].day, row["start"].hour, (row["end"] - row["start"]).seconds // 3600)
        for row in latest(MAINTENANCE)
    ]


def test_a_whole_day_is_a_day_of_the_calendar(write: Write, take: Take, latest: Latest) -> None:
    """The day on which clocks go forward has 23 hours."""
    ics = calendar(event("DTSTART;VALUE=DATE:20260329"), head=("X-WR-TIMEZONE:Europe/Berlin",))

    take(write("plan.ics", *ics))

    row = latest(MAINTENANCE)[0]
    assert datetime(2026, 3, 28, 23, tzinfo=UTC) == row["start"]
    assert timedelta(hours=23) == row["end"] - row["start"]


def test_an_event_without_an_end_is_an_hour_and_that_is_told(write: Write, take: Take, latest: Latest) -> None:
    report = take(write("plan.ics", *calendar(event("DTSTART:20260701T200000Z"))))

    assert timedelta(hours=1) == latest(MAINTENANCE)[0]["end"] - latest(MAINTENANCE)[0]["start"]
    assert "says no end" in report.findings[0].reason


def test_what_is_cancelled_later_masks_nothing_any_more(write: Write, take: Take, latest: Latest) -> None:
    times = ("DTSTART:20260701T200000Z", "DTEND:20260701T220000Z")
    take(write("plan.ics", *calendar(event(*times))))

    take(write("plan.ics", *calendar(event(*times, "STATUS:CANCELLED"))))

    assert [timedelta(0)] == [row["end"] - row["start"] for row in latest(MAINTENANCE)]


def test_what_was_cancelled_before_it_was_known_is_no_window(write: Write, take: Take, latest: Latest) -> None:
    take(write("plan.ics", *calendar(event("DTSTART:20260701T200000Z", "STATUS:CANCELLED"))))

    assert [] == latest(MAINTENANCE)


def test_a_time_without_any_zone_is_refused_with_the_remedy(write: Write, take: Take, latest: Latest) -> None:
    plan = write("plan.ics", *calendar(event("DTSTART:20260701T200000", "DTEND:20260701T220000")))

    with pytest.raises(ExportError, match=r"plan\.ics: event 1: .*names no zone.*--zone Europe/Berlin"):
        take(plan)
    take(plan, zone="Europe/Berlin")

    assert datetime(2026, 7, 1, 18, tzinfo=UTC) == latest(MAINTENANCE)[0]["start"]


def test_an_event_that_names_a_site_is_work_on_all_its_devices(write: Write, take: Take, latest: Latest) -> None:
    ics = calendar(event("LOCATION:fra1", "DTSTART:20260701T200000Z", "DTEND:20260701T210000Z", summary="PDU swap"))

    take(write("plan.ics", *ics))

    assert [("fra1", "junos01.fra1.example.net", "power")] == [
        (row["site"], row["device"], row["kind"]) for row in latest(MAINTENANCE)
    ]


def test_an_event_that_names_nothing_known_is_listed(write: Write, take: Take) -> None:
    report = take(write("plan.ics", *calendar(event("DTSTART:20260701T200000Z", summary="Team lunch"))))

    assert ["names no device and no site that is known"] == [finding.reason for finding in report.findings]
    assert report.quarantine is not None


def test_a_rule_without_an_end_is_unrolled_for_a_year_only(write: Write, take: Take, latest: Latest) -> None:
    now = datetime.now(UTC)
    start = f"DTSTART:{now - timedelta(days=10):%Y%m%dT%H%M%SZ}"

    take(write("plan.ics", *calendar(event(start, "DURATION:PT1H", "RRULE:FREQ=DAILY"))))

    assert 370 <= len(latest(MAINTENANCE)) <= 380


@pytest.mark.parametrize("text", ["BEGIN:VCALENDAR\nnonsense", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:x\nEND:VEVENT"])
def test_a_broken_calendar_never_crashes(write: Write, take: Take, latest: Latest, text: str) -> None:
    try:
        take(write("plan.ics", text))
    except ExportError as error:
        assert "plan.ics" in str(error)  # noqa: PT017 - either it is refused, or its events are

    assert [] == latest(MAINTENANCE)


def test_a_spreadsheet_of_windows_needs_no_map_where_it_uses_our_names(
    write: Write, take: Take, latest: Latest
) -> None:
    rows = ("device,interface,start,end,kind", "LEAF01,eth1/1,2026-07-01T20:00Z,2026-07-01T21:00Z,Recabling")

    take(write("windows.csv", *rows))

    assert [("leaf01", "Ethernet1/1", "recable")] == [
        (row["device"], row["interface"], row["kind"]) for row in latest(MAINTENANCE)
    ]
