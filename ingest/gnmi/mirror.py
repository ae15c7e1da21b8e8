"""What a device says, as it says it: readings gathered into rounds, facts kept as they stand, changes of facts noted.

A round ends where a reading comes again: so no sample is lost, in whichever pieces and at whichever pace leaves come.
Nothing is taken for complete before the device says that it is (sync_response; field_faults.md, row 49).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pygnmi.spec.v080.gnmi_pb2 import Notification, Path

from ingest.decode.slots import QUANTITIES
from ingest.gnmi.clock import Clock, nanoseconds
from ingest.gnmi.family import Element, Family, Found, Node
from ingest.gnmi.leaves import Key, Kind, Leaf, elements_of
from ingest.gnmi.values import Value, integer_of, number_of, told_by

__all__ = ["STATES", "Change", "Mirror", "Round"]

STATES: Final = frozenset({"oper_up", "admin_up", "rx_los", "tx_fault", "cdr_lol"})
"""Facts that change without anything having been moved."""
_PRESENCE: Final = frozenset({"serial", "serial_of_component", "present"})
_MOST_LEAVES: Final = 200_000
"""Of one device: 1,024 ports of 8 lanes have half as many; who sends more makes names up."""
_MOST_PATHS: Final = 400_000
_ACCOUNT_NS: Final = 5_000_000_000
"""In a device's first account a leaf may come twice, where it lies below two of the paths asked for."""
_MOST_CHANGES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Round:
    """Readings and counters, each at most once.

    Attributes:
        cells: number and stamp by leaf; NaN where the device has none.
        received: when the last of them came, in nanoseconds.
        whole: the device had said that it had told all.
    """

    cells: dict[Leaf, tuple[float, int]]
    received: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that has become another; None is unknown, or gone."""

    of: str
    place: str
    column: str
    sub: str
    before: Value
    after: Value
    stamp: int
    received: int


_Facts = dict[Key, Value]
_Inside = tuple[Node, dict[str, str]]


@dataclass
class Mirror:
    """One device's subscription.

    Attributes:
        family: how its paths are read.
        ended: is given each round when it has ended, before anything that came after counts.
        clock: of the device.
        facts: as they stand, by (of, place, column, sub).
        leaves: readings and counters that were ever seen, and facts.
        refused: leaves without their keys, by the leaf's name.
        synced: the device has told all there is.
        moved: counts changes of what the layout is made of.
        told: counts changes of any fact.
        updates: counts leaves and trees that came.
    """

    family: Family
    ended: Callable[[Round], None]
    clock: Clock = field(default_factory=Clock)
    facts: _Facts = field(default_factory=dict)
    leaves: dict[Found, Leaf] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    synced: bool = False
    moved: int = 0
    told: int = 0
    updates: int = 0

    def __post_init__(self) -> None:
        self._paths: dict[bytes, dict[bytes, Leaf | _Inside | None]] = {}
        self._round: dict[Leaf, tuple[float, int]] = {}
        self._changes: list[Change] = []
        self._before: _Facts = {}
        self._stamps: dict[Key, int] = {}
        self._received = self._opened = 0

    def begin(self) -> None:
        """A new subscription: what was known before stands until the device has told all again."""
        self.end_round()
        self._before = {**self._before, **self.facts}
        self.facts = {}
        self.synced = False

    def sync(self, received: int) -> None:
        """The device has told all: what it did not tell again is gone."""
        if self.synced:
            return
        self.synced = True
        self.told += 1
        before, self._before = self._before, {}
        if before.keys() != self.facts.keys():
            self.moved += 1
        for key in before.keys() | self.facts.keys() if before else ():
            self._note(key, before.get(key), self.facts.get(key), self._stamps.get(key, 0), received)

    def take(self, message: Notification, received: int) -> None:
        """Take a notification."""
        stamp = nanoseconds(message.timestamp)
        self.clock.heard(stamp, received)
        for path in message.delete:
            self._forget(elements_of(message.prefix, path), stamp, received)
        known = self._known(message.prefix)
        told: set[Key] | None = set() if message.atomic and elements_of(message.prefix) else None
        for update in message.update:
            self.updates += 1
            at = update.path.SerializeToString()
            target = known[at] if at in known else self._found(known, at, message.prefix, update.path)
            if isinstance(target, Leaf):
                self._put(target, told_by(update), stamp, received)
                if told is not None:
                    told.add(target.key)
            elif target is not None:
                for found, value in self.family.below(*target, told_by(update)):
                    leaf = self._leaf(found, target[0])
                    if leaf is not None:
                        self._put(leaf, value, stamp, received)
                        if told is not None:
                            told.add(leaf.key)
        if told is not None:
            self._forget(elements_of(message.prefix), stamp, received, but=told)

    @property
    def standing(self) -> _Facts:
        """Facts as they stand, with those of before that the device has not told again yet."""
        return self.facts if self.synced or not self._before else {**self._before, **self.facts}

    def end_round(self) -> None:
        """What has come so far is a round, if anything has."""
        if self._round:
            ended, self._round = self._round, {}
            self.ended(Round(ended, self._received, self.synced))

    @property
    def quiet_since(self) -> int:
        """When the running round last got a reading; 0 where it has none."""
        return self._received if self._round else 0

    def changes(self) -> list[Change]:
        """Changes of facts since the device had told all, each given once."""
        noted, self._changes = self._changes, []
        return noted

    def _known(self, prefix: Path) -> dict[bytes, Leaf | _Inside | None]:
        at = prefix.SerializeToString()
        if at not in self._paths:
            if sum(map(len, self._paths.values())) + len(self._paths) > _MOST_PATHS:
                self._paths.clear()
            self._paths[at] = {}
        return self._paths[at]

    def _found(
        self, known: dict[bytes, Leaf | _Inside | None], at: bytes, prefix: Path, path: Path
    ) -> Leaf | _Inside | None:
        """What a path means that was not seen before."""
        if len(known) >= _MOST_PATHS:
            known.clear()
        reached = self.family.reach(elements_of(prefix, path))
        target: Leaf | _Inside | None = reached
        if reached is not None and reached[0].column is not None and not reached[0].below:
            target = self._leaf(next(self.family.below(*reached, value=0))[0], reached[0])
        known[at] = target
        return target

    def _leaf(self, found: Found | None, node: Node) -> Leaf | None:
        if found is None:
            name = node.source or "a list"
            self.refused[name] = self.refused.get(name, 0) + 1
            return None
        leaf = self.leaves.get(found)
        if leaf is None and len(self.leaves) < _MOST_LEAVES:
            leaf = self.leaves[found] = Leaf(found)
            self.moved += 1
        return leaf

    def _put(self, leaf: Leaf, value: Value, stamp: int, received: int) -> None:
        kind = leaf.kind
        if kind is Kind.FACT:
            self._state(leaf.key, value, stamp, received)
            return
        number: float | None
        if kind is Kind.READING:
            number = number_of(value)
            if number is None:
                number = math.nan
        else:
            number = integer_of(value)
            if number is None:
                return
        held = self._round.get(leaf)
        if held is not None:
            if held == (number, stamp):
                return  # sent twice
            if self.synced or received - self._opened > _ACCOUNT_NS:
                self.end_round()
        if not self._round:
            self._opened = received
        self._round[leaf] = (number, stamp)
        self._received = received

    def _state(self, key: Key, value: Value, stamp: int, received: int) -> None:
        before = self.facts.get(key)
        self._stamps[key] = stamp
        if before != value or key not in self.facts:
            if self.synced and key[2] in _PRESENCE:
                self.end_round()  # what came so far is the old module's
            self.facts[key] = value
            self.told += 1
            self.moved += _moves(key)
            if self.synced:
                self._note(key, before, value, stamp, received)

    def _note(self, key: Key, before: Value, after: Value, stamp: int, received: int) -> None:
        if before != after and len(self._changes) < _MOST_CHANGES:
            of, place, column, sub = key
            self._changes.append(Change(of, place, column, sub, before, after, stamp, received))

    def _forget(self, path: list[Element], stamp: int, received: int, but: Iterable[Key] = ()) -> None:
        """A delete: what is at a path and below it is no more; a key that is missing or `*` means all."""
        reached = self.family.reach(path)
        if reached is None:
            return
        node, bound = reached
        columns = self.family.columns(node)
        kept = set(but)
        self.moved += not kept and any(column in QUANTITIES for _, column in columns)
        for key in [
            key for key in self.facts if (key[0], key[2]) in columns and key not in kept and _within(key, bound)
        ]:
            if self.synced and key[2] in _PRESENCE:
                self.end_round()
            before = self.facts.pop(key)
            self.told += 1
            self.moved += _moves(key)
            if self.synced:
                self._note(key, before, None, stamp, received)


def _within(key: Key, bound: Mapping[str, str]) -> bool:
    place = bound.get("place", "*")
    sub: Any = next((bound[name] for name in ("lane", "bin", "neighbour") if name in bound), "*")
    return place in ("*", key[1]) and sub in ("*", key[3])


def _moves(key: Key) -> bool:
    """Whether a fact is one that the layout is made of."""
    return key[2] not in STATES and not key[2].startswith(("lldp_", "own_", "boot_"))
