"""Columns of a poll as arrays: the slots of one column, read at once as long as it keeps its rows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ingest.decode.interfaces import text_of
from ingest.decode.quality import Flags, Floats
from ingest.decode.slots import Slot
from ingest.decode.tables import number
from ingest.snmp.transport import Cell, Column

__all__ = ["NOT_TOLD", "Picked", "Source"]

NOT_TOLD: Final = -1
"""A counter or state that there is none of."""
_OK: Final = 1
_TOO_LARGE: Final = 2**63


class Picked:
    """Some rows of one column, picked by position as long as the column keeps its rows."""

    def __init__(self, column: Column, wanted: Sequence[str]) -> None:
        self.indices = list(column)
        self._wanted = wanted
        order = {index: position for position, index in enumerate(self.indices)}
        self._positions = np.array([order.get(index, 0) for index in wanted], np.int64)
        self._whole = all(index in order for index in wanted)

    def numbers(self, column: Column) -> npt.NDArray[Any] | None:
        """The rows' numbers; None where the rows are others than before, or some cell is no number."""
        if not self._whole or list(column) != self.indices:
            return None
        try:
            found = np.array(list(column.values()))[self._positions]
        except OverflowError:
            return None
        return found if found.dtype.kind in "if" else None

    def cells(self, column: Column) -> list[Cell | None]:
        """The rows' cells, one by one."""
        return [column.get(index) for index in self._wanted]


class Source:
    """One column and the slots that are read from it."""

    def __init__(self, cells: Mapping[str, Column], slots: Sequence[Slot]) -> None:
        rows = [slot.index for slot in slots]
        self.slots = slots
        self.values = Picked(cells[slots[0].column], rows)
        self._status = slots[0].status or ""
        self._statuses = Picked(cells.get(self._status, {}), rows)
        self._text = any(slot.kind == "text" for slot in slots)

    def numbers(self, column: Column) -> Floats:
        """Raw numbers of the slots, NaN where there is none."""
        found = None if self._text else self.values.numbers(column)
        if found is not None:
            return found.astype(np.float64)
        cells = self.values.cells(column)
        return np.array([_one(slot, cell) for slot, cell in zip(self.slots, cells, strict=True)], np.float64)

    def integers(self, column: Column) -> npt.NDArray[np.int64]:
        """Counters of the slots, -1 where there is none."""
        found = self.values.numbers(column)
        if found is not None and found.dtype == np.int64:
            return np.where(found < 0, NOT_TOLD, found)
        whole = (c if isinstance(c, int) and 0 <= c < _TOO_LARGE else NOT_TOLD for c in self.values.cells(column))
        return np.fromiter(whole, np.int64, len(self.slots))

    def ok(self, cells: Mapping[str, Column]) -> Flags:
        """Where the status column says that the sensor works, or does not say."""
        column = cells.get(self._status)
        if not column:
            return np.ones(len(self.slots), np.bool_)
        found = self._statuses.numbers(column)
        if found is not None:
            return np.asarray(found == _OK)
        return np.array([cell in {_OK, None} for cell in self._statuses.cells(column)], np.bool_)


def _one(slot: Slot, cell: Cell | None) -> float:
    if slot.separator is not None and isinstance(cell, bytes):
        parts = text_of(cell).split(slot.separator)
        cell = parts[slot.part] if slot.part < len(parts) else None
    value = number(cell)
    return math.nan if value is None else value
