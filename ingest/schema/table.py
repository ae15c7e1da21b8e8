"""What a canonical table is."""

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

__all__ = ["PORT", "TIME", "B", "F", "I", "S", "Table", "schema"]

TIME: Final = pa.timestamp("us", tz="UTC")
S, F, B, I = pa.string(), pa.float32(), pa.bool_(), pa.int64()  # noqa: E741 - columns stand in tables
PORT: Final = ("site", "device", "interface")
"""What names a port."""


@dataclass(frozen=True, slots=True)
class Table:
    """A canonical table: its columns, and what makes a row unique.

    Attributes:
        name: directory in the lake.
        schema: Arrow schema that every write is cast to.
        key: columns that identify a row; of equal keys the latest ``received_at`` wins.
        time: column that orders rows and gives the ``date`` partition; None for the small tables.
        history: whether compaction keeps every version received, since they tell what was known when.
    """

    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    time: str | None = None
    history: bool = False

    def of(self, rows: list[dict[str, Any]]) -> pa.Table:
        """Rows as an Arrow table in this schema; what a row does not have is null."""
        return pa.Table.from_pylist(rows, schema=self.schema)


def schema(*fields: tuple[str, pa.DataType], required: tuple[str, ...]) -> pa.Schema:
    """Columns in order; those required are never null."""
    return pa.schema([pa.field(name, kind, nullable=name not in required) for name, kind in fields])
