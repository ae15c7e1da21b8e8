"""The lines of a CSV file: what parts their cells, which of them is the header, and quotes that nothing closes."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ingest.errors import ExportError

__all__ = ["Line", "header_at", "parsed"]

_LONGEST_CELL: Final = 4_000_000  # a ticket's journal stands in one cell
_DELIMITERS: Final = ",;\t|"
_LOOKED_AT: Final = 20  # lines among which the header is
_FEWEST: Final = 3  # columns of a table that may have a title above it
_MOST_OPEN: Final = 50
_NEVER_ENDS: Final = "a quote that never ends"


@dataclass(frozen=True, slots=True)
class Line:
    """What stands between two ends of lines, of which a quoted cell may hold some.

    Attributes:
        number: of its first line, from 1.
        wrong: why its cells are none; empty where they are.
    """

    number: int
    cells: list[str]
    wrong: str = ""

    @property
    def filled(self) -> int:
        """How many cells say something."""
        return sum(1 for cell in self.cells if cell.strip())

    @property
    def apart(self) -> bool:
        """Whether cells that say nothing lie between those that do, as in names of groups of columns."""
        named = [bool(cell.strip()) for cell in self.cells]
        return not named[0] or False in named[: self.filled]


def parsed(file: str, text: str) -> list[Line]:
    """All lines that say something; a quote that never ends spoils its own line, not all that follow.

    Raises:
        ExportError: a cell is too long, or too many quotes are open.
    """
    csv.field_size_limit(_LONGEST_CELL)
    lines = list(io.StringIO(text, newline=""))
    delimiter, skipped = _delimiter(lines)
    found: list[Line] = []
    for opened in range(_MOST_OPEN + 1):
        if skipped >= len(lines):
            break
        part = list(_part(file, lines, skipped, delimiter))
        found += part
        if not part or not part[-1].wrong:
            break
        if opened == _MOST_OPEN:
            msg = f"{file}:{part[-1].number}: {_NEVER_ENDS}, as in {_MOST_OPEN} lines before it"
            raise ExportError(msg)
        skipped = part[-1].number
    return [line for line in found if line.filled]


def _delimiter(lines: Sequence[str]) -> tuple[str, int]:
    """What parts cells, and how many lines only say so (as Excel writes for itself)."""
    first = next((line for line in lines[:_LOOKED_AT] if any(each in line for each in _DELIMITERS)), "")
    if lines and lines[0].lower().startswith("sep=") and len(lines[0].strip()) == len("sep=;"):
        return lines[0].strip()[-1], 1
    return max(_DELIMITERS, key=first.count), 0


def _part(file: str, lines: Sequence[str], skipped: int, delimiter: str) -> Iterator[Line]:
    """Lines up to the end, or to one whose quote never ends."""
    reader = csv.reader(lines[skipped:], delimiter=delimiter, strict=False)
    start = skipped
    try:
        for cells in reader:
            end = skipped + reader.line_num
            if end == len(lines) > start + 1 and _open(lines[start:], delimiter):
                yield Line(start + 1, [lines[start].rstrip("\r\n")], _NEVER_ENDS)
                return
            yield Line(start + 1, cells)
            start = end
    except csv.Error as error:
        msg = f"{file}:{start + 1}: not CSV: {error}"
        raise ExportError(msg) from None


def _open(lines: Sequence[str], delimiter: str) -> bool:
    """Whether the file ends within quotes."""
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def header_at(lines: Sequence[Line]) -> int:
    """Which line is the header: titles and headings of groups above it leave most cells empty.

    >>> header_at([Line(1, ["Tickets 2026", "", "", ""]), Line(2, ["No", "Port", "Opened", "Cause"])])
    1
    >>> header_at([Line(1, ["Ticket", "", "When", ""]), Line(2, ["No", "Port", "Opened", "Closed"])])
    1
    """
    most = max((line.filled for line in lines[:_LOOKED_AT]), default=0)
    for place, line in enumerate(lines[:_LOOKED_AT]):
        if line.apart and place + 1 < len(lines) and _names(lines[place + 1], line.filled):
            continue
        if most < _FEWEST or line.filled * 2 > most or (line.filled * 3 > most and not line.apart):
            return place
    return 0


def _names(line: Line, fewest: int) -> bool:
    """Whether a line can be the names of columns below headings of groups: more than these, and none with a digit."""
    named = [cell.strip() for cell in line.cells if cell.strip()]
    return len(named) > max(fewest, _FEWEST - 1) and not any(char.isdigit() for cell in named for char in cell)
