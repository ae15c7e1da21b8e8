"""``forelight alarms``: list, show, acknowledge, clear and export what the store holds."""

import csv
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import typer
from rich.console import Console
from rich.table import Table

from serving.access.audit import Entry, note
from serving.alarm_csv import CSV_COLUMNS, csv_row
from serving.alarms import AlarmRecord, Status, fresh, utc_now
from serving.cli.who import user
from serving.errors import ServingError, StaleScoresError
from serving.settings import Settings
from serving.store import AlarmFilter, AlarmStore
from serving.upkeep import prune

__all__ = ["acknowledge", "clear", "delete_old", "export", "list_alarms", "reopen", "show", "suppress"]

_WIDTH: Final = 140


def list_alarms(*, status: str | None, device: str | None, as_json: bool) -> None:
    """Print alarms, the newest first.

    Raises:
        ServingError: no run was applied yet, or there is no such status.
    """
    where = AlarmFilter(statuses=_statuses(status), device=device)
    with _store() as store:
        run = store.latest_run()
        warning = _warning(store)
        found = list(store.walk(where))
    if as_json:
        scored_at = None if run is None else run.at.isoformat()
        version = None if run is None else run.model_version
        head = {"scored_at": scored_at, "model_version": version, "stale": warning is not None}
        _print_json(head | {"alarms": [_as_json(record) for record in found]})
    else:
        _print_table(found)
    if warning is not None:
        typer.echo(f"forelight: {warning}", err=True)


def show(alarm_id: str, *, as_json: bool) -> None:
    """Print one alarm with its life.

    Raises:
        AlarmNotFoundError: there is no such alarm.
    """
    with _store() as store:
        record, events = store.alarm(alarm_id), store.events(alarm_id)
    life = [
        {
            "at": event.at.isoformat(),
            "from_status": event.from_status,
            "to_status": event.to_status,
            "who": event.who,
            "why": event.why,
        }
        for event in events
    ]
    if as_json:
        _print_json({"alarm": _as_json(record), "events": life})
        return
    table = Table("field", "value", show_header=False, box=None)
    for name, value in _as_json(record).items():
        table.add_row(name, "; ".join(value) if isinstance(value, list) else _text(value))
    for step in life:
        table.add_row(_text(step["at"]), f"{step['to_status']} by {step['who']}: {step['why']}")
    Console(soft_wrap=True, markup=False, highlight=False).print(table)


def acknowledge(alarm_id: str, *, reason: str) -> None:
    """Acknowledge an alarm, in the name of whoever is logged in."""
    _step(alarm_id, Status.ACKED, reason)


def clear(alarm_id: str, *, reason: str) -> None:
    """Clear an alarm, in the name of whoever is logged in."""
    _step(alarm_id, Status.CLEARED, reason)


def suppress(alarm_id: str, *, hours: float, reason: str) -> None:
    """Leave an alarm alone for so many hours, in the name of whoever is logged in."""
    _step(alarm_id, Status.SUPPRESSED, reason, until=utc_now() + timedelta(hours=hours))


def reopen(alarm_id: str, *, reason: str) -> None:
    """Suppress an alarm no longer, in the name of whoever is logged in."""
    _step(alarm_id, Status.OPEN, reason)


def delete_old(*, keep_days: int, as_json: bool) -> None:
    """Delete what ended longer ago, and say how much that was."""
    with _store() as store:
        gone = prune(store, utc_now() - timedelta(days=keep_days))
        note(store.engine, _entry("alarms prune", f"keep {keep_days} days"))
    if as_json:
        _print_json(asdict(gone))
    else:
        typer.echo(
            f"deleted {gone.alarms} alarms, {gone.runs} runs, {gone.decisions} decisions, {gone.audit} audit entries"
        )


def export(out: Path) -> None:
    """Write all alarms as CSV, whole or not at all.

    Raises:
        ServingError: the file cannot be written.
    """
    try:
        with _store() as store, _replacing(out) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, CSV_COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(csv_row(record) for record in store.walk())
    except OSError as error:
        msg = f"{out} cannot be written: {error.strerror}"
        raise ServingError(msg) from error


@contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """A file beside `out` that takes its place in the end."""
    temporary = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        yield temporary
        temporary.replace(out)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _store() -> Iterator[AlarmStore]:
    with AlarmStore(Settings.from_env().database_url) as store:
        yield store


def _step(alarm_id: str, to: Status, reason: str, until: datetime | None = None) -> None:
    with _store() as store:
        with store.changing(f"cli:{user()}") as change:
            record = change.take(alarm_id, to, why=reason, until=until)
        note(store.engine, _entry(f"alarms {to}", alarm_id))
    typer.echo(f"alarm {record.alarm_id} is {record.status}")


def _entry(what: str, subject: str) -> Entry:
    return Entry(at=utc_now(), who=f"cli:{user()}", what=what, subject=subject, outcome="done")


def _statuses(status: str | None) -> frozenset[Status] | None:
    if status is None:
        return None
    try:
        return frozenset({Status(status)})
    except ValueError:
        msg = f"there is no status {status!r}; there are {', '.join(Status)}"
        raise ServingError(msg) from None


def _warning(store: AlarmStore) -> str | None:
    """Why the list is no all-clear; missing scores are an error, stale ones are said beside it."""
    try:
        fresh(store.latest_run(), now=utc_now(), stale_after_s=Settings.from_env().stale_after_s)
    except StaleScoresError as error:
        return f"not an all-clear: {error}"
    return None


def _as_json(record: AlarmRecord) -> dict[str, Any]:
    risks = {"risk_24h": record.risk_24h, "risk_168h": record.risk_168h}
    more = {"link_id": record.link_id, "serial": record.serial, "status": record.status}
    texts = {name: value or None for name, value in csv_row(record).items()}
    return texts | risks | more | {"reasons": list(record.reasons)}


def _print_table(found: list[AlarmRecord]) -> None:
    table = Table("alarm", "status", "level", "where", "what", "24 h", "168 h", "raised")
    for record in found:
        table.add_row(
            record.alarm_id,
            record.status,
            record.level,
            f"{record.device} {record.interface}",
            f"{record.failure_type or 'unknown'} ({record.suspect})",
            _percent(record.risk_24h),
            _percent(record.risk_168h),
            record.raised_at.isoformat(timespec="minutes"),
        )
    width = max(Console().width, _WIDTH)  # an alarm's id is what `show` and `ack` take: it is never cut
    Console(width=width, soft_wrap=True, markup=False, highlight=False).print(table)


def _percent(risk: float | None) -> str:
    return "" if risk is None else f"{risk:.0%}"


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, allow_nan=False))
