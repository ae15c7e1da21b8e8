"""What a check of the doctor says: how it is, in words, and what to do next."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from serving.settings import Settings

__all__ = ["Check", "Finding", "State", "ago", "failed", "fine", "warned"]


class State(StrEnum):
    """How one part is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor.

    Attributes:
        name: of the part.
        said: how it is.
        advice: what to do next; empty where nothing is to be done.
    """

    name: str
    state: State
    said: str
    advice: str = ""


Check = Callable[[Settings, datetime], Finding]

_UNITS: Final = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"))


def fine(name: str, said: str) -> Finding:
    """All is well."""
    return Finding(name, State.OK, said)


def warned(name: str, said: str, advice: str) -> Finding:
    """Something is missing or old; what there is works."""
    return Finding(name, State.WARN, said, advice)


def failed(name: str, said: str, advice: str) -> Finding:
    """Something does not work."""
    return Finding(name, State.FAIL, said, advice)


def ago(age: timedelta) -> str:
    """An age in its largest unit of which there are two.

    >>> ago(timedelta(hours=47)), ago(timedelta(days=2)), ago(timedelta(seconds=5))
    ('47 hours', '2 days', '5 seconds')
    """
    seconds = max(0.0, age.total_seconds())
    for unit_s, name in _UNITS:
        if seconds >= 2 * unit_s:
            return f"{seconds / unit_s:.0f} {name}"
    return f"{seconds:.0f} seconds"
