"""Spreadsheets and JSON as people have them: any usual encoding and delimiter, headers that repeat, nested objects.

Each row keeps its line (of a CSV file) or its number (of a JSON list), and its cells by the column's name. A nested
JSON value is a column of its own, ``device.name`` or ``a_terminations.0.object.name``. A header that repeats, as
Jira's ``Comment`` does, is one column with several cells.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ingest.errors import ExportError

__all__ = ["Grid", "Row", "read_grid"]

_MOST_BYTES: Final = 256_000_000
_LONGEST_CELL: Final = 4_000_000  # a ticket's journal stands in one cell
_DELIMITERS: Final = ",;\t|"
_LISTS: Final = ("results", "records", "result", "issues", "data")
"""Where NetBox, ServiceNow and Jira put the list of rows in a JSON answer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it stood, and its cells; a column that is there once has one."""

    line: int
    cells: Mapping[str, tuple[str, ...]]

    def text(self, *names: str) -> str:
        """What stands in the first of the columns that is not empty there."""
        for name in names:
            for cell in self.cells.get(name, ()):
                if cell.strip():
                    return cell.strip()
        return ""

    def texts(self, name: str) -> list[str]:
        """All cells of a column that are not empty."""
        return [cell.strip() for cell in self.cells.get(name, ()) if cell.strip()]


@dataclass(frozen=True, slots=True)
class Grid:
    """A file's rows.

    Attributes:
        torn: rows that have more cells than the header, and what they hold.
        note: what a reader of the file should know of how it was read.
    """

    file: str
    header: tuple[str, ...]
    rows: list[Row]
    torn: list[Row] = field(default_factory=list)
    note: str = ""


def read_grid(path: Path) -> Grid:
    """Read a file.

    Raises:
        ExportError: it is not there, is no text, or no table.
    """
    text, note = _text(path)
    if text.lstrip()[:1] in ("{", "["):
        return _json(path.name, text, note)
    return _csv(path.name, text, note)


def _text(path: Path) -> tuple[str, str]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            msg = f"{path.name}: more than {_MOST_BYTES // 1_000_000} MB; split it"
            raise ExportError(msg)
        raw = path.read_bytes()
    except OSError as error:
        msg = f"{path}: {error.strerror}"
        raise ExportError(msg) from None
    if raw.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        msg = f"{path.name}: a workbook of a spreadsheet program; save it as CSV (UTF-8) and import that"
        raise ExportError(msg)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace"), ""
    if b"\0" in raw:
        msg = f"{path.name}: no text but bytes; CSV and JSON are taken here"
        raise ExportError(msg)
    try:
        return raw.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), "is not UTF-8; read as Windows-1252"


def _csv(file: str, text: str, note: str) -> Grid:
    csv.field_size_limit(_LONGEST_CELL)
    first = text.partition("\n")[0]
    if first.lower().startswith("sep=") and len(first.strip()) == len("sep=;"):  # what Excel writes for itself
        text, delimiter, skipped = text.partition("\n")[2], first.strip()[-1], 1
    else:
        delimiter, skipped = max(_DELIMITERS, key=first.count), 0
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=False)
    try:
        header = [name.strip() for name in next(reader, [])]
        if not any(header):
            msg = f"{file}: has no header"
            raise ExportError(msg)
        rows: list[Row] = []
        torn: list[Row] = []
        start = reader.line_num
        for cells in reader:
            line, start = start + 1 + skipped, reader.line_num
            if any(cell.strip() for cell in cells):
                (torn if any(cell.strip() for cell in cells[len(header) :]) else rows).append(_row(line, header, cells))
    except csv.Error as error:
        msg = f"{file}:{reader.line_num + skipped}: not CSV: {error}"
        raise ExportError(msg) from None
    return Grid(file, tuple(dict.fromkeys(header)), rows, torn, note)


def _row(line: int, header: list[str], cells: list[str]) -> Row:
    found: dict[str, tuple[str, ...]] = {}
    for name, cell in zip(header, cells, strict=False):
        found[name] = (*found.get(name, ()), cell)
    if len(cells) > len(header):
        found["(more cells)"] = tuple(cells[len(header) :])
    return Row(line, found)


def _json(file: str, text: str, note: str) -> Grid:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        found = _json_lines(text)
        if found is None:
            msg = f"{file}: not JSON: {str(error)[:120]}"
            raise ExportError(msg) from None
    if isinstance(found, dict):
        lists = [found[name] for name in _LISTS if isinstance(found.get(name), list)]
        found = lists[0] if lists else [found]
    bad = next((number for number, each in enumerate(found, 1) if not isinstance(each, dict)), None)
    if bad is not None:
        msg = f"{file}: entry {bad} of the list is no object"
        raise ExportError(msg)
    rows = [Row(number, dict(_flat("", each))) for number, each in enumerate(found, 1)]
    return Grid(file, tuple(dict.fromkeys(name for row in rows for name in row.cells)), rows, [], note)


def _json_lines(text: str) -> list[Any] | None:
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None


_DEEPEST: Final = 8


def _flat(name: str, value: object, depth: int = 0) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Columns of a JSON value; of a list of texts one with several cells."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, each in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), each, depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST and any(isinstance(each, dict | list) for each in value):
        for number, each in enumerate(value):
            yield from _flat(f"{name}.{number}", each, depth + 1)
    elif isinstance(value, list):
        yield name, tuple(_scalar(each) for each in value)
    else:
        yield name, (_scalar(value),)


def _scalar(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
