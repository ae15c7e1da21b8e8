"""Telemetry on disk to tiles to features on one core, against the same in polars; and Dask against the local pool.

A day of samples each five minutes lies in a compacted lake. What is measured reads it, makes the tiles of every lane
(and port), and composes 20 window features of each of its quantities at every hour: windows of 1, 6, 12 and 24 hours.
A cell is a reading of a lane, or a reading, state or counter of a port. Bars: 40 ns a cell; the CPU time of Dask's
futures at most 1.4 times that of the pool.

    python benchmarks/tiles.py             one core, from disk
    python benchmarks/tiles.py --engines   pool and Dask, two workers each, with the extra `dask`
"""

import os

os.environ["POLARS_MAX_THREADS"] = "1"

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from features.engine import Engine, Pool, engine_for
from features.moments import window_features
from features.tile_tables import COUNTERS, LANE_GAUGES, LANE_TILES, PORT_GAUGES, PORT_TILES, Gauge
from features.tiles import TilePart, make_part
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Table

PORTS, INTERVAL_S, DAYS = 1_024, 300, 8
START = datetime(2026, 3, 1, tzinfo=UTC)
LENGTHS = np.array([1, 6, 12, 24])
REPEATS = 7
PORT_VALUES = 2 + 4 + len(COUNTERS)
"""Temperature, supply, states and counters."""
STATS = ("n", "mean", "m2", "min", "max")


def fill(folder: Path, days: int) -> Lake:
    """A lake of some days, each compacted."""
    lake, rng = Lake(str(folder / "lake")), np.random.default_rng(1)
    ports = pl.DataFrame(
        {
            "site": "default",
            "device": [f"leaf{p // 64:03d}" for p in range(PORTS)],
            "interface": [f"Ethernet1/{p % 64}" for p in range(PORTS)],
            "serial": [f"XCVR{p:08d}" for p in range(PORTS)],
        }
    )
    lanes = ports.join(pl.DataFrame({"lane": [1, 2, 3, 4]}), how="cross")
    for day in range(days):
        begin = START + timedelta(days=day)
        end = begin + timedelta(days=1)
        times = pl.datetime_range(begin, end, f"{INTERVAL_S}s", closed="left", time_unit="us", eager=True)
        moments = pl.DataFrame({"time": times, "received_at": times})
        lake.append(LANE_SAMPLES, lane_readings(lanes.join(moments, how="cross"), rng))
        lake.append(PORT_SAMPLES, port_readings(ports.join(moments, how="cross"), rng))
    for table in (LANE_SAMPLES, PORT_SAMPLES):
        lake.compact(table, lease=FileLease(folder / "lease"), before=date(2030, 1, 1))
    return lake


def noise(rng: np.random.Generator, rows: int, level: float, sigma: float) -> pl.Series:
    """Readings in the steps of a device."""
    return pl.Series(np.round(rng.normal(level, sigma, rows), 2)).cast(pl.Float32)


def lane_readings(rows: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Light, current and BER of each lane and time."""
    n = rows.height
    return rows.with_columns(
        pl.col("lane").cast(pl.Int8),
        rx_power_dbm=noise(rng, n, -2, 0.1),
        tx_power_dbm=noise(rng, n, 0, 0.1),
        tx_bias_ma=noise(rng, n, 40, 0.1),
        pre_fec_ber=pl.Series(np.round(10 ** rng.normal(-9, 0.1, n), 11)),
        quality=pl.lit(0, pl.Int16),
        source=pl.lit("snmp"),
    )


def port_readings(rows: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Temperature, supply, states and six counters of each port and time."""
    n = rows.height
    grown = {name: pl.Series(np.cumsum(rng.poisson(0.1, n))) for name in COUNTERS.values()}
    return rows.with_columns(
        temperature_c=noise(rng, n, 45, 1),
        voltage_v=noise(rng, n, 3.3, 0.01),
        oper_up=pl.lit(value=True),
        admin_up=pl.lit(value=True),
        rx_los=pl.lit(value=False),
        tx_fault=pl.lit(value=False),
        quality=pl.lit(0, pl.Int16),
        source=pl.lit("snmp"),
        **grown,
    )


def part_of(lake: Lake, day: int, table: Table = LANE_TILES) -> TilePart:
    """A day as a job."""
    begin = START + timedelta(days=day)
    return TilePart(lake.uri, table.name, begin, begin + timedelta(days=1))


def features(tiles: pl.DataFrame, gauges: tuple[Gauge, ...], hours: int = 24) -> list[np.ndarray]:
    """Window features of each quantity, composed of tiles that lie series by series."""
    series = tiles.height // hours
    moments = np.zeros((series, hours, 8))
    moments[:, :, 2] = np.arange(hours) + 0.5
    out = []
    for gauge in gauges:
        columns = [tiles[f"{gauge.name}_{stat}"].fill_null(0.0).to_numpy() for stat in STATS]
        for part, column in zip((0, 1, 3, 6, 7), columns, strict=True):
            moments[:, :, part] = column.reshape(series, hours)
        out.append(window_features(moments, LENGTHS))
    return out


def with_polars(lake: Lake) -> list[pl.DataFrame]:
    """Hour tiles by ``group_by`` and windows of them; no glitches, no slopes, no late data."""
    key = ("site", "device", "interface", "lane")
    values = [gauge.column for gauge in LANE_GAUGES]
    since = START
    rows = lake.scan(LANE_SAMPLES, since=since, until=since + timedelta(days=1), columns=(*key, "time", *values))
    tiles = (
        rows.group_by(*key, pl.col("time").dt.truncate("1h").alias("hour"))
        .agg(
            stat
            for v in values
            for stat in (
                pl.col(v).mean().alias(f"{v}_mean"),
                pl.col(v).min().alias(f"{v}_min"),
                pl.col(v).max().alias(f"{v}_max"),
                pl.col(v).var().alias(f"{v}_var"),
            )
        )
        .sort(*key, "hour")
    )
    windows = [
        expr
        for hours in (int(length) for length in LENGTHS)
        for v in values
        for expr in (
            pl.col(f"{v}_mean").rolling_mean(hours, min_samples=1).over(key).alias(f"{v}_mean_{hours}"),
            pl.col(f"{v}_min").rolling_min(hours, min_samples=1).over(key).alias(f"{v}_min_{hours}"),
            pl.col(f"{v}_max").rolling_max(hours, min_samples=1).over(key).alias(f"{v}_max_{hours}"),
            pl.col(f"{v}_var").rolling_mean(hours, min_samples=1).over(key).alias(f"{v}_var_{hours}"),
        )
    ]
    return [tiles.with_columns(windows).collect()]


def cpu_s(work: Callable[[], object]) -> float:
    """Least CPU time of some runs; the first one, which compiles and fills caches, is not counted."""
    work()
    spent = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def from_disk(lake: Lake) -> None:
    """One line each for tiles, for tiles and features, and for polars."""
    samples = PORTS * 86_400 // INTERVAL_S
    cells, port_cells = samples * 4 * len(LANE_GAUGES), samples * PORT_VALUES
    lanes, ports = part_of(lake, 0), part_of(lake, 0, PORT_TILES)
    tiles = cpu_s(lambda: make_part(lanes))
    ours = cpu_s(lambda: features(make_part(lanes), LANE_GAUGES))
    with_ports = ours + cpu_s(lambda: features(make_part(ports), PORT_GAUGES[:2]))
    peer = cpu_s(lambda: with_polars(lake))
    per_cell = {
        "disk to tiles": tiles / cells,
        "disk to tiles to features": ours / cells,
        "lanes and ports": with_ports / (cells + port_cells),
        "lanes in polars, 16 of 20": peer / cells,
    }
    for name, seconds in per_cell.items():
        print(f"{name:32s} {seconds * 1e9:8.1f} ns/cell   {seconds * cells / ours:5.2f} x ours")


def timed(part: TilePart) -> tuple[int, float, float]:
    """The job, and by which process, from when to when of its CPU time: what the engine does there is in between."""
    begin = time.process_time()
    make_part(part)
    return os.getpid(), begin, time.process_time()


def cpu_of(engine: Engine, parts: list[TilePart]) -> tuple[float, float]:
    """CPU and wall time of the parts on an engine that has done them once: that of its workers and of this process."""
    list(engine.run(timed, parts))
    own, wall = time.process_time(), time.perf_counter()
    done = [result for _, result in engine.run(timed, parts * REPEATS)]
    own, wall = time.process_time() - own, time.perf_counter() - wall
    begun = {pid: min(begin for p, begin, _ in done if p == pid) for pid, _, _ in done}
    ended = {pid: max(end for p, _, end in done if p == pid) for pid, _, _ in done}
    return (own + sum(ended.values()) - sum(begun.values())) / REPEATS, wall / REPEATS


@contextmanager
def dask_engine() -> Iterator[Engine]:
    """A local cluster of two workers of one thread."""
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]
        engine_for(dask=cluster.scheduler_address) as engine,
    ):
        yield engine


def engines(lake: Lake) -> None:
    """CPU time of the same parts on the pool and on Dask."""
    parts = [part_of(lake, day) for day in range(DAYS)]
    with Pool(2) as pool:
        local = cpu_of(pool, parts)
    with dask_engine() as cluster:
        far = cpu_of(cluster, parts)
    for name, (cpu, wall) in (("pool of two processes", local), ("Dask, two workers", far)):
        print(f"{name:32s} {cpu:8.2f} s CPU {wall:8.2f} s   {cpu / local[0]:5.2f} x the pool's CPU")


def main() -> None:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", action="store_true", help="the pool and Dask, instead of one core")
    only = parser.parse_args().engines
    with tempfile.TemporaryDirectory() as folder:
        if only:
            engines(fill(Path(folder), DAYS))
        else:
            from_disk(fill(Path(folder), 1))


if __name__ == "__main__":
    main()
