"""Leaves of a device by what they mean, and the elements of the paths that lead to them."""

from enum import Enum
from typing import Final

from pygnmi.spec.v080.gnmi_pb2 import Path

from ingest.decode.slots import COUNTERS, QUANTITIES
from ingest.gnmi.family import Element, Found

__all__ = ["Key", "Kind", "Leaf", "elements_of"]

Key = tuple[str, str, str, str]
"""Of a fact: what its place is, the place, the column, and lane, bin or neighbour."""

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
        found += [(elem.name, elem.key) for elem in path.elem]
        if not path.elem and path.element:
            found += map(_of_text, path.element)
    return found


def _of_text(text: str) -> Element:
    name, *keys = text.replace("]", "").split("[")
    return name, dict(key.split("=", 1) for key in keys if "=" in key)


def _kind(column: str) -> Kind:
    if column in QUANTITIES:
        return Kind.READING
    if column in _COUNTED:
        return Kind.COUNTER
    return Kind.BIN if column == "fec_bins" else Kind.FACT
