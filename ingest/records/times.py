"""Times as ticket systems write them, into UTC; one whose zone or order would have to be guessed is an error."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from ingest.records.months import numbered
from ingest.utc import to_utc

__all__ = ["AMBIGUOUS", "TimeReader", "UnzonedError", "counting", "fitting"]

_PLAIN: Final = (
    *("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %I:%M:%S %p", "%Y-%m-%d %I:%M %p", "%Y-%m-%d %H:%M %z"),
    *("%Y-%m-%d %H:%M:%S %z", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M"),
    *("%d/%b/%y %I:%M %p", "%d/%b/%Y %I:%M %p", "%d/%b/%y %H:%M", "%d/%b/%Y %H:%M"),  # Jira
    *("%d-%b-%Y %H:%M:%S", "%d-%b-%Y %H:%M", "%d %b %Y %H:%M:%S", "%d %b %Y %H:%M", "%b %d, %Y %I:%M %p"),
    *("%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%y %H:%M:%S", "%d.%m.%y %H:%M"),
    *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", "%d-%b-%Y", "%d/%b/%y"),
)
"""Forms that can be read in one way only."""

_SERIAL: Final = re.compile(r"[2-6]\d{4}[.,]\d+")
"""Days since 1899-12-30, as a cell is saved that a spreadsheet program shows as a date with a time."""

_DAY: Final = 86_400
_COUNTED: Final = {"unix": 1.0, "unix_ms": 1e-3, "excel": float(_DAY)}
"""Numbers that stand for times, as a map may say them, and the seconds of one: `unix` and `unix_ms` since 1970, UTC."""

_LIKELY: Final = {
    "unix": re.compile(r"(?:9[5-9]|1\d\d|[23]\d\d|40)\d{7}(?:[.]\d+)?"),
    "unix_ms": re.compile(r"(?:9[5-9]|1\d\d|[23]\d\d|40)\d{10}"),
    "excel": re.compile(r"[3-6]\d{4}(?:[.,]\d+)?"),
}
"""What such numbers of the years from 2000 to 2100 look like."""

AMBIGUOUS: Final = tuple(
    f"{day} {clock}".strip()
    for clock in ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "")
    for day in ("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y")
)
"""Forms in which nobody can tell day and month apart: the map says which."""


class UnzonedError(ValueError):
    """A time whose zone nothing tells."""


@dataclass(frozen=True, slots=True)
class TimeReader:
    """Reads times.

    Attributes:
        zone: of times that name none.
        forms: how times are written, as ``strptime`` has it, or as the numbers `unix`, `unix_ms`, `excel`; the plain
            ones need not be said.
    """

    zone: tzinfo | None = None
    forms: tuple[str, ...] = ()

    def read(self, text: str) -> datetime:
        """A time in UTC.

        >>> from zoneinfo import ZoneInfo
        >>> TimeReader(ZoneInfo("Europe/Berlin")).read("01.07.2026 14:05").isoformat()
        '2026-07-01T12:05:00+00:00'

        Raises:
            UnzonedError: neither the text nor the map names a zone.
            ValueError: it is no time in a form that is known.
        """
        found = self._parsed(" ".join(text.replace("\u202f", " ").split()))
        if found is None:
            form = counting([text]) or "%d/%m/%Y %H:%M:%S"
            msg = f'{text!r} is not a time in a known form; say it in the map: times = ["{form}"], for one'
            raise ValueError(msg)
        if found.tzinfo is None:
            if self.zone is None:
                msg = f'{text!r} names no zone; say it in the map: zone = "Europe/Berlin", for one (--zone does too)'
                raise UnzonedError(msg)
            found = found.replace(tzinfo=self.zone)
        try:
            return to_utc(found)
        except ValueError as error:
            msg = f"{text!r} is {error}"
            raise ValueError(msg) from None

    def twice(self, text: str) -> bool:
        """Whether the text is an hour that clocks showed twice, when summer time ended; the first is taken."""
        found = self._parsed(" ".join(text.split()))
        if found is None or found.tzinfo is not None or self.zone is None:
            return False
        first, second = (found.replace(tzinfo=self.zone, fold=fold).utcoffset() for fold in (0, 1))
        return first is not None and second is not None and first > second

    def _parsed(self, text: str) -> datetime | None:
        if _SERIAL.fullmatch(text):
            return _counted(text, "excel")
        for form in self.forms:
            found = _counted(text, form) if form in _COUNTED else _strptime(text, form)
            if found is not None:
                return found
        text = re.sub(r" +(?:UTC|GMT)$", " +0000", re.sub(r" +Uhr$", "", numbered(text)))
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass
        return next((found for form in _PLAIN if (found := _strptime(text, form)) is not None), None)


def fitting(texts: Sequence[str]) -> list[str]:
    """Ambiguous forms that read every one of the texts; none where the plain forms do.

    >>> fitting(["03/02/2026 10:00", "03/14/2026 11:30"])
    ['%m/%d/%Y %H:%M']
    """
    reader = TimeReader(UTC)
    try:
        for text in texts:
            reader.read(text)
    except ValueError:
        return [form for form in AMBIGUOUS if all(_strptime(" ".join(text.split()), form) for text in texts)]
    return []


def counting(texts: Sequence[str]) -> str | None:
    """The form in which numbers would be times of this century, all of them; a map must say so, since ids look alike.

    >>> counting(["1772355600", "1772359200"]), counting(["46082"]), counting(["INC0012", "46082"])
    ('unix', 'excel', None)
    """
    return next((name for name, likely in _LIKELY.items() if texts and all(map(likely.fullmatch, texts))), None)


def _counted(text: str, form: str) -> datetime | None:
    """A number that counts from 1970, or from the day before 1900 in the zone that the caller puts on."""
    try:
        seconds = float(text.replace(",", ".")) * _COUNTED[form]
        if form == "excel":
            return datetime(1899, 12, 30) + timedelta(seconds=round(seconds))  # noqa: DTZ001 - the zone is put on later
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return None


def _strptime(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)  # noqa: DTZ007 - the zone is put on by the caller
    except ValueError:
        return None
