"""Ports and records small enough to check by hand."""

from collections.abc import Callable
from datetime import UTC, datetime

import polars as pl
import pytest

from features.fleet import Fleet

MakeFleet = Callable[..., Fleet]


@pytest.fixture(name="start", scope="session")
def _start() -> datetime:
    return datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(name="make_fleet", scope="session")
def _make_fleet() -> MakeFleet:
    """Links from leaf01 EthernetI to spine01 EthernetI, modules of 400G at both ends."""

    def make(links: int = 1, *, speed_gbps: float = 400.0, role: str = "switch", **records: pl.DataFrame) -> Fleet:
        names = [f"Ethernet{i}" for i in range(links)]
        cables = pl.DataFrame({"a_interface": names, "z_interface": names, "kind": "fiber"}).with_columns(
            a_device=pl.lit("leaf01"), z_device=pl.lit("spine01")
        )
        ends = [pl.DataFrame({"interface": names}).with_columns(device=pl.lit(name)) for name in ("leaf01", "spine01")]
        modules = pl.concat(ends).with_columns(speed_gbps=pl.lit(speed_gbps), role=pl.lit(role))
        return Fleet.from_frames(**{"links": cables, "modules": modules, **records})

    return make
