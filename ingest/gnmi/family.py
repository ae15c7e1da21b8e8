"""Which path is which column, as small files say it: one family of devices a file, read into a tree of names.

A path and a tree of JSON are walked alike, so that it does not matter in which piece a device sends its leaves. Lists
need their keys: a reading without its component or its channel belongs to nobody (field_faults.md, row 41).
"""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ingest.errors import ProfileError
from ingest.gnmi.path_files import PathFile, Stream, path_files
from ingest.gnmi.values import Value

__all__ = ["Element", "Family", "Found", "Node", "Stream", "families", "load_family"]

Element = tuple[str, Mapping[str, str]]
"""One element of a path: its name and its keys."""

_ONE: Final = re.compile(r"([^\[{]+)(?:\[([^=\]]+)=([^\]]+)\])?")
_KEY: Final = re.compile(r"[={](place|lane|severity|neighbour)(?=[\]}])")
_DATABASE: Final = re.compile(r"[A-Z]+_DB|localhost|asic\d+")
"""What SONiC's newer servers put before a table: its database and the namespace."""
_WORD: Final = re.compile(r"\{(\w+)\}")
_SPELLINGS: Final[dict[str, dict[str, str]]] = {
    "lane": {str(n): str(n) for n in range(1, 17)},
    "bin": {str(n): str(n) for n in range(16)},
    "side": {"upper": "high", "lower": "low", "high": "high", "low": "low"},
    "level": {"alarm": "alarm", "warning": "warn"},
}
"""Parts of a leaf's own name, and what each spelling of them means."""
_SEVERITIES: Final = {"CRITICAL": "alarm", "MAJOR": "alarm", "WARNING": "warn", "MINOR": "warn"}
_SUBS: Final = ("lane", "bin", "neighbour", "name")
_DEEPEST: Final = 32


@dataclass(slots=True)
class Node:
    """A name in the tree.

    Attributes:
        below: by name.
        any: where a name is itself a key, as in SONiC's databases, with the variable that it binds.
        keys: of a list, by YANG's name, with the variables that they bind.
        column: what the leaf is; may still name its level, which a key has.
        of: what its place is the name of.
        bound: variables that the leaf's own name says.
        needs: variables that a leaf means nothing without.
        source: the leaf as the file writes it.
        name: its own; a value may be wrapped in it.
    """

    name: str = ""
    below: "dict[str, Node]" = field(default_factory=dict)
    any: "tuple[str, Node] | None" = None
    keys: dict[str, str] = field(default_factory=dict)
    column: str | None = None
    of: str = ""
    bound: dict[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A leaf that has a meaning.

    Attributes:
        column: of a table, or a fact's name.
        of: component, interface, logical channel or device: what `place` names.
        place: the component's or the port's name as the device has it; "" for the device.
        sub: lane, bin or neighbour; "" where there is none.
        source: the leaf as the file writes it: two leaves of a device may say the same.
    """

    column: str
    of: str
    place: str
    sub: str
    source: str


class Family:
    """The tree of one file, and of those that are parts of it.

    Attributes:
        name: of the file.
        models: any of which a device of this family says that it has.
        first_lane: number of the first lane, where it is always the same.
        streams: what to subscribe to.
    """

    def __init__(self, told: PathFile, parts: Iterable[PathFile] = ()) -> None:
        self.name, self.models, self.first_lane = told.family, told.models, told.first_lane
        files = [told, *parts]
        self.streams = tuple(stream for file in files for stream in file.asked)
        self._root = Node()
        for leaves in (leaves for file in files for leaves in file.leaves):
            for name, column in leaves.fields.items():
                self._plant(
                    f"{leaves.at}/{name}",
                    column,
                    leaves.of or ("component" if "component" in leaves.at else "interface"),
                )

    def read(self, path: Iterable[Element], value: Value) -> Iterator[tuple[Found | None, Value]]:
        """Leaves of one update; None for one that lacks a key."""
        reached = self.reach(path)
        if reached is not None:
            yield from self.below(*reached, value)

    def reach(self, path: Iterable[Element]) -> tuple[Node, dict[str, str]] | None:
        """Where a path leads, and what its keys bind; None where nothing of ours is there."""
        node, bound = self._root, dict[str, str]()
        for name, keys in path:
            if node is self._root and _DATABASE.fullmatch(name):
                continue
            if node.any is not None and name.endswith("*"):
                break  # a tree by name follows
            nearer = _child(node, name.rpartition(":")[2], name)
            if nearer is None:
                return None
            node, bind = nearer
            bound |= bind
            bound |= {variable: keys[key] for key, variable in node.keys.items() if keys.get(key)}
        return node, bound

    def below(
        self, node: Node, bound: Mapping[str, str], value: Value, depth: int = 0
    ) -> Iterator[tuple[Found | None, Value]]:
        """Leaves of a value at a node: the node itself, or a tree of JSON below it."""
        node, value = self._unwrapped(node, value)
        if node.column is not None and not (node.below and isinstance(value, dict)):
            if value is not None:
                yield _found(node, bound), value
        elif isinstance(value, dict) and depth < _DEEPEST:
            if node.keys and not bound.keys() & set(node.keys.values()):
                bound = {**bound, **_keys_of(node, value)}
            for name, inner in value.items():
                nearer = _child(node, name.rpartition(":")[2], name)
                if nearer is not None:
                    yield from self.below(nearer[0], {**bound, **nearer[1]}, inner, depth + 1)
        elif isinstance(value, list) and depth < _DEEPEST:
            for entry in value:
                if isinstance(entry, dict):
                    yield from self.below(node, bound, entry, depth + 1)

    def _unwrapped(self, node: Node, value: Value) -> tuple[Node, Value]:
        """What lies in an object of the node's own name, or in one that begins at the root (SONiC's translib)."""
        if isinstance(value, dict) and len(value) == 1 and node.any is None:
            full, inner = next(iter(value.items()))
            name = full.rpartition(":")[2]
            if name not in node.below and name == node.name:
                return node, inner
            if name not in node.below and name in self._root.below:
                return self._root.below[name], inner
        return node, value

    def all_columns(self) -> set[tuple[str, str]]:
        """What may be told at all: what places are, and columns."""
        return self.columns(self._root)

    def columns(self, node: Node) -> set[tuple[str, str]]:
        """What is at a node and below it: columns, and what their places are."""
        found = {(node.of, column) for column in _levels(node.column)} if node.column else set()
        below = [*node.below.values(), *([node.any[1]] if node.any else [])]
        return found.union(*(self.columns(child) for child in below))

    def _plant(self, at: str, column: str, of: str) -> None:
        words = [word for word in _WORD.findall(at.rpartition("/")[2]) if word in _SPELLINGS]
        for spelling in itertools.product(*(_SPELLINGS[word].items() for word in words)):
            path, meant, bound = at, column, dict[str, str]()
            for word, (spelt, means) in zip(words, spelling, strict=True):
                path, meant = path.replace(f"{{{word}}}", spelt), meant.replace(f"{{{word}}}", means)
                bound |= {word: means} if word in _SUBS else {}
            node = self._root
            for part in path.split("/"):
                node = _grown(node, part)
            node.column, node.of, node.bound, node.needs = meant, of, bound, tuple(_KEY.findall(path))
            node.source = path


def _grown(node: Node, part: str) -> Node:
    if part.startswith("{"):
        node.any = node.any or (part.strip("{}"), Node())
        return node.any[1]
    match = _ONE.fullmatch(part)
    assert match is not None, part  # noqa: S101 - our own files
    child = node.below.setdefault(match[1], Node(match[1]))
    if match[2]:
        child.keys[match[2]] = match[3]
    return child


def _child(node: Node, plain: str, full: str) -> tuple[Node, dict[str, str]] | None:
    child = node.below.get(plain)
    if child is not None:
        return child, child.bound
    if node.any is None:
        return None
    variable, inner = node.any
    return inner, {variable: full}


def _keys_of(node: Node, entry: Mapping[str, Any]) -> dict[str, str]:
    """The keys of an entry of a list of JSON, which stand in it, or in its state."""
    found = {}
    plain = {name.rpartition(":")[2]: inner for name, inner in entry.items()}
    for key, variable in node.keys.items():
        told = [plain.get(key)]
        told += [inner.get(key) for name in ("state", "config") if isinstance(inner := plain.get(name), dict)]
        known = next((each for each in told if isinstance(each, str | int) and each != ""), None)
        if known is not None:
            found[variable] = str(known)
    return found


def _found(node: Node, bound: Mapping[str, str]) -> Found | None:
    if not all(map(bound.get, node.needs)):
        return None
    column = node.column or ""
    if "{level}" in column:
        level = _SEVERITIES.get(bound.get("severity", "").rpartition(":")[2].upper())
        if level is None:
            return None
        column = column.replace("{level}", level)
    sub = next((bound[name] for name in _SUBS if name in bound), "")
    return Found(column, node.of, bound.get("place", ""), sub, node.source)


def _levels(column: str) -> list[str]:
    return [column.replace("{level}", level) for level in ("warn", "alarm")] if "{level}" in column else [column]


def families() -> list[str]:
    """Names of the families there are."""
    return sorted(name for name, told in path_files().items() if told.part_of is None)


@functools.cache
def load_family(name: str) -> Family:
    """Read and check a file.

    Raises:
        ProfileError: there is none of this name, or it says what it may not.
    """
    files = path_files()
    if name not in families():
        msg = f"no gNMI paths for {name!r}; there are {', '.join(families())}"
        raise ProfileError(msg)
    return Family(files[name], [part for _, part in sorted(files.items()) if part.part_of == name])
