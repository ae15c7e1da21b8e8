"""Lakes and fleets to make features of: one of the committed synthetic sample, and small ones drawn by hand."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from features.fleet import Fleet, polars_schema
from features.tiles import update_tiles
from ingest.exports import import_export
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Table

SAMPLE = Path(__file__).parents[2] / "data_samples" / "sample"
LONG_AFTER = datetime(2030, 1, 1, tzinfo=UTC)

LakeAt = Callable[[datetime], Lake]
Rows = Callable[..., pl.DataFrame]


@pytest.fixture(name="sample_lake", scope="session")
def _sample_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The committed sample, imported, with its tiles."""
    lake = Lake(str(tmp_path_factory.mktemp("sample") / "lake"))
    import_export(SAMPLE, lake)
    update_tiles(lake, now=LONG_AFTER)
    return lake


@pytest.fixture(name="sample_fleet", scope="session")
def _sample_fleet(sample_lake: Lake) -> Fleet:
    return Fleet.load(sample_lake)


@pytest.fixture(name="lake_at", scope="session")
def _lake_at(sample_lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> LakeAt:
    """The sample's lake as it was at a time: what had been received by then, and the tiles of that."""
    made: dict[datetime, Lake] = {}

    def cut(at: datetime) -> Lake:
        if at not in made:
            made[at] = lake = Lake(str(tmp_path_factory.mktemp("cut") / "lake"))
            for table in (LANE_SAMPLES, PORT_SAMPLES):
                lake.append(table, sample_lake.scan(table).filter(pl.col("received_at") <= at).collect())
            update_tiles(lake, now=at)
        return made[at]

    return cut


def _samples(
    table: Table, times: list[datetime], device: str, interface: str, values: dict[str, object]
) -> pl.DataFrame:
    """Rows of one lane or port: columns not given are null, what is given as a list goes along the times."""
    schema = polars_schema(table)
    fixed = {"site": "default", "quality": 0, "source": "file", "lane": 1}
    columns = {name: values.get(name, fixed.get(name)) for name in schema}
    columns |= {"time": times, "received_at": values.get("received_at", times), "device": device}
    columns["interface"] = interface
    n = len(times)
    return pl.DataFrame(
        {
            name: value if isinstance(value, list) and len(value) == n else [value] * n
            for name, value in columns.items()
        },
        schema=schema,
    )


@pytest.fixture(name="lane_rows", scope="session")
def _lane_rows() -> Rows:
    """Makes rows of ``lane_samples``: times, device, interface, and columns by name."""

    def make(
        times: list[datetime], device: str = "leaf01", interface: str = "Ethernet0", **values: object
    ) -> pl.DataFrame:
        return _samples(LANE_SAMPLES, times, device, interface, values)

    return make


@pytest.fixture(name="port_rows", scope="session")
def _port_rows() -> Rows:
    """Makes rows of ``port_samples``: times, device, interface, and columns by name."""

    def make(
        times: list[datetime], device: str = "leaf01", interface: str = "Ethernet0", **values: object
    ) -> pl.DataFrame:
        return _samples(PORT_SAMPLES, times, device, interface, values)

    return make


@pytest.fixture(name="quarters", scope="session")
def _quarters() -> Callable[[datetime, int], list[datetime]]:
    """Times a quarter of an hour apart."""
    return lambda start, count: [start + timedelta(minutes=15 * i) for i in range(count)]
