"""Records among what ``forelight import`` is given (tickets, inventories, cables, calendars), and their map."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ingest.dumps.formats import detect
from ingest.dumps.source import Dump
from ingest.errors import ExportError
from ingest.quarantine import Quarantine
from ingest.records import is_record, suggested_map

__all__ = ["Said", "opened", "record_files", "suggest"]

_SHEETS: Final = (".csv", ".tsv", ".ics", ".log")
_SUFFIXES: Final = (".csv", ".json", ".ics", ".tsv", ".txt", ".log")


@dataclass(frozen=True, slots=True)
class Said:
    """What the options say of records: the file of the map, and the zone of times that name none."""

    map_file: Path | None = None
    zone: str | None = None


def opened(paths: Sequence[Path], *, mapped: bool) -> list[Path]:
    """The same, with the files of each folder in which records lie among dumps in its place; with a map of any."""
    found: list[Path] = []
    for path in paths:
        files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
        mixed = (mapped and files) or any(
            file.suffix.lower() in _SHEETS and not _is_dump(file) and is_record(file) for file in files
        )
        found += files if mixed else [path]
    return found


def record_files(paths: Sequence[Path], said: Said, *, named: Sequence[Path] = ()) -> list[Path]:
    """Which of the files are records: those whose columns tell it; with a map all that are named, and no dump.

    A spreadsheet that is no dump either is among them, where it is named itself and not found in a folder: the error
    that it ends in says how to map it.
    """
    files = [path for path in paths if path.is_file() and path.suffix.lower() in _SUFFIXES]
    if said.map_file is not None:
        return [path for path in paths if path in named or (path in files and not _is_dump(path))]
    return [path for path in files if (_is_record(path) if path in named else not _is_dump(path) and is_record(path))]


def _is_record(path: Path) -> bool:
    return is_record(path) or (path.suffix.lower() == ".csv" and not _is_dump(path))


def _is_dump(path: Path) -> bool:
    try:
        detect(Dump.of_file(path, path.name, Quarantine(path)))  # which writes nothing: nothing is added to it
    except (ExportError, OSError):
        return False
    return True


def suggest(paths: Sequence[Path]) -> None:
    """Print a map for a spreadsheet.

    Raises:
        ExportError: there are several, or it cannot be read.
    """
    if len(paths) != 1:
        msg = "a map is suggested for one file at a time"
        raise ExportError(msg)
    sys.stdout.write(suggested_map(paths[0]))
