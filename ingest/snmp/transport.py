"""How a device is asked: the Transport protocol, and a replay of recordings.

A transport walks one column of a table at a time, or gets single cells. They come back as plain Python values: numbers
as int (or float where the agent sends one), octet strings as bytes, object identifiers as dotted text.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol, Self

from ingest.errors import TransportError

__all__ = ["Cell", "Column", "ReplayTransport", "Transport", "oid_key"]

Cell = int | float | bytes | str
"""One value as it came: number, octet string or dotted object identifier."""

Column = dict[str, Cell]
"""Cells of one column by their index: the dotted OID suffix behind the column's OID."""

_NUMERIC_TAGS = {"2", "65", "66", "67", "70", "71"}
"""snmprec's tags are BER's: Integer32, Counter32, Gauge32, TimeTicks, Counter64, Unsigned32."""
_NOTHING_TAGS = {"5", "128", "129", "130"}  # Null, noSuchObject, noSuchInstance, endOfMibView


class Transport(Protocol):
    """Asks one device, one thing at a time."""

    async def walk(self, oid: str, expect: int = 0) -> Column:
        """All cells below `oid`, in the device's order; empty where it has none.

        Args:
            oid: a column.
            expect: how many cells it had at the discovery. Fewer are asked for again in smaller answers; if there
                still are fewer, what there is comes back, and the caller decides. 0 where nothing is known: then an
                error in the middle is an error.

        Raises:
            TransportError: the device did not answer, or in a way that cannot be used.
        """
        ...

    async def get(self, oids: Iterable[str]) -> dict[str, Cell]:
        """Single cells by their whole OID; those that the device does not have are left out.

        Raises:
            TransportError: the device did not answer, or in a way that cannot be used.
        """
        ...

    def engine_id(self) -> bytes | None:
        """The SNMPv3 engine's identifier, once it has answered; None over other versions."""
        ...

    def close(self) -> None:
        """Free what the transport holds."""
        ...


def oid_key(oid: str) -> tuple[int, ...]:
    """An OID as it sorts.

    >>> oid_key("1.3.10") > oid_key("1.3.9")
    True
    """
    return tuple(map(int, oid.strip(".").split(".")))


class ReplayTransport:
    """Answers from a recorded walk (.snmprec) instead of a device."""

    def __init__(self, cells: dict[str, Cell]) -> None:
        self._cells = cells
        self._order = sorted((oid_key(oid), oid) for oid in cells)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a recording; lines that hold no value are left out."""
        return cls(dict(_read_snmprec(path)))

    async def walk(self, oid: str, expect: int = 0) -> Column:  # noqa: ARG002 - a recording has no more than it has
        """As a device would answer."""
        oid = oid.strip(".")
        prefix, column = f"{oid}.", Column()
        for _, found in self._order[bisect_left(self._order, (oid_key(oid), "")) :]:
            if found != oid and not found.startswith(prefix):
                break
            if found != oid:
                column[found[len(prefix) :]] = self._cells[found]
        return column

    async def get(self, oids: Iterable[str]) -> dict[str, Cell]:
        """As a device would answer."""
        return {oid: self._cells[oid] for oid in oids if oid in self._cells}

    def engine_id(self) -> None:
        """A recording has none."""

    def close(self) -> None:
        """Nothing is held."""


def _read_snmprec(path: Path) -> Iterator[tuple[str, Cell]]:
    for number, line in enumerate(path.read_text(encoding="latin-1").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        try:
            oid, tag, text = line.split("|", 2)
            if tag not in _NOTHING_TAGS:
                yield oid, _cell(tag, text)
        except ValueError as error:
            msg = f"{path.name}, line {number}: {error}"
            raise TransportError(msg) from None


def _cell(tag: str, text: str) -> Cell:
    if tag.endswith("x"):
        try:
            return bytes.fromhex(text)
        except ValueError:  # recordings hold text under a hex tag, too; the responder serves it as it is
            return text.encode("latin-1")
    if tag in _NUMERIC_TAGS:
        return int(text)
    return text if tag == "6" else text.encode("latin-1")
