"""Who polls for a lease and is refused for the same reason each time is written down once, not at each poll."""

from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Final

from serving.drains.records import Entry

__all__ = ["REFUSED", "Refusals"]

REFUSED: Final = "refused"
"""Outcome of an entry on a lease that was not given."""
_AGAIN: Final = timedelta(days=1)
"""Who still asks after that is written down once more."""
_MOST: Final = 10_000


class Refusals:
    """The last answer to each caller about each link, as far as this process gave it."""

    def __init__(self) -> None:
        self._last: dict[tuple[str | None, str], tuple[Hashable, datetime]] = {}

    def repeats(self, entry: Entry) -> bool:
        """Whether the log has that refusal: the same caller, link, reason, mode and alarm within a day."""
        last = self._last.get((entry.link_id, entry.who))
        refused = entry.outcome == REFUSED
        return refused and last is not None and last[0] == _what(entry) and entry.at - last[1] < _AGAIN

    def note(self, entry: Entry) -> None:
        """Remember what was written, once that is on disk."""
        if len(self._last) >= _MOST:
            self._last.clear()
        self._last[entry.link_id, entry.who] = (_what(entry), entry.at)


def _what(entry: Entry) -> Hashable:
    return (entry.outcome, entry.code, entry.mode, entry.alarm_id)
