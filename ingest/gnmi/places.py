"""Which port a component is: by what the device says of it, else by its name; and which ports share one cage.

A module belongs to its cage, never to each of the ports that it is broken out into (field_faults.md, rows 18 to 20).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from ingest.decode.interfaces import Interfaces
from ingest.gnmi.values import Value, text_of

__all__ = ["Facts", "Places", "natural"]

_WORDS: Final = re.compile(r"(?i)[\s_-]*(?<![a-z])(?:transceiver|xcvr|optics?|pluggable|module)(?![a-z])[\s_-]*")
_JUNOS: Final = re.compile(r"(?i)FPC(\d+):(?:MIC\d+:)?PIC(\d+):PORT(\d+)")
_TAIL: Final = re.compile(r"\d+(?:/\d+)+(?::\d+)?$")
_DIGITS: Final = re.compile(r"(\d+)")


class Facts:
    """Facts by what they are of."""

    def __init__(self, told: Mapping[tuple[str, str, str, str], Value]) -> None:
        self._by: dict[tuple[str, str], dict[str, dict[str, Value]]] = defaultdict(lambda: defaultdict(dict))
        for (of, place, column, sub), value in told.items():
            self._by[of, place][column][sub] = value

    def get(self, of: str, place: str, column: str) -> Value:
        """One fact; None where there is none."""
        return self.each(of, place, column).get("")

    def first(self, of: str, place: str, column: str) -> Value:
        """One fact of the whole, or that of its first lane."""
        told = self.each(of, place, column)
        return told.get("", told.get(min(told, key=natural, default=""), None))

    def text(self, of: str, place: str, *columns: str) -> str | None:
        """The first of the columns that says something."""
        return next((text for column in columns if (text := text_of(self.get(of, place, column)))), None)

    def each(self, of: str, place: str, column: str) -> Mapping[str, Value]:
        """A fact by lane, bin or neighbour."""
        return self._by.get((of, place), {}).get(column, {})

    def columns(self, of: str, place: str) -> Iterable[str]:
        """Names of what is known of a place."""
        return self._by.get((of, place), {})

    def places(self, of: str) -> list[str]:
        """All of a kind."""
        return sorted((place for kind, place in self._by if kind == of), key=natural)


class Places:
    """Ports of one device, and what is in which.

    Attributes:
        interfaces: names, and what they may be called.
        unplaced: components with a module that belong to no port.
    """

    def __init__(self, facts: Facts, ports: Iterable[str], components: Iterable[str]) -> None:
        self._facts = facts
        self._oids = {str(oid): name for name, oid in facts.each("device", "", "oid").items()}
        names = sorted({*facts.places("interface"), *ports} - {"", *self._oids}, key=natural)
        names = [name for name in names if not name.startswith("oid:")]
        self.interfaces = Interfaces(dict(enumerate(names, 1)), {_plain(name): i for i, name in enumerate(names, 1)})
        self.unplaced: list[str] = []
        self._members = self._told()
        self._cage_of_component: dict[str, str] = {}
        self._cages: dict[str, str] = {}
        for component in sorted(components, key=natural):
            self._place(component)
        self._share()

    def cage(self, of: str, place: str) -> str | None:
        """The port by which a component's or a port's module is known; None where there is none."""
        if of == "component":
            return self._cage_of_component.get(place)
        if of == "channel":
            return self._of_channel(place)
        name = self._oids.get(place, place)
        return self._cages.get(name, name)

    def _of_channel(self, index: str) -> str | None:
        """The cage of a coherent module's logical channel: by what it says of itself, or what lies on it says."""
        told = self._facts
        for number in (index, *(n for n in told.places("channel") if told.text("channel", n, "carried_by") == index)):
            for column in ("optical_channel", "transceiver"):
                component = told.text("channel", number, column)
                if component and (cage := self.cage("component", component)):
                    return cage
            interface = told.text("channel", number, "interface")
            if interface in self.interfaces.names.values():
                return self.cage("interface", interface or "")
        return None

    def ports_of(self, cage: str) -> list[str]:
        """Ports of a cage."""
        return [name for name in self.interfaces.names.values() if self._cages.get(name, name) == cage]

    def shared(self) -> dict[str, list[str]]:
        """Ports by their cage, of all cages."""
        found: dict[str, list[str]] = defaultdict(list)
        for name in self.interfaces.names.values():
            found[self._cages.get(name, name)].append(name)
        return found

    def own(self, place: str) -> str:
        """A port's own name: SONiC counts under its chip's numbers."""
        return self._oids.get(place, place)

    def _told(self) -> dict[str, list[str]]:
        """Ports of each component, as the ports say: those with the first channels first."""
        members: dict[str, list[str]] = defaultdict(list)
        for name in self.interfaces.names.values():
            for column in ("transceiver", "hardware_port"):
                component = text_of(self._facts.get("interface", name, column))
                if component and name not in members[component]:
                    members[component].append(name)
        for ports in members.values():
            ports.sort(key=lambda name: (self._channel(name), natural(name)))
        return members

    def _channel(self, name: str) -> int:
        told = self._facts.get("interface", name, "channels")
        numbers = [
            int(text) for each in (told if isinstance(told, list) else [told]) if (text := str(each)).isdecimal()
        ]
        return min(numbers, default=0)

    def _place(self, component: str) -> None:
        parent = self._facts.text("component", component, "line_port", "parent")
        ports = self._members.get(component) or self._members.get(parent or "") or self._named(component, parent)
        if not ports:
            self.unplaced.append(component)
            return
        self._cage_of_component[component] = ports[0]
        self._cages |= dict.fromkeys(ports, ports[0])

    def _named(self, component: str, parent: str | None) -> list[str]:
        """Ports that a component's own name, or its parent's, means."""
        for text in (component, parent):
            if text is None:
                continue
            mention = self.interfaces.mention(text) or self.interfaces.mention(_WORDS.sub(" ", text).strip())
            if mention:
                return [self.interfaces.names[mention.if_index]]
            found = self._at_slot(text)
            if found:
                return found
        return [] if self.interfaces.names else [_WORDS.sub("", component) or component]

    def _at_slot(self, text: str) -> list[str]:
        """Ports at the slot that a name ends with, or that Junos spells out."""
        junos, tail = _JUNOS.search(text), _TAIL.search(text)
        slot = "/".join(junos.groups()) if junos else tail[0] if tail else None
        if slot is None:
            return []
        ends = [name for name in self.interfaces.names.values() if re.search(rf"(?<![\d/]){slot}(?:[:/]\d+)?$", name)]
        return (
            ends
            if len(
                {
                    re.sub(r"[:/]\d+$", "", name) if name.count("/") > slot.count("/") or ":" in name else name
                    for name in ends
                }
            )
            == 1
            else []
        )

    def _share(self) -> None:
        """Ports of one cage where the device numbers its cages; or that have a module's serial and no reading of it."""
        by_cage: dict[str, list[str]] = defaultdict(list)
        for name in self.interfaces.names.values():
            cage = text_of(self._facts.get("interface", name, "cage"))
            if cage is not None:
                by_cage[cage].append(name)
        for ports in by_cage.values():
            self._cages |= dict.fromkeys(ports, ports[0])


def natural(text: str) -> list[tuple[int, str]]:
    """Sorts Ethernet2 before Ethernet10."""
    return [(int(part), "") if part.isdecimal() and len(part) < 19 else (-1, part) for part in _DIGITS.split(text)]  # noqa: PLR2004


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()
