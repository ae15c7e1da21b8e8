"""Rows of a ticket system into tickets and the steps of their repairs."""

import hashlib
from collections import Counter
from datetime import datetime, timedelta
from typing import Final

from ingest.exports.records import Cell, Port
from ingest.quarantine import Kind
from ingest.records.grid import Row
from ingest.records.journal import Step, steps
from ingest.records.reading import Reading
from ingest.records.times import UnzonedError
from ingest.records.words import Found
from ingest.schema import FailureType

__all__ = ["read_repairs", "read_tickets"]

_UNKNOWN: Final = "unknown"
_SHOWN: Final = 90
_SUMMARY: Final = 2_000
_CLOCKS_APART: Final = timedelta(days=1)


def read_tickets(reading: Reading) -> None:
    """Every row a ticket: one whose port nothing knows is kept as it was written, and told."""
    reading.each(_ticket)
    reading.records("tickets").keep_last("this ticket")
    reading.records("repairs").keep_last("this step")


def _ticket(reading: Reading, row: Row) -> None:
    opened = reading.time(row, "opened_at", needed=True)
    ticket_id = _id(reading, row, opened)
    closed = reading.time(row, "closed_at")
    if opened is None or (closed is not None and closed < opened):
        msg = f"ticket {ticket_id} was closed before it was opened"
        raise ValueError(msg)
    if opened > reading.now + _CLOCKS_APART:
        reading.note(row, "opened after today; are day and month, and the zone, the right ones?")
    site, device, interface = _port(reading, row, opened)
    done = _steps(reading, row)
    cells: dict[str, Cell] = {
        "ticket_id": ticket_id,
        "site": site,
        "device": device,
        "interface": interface,
        **{name: reading.text(row, name) or None for name in ("serial", "alarm_id")},
        "summary": reading.text(row, "summary")[:_SUMMARY] or None,
        "opened_at": opened,
        "closed_at": closed,
        "drained_at": reading.time(row, "drained_at"),
        "failure_type": _failure(reading, row, closed=closed is not None),
        "action": _action(reading, row, done),
        "bench_verdict": _word(reading, row, "bench_verdict"),
    }
    reading.add("tickets", row, cells)
    for seq, step in enumerate(done, 1):
        serials = {"old_serial": step.old_serial, "new_serial": step.new_serial}
        said: dict[str, Cell] = {"ticket_id": ticket_id, "seq": seq, "at": step.at, "end": f"{device}/{interface}"}
        reading.add("repairs", row, {**said, "action": step.action, **serials, "outcome": step.outcome})


def _id(reading: Reading, row: Row, opened: datetime | None) -> str:
    """As the file says; of a file that has none the same for the same port and time, since it may come again."""
    found = reading.text(row, "ticket_id")
    if not found and (columns := reading.theirs("ticket_id")):
        msg = f"no ticket_id: nothing in {columns[0]!r} (a map without ticket_id gives every row an id of its own)"
        raise ValueError(msg)
    names = ("site", "device", "interface", "port", "serial")
    told = "|".join([str(opened), *(" ".join(row.text(*reading.theirs(name)).split()) for name in names)])
    return found or f"row-{hashlib.sha256(told.encode()).hexdigest()[:12]}"


def _port(reading: Reading, row: Row, at: datetime) -> Port:
    """The port that a ticket means: by its columns, by what its text names, by the serial; else as it was written."""
    ports, said = reading.ports, reading.text(row, "site")
    device, interface = reading.text(row, "device"), reading.text(row, "interface")
    site = said or None
    found = ports.port(device, interface, site) if device and interface else None
    for text in (text for name in reading.theirs("port") for text in row.texts(name)):
        found = found or ports.search(text, device or None, site) or ports.search(text, None, site)
    if found is None and device and not interface:
        found = ports.search(device, None, site)
    serial = reading.text(row, "serial")
    if found is None and serial:
        found = ports.of_serial(serial, at)
    if found is not None:
        return found
    kept = (said or reading.mapped.site, device or _UNKNOWN, interface or _UNKNOWN)
    known = f"{device} {interface}".strip() or (f"serial {serial}" if serial else "what its text says")
    reading.note(row, f"{known} is no port that inventory or links know; kept as written")
    return kept


def _steps(reading: Reading, row: Row) -> list[Step]:
    cells = [text for name in reading.theirs("steps") for text in row.texts(name)]
    try:
        return steps(cells, reading.times, reading.mapped.phrases("action"), reading.mapped.phrases("outcome"))
    except UnzonedError:
        raise
    except ValueError as error:
        reading.refuse(row, str(error), reading.theirs("steps")[0], kind=Kind.VALUE)
        return []


def _failure(reading: Reading, row: Row, *, closed: bool) -> str | None:
    """What failed, by the first column whose text a phrase is found in; text that none is found in is `other`."""
    phrases = reading.mapped.phrases("failure_type")
    texts = {name: "\n".join(row.texts(name)) for name in reading.theirs("failure_type")}
    for text in texts.values():
        if (found := phrases.strongest(text)) is not None:
            return found.word
    name, text = next(((name, text) for name, text in texts.items() if text), ("", ""))
    if text:
        reading.note(row, f"{_short(text)!r} has no phrase of [failure_type] in it; kept as other", name)
    return FailureType.OTHER.value if text and closed else None


def _action(reading: Reading, row: Row, done: list[Step]) -> str | None:
    """What was done in the end: by the columns that say it, else by the journal's last step.

    The journal is read as steps alone, where it has any: its entries may stand with the newest first.
    """
    phrases = reading.mapped.phrases("action")
    journal = reading.theirs("steps")
    names = [name for name in reading.theirs("action") if not done or name not in journal]
    texts = {name: "\n".join(row.texts(name)) for name in names}
    for text in texts.values():
        if (found := phrases.last(text)) is not None:
            return found.word
    if done:
        return done[-1].action
    name, text = next(((name, text) for name, text in texts.items() if text and name not in journal), ("", ""))
    if text:
        reading.note(row, f"{_short(text)!r} has no phrase of [action] in it; left out", name)
    return None


def _word(reading: Reading, row: Row, ours: str) -> str | None:
    found: Found | None = None
    phrases = reading.mapped.phrases(ours)
    for name in reading.theirs(ours):
        found = found or phrases.strongest(row.text(name))
    return found.word if found else None


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def read_repairs(reading: Reading) -> None:
    """A row a step, in their order where no ``seq`` is given."""
    counted: Counter[str] = Counter()

    def take(reading: Reading, row: Row) -> None:
        ticket = reading.text(row, "ticket_id")
        if not ticket:
            msg = "no ticket_id"
            raise ValueError(msg)
        at = reading.time(row, "at", needed=True)
        counted[ticket] += 1
        seq = reading.text(row, "seq")
        cells: dict[str, Cell] = {
            "ticket_id": ticket,
            "seq": int(seq) if seq.isdigit() else counted[ticket],
            "at": at,
            "end": _end(reading, row),
            "action": _action(reading, row, []),
            **{name: reading.text(row, name) or None for name in ("old_serial", "new_serial")},
            "outcome": _word(reading, row, "outcome"),
        }
        reading.add("repairs", row, cells)

    reading.each(take)
    reading.records("repairs").keep_last("this step")


def _end(reading: Reading, row: Row) -> str | None:
    text = reading.text(row, "end")
    port = reading.ports.search(text) if text else None
    return f"{port[1]}/{port[2]}" if port else text or None
