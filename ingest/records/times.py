"""Times as ticket systems write them, into UTC; one whose zone or order would have to be guessed is an error."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from ingest.utc import to_utc

__all__ = ["AMBIGUOUS", "TimeReader", "UnzonedError", "fitting"]

_PLAIN: Final = (
    *("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %I:%M:%S %p", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M"),
    *("%d/%b/%y %I:%M %p", "%d/%b/%Y %I:%M %p", "%d/%b/%y %H:%M", "%d/%b/%Y %H:%M"),  # Jira
    *("%d-%b-%Y %H:%M:%S", "%d-%b-%Y %H:%M", "%d %b %Y %H:%M:%S", "%d %b %Y %H:%M", "%b %d, %Y %I:%M %p"),
    *("%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%y %H:%M", "%Y-%m-%d", "%d.%m.%Y", "%d-%b-%Y", "%d/%b/%y"),
)
"""Forms that can be read in one way only."""

_SERIAL: Final = re.compile(r"[2-6]\d{4}[.,]\d+")
"""Days since 1899-12-30, as a cell is saved that a spreadsheet program shows as a date with a time."""

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
        forms: how times are written, as ``strptime`` has it; the plain ones need not be said.
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
            msg = f'{text!r} is not a time in a known form; say it in the map: times = ["%d/%m/%Y %H:%M:%S"], for one'
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
            seconds = round(float(text.replace(",", ".")) * 86_400)
            return datetime(1899, 12, 30) + timedelta(seconds=seconds)  # noqa: DTZ001 - the zone is put on by the caller
        for form in self.forms:
            if (found := _strptime(text, form)) is not None:
                return found
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


def _strptime(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)  # noqa: DTZ007 - the zone is put on by the caller
    except ValueError:
        return None
