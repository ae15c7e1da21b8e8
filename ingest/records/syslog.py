"""Files of syslog into ``port_events``; what a message means is told by `ingest.syslog.messages`.

A down that a device at one of the link's ends explains, and no optic, says so in its cause.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from ingest.exports.records import Port
from ingest.lake import Lake
from ingest.records.grid import Grid, Row
from ingest.records.reading import Reading
from ingest.schema import LINKS, PORT_EVENTS
from ingest.syslog.downs import explain_downs
from ingest.syslog.messages import begins, said

__all__ = ["add_events", "is_syslog", "now_of", "read_syslog", "syslog_grid"]

_TOLD: Final = [*PORT_EVENTS.key, "cause"]
_PEERS: Final = 200_000


def is_syslog(path: Path) -> bool:
    """Whether most of a file's first lines begin as syslog does."""
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = [line for _, line in zip(range(20), file, strict=False) if line.strip()]
    return bool(lines) and sum(map(begins, lines)) > len(lines) / 2


def syslog_grid(path: Path) -> Grid:
    """Each line a row."""
    with path.open(encoding="utf-8", errors="replace") as file:
        rows = [Row(number, {"line": (line.rstrip("\n"),)}) for number, line in enumerate(file, 1) if line.strip()]
    return Grid(path.name, ("line",), rows)


def read_syslog(reading: Reading, lake: Lake, modified: datetime) -> list[dict[str, Any]]:
    """Rows of `port_events`.

    Args:
        reading: of the file's lines; those that tell nothing of a port are passed over.
        lake: whose links tell which device is at the far end.
        modified: when the file was written last: times without a year lie in the year before it.
    """
    found: list[dict[str, Any]] = []

    def take(reading: Reading, row: Row) -> None:
        message = said(row.text("line"))
        if message is None or message.time is None or message.host is None:
            return
        at = _time(reading, message.time, modified)
        where = _ports(reading, message.host, message.port)
        if not where:
            reading.note(row, f"{message.host} is no device that inventory or links know; left out")
        told = f"{message.system} syslog" + (f": {message.cause.lower()}" if message.cause else "")
        found.extend(_event(reading, at, port, message.kind, told) for port in where)

    reading.each(take)
    explain_downs(found, dict(_peers(lake)) if found else {})
    return found


def add_events(lake: Lake, rows: list[dict[str, Any]]) -> tuple[int, int]:
    """Append the events that are not known: relays tell some twice, and a log that grew is imported again.

    Returns:
        How many are new, and how many were known.
    """
    told = {tuple(row[name] for name in _TOLD): row for row in rows}
    if not told:
        return 0, 0
    times = [row["time"] for row in rows]
    until = max(times) + timedelta(microseconds=1)
    known = lake.latest(PORT_EVENTS, since=min(times), until=until, columns=_TOLD).collect().select(_TOLD)
    here = set(known.iter_rows())
    new = [row for key, row in told.items() if key not in here]
    if new:
        lake.append(PORT_EVENTS, PORT_EVENTS.of(new))
    return len(new), len(rows) - len(new)


def _event(reading: Reading, at: datetime, port: tuple[str, str, str], kind: str, cause: str) -> dict[str, Any]:
    where = dict(zip(("site", "device", "interface"), port, strict=True))
    return {"time": at, "received_at": reading.now, **where, "kind": kind, "cause": cause, "source": "syslog"}


def _ports(reading: Reading, host: str, port: str | None) -> list[tuple[str, str, str]]:
    """The port of a device that is known; of a reboot all of its ports."""
    who = reading.ports.device(host)
    if who is None:
        return []
    if port is None:
        return [(*who, name) for name in reading.ports.interfaces(who)]
    return [reading.ports.port(host, port) or (*who, port)]


def _time(reading: Reading, text: str, modified: datetime) -> datetime:
    if text[:4].isdigit():
        form = "%Y %b %d %H:%M:%S" if " " in text else None
        return reading.times.read(_iso(text, form) if form else text)
    year = re.search(r" (\d{4}) ", text)
    plain = text.replace(f" {year[1]} ", " ") if year else text
    at = reading.times.read(_iso(f"{year[1] if year else modified.year} {plain}", "%Y %b %d %H:%M:%S"))
    if year is None and at > modified + timedelta(days=1):
        at = reading.times.read(_iso(f"{modified.year - 1} {plain}", "%Y %b %d %H:%M:%S"))
    return at


def _iso(text: str, form: str) -> str:
    """A time in ISO 8601, without a zone."""
    plain = " ".join(text.partition(".")[0].split())
    return datetime.strptime(plain, form).isoformat()  # noqa: DTZ007 - the reader puts the zone on


def _peers(lake: Lake) -> Iterator[tuple[Port, Port]]:
    ends = [f"{end}_{name}" for end in "az" for name in ("site", "device", "interface")]
    for row in lake.latest(LINKS, columns=ends).collect().select(ends).head(_PEERS).iter_rows():
        yield row[:3], row[3:]
        yield row[3:], row[:3]


def now_of(path: Path) -> datetime:
    """When a file was written last."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
