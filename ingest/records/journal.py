"""The journal of a ticket into the steps of its repair: ServiceNow's work notes, Jira's comments, lines with a date.

ServiceNow writes entries into one cell, the newest first, each under ``2026-03-01 10:00:00 - Jo Doe (Work notes)``.
Jira writes a cell a comment, ``05/Mar/26 10:03 AM;jdoe;text``. An entry is a step where it says what was done.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ingest.records.times import TimeReader
from ingest.records.words import Phrases

__all__ = ["Entry", "Step", "entries", "steps"]

_CLOCK: Final = r"[\d/.-]+(?:[A-Za-z]{3}[/-]\d+)?[ T]\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?(?:Z|[+-]\d\d:?\d\d)?"
_HEAD: Final = re.compile(rf"^\[?({_CLOCK})\]?(?: - .{{0,200}}\(.{{0,60}}\)|\s*[:;,-]|\s*$)", re.MULTILINE)
_SERIALS: Final = re.compile(
    r"(?i)\b(old|new|removed|installed|out|in|failed|replacement)\s*(?:s/?n|serial(?: number| no\.?)?)?\s*[:=#]\s*"
    r"([A-Z0-9][A-Z0-9-]{5,24})\b"
)
_OLD: Final = frozenset({"old", "removed", "out", "failed"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a journal; `at` is as it was written."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """What an entry says was done."""

    at: datetime
    action: str
    outcome: str | None
    old_serial: str | None
    new_serial: str | None
    text: str


def entries(cells: Iterable[str]) -> Iterator[Entry]:
    """The entries of a journal's cells, as they stand."""
    for cell in cells:
        heads = list(_HEAD.finditer(cell))
        for head, after in zip(heads, [*heads[1:], None], strict=True):
            text = cell[head.end() : after.start() if after else None]
            yield Entry(head[1], text.strip(" ;:-\r\n"))


def steps(cells: Iterable[str], times: TimeReader, actions: Phrases, outcomes: Phrases) -> list[Step]:
    """The steps in the order in which they were taken.

    An entry that tells of several actions is as many steps: the last one has the entry's outcome, those before it
    changed nothing.

    Raises:
        ValueError: a time of an entry cannot be read.
    """
    found: list[Step] = []
    for entry in entries(cells):
        done = [each.word for each in actions.all(entry.text) if each.word != "none"]
        done = [word for number, word in enumerate(done) if number == 0 or done[number - 1] != word]
        if done:
            found += _steps(entry, times.read(entry.at), done, outcomes)
    return sorted(found, key=lambda step: step.at)


def _steps(entry: Entry, at: datetime, done: list[str], outcomes: Phrases) -> Iterator[Step]:
    said = outcomes.last(entry.text)
    serials = {("old" if side.lower() in _OLD else "new"): serial for side, serial in _SERIALS.findall(entry.text)}
    swaps = [number for number, word in enumerate(done) if word.startswith("replace_")]
    for number, word in enumerate(done):
        told = serials if swaps and number == swaps[-1] else {}
        outcome = said.word if said and number == len(done) - 1 else "no_change" if number < len(done) - 1 else None
        yield Step(at, word, outcome, told.get("old"), told.get("new"), entry.text)
