"""Syslog (RFC 3164 and 5424) into ``port_events``: links up and down, lost light, modules in and out, reboots.

What a message means is data: a pattern a kind of message, with the system that writes it. The patterns are from what
the systems are known to write; no recording of each was there. A down whose link's far device rebooted at that time
says so in its cause.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from ingest.lake import Lake
from ingest.records.grid import Grid, Row
from ingest.records.reading import Reading
from ingest.schema import LINKS, PORT_EVENTS

__all__ = ["CARRIER", "add_events", "is_syslog", "now_of", "read_syslog", "syslog_grid"]

CARRIER: Final = {
    "eos": "a line for each change of the line protocol, after the link debounce of the port",
    "nxos": "a line for each down and up, after the debounce timer of the port (100 ms where not set)",
    "junos": "a trap for each change after hold-time; damped changes are not told",
    "sonic": "a line for each change of the port's oper state, not debounced",
    "linux": "a line for each carrier change, not debounced; carrier_down_count counts downs only",
}
"""What a link event is worth, by system: what is debounced or damped there, nobody hears of."""

_PORT: Final = r"(?P<port>[A-Za-z][\w/.:-]*\d)"
_SAID: Final = tuple(
    (system, kind, re.compile(pattern))
    for system, kind, pattern in (
        ("eos", "up", rf"%LINEPROTO-5-UPDOWN: Line protocol on Interface {_PORT}.*changed state to up"),
        ("eos", "down", rf"%LINEPROTO-5-UPDOWN: Line protocol on Interface {_PORT}.*changed state to down"),
        ("nxos", "down", rf"%ETHPORT-5-IF_DOWN_(?P<cause>\w+): Interface {_PORT} is down"),
        ("nxos", "up", rf"%ETHPORT-5-IF_UP: Interface {_PORT} is up"),
        ("junos", "down", rf"SNMP_TRAP_LINK_DOWN: .*ifName {_PORT}"),
        ("junos", "up", rf"SNMP_TRAP_LINK_UP: .*ifName {_PORT}"),
        ("sonic", "down", rf"[Pp]ort {_PORT} oper state set from up to down"),
        ("sonic", "up", rf"[Pp]ort {_PORT} oper state set from down to up"),
        ("sonic", "inserted", rf"{_PORT}: Got SFP inserted event"),
        ("sonic", "removed", rf"{_PORT}: Got SFP removed event"),
        ("linux", "down", rf"mlx5_core \S+ {_PORT}: Link down"),
        ("linux", "up", rf"mlx5_core \S+ {_PORT}: Link up"),
        ("any", "inserted", rf"(?i)%\S*(?:xcvr|transceiver|sfp)\S*insert\S*.*?\b{_PORT}"),
        ("any", "removed", rf"(?i)%\S*(?:xcvr|transceiver|sfp)\S*remov\S*.*?\b{_PORT}"),
        ("any", "los", rf"(?i)\b{_PORT}\b.*\b(?:rx[ _]?los|loss of signal)\b(?!.*clear)"),
        (
            "any",
            "reboot",
            r"%SYS-5-(?:SYSTEM_)?RESTART|SNMP_TRAP_COLD_START|kernel: (?:\[ *0\.0+\] )?Linux version",
        ),
    )
)
_HEAD: Final = re.compile(
    r"^(?:<\d{1,3}>)?(?:1 )?(?P<time>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)"
    r"|(?:\d{4} )?[A-Z][a-z]{2} [ \d]\d (?:\d{4} )?[\d:.]+)"
    r" (?P<host>[\w.:-]+) (?P<text>.*)$"
)
_TOLD: Final = [*PORT_EVENTS.key, "cause"]
_SAME_TIME: Final = timedelta(minutes=10)
_PEERS: Final = 200_000


def is_syslog(path: Path) -> bool:
    """Whether most of a file's first lines begin as syslog does."""
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = [line for _, line in zip(range(20), file, strict=False) if line.strip()]
    return bool(lines) and sum(_HEAD.match(line) is not None for line in lines) > len(lines) / 2


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
        head = _HEAD.match(row.text("line"))
        if head is None:
            return
        for system, kind, pattern in _SAID:
            if match := pattern.search(head["text"]):
                cause = match.groupdict().get("cause")
                at = _time(reading, head["time"], modified)
                where = _ports(reading, head["host"], match.groupdict().get("port"))
                if not where:
                    reading.note(row, f"{head['host']} is no device that inventory or links know; left out")
                told = f"{system} syslog" + (f": {cause.lower()}" if cause else "")
                found.extend(_event(reading, at, port, kind, told) for port in where)
                return

    reading.each(take)
    return _with_peers(found, lake)


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


def _with_peers(events: list[dict[str, Any]], lake: Lake) -> list[dict[str, Any]]:
    """Tell a reboot of the far device from a fault: its ports' downs at that time are no optic's."""
    reboots: dict[tuple[str, str], list[datetime]] = {}
    for event in events:
        if event["kind"] == "reboot":
            reboots.setdefault((event["site"], event["device"]), []).append(event["time"])
    peers = dict(_peers(lake)) if reboots else {}
    for event in events:
        peer = peers.get((event["site"], event["device"], event["interface"]))
        if event["kind"] == "down" and peer is not None:
            times = reboots.get(peer, [])
            if any(abs(event["time"] - at) <= _SAME_TIME for at in times):
                event["cause"] += f"; {peer[1]}, at the far end, rebooted"
    return events


def _peers(lake: Lake) -> Iterator[tuple[tuple[str, str, str], tuple[str, str]]]:
    ends = [f"{end}_{name}" for end in "az" for name in ("site", "device", "interface")]
    for row in lake.latest(LINKS, columns=ends).collect().select(ends).head(_PEERS).iter_rows():
        yield row[:3], (row[3], row[4])
        yield row[3:], (row[0], row[1])


def now_of(path: Path) -> datetime:
    """When a file was written last."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
