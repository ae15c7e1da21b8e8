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

__all__ = ["Said", "record_files", "suggest"]

_SUFFIXES: Final = (".csv", ".json", ".ics", ".tsv", ".txt", ".log")


@dataclass(frozen=True, slots=True)
class Said:
    """What the options say of records: the file of the map, and the zone of times that name none."""

    map_file: Path | None = None
    zone: str | None = None


def record_files(paths: Sequence[Path], said: Said) -> list[Path]:
    """Which of the files are records: all where a map is given, else those whose columns tell it.

    A spreadsheet that is no dump either is among them: the error that it ends in says how to map it.
    """
    if said.map_file is not None:
        return list(paths)
    return [path for path in paths if path.is_file() and path.suffix.lower() in _SUFFIXES and _is_record(path)]


def _is_record(path: Path) -> bool:
    if is_record(path):
        return True
    if path.suffix.lower() != ".csv":
        return False
    try:
        detect(Dump.of_file(path, path.name, Quarantine(path)))  # which writes nothing: nothing is added to it
    except ExportError:
        return True
    return False


def suggest(paths: Sequence[Path]) -> None:
    """Print a map for a spreadsheet.

    Raises:
        ExportError: there are several, or it cannot be read.
    """
    if len(paths) != 1:
        msg = "a map is suggested for one file at a time"
        raise ExportError(msg)
    sys.stdout.write(suggested_map(paths[0]))
