"""Leaves of a device by what they mean, and the elements of the paths that lead to them."""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final

from pygnmi.spec.v080.gnmi_pb2 import Path

from ingest.decode.slots import COUNTERS, QUANTITIES
from ingest.gnmi.family import Element, Found
from ingest.plain import one_line

__all__ = ["Key", "Kind", "Leaf", "elements_of"]

Key = tuple[str, str, str, str]
"""Of a fact: what its place is, the place, the column, and lane, bin or neighbour."""

_PART: Final = re.compile(r"((?:[^/\[\]\\]|\\.)+)((?:\[[^=\]]+=(?:[^\]\\]|\\.)*\])*)")
_OF_LIST: Final = re.compile(r"\[([^=\]]+)=((?:[^\]\\]|\\.)*)\]")
_QUOTES: Final = frozenset("'\"")
_COUNTED: Final = frozenset({*COUNTERS, "transitions"})


class Kind(Enum):
    """What becomes of a leaf."""

    READING = 1
    COUNTER = 2
    BIN = 3
    FACT = 4


class Leaf:
    """One leaf of one device.

    Attributes:
        found: what it is.
        kind: what becomes of it.
        cell: where it stands in the grids of the layout; -1 where nowhere.
        row: of the grid, for readings.
    """

    __slots__ = ("cell", "found", "key", "kind", "row")

    def __init__(self, found: Found) -> None:
        self.found, self.kind = found, _kind(found.column)
        self.key = (found.of, found.place, found.column, found.sub)
        self.cell = self.row = -1


def elements_of(*paths: Path) -> list[Element]:
    """Names and keys of paths, one after the other; the oldest form of the protocol wrote both as one text."""
    found: list[Element] = []
    for path in paths:
        for elem in path.elem:
            found += _of_text(elem.name) if "[" in elem.name else [(elem.name, _plain(elem.key))] if elem.name else []
        if not path.elem:
            found += [each for text in path.element for each in _of_text(text)]
    return found


def _of_text(text: str) -> Iterator[Element]:
    r"""``interfaces/interface[name=a/1]``, in which ``\`` stands before what else would end a name or a key."""
    for part in _PART.finditer(text):
        keys = {key: re.sub(r"\\(.)", r"\1", value) for key, value in _OF_LIST.findall(part[2])}
        yield re.sub(r"\\(.)", r"\1", part[1]), _plain(keys)


def _plain(keys: Mapping[str, str]) -> dict[str, str]:
    """Keys without their modules' names, values without quotes: Junos was seen to put them round names."""
    return {name.rpartition(":")[2]: _unquoted(one_line(value)) for name, value in keys.items()}


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in _QUOTES else text  # noqa: PLR2004 - both quotes


def _kind(column: str) -> Kind:
    if column in QUANTITIES:
        return Kind.READING
    if column in _COUNTED:
        return Kind.COUNTER
    return Kind.BIN if column == "fec_bins" else Kind.FACT
