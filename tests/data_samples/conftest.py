"""Fleets made once for all tests of this folder."""

from pathlib import Path

import polars as pl
import pytest

from data_samples import FleetConfig, generate
from data_samples.history import History, simulate
from data_samples.layout import build_links

SMALL = FleetConfig(links=40, days=20, seed=3, failures_per_link_year=6.0)


@pytest.fixture(name="config", scope="session")
def _config() -> FleetConfig:
    return SMALL


@pytest.fixture(name="fleet", scope="session")
def _fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small fleet's export."""
    out = tmp_path_factory.mktemp("fleet")
    generate(out, SMALL)
    return out


@pytest.fixture(name="telemetry", scope="session")
def _telemetry(fleet: Path) -> pl.DataFrame:
    return pl.read_parquet(fleet / "telemetry" / "*.parquet")


@pytest.fixture(name="histories", scope="session")
def _histories() -> list[History]:
    """Lives of several fleets, without their telemetry."""
    return [_live(FleetConfig(links=120, days=40, interval_minutes=30, seed=seed)) for seed in range(8)]


def _live(config: FleetConfig) -> History:
    return simulate(config, build_links(config))
