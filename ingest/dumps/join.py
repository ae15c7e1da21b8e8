"""Rows that fall on rows of the lake: of equal keys the latest is read, so that it has to hold what both say."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from ingest.lake import Lake
from ingest.schema import Table

__all__ = ["with_known"]

_LATER: Final = timedelta(microseconds=1)


def with_known(lake: Lake, table: Table, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, each with what the lake has of the same key and it does not say.

    ``ethtool -m`` and ``ethtool -S`` of one moment are rows of one key, in whichever order they are imported.
    """
    if not rows or not lake.exists(table):
        return rows
    times = [row["time"] for row in rows]
    keys = pl.DataFrame([{name: row[name] for name in table.key} for row in rows], infer_schema_length=None)
    known = lake.latest(
        table,
        since=min(times),
        until=max(times) + _LATER,
        devices={(row["site"], row["device"]) for row in rows},
    )
    held = known.select(table.schema.names).collect()
    keys = keys.cast({name: held.schema[name] for name in table.key})
    found = {_key(table, row): row for row in held.join(keys, on=table.key, how="semi").iter_rows(named=True)}
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
