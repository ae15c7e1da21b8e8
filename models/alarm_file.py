"""Alarms as a CSV, anybody's: read with a clear word about what is wrong, file and line."""

import csv
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

import polars as pl

from ingest.errors import ExportError
from ingest.plain import is_plain

__all__ = ["read_alarms"]

_NEEDED: Final = ("device", "interface", "raised_at")
_TIMES: Final = ("raised_at", "act_at", "cleared_at")
_RISKS: Final = ("risk_24h", "risk_168h", "risk")
_TEXT: Final = ("alarm_id", "site", "device", "interface", "suspect", "level", "failure_type", "action")


def read_alarms(path: Path) -> pl.DataFrame:
    """The alarms of a CSV, as ``models.evaluate.judge`` takes them.

    Needed are device, interface and raised_at; site is "default" where it is not said, cleared_at, level, act_at
    (when the level became act), suspect, failure_type, action and a risk (risk_24h, risk_168h or risk, any number that
    rises with it) are used where they are there, other columns are not. Times are ISO 8601 with zone.

    Raises:
        ExportError: no such file, a needed column is not there, or a value is missing, no such time or no number;
            names the line.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(_rows(path, file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        msg = f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ExportError(msg) from None
    columns = {name: pl.String() for name in _TEXT} | {name: pl.Datetime("us", "UTC") for name in _TIMES}
    frame = pl.DataFrame(rows, schema=pl.Schema({**columns, **dict.fromkeys(_RISKS, pl.Float64())}))
    said = [name for name in frame.columns if name in _NEEDED or frame[name].is_not_null().any()]
    return frame.select(said).with_columns(frame["site"].fill_null("default"))


def _rows(path: Path, file: TextIO) -> Iterator[dict[str, str | float | datetime | None]]:
    reader = csv.DictReader(file)
    if missing := [name for name in _NEEDED if name not in (reader.fieldnames or ())]:
        there = ", ".join(reader.fieldnames or ()) or "none"
        msg = f"{path}: line 1: no column {', '.join(missing)} (needed are {', '.join(_NEEDED)}; there are {there})"
        raise ExportError(msg)
    for row in reader:
        where = f"{path}: line {reader.line_num}"
        text = {name: (row.get(name) or "").strip() for name in (*_TEXT, *_TIMES, *_RISKS)}
        if lacking := [name for name in _NEEDED if not text[name]]:
            msg = f"{where}: {lacking[0]} is empty"
            raise ExportError(msg)
        if strange := [name for name in _TEXT if not is_plain(text[name])]:
            msg = f"{where}: {strange[0]} {text[strange[0]]!r} has control characters"
            raise ExportError(msg)
        times = {name: _time(where, name, text[name]) for name in _TIMES}
        _check_order(where, text, times)
        risks = {name: _number(where, name, text[name]) for name in _RISKS}
        yield {**{name: text[name] or None for name in _TEXT}, **times, **risks}


def _check_order(where: str, text: dict[str, str], times: dict[str, datetime | None]) -> None:
    """Refuse an alarm that is cleared before it is raised, or becomes act outside of its life."""
    for early, late in (("raised_at", "cleared_at"), ("raised_at", "act_at"), ("act_at", "cleared_at")):
        before, after = times[early], times[late]
        if before is not None and after is not None and after < before:
            msg = f"{where}: {late} {text[late]} is before {early} {text[early]}"
            raise ExportError(msg)


def _number(where: str, name: str, text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        msg = f"{where}: {name} {text!r} is not a number"
        raise ExportError(msg)
    return value


def _time(where: str, name: str, text: str) -> datetime | None:
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        msg = f"{where}: {name} {text!r} is not an ISO 8601 time"
        raise ExportError(msg) from None
    msg = f"{where}: {name} {text!r} has no time zone; write {text}Z for UTC"
    raise ExportError(msg)
