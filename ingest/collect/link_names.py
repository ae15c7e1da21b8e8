"""Who is meant: the names that LLDP, files and the collector have for the same devices and ports, brought together."""

from collections import defaultdict
from collections.abc import Iterable

from ingest.decode.interfaces import Interfaces
from ingest.decode.lldp import Lldp, Neighbour
from ingest.decode.lldp_text import is_mac, plain, same_port
from ingest.exports.records import Port

__all__ = ["Directory"]

Device = tuple[str, str]
"""Site and device."""


class _Ports:
    """What the ports of one device are called."""

    def __init__(self) -> None:
        self.own: dict[str, str] = {}  # any name, plain, to ifName: as the device itself says
        self.sent: dict[str, str] = {}  # port id as sent over LLDP, plain, to ifName
        self.told: set[str] = set()  # names in rows of `links`

    def find(self, texts: Iterable[str]) -> str | None:
        """The device's own name of the port that one of the texts names, the first text first."""
        for text in texts:
            key = plain(text)
            name = self.sent.get(key) or self.own.get(key)
            if name:
                return name
            for names in (set(self.own.values()), self.told):
                alike = [text] if text in names else [name for name in names if same_port(name, text)]
                if len(alike) == 1:
                    return alike[0]
        return None


class Directory:
    """Devices by site and name, chassis id and the names of their ports."""

    def __init__(self) -> None:
        self._ports: dict[Device, _Ports] = defaultdict(_Ports)
        self._full: dict[str, set[Device]] = defaultdict(set)
        self._short: dict[str, set[Device]] = defaultdict(set)
        self._chassis: dict[str, set[Device]] = defaultdict(set)
        self._polled: set[Device] = set()

    def heard(self, site: str, device: str, lldp: Lldp, interfaces: Interfaces) -> bool:
        """Take what a polled device says of itself; whether that is anything new."""
        who, ports = (site, device), self._ports[site, device]
        own = {plain(name): name for name in interfaces.names.values()}
        own |= {text: interfaces.names[i] for text, i in interfaces.by_text.items() if text not in own}
        known = who in self._polled and (ports.own, ports.sent) == (own, lldp.ports)
        known = known and (lldp.chassis is None or who in self._chassis[lldp.chassis])
        ports.own, ports.sent = own, lldp.ports
        self._polled.add(who)
        self._name(who, device)
        if lldp.sys_name:
            self._name(who, lldp.sys_name)
        if lldp.chassis:
            self._chassis[lldp.chassis].add(who)
        return not known

    def told(self, port: Port) -> None:
        """Take an end of a link that is known."""
        site, device, interface = port
        who = self.device(site, device)
        self._ports[who].told.add(interface)
        self._name(who, device)

    def end(self, site: str, neighbour: Neighbour) -> Port:
        """The port that a neighbour at `site` is, by its known name or else as it was given."""
        who = self.device(site, neighbour.peer_device, neighbour.chassis)
        texts = (neighbour.port_id, neighbour.peer_interface, neighbour.description)
        ports = self._ports.get(who)
        found = ports.find(text for text in texts if text) if ports else None
        return (*who, found or neighbour.peer_interface)

    def port(self, port: Port) -> Port:
        """A port as it is known now."""
        who = self.device(port[0], port[1])
        ports = self._ports.get(who)
        return (*who, (ports and ports.find([port[2]])) or port[2])

    def device(self, site: str, name: str, chassis: str | None = None) -> Device:
        """The one device that is meant: by chassis id, then by name with or without its domain, at the site first."""
        by_chassis = self._chassis.get(chassis or plain(name), set())
        if len(by_chassis) == 1:
            return next(iter(by_chassis))
        meant = self._meant(name)
        for choice in ({who for who in meant if who[0] == site}, meant):
            polled = choice & self._polled or choice
            if len(polled) == 1:
                return next(iter(polled))
            if polled:
                break
        return site, name

    def _meant(self, name: str) -> set[Device]:
        key = plain(name)
        if is_mac(key) or key.replace(".", "").isdigit():
            return self._full.get(key, set())
        short, dot, _ = key.partition(".")
        # Two that both have a domain are the same only where it is the same.
        return self._full.get(key, set()) | (self._full.get(short, set()) if dot else self._short.get(key, set()))

    def _name(self, who: Device, name: str) -> None:
        key = plain(name)
        self._full[key].add(who)
        if not is_mac(key) and not key.replace(".", "").isdigit():
            self._short[key.partition(".")[0]].add(who)
