"""How a device is asked: the Transport protocol, the guards every engine needs, and a replay of recordings.

A transport walks one column of a table at a time. Cells come back as plain Python values: numbers as int (or float
where the agent sends one), octet strings as bytes, object identifiers as dotted text.
"""

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, Self

from ingest.errors import TransportError

__all__ = ["Cell", "Column", "Repetitions", "ReplayTransport", "Transport", "WalkGuard", "oid_key"]

Cell = int | float | bytes | str
"""One value as it came: number, octet string or dotted object identifier."""

Column = dict[str, Cell]
"""Cells of one column by their index: the dotted OID suffix behind the column's OID."""

_MAX_CELLS = 200_000
"""A column longer than this is a fault: 1,024 ports x 16 lanes x 10 sensors is 164 thousand."""

_NUMERIC_TAGS = {"2", "65", "66", "67", "70", "71"}
"""snmprec's tags are BER's: Integer32, Counter32, Gauge32, TimeTicks, Counter64, Unsigned32."""
_NOTHING_TAGS = {"5", "128", "129", "130"}  # Null, noSuchObject, noSuchInstance, endOfMibView


class Transport(Protocol):
    """Walks columns of one device."""

    async def walk(self, oid: str) -> Column:
        """All cells below `oid`, in the device's order; empty where it has none.

        Raises:
            TransportError: the device did not answer, or in a way that cannot be used.
        """
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


class WalkGuard:
    """Takes a walk's cells one by one and ends walks that would never end by themselves.

    A faulty agent repeats an OID or goes backwards for ever (field_faults.md, row 53): both engines would follow it.
    """

    def __init__(self, oid: str, max_cells: int = _MAX_CELLS) -> None:
        self.oid = oid.strip(".")
        self.cells: Column = {}
        self._prefix = f"{self.oid}."
        self._last = oid_key(self.oid)
        self._max_cells = max_cells

    def take(self, oid: str, value: Cell) -> bool:
        """Keep a cell; False once the walk has left the column."""
        oid = oid.strip(".")
        if not oid.startswith(self._prefix):
            return False
        key = oid_key(oid)
        if key <= self._last:
            msg = f"the agent's OIDs do not increase ({oid} came after {'.'.join(map(str, self._last))})"
            raise TransportError(msg)
        if len(self.cells) >= self._max_cells:
            msg = f"the agent gave more than {self._max_cells} rows below {self.oid}"
            raise TransportError(msg)
        self._last = key
        self.cells[oid[len(self._prefix) :]] = value
        return True


class Repetitions:
    """How many rows to ask for in one answer: fewer when a device falls silent.

    Some devices (Huawei, at 50) do not answer where the answer would pass UDP's limit, which looks like a lost packet.
    So the next attempt asks for half; only what happens twice at a size is taken for the device's limit.
    """

    FEWEST = 5
    """Five of the longest strings (255 octets) fit any path."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._suspect = 0

    def attempts(self, retries: int) -> Iterator[int]:
        """Rows to ask for, attempt by attempt."""
        yield self.most
        for attempt in range(1, retries + 1):
            yield max(self.most >> attempt, min(self.FEWEST, self.most))

    def worked(self, asked: int) -> None:
        """An attempt was answered."""
        if asked < self.most:
            if self._suspect == self.most:
                self.most = asked
            else:
                self._suspect = self.most


class ReplayTransport:
    """Answers from a recorded walk (.snmprec) instead of a device."""

    def __init__(self, cells: dict[str, Cell]) -> None:
        self._cells = cells
        self._order = sorted((oid_key(oid), oid) for oid in cells)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a recording; lines that hold no value are left out."""
        return cls(dict(_read_snmprec(path)))

    async def walk(self, oid: str) -> Column:
        """As a device would answer."""
        guard = WalkGuard(oid)
        for _, found in self._order[bisect_left(self._order, (oid_key(oid), "")) :]:
            if found != guard.oid and not guard.take(found, self._cells[found]):
                break
        return guard.cells

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
