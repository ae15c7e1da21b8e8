"""A small fabric in a lake, with probes through it: for tests of verdicts in several folders."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from data_samples.probed import SERVERS, ProbedFabric
from ingest.lake import Lake

__all__ = ["AT", "NODES", "probed"]

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
NODES = tuple(("default", server) for server in SERVERS)


def probed(folder: Path, lossy: Mapping[str, float] | None = None, **changes: Any) -> Lake:
    """A lake with the fabric and probes through it, some of whose links lose packets; the rest as of `ProbedFabric`."""
    lake = Lake(str(folder))
    for table, rows in ProbedFabric(AT, lossy or {}, **changes).tables():
        lake.append(table, rows)
    return lake
