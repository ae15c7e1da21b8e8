"""Times of files into UTC: what lies outside of 2000 to 2100 is a broken clock or a mistyped year, and no time."""

from datetime import UTC, datetime
from typing import Final

__all__ = ["END", "FIRST", "to_utc"]

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
