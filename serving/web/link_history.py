"""What happened at a link: installations, tickets, repairs, swaps, alarms with their steps, decisions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from features.fleet import PORT
from ingest.lake import Lake
from ingest.schema import MODULES, REPAIRS, REPLACEMENTS, TICKETS, Table
from models.tables import Small
from serving.alarms import AlarmRecord
from serving.drains.fabric import Port
from serving.drains.store import DrainStore
from serving.queries import AlarmFilter
from serving.store import AlarmStore
from serving.web.words import number, plain, utc

__all__ = ["History", "Mark", "Past", "history"]

_MOST: Final = 30
_FACTS: Final = ("serial", "vendor", "part_number", "lot", "media", "form_factor", "speed_gbps", "fec_mode", "firmware")


@dataclass(frozen=True, slots=True)
class Mark:
    """Something at a time, for the plots."""

    time: datetime
    label: str
    kind: str


@dataclass(frozen=True, slots=True)
class History:
    """What happened.

    Attributes:
        tables: each with its rows, the newest first; those without a row are left out.
        marks: the same for plots.
        modules: the installation in each cage now, by cage.
        open: tickets that are not closed.
    """

    tables: tuple[Small, ...]
    marks: tuple[Mark, ...]
    modules: dict[Port, dict[str, Any]]
    open: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Past:
    """Where history is read.

    Attributes:
        now: what is written down for later has not happened yet.
    """

    lake: Lake
    store: AlarmStore
    drains: DrainStore
    now: datetime


def history(past: Past, ports: Sequence[Port], link_id: str | None) -> History:
    """Read it; at most so many rows of each sort, the newest."""
    store, drains = past.store, past.drains
    modules = _rows(past, MODULES, ports, "installed_at")
    tickets = _rows(past, TICKETS, ports, "opened_at")
    repairs = _repairs(past, tickets)
    opened = tuple(row for row in tickets if row["closed_at"] is None)
    swaps = _rows(past, REPLACEMENTS, ports, "time")
    alarms = _alarms(store, ports)
    tables = [
        _table("Installations", modules, ("device", "interface", *_FACTS, "installed_at", "removed_at")),
        _table("Tickets", tickets, _TICKET),
        _table("Repairs", repairs, ("at", "ticket_id", "seq", "end", "action", "old_serial", "new_serial", "outcome")),
        _table("Swaps in the cages", swaps, ("time", "device", "interface", "old_serial", "new_serial", "reason")),
        _steps(store, alarms),
        _decisions(drains, link_id),
    ]
    marks = sorted(_marks(tickets, repairs, swaps, alarms), key=lambda mark: mark.time)
    return History(tuple(table for table in tables if table.rows), tuple(marks), _in_cages(modules), opened)


_TICKET: Final = (
    *("ticket_id", "device", "interface", "opened_at", "closed_at", "failure_type", "action", "bench_verdict"),
    "summary",
)


def _rows(past: Past, table: Table, ports: Sequence[Port], time: str) -> list[dict[str, Any]]:
    here = pl.any_horizontal(
        pl.all_horizontal(pl.col(name) == value for name, value in zip(PORT, port, strict=True)) for port in ports
    )
    happened = pl.col(time).is_null() | (pl.col(time) <= past.now)
    rows = past.lake.latest(table).filter(here, happened).sort(time, descending=True, nulls_last=True).head(_MOST)
    return [_so_far(row, past.now) for row in rows.collect().to_dicts()]


def _so_far(row: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Without the end that is still to come."""
    ends = {name: None for name in ("removed_at", "closed_at") if (end := row.get(name)) is not None and end > now}
    return row | ends


def _repairs(past: Past, tickets: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    ours = pl.col("ticket_id").is_in([ticket["ticket_id"] for ticket in tickets])
    rows = past.lake.latest(REPAIRS).filter(ours, pl.col("at") <= past.now).sort("at", "seq", descending=True)
    return rows.head(_MOST).collect().to_dicts()


def _alarms(store: AlarmStore, ports: Sequence[Port]) -> list[AlarmRecord]:
    found = [
        alarm
        for site, device, interface in ports
        for alarm in store.alarms(AlarmFilter(site=site, device=device, interface=interface), limit=_MOST).alarms
    ]
    return sorted({alarm.alarm_id: alarm for alarm in found}.values(), key=lambda a: a.raised_at, reverse=True)[:_MOST]


def _in_cages(modules: Sequence[dict[str, Any]]) -> dict[Port, dict[str, Any]]:
    found: dict[Port, dict[str, Any]] = {}
    for row in modules:  # the newest first
        if row["removed_at"] is None:
            found.setdefault((row["site"], row["device"], row["interface"]), row)
    return found


def _table(title: str, rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> Small:
    used = [name for name in columns if any(row[name] is not None for row in rows)]
    header = tuple(plain(name) for name in used)
    return Small(title, header, tuple(tuple(_text(row[name]) for name in used) for row in rows), _note(rows))


def _note(rows: Sequence[object]) -> str:
    return f"The newest {_MOST}." if len(rows) == _MOST else ""


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return utc(value)
    return "" if value is None else number(value) if isinstance(value, float) else str(value)


def _steps(store: AlarmStore, alarms: Sequence[AlarmRecord]) -> Small:
    """The life of each alarm, the newest alarm first."""
    rows = tuple(
        (utc(event.at), alarm.alarm_id, str(event.to_status), event.who, event.why)
        for alarm in alarms[:10]
        for event in reversed(store.events(alarm.alarm_id)[-_MOST:])
    )
    return Small("Alarms, step by step", ("at", "alarm", "became", "who", "why"), rows[:_MOST], _note(rows[:_MOST]))


def _decisions(drains: DrainStore, link_id: str | None) -> Small:
    entries = () if link_id is None else drains.log(link_id=link_id, limit=_MOST)
    rows = tuple(
        (utc(one.at), plain(one.kind), plain(one.outcome), plain(one.code) if one.code else "", one.why, one.who)
        for one in entries
    )
    return Small("Decisions", ("at", "of", "outcome", "code", "why", "who"), rows, _note(rows))


def _marks(
    tickets: Sequence[dict[str, Any]],
    repairs: Sequence[dict[str, Any]],
    swaps: Sequence[dict[str, Any]],
    alarms: Sequence[AlarmRecord],
) -> Iterator[Mark]:
    yield from _each(tickets, "opened_at", "ticket", lambda row: f"ticket {row['ticket_id']}")
    yield from _each(repairs, "at", "repair", lambda row: plain(row["action"]))
    yield from _each(swaps, "time", "repair", lambda _row: "module swapped")
    for alarm in alarms:
        yield Mark(alarm.raised_at, f"alarm {alarm.level}", "alarm")
        if alarm.cleared_at is not None:
            yield Mark(alarm.cleared_at, f"alarm {alarm.status}", "over")


def _each(
    rows: Sequence[dict[str, Any]], time: str, kind: str, label: Callable[[dict[str, Any]], str]
) -> Iterator[Mark]:
    for row in rows:
        if row[time] is not None:
            yield Mark(row[time], label(row), kind)
