"""tickets.csv, repairs.csv and maintenance.csv of an export: what failed, what was done, what was planned."""

from collections import Counter
from collections.abc import Callable, Container
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from ingest.exports.records import Layout, Port, Record, Records, read_records
from ingest.quarantine import Kind, Quarantine
from ingest.schema import MAINTENANCE, REPAIRS, TICKETS, Action, FailureType

__all__ = ["read_maintenance", "read_repairs", "read_tickets"]

_TICKETS: Final = Layout(
    file="tickets.csv",
    table=TICKETS,
    needed=("ticket_id", "site", "device", "interface", "opened_at"),
    defaults={"site": "default"},
)
_REPAIRS: Final = Layout(file="repairs.csv", table=REPAIRS, needed=("ticket_id", "at"))
_MAINTENANCE: Final = Layout(
    file="maintenance.csv",
    table=MAINTENANCE,
    needed=("site", "device", "start", "end"),
    defaults={"site": "default"},
)


class _Verdict(StrEnum):
    CONFIRMED = "confirmed"
    NO_TROUBLE_FOUND = "no_trouble_found"
    UNKNOWN = "unknown"


def read_tickets(
    directory: Path,
    quarantine: Quarantine,
    is_known: Callable[[set[Port]], Container[Port]],
    of_serial: Callable[[str, datetime], Port | None],
) -> Records | None:
    """Tickets, one a row. A port that nothing knows is a slip where the serial number tells which one is meant.

    Args:
        directory: of the export.
        quarantine: takes tickets that cannot be used.
        is_known: of the ports asked for, those that inventory, links or telemetry know.
        of_serial: the port in which a module sat at a time; None where it is not one.
    """
    records = read_records(directory, _TICKETS, quarantine)
    if records is None:
        return None
    known = is_known({record.port() for record in records.rows})
    for record in records.rows:
        if record.port() not in known:
            _mend(records, record, of_serial)
    known = is_known({record.port() for record in records.rows})
    records.keep(lambda record: _against_ticket(record, known))
    records.keep_last("this ticket")
    for record in records.rows:
        _word(records, record, "failure_type", FailureType, FailureType.OTHER)
        _word(records, record, "action", Action, None)
        _word(records, record, "bench_verdict", _Verdict, _Verdict.UNKNOWN)
    return records


def _mend(records: Records, record: Record, of_serial: Callable[[str, datetime], Port | None]) -> None:
    serial, opened = record.cells.get("serial"), record.cells["opened_at"]
    meant = of_serial(str(serial), opened) if serial and isinstance(opened, datetime) else None
    if meant is not None:
        said, there = (f"{device} {interface}" for _, device, interface in (record.port(), meant))
        records.say(
            Kind.NOTE, record, f"nothing knows {said}; serial {serial} was in {there}, which is taken", "device"
        )
        record.cells.update(zip(("site", "device", "interface"), meant, strict=True))


def _against_ticket(record: Record, known: Container[Port]) -> str | None:
    ticket, opened, closed = (record.cells.get(name) for name in ("ticket_id", "opened_at", "closed_at"))
    if record.port() not in known:
        site, device, interface = record.port()
        place = "" if site == "default" else f" of site {site}"
        return f"ticket {ticket} is for {device} {interface}{place}, a port that nothing else knows"
    if isinstance(opened, datetime) and isinstance(closed, datetime) and closed < opened:
        return f"ticket {ticket} was closed before it was opened"
    return None


def _word(records: Records, record: Record, column: str, words: type[StrEnum], unknown: StrEnum | None) -> None:
    """Bring a word into the form of its enumeration; one that is not in it is said."""
    text = record.cells.get(column)
    if text is None:
        return
    word = str(text).lower().replace("-", "_").replace(" ", "_")
    if word not in list(words):
        became = f"taken as {unknown}" if unknown else "left out"
        records.say(Kind.NOTE, record, f"{text!r} is not one of {', '.join(words)}; {became}", column)
        record.cells[column] = unknown
        return
    record.cells[column] = word


def read_repairs(directory: Path, quarantine: Quarantine, tickets: Container[str]) -> Records | None:
    """Repairs in their order; where no ``seq`` is given, the order of a ticket's lines is.

    Args:
        directory: of the export.
        quarantine: takes repairs of tickets that there are none of.
        tickets: ids of all tickets.
    """
    records = read_records(directory, _REPAIRS, quarantine)
    if records is None:
        return None
    records.keep(
        lambda record: (
            None
            if record.cells["ticket_id"] in tickets
            else f"repair of ticket {record.cells['ticket_id']}, which there is none of"
        )
    )
    counted: Counter[str] = Counter()
    for record in records.rows:
        ticket = str(record.cells["ticket_id"])
        counted[ticket] += 1
        if record.cells.get("seq") is None:
            record.cells["seq"] = counted[ticket]
    records.keep_last("this step")
    return records


def read_maintenance(directory: Path, quarantine: Quarantine) -> Records | None:
    """Windows of maintenance; one is known from its start where no announcement is given."""
    records = read_records(directory, _MAINTENANCE, quarantine)
    if records is None:
        return None
    records.keep(_against_window)
    for record in records.rows:
        if record.cells.get("announced_at") is None:
            record.cells["announced_at"] = record.cells["start"]
    records.keep_last("this window")
    return records


def _against_window(record: Record) -> str | None:
    start, end = record.cells["start"], record.cells["end"]
    if isinstance(start, datetime) and isinstance(end, datetime) and end < start:
        return "it ends before it starts"
    return None
