"""``show interfaces counters fec-stats`` of SONiC: a table with the names of its columns above it."""

import re
from collections.abc import Iterator
from typing import Final

from ingest.dumps.format import TextFormat
from ingest.dumps.numbers import decimal, told, whole
from ingest.dumps.reading import Reading
from ingest.dumps.source import Dump
from ingest.quarantine import Kind

__all__ = ["TEXT"]

_COUNTERS: Final = {"FEC_CORR": "fec_corrected", "FEC_UNCORR": "fec_uncorrected"}
_UP: Final = {"U": True, "D": False, "X": False}  # X: switched off


def _knows(head: str) -> bool:
    return any(_header(line) is not None for line in head.splitlines())


def _header(line: str) -> list[str] | None:
    names = line.split()
    return names if names[:1] == ["IFACE"] and _COUNTERS.keys() <= set(names) else None


def _read(dump: Dump) -> Iterator[Reading]:
    names: list[str] | None = None
    for number, line in dump.lines():
        if header := _header(line):
            names = header
            continue
        cells = line.split()
        if names is None or not cells or re.fullmatch(r"[-\s]+", line) or not re.match(r"\S*\d", cells[0]):
            continue
        if len(cells) != len(names):
            dump.doubt(Kind.ROW, number, "not as many cells as the table has columns", line)
            continue
        yield _row(number, dict(zip(names, cells, strict=True)), dump)


def _row(number: int, row: dict[str, str], dump: Dump) -> Reading:
    reading = Reading(number, interface=row["IFACE"])
    for name, column in _COUNTERS.items():
        count = whole(row[name])
        if count is None and told(row[name]):
            dump.doubt(Kind.VALUE, number, "not a count", row[name], column)
        reading.count(column, count)
    reading.put("pre_fec_ber", decimal(row.get("FEC_PRE_BER")))
    if (up := _UP.get(row.get("STATE", ""))) is not None:
        reading.states["oper_up"] = up
    return reading


TEXT: Final = TextFormat("sonic-fec-stats", _knows, _read)
