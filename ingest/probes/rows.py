"""What agents say, as rows of ``probes`` and ``probe_paths``."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from ingest.schema import PROBE_PATHS, PROBES

__all__ = ["path_table", "probe_table"]

Row = Mapping[str, Any]


def probe_table(
    rows: Iterable[Row], *, site: str, device: str, received_at: datetime, source: str = "agent"
) -> pa.Table:
    """Windows of 5-tuples that one device probed."""
    same = {"site": site, "source_device": device, "received_at": received_at, "source": source}
    return PROBES.of([{**row, **same, "time": _time(row["time"])} for row in rows])


def path_table(
    rows: Iterable[Row], *, site: str, device: str, received_at: datetime, source: str = "agent"
) -> pa.Table:
    """Ways that one device traced: of its probes, and of its replies."""
    found = []
    for row in rows:
        own = {"source_device": device} if row["direction"] == "forward" else {"target_device": device}
        same = {"site": site, "received_at": received_at, "source": source, "method": "trace"}
        found.append({**row, **own, **same, "time": _time(row["time"])})
    return PROBE_PATHS.of(found)


def _time(said: datetime | str) -> datetime:
    return datetime.fromisoformat(said) if isinstance(said, str) else said
