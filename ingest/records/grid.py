"""Spreadsheets and JSON as people have them: any usual encoding and delimiter, headers that repeat, nested objects.

Each row keeps its line (of a CSV file) or its number (of a JSON list), and its cells by the column's name. A nested
JSON value is a column of its own, ``device.name`` or ``a_terminations.0.object.name``. A header that repeats, as
Jira's ``Comment`` does, is one column with several cells.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from ingest.errors import ExportError
from ingest.records.sheet import Line, header_at, parsed

__all__ = ["Grid", "Row", "filled_down", "read_grid", "refuse_what_is_no_file"]

_MOST_BYTES: Final = 256_000_000
_MOST_COLUMNS: Final = 2_000
_MORE: Final = "more cells than the header has"
_LISTS: Final = ("results", "records", "result", "issues", "data")
"""Where NetBox, ServiceNow and Jira put the list of rows in a JSON answer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it stood, and its cells; a column that is there once has one.

    Attributes:
        wrong: why nothing of it can be taken.
    """

    line: int
    cells: Mapping[str, tuple[str, ...]]
    wrong: str = ""

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
        torn: rows whose cells cannot be told apart, and what they hold.
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


def filled_down(grid: Grid, names: Sequence[str]) -> Grid:
    """The same, where an empty cell of some columns holds what stands above it: so merged cells are saved."""
    above: dict[str, tuple[str, ...]] = {}
    rows = []
    for row in grid.rows:
        above |= {name: row.cells[name] for name in names if row.text(name)}
        rows.append(replace(row, cells={**row.cells, **above}))
    return replace(grid, rows=rows)


def refuse_what_is_no_file(path: Path) -> None:
    """A pipe would be waited for, perhaps for ever.

    Raises:
        ExportError: there is something, and it is no file.
    """
    if path.is_dir():
        msg = f"{path}: is a folder; with a map, or for one, name the files in it"
        raise ExportError(msg)
    if path.exists() and not path.is_file():
        msg = f"{path}: is no file but a pipe or a device"
        raise ExportError(msg)


def _text(path: Path) -> tuple[str, str]:
    refuse_what_is_no_file(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            msg = f"{path.name}: more than {_MOST_BYTES // 1_000_000} MB; split it"
            raise ExportError(msg)
        raw = path.read_bytes()
    except OSError as error:
        msg = f"{path}: {error.strerror}"
        raise ExportError(msg) from None
    if raw.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        msg = f"{path.name}: a workbook of a spreadsheet program, or zipped; save it as CSV (UTF-8) and import that"
        raise ExportError(msg)
    if raw.startswith(b"\x1f\x8b"):
        msg = f"{path.name}: is packed by gzip; unpack it first (gunzip, tar -xzf)"
        raise ExportError(msg)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace"), ""
    if b"\0" in raw:
        line = raw[: raw.index(b"\0")].count(b"\n") + 1
        msg = f"{path.name}:{line}: no text but bytes; CSV and JSON are taken here"
        raise ExportError(msg)
    try:
        return raw.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), "is not UTF-8; read as Windows-1252"


def _csv(file: str, text: str, note: str) -> Grid:
    lines = parsed(file, text)
    at = header_at(lines)
    if not lines or lines[at].wrong:
        msg = f"{file}: has no header"
        raise ExportError(msg)
    if at:
        titles = f"what stands above its header, line {lines[at].number}, is passed over as titles"
        note = f"{note}; {titles}" if note else titles
    header = [name.strip() for name in lines[at].cells]
    rows: list[Row] = []
    torn: list[Row] = []
    for line in lines[at + 1 :]:
        wrong = line.wrong or (_MORE if any(cell.strip() for cell in line.cells[len(header) :]) else "")
        (torn if wrong else rows).append(_row(line, header, wrong))
    return Grid(file, _bounded(file, header), rows, torn, note)


def _row(line: Line, header: list[str], wrong: str) -> Row:
    if line.wrong:
        return Row(line.number, {"(line)": tuple(line.cells)}, wrong)
    found: dict[str, list[str]] = {}
    for name, cell in zip(header, line.cells, strict=False):
        found.setdefault(name, []).append(cell)
    if len(line.cells) > len(header):
        found["(more cells)"] = line.cells[len(header) :]
    return Row(line.number, {name: tuple(cells) for name, cells in found.items()}, wrong)


def _bounded(file: str, names: Iterable[str]) -> tuple[str, ...]:
    """Columns, each once.

    Raises:
        ExportError: there are more than anybody could map.
    """
    header = tuple(dict.fromkeys(names))
    if len(header) > _MOST_COLUMNS:
        msg = f"{file}: has {len(header):,} columns; {_MOST_COLUMNS:,} are the most, leave out what says nothing"
        raise ExportError(msg)
    return header


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
    return Grid(file, _bounded(file, (name for row in rows for name in row.cells)), rows, [], note)


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
