"""Lakes and fleets to make features of: one of the committed synthetic sample, and small ones drawn by hand."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from features.baseline_kernels import day_centres
from features.cube import PORT, Cube, hour_index
from features.day_cube import Days
from features.day_tables import PORT_DAY_SUMS
from features.fleet import Fleet, polars_schema
from features.physics import BIAS_PER_C, log_ber_from_counter
from features.tiles import COUNTERS, update_tiles
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


_LANE_SERIES = ("tx_mean", "rx_mean", "rx_min", "bias_mean", "ber_mean", "rx_dark", "rows")
_PORT_SERIES = (
    "temp_mean",
    "volt_mean",
    "volt_min",
    "pber_mean",
    "rows",
    "down",
    "admin_down",
    "los",
    "fault",
    "last_s",
)


def _days(
    start: datetime, lanes: dict[str, NDArray[np.float32]], states: dict[str, NDArray[np.float32]], owner: NDArray[Any]
) -> Days:
    """The whole days of some hours that begin at midnight."""
    raw = np.log(lanes["bias_mean"])
    counted = log_ber_from_counter(states["corrected"], states["corrected_s"], np.ones_like(states["corrected"]))
    hourly = {
        **{name: lanes[f"{name}_mean"] for name in ("tx", "rx", "ber")},
        "bias_raw": raw,
        "bias": (raw - BIAS_PER_C * states["temp_mean"][owner]).astype(np.float32),
        **{name: states[f"{name}_mean"] for name in ("temp", "volt", "pber")},
        "cber": counted,
    }
    count = states["rows"].shape[1] // 24

    def of_days(x: NDArray[np.float32]) -> NDArray[np.float32]:
        each = [day_centres(np.ascontiguousarray(x[:, 24 * d : 24 * d + 24])) for d in range(count)]
        return np.stack(each, axis=2) if each else np.empty((3, x.shape[0], 0), np.float32)

    def sums(x: NDArray[np.float32]) -> NDArray[np.float64]:
        days = x[:, : 24 * count].reshape(x.shape[0], count, 24)
        total: NDArray[np.float64] = np.where(np.isnan(days).all(axis=2), np.nan, np.nansum(days, axis=2))
        return total

    none = np.full((3, states["rows"].shape[0], count), -1, np.int32)
    return Days(
        hour_index(start) // 24,
        {name: of_days(x) for name, x in hourly.items()},
        {name: sums(states[name]) for name in (*PORT_DAY_SUMS, *COUNTERS)},
        none[:2],
        none,
    )


@pytest.fixture(name="make_cube", scope="session")
def _make_cube() -> Callable[..., Cube]:
    """Makes a cube of ports, each of one lane unless `lanes` says more, in which nothing was read unless it is given.

    Takes start, ports ("device:interface", sorted), hours, lanes (the port of each), serials, and series by name:
    "lane_rx_mean", "temp_mean" and so on, whatever has the shape (lanes or ports, hours) or becomes it.
    """

    def make(
        start: datetime,
        ports: list[str],
        hours: int,
        lanes: list[int] | None = None,
        serials: list[list[int]] | None = None,
        **series: NDArray[np.float32] | float,
    ) -> Cube:
        owner = np.array(range(len(ports)) if lanes is None else lanes, np.int64)
        names = [("default", *port.split(":")) for port in ports]

        def dense(rows: int, value: NDArray[np.float32] | float) -> NDArray[np.float32]:
            return np.ascontiguousarray(np.broadcast_to(np.asarray(value, np.float32), (rows, hours)))

        nothing = float("nan")
        lane_series = {c: dense(owner.size, series.pop(f"lane_{c}", nothing)) for c in _LANE_SERIES}
        states = {c: dense(len(ports), series.pop(c, nothing)) for c in (*_PORT_SERIES, *COUNTERS, "corrected_s")}
        codes = np.array(serials if serials is not None else np.full((len(ports), hours), -1), np.int32)
        frame = pl.DataFrame(names, schema=list(PORT), orient="row")
        return Cube(
            hour_index(start), frame, owner, lane_series, states, codes, _days(start, lane_series, states, owner)
        )

    return make
