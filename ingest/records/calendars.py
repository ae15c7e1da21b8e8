"""Maintenance calendars (iCalendar, RFC 5545): each occurrence of an event becomes a window of each place it names.

Recurrences are unrolled by wall clock, through summer time, up to a year ahead; what was moved or cancelled by
itself counts by itself. A time without a zone takes the calendar's, or the one that is said; an event without an end
lasts its day where it has no hour, else one hour.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import islice
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import icalendar
from dateutil.rrule import rrulestr

from ingest.errors import ExportError
from ingest.records.grid import Grid, Row
from ingest.records.reading import Reading
from ingest.records.times import UnzonedError
from ingest.records.windows import add_window, places

__all__ = ["is_calendar", "read_calendar"]

_AHEAD: Final = timedelta(days=366)
_MOST: Final = 5_000  # occurrences of one event: a window an hour for half a year
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_MOST_BYTES: Final = 64_000_000


@dataclass(frozen=True, slots=True)
class _Span:
    start: datetime
    end: datetime


class _NowhereError(ValueError):
    """An event that is about nothing that is known."""


def is_calendar(path: Path) -> bool:
    """Whether a file is one, by how it begins."""
    with path.open("rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \r\n").upper().startswith(b"BEGIN:VCALENDAR")


def calendar_grid(path: Path) -> tuple[Grid, list[icalendar.Calendar]]:
    """A calendar's file, its events as rows so that one can be refused as a row.

    Raises:
        ExportError: it is no calendar.
    """
    if path.stat().st_size > _MOST_BYTES:
        msg = f"{path.name}: more than {_MOST_BYTES // 1_000_000} MB; split it"
        raise ExportError(msg)
    try:
        calendars = icalendar.Calendar.from_ical(path.read_bytes(), multiple=True)
    except Exception as error:  # noqa: BLE001 - whatever a parser makes of bytes that are no calendar
        msg = f"{path.name}: not iCalendar: {' '.join(str(error).split())[:120]}"
        raise ExportError(msg) from None
    return Grid(path.name, (), []), list(calendars)


def read_calendar(reading: Reading, calendars: list[icalendar.Calendar]) -> None:
    """Windows of all events.

    Raises:
        ExportError: no event could be taken, since no time of it has a zone.
    """
    rows: list[Row] = []
    unzoned: list[str] = []
    for calendar in calendars:
        zone = _zone(calendar) or reading.times.zone
        moved = _moved(calendar)
        for event in calendar.walk("VEVENT"):
            row = Row(len(rows) + 1, {name: (str(event.get(name, "")),) for name in ("UID", "SUMMARY", "LOCATION")})
            rows.append(row)
            try:
                _take(reading, row, event, zone, moved)
            except UnzonedError as error:
                unzoned.append(f"{reading.grid.file}: event {row.line}: {error}")
                reading.refuse(row, str(error))
            except _NowhereError as error:
                reading.refuse(row, str(error))
            except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
                reading.refuse(row, f"cannot be read: {' '.join(str(error).split())[:160]}")
    if rows and len(unzoned) == len(rows):
        raise ExportError(unzoned[0])
    reading.records("maintenance").keep_last("this window")


def _zone(calendar: icalendar.Calendar) -> tzinfo | None:
    try:
        return ZoneInfo(str(calendar.get("X-WR-TIMEZONE", "")))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _moved(calendar: icalendar.Calendar) -> dict[str, list[Any]]:
    """By event, the occurrences that stand in events of their own."""
    found: dict[str, list[Any]] = {}
    for event in calendar.walk("VEVENT"):
        if event.get("RECURRENCE-ID") is not None:
            found.setdefault(str(event.get("UID", "")), []).append(event.decoded("RECURRENCE-ID"))
    return found


def _take(
    reading: Reading, row: Row, event: icalendar.Component, zone: tzinfo | None, moved: dict[str, list[Any]]
) -> None:
    text = " ".join(str(event.get(name, "")) for name in ("LOCATION", "SUMMARY", "DESCRIPTION"))
    named = list(places(reading, text))
    if not named:
        msg = "names no device and no site that is known"
        raise _NowhereError(msg)
    cancelled = str(event.get("STATUS", "")).upper() == "CANCELLED"
    if cancelled:
        reading.note(row, "cancelled: a window that was imported before ends as it starts")
    elif event.get("DTEND") is None and event.get("DURATION") is None:
        reading.note(row, "says no end; taken as its day, or as one hour where it has an hour")
    found = reading.mapped.phrases("work").strongest(text)
    announced = event.decoded("CREATED") if event.get("CREATED") is not None else None
    for span in _spans(event, zone, reading.now, moved):
        times = (span.start, span.start) if cancelled else (span.start, span.end)
        known = _utc(announced, zone) if announced is not None else span.start
        for place in named:
            add_window(reading, row, place, times, known, found.word if found else None)


def _spans(
    event: icalendar.Component, zone: tzinfo | None, now: datetime, moved: dict[str, list[Any]]
) -> Iterator[_Span]:
    """Occurrences of an event."""
    first = event.decoded("DTSTART")
    length = _length(event, first, zone)
    starts = _starts(event, first, zone, now)
    elsewhere = set()
    if event.get("RECURRENCE-ID") is None:
        elsewhere = {_utc(each, zone) for each in moved.get(str(event.get("UID", "")), [])}
    for start in starts:
        at = start.astimezone(UTC)
        if at not in elsewhere:
            # A day is a day of the calendar, which summer time makes shorter or longer.
            end = _wall(start, length) if isinstance(length, _Days) else at + length
            yield _Span(at, end.astimezone(UTC))


class _Days(timedelta):
    """A length in days of the calendar."""


def _wall(start: datetime, length: timedelta) -> datetime:
    return start + length  # a datetime with a zone moves by the clock on the wall


def _length(event: icalendar.Component, first: date, zone: tzinfo | None) -> timedelta:
    whole = not isinstance(first, datetime)
    if event.get("DTEND") is not None:
        last = event.decoded("DTEND")
        if whole:
            return _Days(days=max((last - first).days, 1))
        return _aware(last, zone).astimezone(UTC) - _aware(first, zone).astimezone(UTC)
    if event.get("DURATION") is not None:
        duration = event.decoded("DURATION")
        return _Days(days=duration.days) if whole else timedelta(seconds=duration.total_seconds())
    return _Days(days=1) if whole else _HOUR


def _starts(event: icalendar.Component, first: date, zone: tzinfo | None, now: datetime) -> Iterator[datetime]:
    start = _aware(first, zone)
    rules = event.get("RRULE")
    found = {start}
    for rule in rules if isinstance(rules, list) else [rules] if rules is not None else []:
        text = rule.to_ical().decode()
        naive = start.replace(tzinfo=None)
        until = rule.get("UNTIL")
        if until:  # compared by the wall clock, as the rule itself is unrolled
            last = _aware(until[0], zone or start.tzinfo).astimezone(start.tzinfo).replace(tzinfo=None)
            if not isinstance(until[0], datetime):
                last += _DAY - timedelta(seconds=1)
            text = ";".join(part for part in text.split(";") if not part.upper().startswith("UNTIL"))
            text += f";UNTIL={last:%Y%m%dT%H%M%S}"
        ends = (now + _AHEAD).replace(tzinfo=None)
        for each in islice(rrulestr(text, dtstart=naive), _MOST):
            if each > ends:
                break
            found.add(each.replace(tzinfo=start.tzinfo))
    found |= {_aware(each, zone) for each in _dates(event, "RDATE")}
    left_out = {_aware(each, zone).astimezone(UTC) for each in _dates(event, "EXDATE")}
    yield from sorted(each for each in found if each.astimezone(UTC) not in left_out)


def _dates(event: icalendar.Component, name: str) -> Iterator[Any]:
    values = event.get(name)
    for value in values if isinstance(values, list) else [values] if values is not None else []:
        for each in value.dts:
            yield each.dt[0] if isinstance(each.dt, tuple) else each.dt


def _aware(moment: date, zone: tzinfo | None) -> datetime:
    """A time with its zone.

    Raises:
        UnzonedError: neither it nor the calendar has one.
    """
    found = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
    if found.tzinfo is None:
        if zone is None:
            msg = f"{found:%Y-%m-%d %H:%M} names no zone; say it: --zone Europe/Berlin, for one"
            raise UnzonedError(msg)
        found = found.replace(tzinfo=zone)
    return found


def _utc(moment: date, zone: tzinfo | None) -> datetime:
    return _aware(moment, zone).astimezone(UTC)
