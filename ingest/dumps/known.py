"""Rows that fall on rows of the lake: of equal keys the latest is read, so that it has to hold what both say."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from ingest.lake import Lake
from ingest.schema import Table

__all__ = ["Known"]

_LATER: Final = timedelta(microseconds=1)

Rows = list[dict[str, Any]]


class Known:
    """What the lake has at the times of dumps; a fabric's ports come in many parts, each of other devices."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._devices: dict[tuple[str, datetime, datetime], set[tuple[str, str]]] = {}

    def join(self, table: Table, rows: Rows) -> Rows:
        """The rows, each with what the lake has of the same key and it does not say; they are to be appended next.

        ``ethtool -m`` and ``ethtool -S`` of one moment are rows of one key, in whichever order they are imported.
        """
        if not rows:
            return rows
        since, until = min(row["time"] for row in rows), max(row["time"] for row in rows) + _LATER
        devices = {(row["site"], row["device"]) for row in rows}
        known = self._known(table, since, until)
        again = devices & known
        known |= devices
        return self._joined(table, rows, again, (since, until)) if again else rows

    def _known(self, table: Table, since: datetime, until: datetime) -> set[tuple[str, str]]:
        """Devices with rows at these times, when first asked and by this import since."""
        key = (table.name, since, until)
        if key not in self._devices:
            found = self._lake.scan(table, since=since, until=until, columns=["site", "device"])
            exists = self._lake.exists(table)
            self._devices[key] = set(found.unique().collect().iter_rows()) if exists else set()
            for (name, first, end), devices in self._devices.items():
                if name == table.name and first < until and since < end:
                    self._devices[key] |= devices
        return self._devices[key]

    def _joined(self, table: Table, rows: Rows, devices: set[tuple[str, str]], span: tuple[datetime, datetime]) -> Rows:
        known = self._lake.latest(table, since=span[0], until=span[1], devices=devices).select(table.schema.names)
        keys = pl.LazyFrame([{name: row[name] for name in table.key} for row in rows], infer_schema_length=None)
        types = known.collect_schema()
        keys = keys.cast({name: types[name] for name in table.key})
        held = known.join(keys, on=table.key, how="semi").collect()
        found = {_key(table, row): row for row in held.iter_rows(named=True)}
        return [_joined(row, found.get(_key(table, row))) for row in rows]


def _key(table: Table, row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in table.key)


def _joined(row: dict[str, Any], known: Mapping[str, Any] | None) -> dict[str, Any]:
    if known is None:
        return row
    received: datetime = known["received_at"]
    said = {name: value for name, value in row.items() if value is not None}
    told = {name: value for name, value in known.items() if value is not None}
    return told | said | {"quality": row["quality"] | known["quality"], "received_at": received + _LATER}
