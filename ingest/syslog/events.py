"""Messages that were heard into rows of `port_events`: whose they are, and when what they tell of happened."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol
from zoneinfo import ZoneInfo

from ingest.decode.lldp_text import plain
from ingest.exports.records import Port
from ingest.ports import Ports
from ingest.syslog.listener import Heard, Listener
from ingest.syslog.options import SyslogOptions

__all__ = ["SyslogEvents", "time_of"]

_LATE: Final = timedelta(days=1)
_EARLY: Final = timedelta(seconds=10)
_SHOWN: Final = 20
_NAMED: Final = 1_000  # hosts that nothing knows, remembered so that each is told once


class _Named(Protocol):
    """A target of the configuration."""

    @property
    def site(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def address(self) -> str: ...


class SyslogEvents:
    """Rows of what a listener hears.

    Args:
        listener: it.
        options: its.
        targets: devices that are polled: by name, and by the address from which they send.
        known: ports that are known, asked where something was heard.

    Attributes:
        notes: what an operator should know.
    """

    def __init__(
        self,
        listener: Listener,
        options: SyslogOptions,
        targets: Iterable[_Named],
        known: Callable[[], Iterable[Port]],
    ) -> None:
        self._listener, self._known = listener, known
        self._zone = ZoneInfo(options.zone) if options.zone else None
        self._targets: dict[str, tuple[str, str]] = {}
        for target in targets:
            self._targets[plain(target.device)] = self._targets[plain(target.address)] = (target.site, target.device)
        self._strangers: set[str] = set()
        self._dropped = 0
        self.notes: list[str] = []

    def take(self) -> list[dict[str, Any]]:
        """Rows of what was heard since the last time."""
        self.notes = []
        heard = self._listener.take()
        rows: list[dict[str, Any]] = []
        if heard:
            ports = Ports()
            for port in self._known():
                ports.add(port)
            rows = [row for each in heard for row in self._rows(each, ports)]
        if dropped := self._listener.dropped - self._dropped:
            self._dropped = self._listener.dropped
            self.notes.append(f"syslog: {dropped:,} messages came beyond max_waiting and were dropped")
        return rows

    def _rows(self, heard: Heard, ports: Ports) -> Iterable[dict[str, Any]]:
        who = self._device(heard, ports)
        if who is None:
            self._stranger(heard.said.host or heard.source)
            return
        said = heard.said
        cause = f"{said.system} syslog" + (f": {said.cause.lower()}" if said.cause else "")
        at = time_of(said.time, heard.received, self._zone)
        names = ports.interfaces(who)
        if said.port is not None:
            found = ports.port(who[1], said.port, who[0])
            names = [found[2] if found else said.port]
        for name in names:
            where = {"site": who[0], "device": who[1], "interface": name}
            told = {"kind": said.kind, "cause": cause, "source": "syslog"}
            yield {"time": at, "received_at": heard.received, **where, **told}

    def _device(self, heard: Heard, ports: Ports) -> tuple[str, str] | None:
        """By the name in the message, else by who sent it: NX-OS names no host, and relays send for others."""
        host = heard.said.host or ""
        for name in (host, host.partition(".")[0], heard.source if not host else ""):
            if name and (who := self._targets.get(plain(name)) or ports.device(name)):
                return who
        return self._targets.get(plain(heard.source))

    def _stranger(self, host: str) -> None:
        if host not in self._strangers and len(self._strangers) < _NAMED:
            self._strangers.add(host)
            if len(self._strangers) <= _SHOWN:
                self.notes.append(f"syslog: {host} is no target, and no device that inventory or links know")


def time_of(text: str | None, received: datetime, zone: ZoneInfo | None) -> datetime:
    """When it happened: as the message says where it can be believed, else when it came."""
    at = None if text is None else _parsed(text, received, zone)
    if at is None or not -_EARLY <= received - at <= _LATE:
        return received
    return min(at, received)


def _parsed(text: str, received: datetime, zone: ZoneInfo | None) -> datetime | None:
    """The time that a text says; None where it says none, or one that no clock can show."""
    try:
        found = datetime.fromisoformat(text) if re.match(r"\d{4}-", text) else _dated(text, received, zone)
        if found.tzinfo is None:
            return None if zone is None else found.replace(tzinfo=zone).astimezone(UTC)
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _dated(text: str, received: datetime, zone: ZoneInfo | None) -> datetime:
    """A time in RFC 3164's words, without a zone; where it names no year, of the last one that it can be of.

    Raises:
        ValueError: there is no such time.
    """
    year = re.search(r"(?<!\d)\d{4}(?!\d)", text)
    words = [word.partition(".")[0] for word in text.split() if not re.fullmatch(r"\d{4}", word)]
    plain_time = f"{year[0] if year else received.year} {' '.join(words)}"
    found = datetime.strptime(plain_time, "%Y %b %d %H:%M:%S")  # noqa: DTZ007 - the caller puts the zone on
    if year is None and zone is not None and found.replace(tzinfo=zone) > received + _LATE:
        return found.replace(year=found.year - 1)
    return found
