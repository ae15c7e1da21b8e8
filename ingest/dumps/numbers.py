"""Numbers as tools print them: units beside them, thousands, "N/A", mantissa and exponent."""

import math
import re
from collections.abc import Iterator
from typing import Final

from ingest.dumps.reading import NOTHING
from ingest.units import mw_to_dbm

__all__ = ["Cell", "decimal", "flag", "lanes_of", "power", "told", "whole"]

Cell = object
"""What JSON or CSV has in one place."""

_NUMBER: Final = re.compile(r"\s*([-+]?(?:\d+(?:[.,]\d+)?|[.]\d+)(?:e[-+]?\d+)?|[-+]?inf(?:inity)?)", re.IGNORECASE)
_WATTS: Final = re.compile(r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([munµ]?)W(?![a-z])", re.IGNORECASE)
_DBM: Final = re.compile(r"([-+]?\d+(?:\.\d+)?|[-+]?inf)\s*dBm", re.IGNORECASE)
_MILLIWATTS: Final = {"": 1e3, "m": 1.0, "u": 1e-3, "µ": 1e-3, "n": 1e-6}
_TRUE: Final = frozenset(("true", "yes", "on", "1", "up", "high", "active", "asserted"))
_FALSE: Final = frozenset(("false", "no", "off", "0", "down", "low", "inactive", "deasserted"))
_LONGEST: Final = 200  # characters of a number: Python takes its time with longer ones


def told(cell: Cell) -> bool:
    """Whether there is something at all: "N/A" and its like are nothing."""
    return cell is not None and not (isinstance(cell, str) and cell.strip().strip("\"'").lower() in NOTHING)


def decimal(cell: Cell) -> float | None:
    """The number that a cell begins with, whatever unit follows; None where there is none.

    >>> decimal("3.2824Volts"), decimal("-inf"), decimal("N/A")
    (3.2824, -inf, None)
    >>> decimal("28.73 [-5.00..75.00]"), decimal("4.66E-04")
    (28.73, 0.000466)
    """
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, int | float):
        return _finite(cell)
    if not isinstance(cell, str):
        return None
    found = _NUMBER.match(cell[:_LONGEST].strip("\"' "))
    return float(found[1].replace(",", ".")) if found else None


def _finite(number: float) -> float | None:
    try:
        value = float(number)
    except OverflowError:
        return None
    return None if math.isnan(value) else value


def whole(cell: Cell) -> int | None:
    """A counter: digits, perhaps with thousands apart, decimal or 0x; None for anything else.

    >>> whole("12"), whole("1,234"), whole("0x10"), whole("N/A"), whole("12.0"), whole(-1)
    (12, 1234, 16, None, 12, -1)
    """
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, float):
        return int(cell) if math.isfinite(cell) else None
    if isinstance(cell, int):
        return cell
    if not isinstance(cell, str) or len(cell) > _LONGEST:
        return None
    text = cell.strip("\"' ").replace(",", "")
    try:
        return int(text, 16) if text.lower().startswith("0x") else int(text)
    except ValueError:
        number = decimal(text) if re.fullmatch(r"[-+]?\d+(\.\d*)?(e[-+]?\d+)?", text, re.IGNORECASE) else None
        return int(number) if number is not None and math.isfinite(number) else None


def power(cell: Cell) -> tuple[float | None, bool]:
    """A power in dBm, and whether it was told in watts, which leave no doubt what 0 means.

    >>> power("0.1000 mW / -9.99 dBm")
    (-10.0, True)
    >>> power("-inf dBm"), power("0.0000 mW / -inf dBm"), power("--")
    ((-inf, False), (-inf, True), (None, False))
    """
    if isinstance(cell, str):
        text = cell[:_LONGEST]
        if (found := _WATTS.search(text)) and (watts := float(found[1]) * _MILLIWATTS[found[2].lower()]) >= 0:
            return mw_to_dbm(watts), True
        if found := _DBM.search(text):
            return float(found[1]), False
    return decimal(cell), False


def flag(cell: Cell) -> bool | None:
    """True, False, or None where it is not said: N/A is not False (field_faults.md, row 32)."""
    if isinstance(cell, bool):
        return cell
    word = str(cell).strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def lanes_of(cell: Cell) -> Iterator[tuple[int, Cell]]:
    """Lanes from 1 with their cells, of a list or of text that lists them.

    >>> list(lanes_of("1.05,-0.75,N/A"))
    [(1, '1.05'), (2, '-0.75'), (3, 'N/A')]
    """
    if isinstance(cell, str):
        cell = [part.strip() for part in cell.split("[")[0].split(",")]
    if isinstance(cell, dict):
        cell = cell.get("values", cell.get("value"))
    yield from enumerate(cell if isinstance(cell, list) else [cell] if told(cell) else [], start=1)
