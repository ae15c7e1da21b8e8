"""Ports that an export's telemetry shows and no inventory lists: each gets rows of ``modules`` that say so.

Such a row has ``source = "telemetry"``, a serial where the telemetry tells one, and no date where nothing tells when
the module came. What an inventory says of the port later ends it.
"""

import itertools
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import polars as pl

from ingest.exports.records import Port

__all__ = ["INFERRED", "Seen", "inferred"]

INFERRED: Final = "telemetry"
"""The ``source`` of a module that is known by its readings alone."""

_PORT: Final = ["site", "device", "interface"]


class Seen:
    """The serials that each port told, with when they were seen first and last."""

    def __init__(self) -> None:
        self._rows = pl.DataFrame()

    def add(self, ports: pl.DataFrame) -> None:
        """Take port samples."""
        now = ports.group_by(*_PORT, "serial").agg(first=pl.col("time").min(), last=pl.col("time").max())
        both = pl.concat([self._rows, now]) if self._rows.height else now
        self._rows = both.group_by(*_PORT, "serial").agg(pl.col("first").min(), pl.col("last").max())

    def ports(self) -> set[Port]:
        """All of them."""
        if not self._rows.height:
            return set()
        return set(self._rows.select(pl.col(_PORT).cast(pl.String)).unique().iter_rows())

    def serials(self, ports: set[Port]) -> dict[Port, list[tuple[str, datetime]]]:
        """Of each of the ports asked for the serials in the order in which they came, and when.

        Of serials that came and went and came again nobody can tell which was where: then only the newest stands.
        """
        if not ports:
            return {}
        found: dict[Port, list[tuple[str, datetime, datetime]]] = {port: [] for port in ports}
        told = self._rows.filter(pl.col("serial").is_not_null()).sort("first")
        for *port, serial, first, last in told.iter_rows():
            if (known := found.get((port[0], port[1], port[2]))) is not None:
                known.append((serial, first, last))
        return {port: _in_turn(spans) for port, spans in found.items()}


def _in_turn(spans: list[tuple[str, datetime, datetime]]) -> list[tuple[str, datetime]]:
    if any(before[2] >= after[1] for before, after in itertools.pairwise(spans)):
        spans = [max(spans, key=lambda span: span[2])]
    return [(serial, first) for serial, first, _ in spans]


def inferred(seen: Seen, modules: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows to append to `modules` for ports that telemetry shows, and to end what an inventory has overtaken.

    Args:
        seen: by this import's telemetry.
        modules: the latest rows of the table, this import's inventory among them.
    """
    listed: dict[Port, datetime | None] = {}
    standing: dict[Port, Mapping[str, Any]] = {}
    for row in modules:
        port = (row["site"], row["device"], row["interface"])
        if row["source"] != INFERRED:
            since = row["installed_at"]
            listed[port] = min(filter(None, (listed.get(port), since)), default=None)
        elif row["removed_at"] is None:
            standing[port] = row
    rows = [
        {**row, "removed_at": listed[port] or row["received_at"]} for port, row in standing.items() if port in listed
    ]
    for port, serials in seen.serials(seen.ports() - listed.keys()).items():
        rows += _installations(port, serials, standing.get(port))
    return rows


def _installations(
    port: Port, serials: list[tuple[str, datetime]], standing: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Installations that follow each other in one cage, the first of them since always."""
    row: dict[str, Any] = dict(zip(_PORT, port, strict=True)) | {"source": INFERRED}
    if standing is None:
        rows = [row | {"serial": serials[0][0] if serials else None, "installed_at": None, "removed_at": None}]
        later = serials[1:]
    else:
        rows = [dict(standing)]
        names = [serial for serial, _ in serials]
        later = serials[names.index(standing["serial"]) + 1 :] if standing["serial"] in names else serials
    for serial, since in later:
        rows[-1]["removed_at"] = since
        rows.append(row | {"serial": serial, "installed_at": since, "removed_at": None})
    return rows if standing is None or later else []
