"""Which port is meant: names as people write them, against the ports that inventory and links know.

Domain, case and how far a word is written out do not count (``leaf01.example.net``, ``Eth1/1`` for ``Ethernet1/1``);
a breakout's part is its cage where only that is known. What two ports may answer to is nobody's.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from ingest.decode.lldp_text import plain, same_port
from ingest.lake import Lake
from ingest.schema import LINKS, MODULES

__all__ = ["Port", "Ports"]

Port = tuple[str, str, str]
"""Site, device, interface."""
Device = tuple[str, str]

_EDGES: Final = " \t\r\n,;()[]{}<>\"'`"
_APART: Final = re.compile(r"(?<=[A-Za-z]) (?=\d+[/:.]\d)")  # Ethernet 1/1
_PART: Final = re.compile(r"^(.*\d)[:/.]\d+$")
_PORT_LIKE: Final = re.compile(r"[A-Za-z].*\d")


class Ports:
    """The ports that are known, and the serial numbers in them."""

    def __init__(self) -> None:
        self._names: dict[str, set[Device]] = defaultdict(set)
        self._interfaces: dict[Device, set[str]] = defaultdict(set)
        self._serials: dict[str, list[tuple[Port, datetime | None, datetime | None]]] = defaultdict(list)

    @classmethod
    def of(cls, lake: Lake) -> "Ports":
        """Those of a lake."""
        found = cls()
        columns = ["site", "device", "interface", "serial", "installed_at", "removed_at"]
        for *port, serial, since, until in lake.latest(MODULES, columns=columns).collect().select(columns).iter_rows():
            found.add((port[0], port[1], port[2]), serial, since, until)
        ends = [f"{end}_{name}" for end in "az" for name in ("site", "device", "interface")]
        for row in lake.latest(LINKS, columns=ends).collect().select(ends).iter_rows():
            found.add(row[:3])
            found.add(row[3:])
        return found

    def add(
        self, port: Port, serial: str | None = None, since: datetime | None = None, until: datetime | None = None
    ) -> None:
        """Know a port, and what sat in it from when to when."""
        site, device, interface = port
        who, key = (site, device), plain(device)
        for name in (key, key.partition(".")[0]) if not key.replace(".", "").isdigit() else (key,):
            self._names[name].add(who)
        self._interfaces[who].add(interface)
        if serial:
            self._serials[plain(serial)].append((port, since, until))

    def __contains__(self, port: Port) -> bool:
        return port[2] in self._interfaces.get((port[0], port[1]), ())

    def device(self, text: str, site: str | None = None) -> Device | None:
        """The one device that a name may mean, at the site where one is given."""
        key = plain(text.strip(_EDGES + ".:"))
        found = self._names.get(key) or self._names.get(key.partition(".")[0], set())
        here = {who for who in found if site is None or who[0] == site}
        here = {who for who in here if plain(who[1]) == key} or here
        return next(iter(here)) if len(here) == 1 else None

    def devices(self, site: str) -> list[Device]:
        """All devices of a site."""
        return sorted(who for who in self._interfaces if who[0] == site)

    def interfaces(self, who: Device) -> list[str]:
        """Ports of a device."""
        return sorted(self._interfaces.get(who, ()))

    def port(self, device: str, interface: str, site: str | None = None) -> Port | None:
        """The one port that two names may mean."""
        who = self.device(device, site)
        name = None if who is None else self._interface(who, interface)
        return None if who is None or name is None else (*who, name)

    def of_serial(self, serial: str, at: datetime) -> Port | None:
        """The port in which a module sat at a time, or sits where that is not known."""
        homes = self._serials.get(plain(serial), [])
        there = [port for port, since, until in homes if (since or at) <= at and (until is None or until >= at)]
        found = set(there) or {port for port, _, _ in homes}
        return next(iter(found)) if len(found) == 1 else None

    def named(self, text: str, site: str | None = None) -> list[Device]:
        """Devices that a text names, in its order."""
        found = (self.device(token, site) for token in _tokens(text))
        return list(dict.fromkeys(who for who in found if who is not None))

    def search(self, text: str, device: str | None = None, site: str | None = None) -> Port | None:
        """The first port that a text names, of the device that is given or that the text names."""
        who = self.device(device, site) if device else None
        whose = [who] if who else self.named(text, site)
        for each in whose:
            for token in _tokens(text):
                if _PORT_LIKE.search(token) and (name := self._interface(each, token)):
                    return (*each, name)
        return None

    def _interface(self, who: Device, text: str) -> str | None:
        text = _APART.sub("", text.strip(_EDGES + ".:"))
        known = self._interfaces.get(who, set())
        if text in known:
            return text
        for name in (text, *(match[1] for match in [_PART.match(text)] if match)):
            alike = [each for each in known if plain(each) == plain(name)]
            alike = alike or [each for each in known if same_port(each, name)]
            if len(alike) == 1:
                return alike[0]
            if alike:
                return None
        return None


def _tokens(text: str) -> Iterator[str]:
    """Words of a text, and the parts of one that joins device and port."""
    for word in _APART.sub("", text).split():
        token = word.strip(_EDGES + ".:")
        if token:
            yield token
            yield from _parts(token)


def _parts(token: str) -> Iterable[str]:
    for joint in (":", "/", "_", "->", "="):
        before, found, after = token.partition(joint)
        if found and before and after:
            yield before
            yield after
