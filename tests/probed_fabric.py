"""A small fabric in a lake, with probes through it: for tests of verdicts in several folders."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data_samples.probed import SERVERS, ProbedFabric
from ingest.lake import Lake

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from serving.settings import Settings

__all__ = ["AT", "NODES", "probed", "served"]

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
NODES = tuple(("default", server) for server in SERVERS)


def probed(folder: Path, lossy: Mapping[str, float] | None = None, **changes: Any) -> Lake:
    """A lake with the fabric and probes through it, some of whose links lose packets; the rest as of `ProbedFabric`."""
    lake = Lake(str(folder))
    for table, rows in ProbedFabric(AT, lossy or {}, **changes).tables():
        lake.append(table, rows)
    return lake


@contextmanager
def served(settings: "Settings", lossy: Mapping[str, float]) -> Iterator["TestClient"]:
    """The service of such a fabric, at the time of the probes."""
    from fastapi.testclient import TestClient

    from serving.app import create_app
    from serving.store import AlarmStore

    probed(settings.home / "lake", lossy)
    with AlarmStore("sqlite://") as store, TestClient(create_app(settings, store, clock=lambda: AT)) as client:
        yield client
