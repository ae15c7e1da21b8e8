"""Times of files into UTC, and zones by name: outside of 2000 to 2100 is a broken clock or a mistyped year: no time."""

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

__all__ = ["END", "FIRST", "to_utc", "zone_name"]

FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
END: Final = datetime(2100, 1, 1, tzinfo=UTC)


def to_utc(time: datetime) -> datetime:
    """A time with a zone, in UTC.

    >>> to_utc(datetime.fromisoformat("2026-07-01T14:05+02:00")).isoformat()
    '2026-07-01T12:05:00+00:00'

    Raises:
        ValueError: it lies outside of what files can tell.
    """
    if not FIRST <= time <= END:
        msg = "not a time between 2000 and 2100"
        raise ValueError(msg)
    return time.astimezone(UTC)


def zone_name(name: str) -> str:
    """The name, where it is a time zone's.

    >>> zone_name("Europe/Berlin")
    'Europe/Berlin'

    Raises:
        ValueError: it is none.
    """
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        msg = f"{name!r} is no time zone of the IANA database, such as Europe/Berlin or UTC"
        raise ValueError(msg) from None
    return name
