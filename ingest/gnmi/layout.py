"""Where each leaf of a device belongs: its port, its lane, its place in the grids that polls of any kind become."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from ingest.decode.devicemap import DeviceMap
from ingest.decode.entity import Inventory
from ingest.decode.quality import plausible_limits
from ingest.decode.slots import COUNTERS, QUANTITIES, Slot
from ingest.gnmi.family import Family
from ingest.gnmi.leaves import Kind, Leaf
from ingest.gnmi.places import Facts, Places
from ingest.gnmi.values import Value, number_of, text_of
from ingest.schema import LIMITS

__all__ = ["BINS", "Layout", "has_module"]

BINS: Final = 16
_MOST_LANES: Final = 64
_MODULE: Final = frozenset({"serial", "vendor", "part_number", "present", "media", "form_factor", *LIMITS})
_LIMITED: Final = ("rx_power_dbm", "tx_power_dbm", "tx_bias_ma", "temperature_c", "voltage_v")
_COHERENT: Final = "/optical-channel/"
_ABSENT: Final = ("NOT_PRESENT", "ABSENT")


class Layout:
    """One device as its leaves and facts stand; leaves get their cells.

    Attributes:
        places: its ports and components.
        map: for those who read polls.
        counts_flaps: ports whose flaps the device counts itself.
        zero_based: the device counts its channels from 0.
        beside: of the map's ports those of another's cage: a breakout's, with counters and state of their own.
    """

    def __init__(
        self,
        family: Family,
        facts: Facts,
        leaves: Iterable[Leaf],
        *,
        zero_based: bool = False,
    ) -> None:
        self._facts, leaves = facts, list(leaves)
        modules = {_place(leaf) for leaf in leaves if _of_module(leaf)} | _told_modules(facts)
        ports = {leaf.found.place for leaf in leaves if leaf.found.of == "interface"}
        lit = {leaf.found.place for leaf in leaves if _COHERENT in leaf.found.source}
        self.places = Places(facts, ports, lit | {place for of, place in modules if of == "component"})
        self.zero_based = family.first_lane is None and (
            zero_based or any(leaf.found.sub == "0" for leaf in leaves if leaf.kind is Kind.READING)
        )
        self._modules = self._homes(modules)
        self._beside = {
            port
            for cage, ports in self.places.shared().items()
            for port in ports
            if cage in self._modules and port not in self._modules
        }
        cages = sorted({*self._modules, *self._beside})
        number_of = {cage: i for i, cage in enumerate(cages)}
        seats = {leaf: seat for leaf in leaves if (seat := self._seat(leaf)) and seat[0] in number_of}
        self.map = self._mapped(family, cages, {seat for leaf, seat in seats.items() if leaf.kind is Kind.READING})
        row_of = {
            (int(p), int(n)): i for i, (p, n) in enumerate(zip(self.map.rows.port, self.map.rows.lane, strict=True))
        }
        self.counts_flaps = {
            seat[0] for leaf, seat in seats.items() if leaf.found.column in {"transitions", "link_flaps"}
        }
        for leaf in leaves:
            leaf.cell = leaf.row = -1
        for leaf, (cage, lane) in seats.items():
            _put(leaf, number_of[cage], lane, row_of)

        self.beside = np.array([port in self._beside for port in cages], np.bool_)

    def module_at(self, cage: str) -> tuple[str, str] | None:
        """What tells of a cage's module: (component or interface, its name); None of a port beside."""
        return self._modules.get(cage)

    def _homes(self, modules: set[tuple[str, str]]) -> dict[str, tuple[str, str]]:
        """By cage who tells of its module: a component, or the port itself."""
        homes: dict[str, tuple[str, str]] = {}
        for of, place in sorted(modules):
            cage = self.places.cage(of, place)
            if cage is not None and (of == "component" or self.places.own(place) == cage):
                homes.setdefault(cage, (of, place))
        return homes

    def _seat(self, leaf: Leaf) -> tuple[str, int] | None:
        """Cage and lane of a reading or counter; None of what is another port's or no module's."""
        found = leaf.found
        cage = self.places.cage(found.of, found.place)
        if leaf.kind is Kind.FACT or cage is None or cage not in self._modules:
            return None
        own = self._modules[cage] == (found.of, found.place) or _COHERENT in found.source
        if found.of == "component" and not own:
            return None
        if found.of == "interface" and (port := self.places.own(found.place)) != cage:
            if port not in self._beside or leaf.kind is Kind.READING:
                return None
            return (port, int(found.sub) if leaf.kind is Kind.BIN else 0)
        if leaf.kind is not Kind.READING or not found.sub:
            return (cage, 0) if leaf.kind is not Kind.BIN else (cage, int(found.sub))
        lane = int(found.sub) + self.zero_based if found.sub.isdecimal() else -1
        return (cage, lane) if 0 < lane <= _MOST_LANES else None

    def _mapped(self, family: Family, cages: list[str], rows: set[tuple[str, int]]) -> DeviceMap:
        limits, implausible = {}, set()
        for cage in self._modules:
            limits[cage], fit = self._limits(cage)
            if not fit:
                implausible.add(cage)
        inventory = {cage: self._inventory(cage) for cage in self._modules}
        index_of = {name: i for i, name in self.places.interfaces.names.items()}
        return DeviceMap(
            profile=family.name,
            ports=tuple(cages),
            if_index=tuple(index_of.get(cage, 0) for cage in cages),
            slots=tuple(Slot(cage, lane, QUANTITIES[0], "", "") for cage, lane in sorted(rows)),
            cells={},
            inventory=inventory,
            limits={cage: found for cage, found in limits.items() if found},
            implausible=frozenset(implausible),
            serials={cage: cage for cage, module in inventory.items() if module.serial is not None},
            interfaces=self.places.interfaces,
        )

    def _inventory(self, cage: str) -> Inventory:
        of, place = self._modules[cage]
        text = self._facts.text
        if (text(of, place, "present") or "").upper() in _ABSENT:
            return Inventory()
        return Inventory(
            serial=text(of, place, "serial", "serial_of_component"),
            vendor=text(of, place, "vendor", "vendor_of_component"),
            part_number=text(of, place, "part_number", "part_of_component"),
            firmware=text(of, place, "firmware"),
            media=_media(text(of, place, "media")),
            form_factor=form_factor_of(text(of, place, "form_factor")),
            speed_gbps=self._speed(cage),
            fec_mode=(text(of, place, "fec_mode") or text("interface", cage, "fec_mode") or "").rpartition(":")[2]
            or None,
        )

    def _speed(self, cage: str) -> float | None:
        """Of a cage with one port that says its speed; what a broken out module does is not told by its parts."""
        told = [speed_of(self._facts.get("interface", port, "speed_gbps")) for port in self.places.ports_of(cage)]
        known = [speed for speed in told if speed is not None]
        return known[0] if len(known) == 1 else None

    def _limits(self, cage: str) -> tuple[dict[str, float], bool]:
        """The module's own limits, and whether they do not contradict each other."""
        of, place = self._modules[cage]
        kept: dict[str, float] = {}
        fit = True
        for quantity in _LIMITED:
            stem, _, unit = quantity.rpartition("_")
            told = {}
            for side in ("low", "high"):
                for level in ("alarm", "warn"):
                    number = number_of(self._facts.first(of, place, f"{stem}_{side}_{level}_{unit}"))
                    if number is not None:
                        told[f"{side}_{level}"] = number
            plausible = plausible_limits(told, quantity) if told else {}
            fit = fit and (bool(plausible) or not any(told.values()))
            kept |= {f"{stem}_{name}_{unit}": value for name, value in plausible.items()}
        return kept, fit


def has_module(facts: Facts, of: str, place: str) -> bool:
    """Whether a component or port tells of a module."""
    return bool(_MODULE & set(facts.columns(of, place)))


def _media(text: str | None) -> str | None:
    """An identity without its module's name; SONiC's dictionaries of compliance codes are no media."""
    return None if text is None or text.startswith("{") or "not supported" in text.lower() else text.rpartition(":")[2]


def form_factor_of(text: str | None) -> str | None:
    """A form factor as people write it: OpenConfig has identities, SONiC a sentence.

    >>> form_factor_of("openconfig-transport-types:QSFP56_DD_TYPE1"), form_factor_of("SFP_PLUS")
    ('QSFP-DD', 'SFP+')
    >>> form_factor_of("QSFPDD"), form_factor_of("QSFPplus")
    ('QSFP-DD', 'QSFP+')
    >>> form_factor_of("QSFP28 or later"), form_factor_of("openconfig-transport-types:OTHER")
    ('QSFP28', None)
    """
    word = (text or "").rpartition(":")[2].split(" ")[0].upper()
    if re.fullmatch(r"QSFP\d*[-_]?DD.*", word):
        return "QSFP-DD"
    word = re.sub(r"_?PLUS", "+", word).replace("_", "-")
    return word if re.search(r"FP|CPAK|X2", word) else None


def speed_of(told: Value) -> float | None:
    """Gigabits a second: ``SPEED_400GB`` of OpenConfig, ``400G`` of SR Linux, megabits of SONiC.

    >>> speed_of("openconfig-if-ethernet:SPEED_2500MB"), speed_of("400000"), speed_of("SPEED_UNKNOWN"), speed_of("100G")
    (2.5, 400.0, None, 100.0)
    """
    text = text_of(told) or ""
    if found := re.search(r"SPEED_(\d{1,6})([MG])B", text) or re.fullmatch(r"(\d{1,6})([MG])", text):
        return int(found[1]) / (1 if found[2] == "G" else 1_000)
    return int(text) / 1_000 if text.isdecimal() and 0 < int(text[:12]) < 10**7 else None


def _place(leaf: Leaf) -> tuple[str, str]:
    return leaf.found.of, leaf.found.place


def _of_module(leaf: Leaf) -> bool:
    """Whether a leaf shows that its component, or its port, has a module: a fan has a temperature, too."""
    source = leaf.found.source
    return "/transceiver/" in source or (
        leaf.kind is Kind.READING and "component" not in source and "/phy-diag/" not in source
    )


def _told_modules(facts: Facts) -> set[tuple[str, str]]:
    found = {("interface", place) for place in facts.places("interface") if has_module(facts, "interface", place)}
    return found | {
        ("component", place)
        for place in facts.places("component")
        if has_module(facts, "component", place)
        or (facts.text("component", place, "type") or "").rpartition(":")[2].upper() == "TRANSCEIVER"
    }


def _put(leaf: Leaf, port: int, lane: int, row_of: Mapping[tuple[int, int], int]) -> None:
    if leaf.kind is Kind.READING:
        leaf.row = row_of[port, lane]
        leaf.cell = leaf.row * len(QUANTITIES) + QUANTITIES.index(leaf.found.column)
    else:
        leaf.row = port
        column = "link_flaps" if leaf.found.column == "transitions" else leaf.found.column
        width, at = (BINS, lane) if leaf.kind is Kind.BIN else (len(COUNTERS), COUNTERS.index(column))
        leaf.cell = port * width + at
