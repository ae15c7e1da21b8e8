"""Telemetry on disk to tiles to features on one core, against the same in polars; and Dask against the local pool.

A day of samples each five minutes lies in a compacted lake. What is measured reads it, makes the tiles of every lane,
and composes 20 window features of each of its four quantities at every hour: windows of 1, 6, 12 and 24 hours.
A cell is one reading. Bar: 40 ns a cell; CPU of Dask futures at most 1.4 times that of the pool.

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
from features.fleet import polars_schema
from features.moments import window_features
from features.tile_tables import LANE_GAUGES, LANE_TILES
from features.tiles import TilePart, make_part
from ingest.lake import Lake
from ingest.lease import FileLease
from ingest.schema import LANE_SAMPLES

PORTS, INTERVAL_S, DAYS = 1_024, 300, 8
START = datetime(2026, 3, 1, tzinfo=UTC)
LENGTHS = np.array([1, 6, 12, 24])
REPEATS = 3
STATS = ("n", "mean", "m2", "min", "max")


def fill(folder: Path, days: int) -> Lake:
    """A lake of some days, each compacted."""
    lake, rng = Lake(str(folder / "lake")), np.random.default_rng(1)
    names = pl.DataFrame(
        {
            "site": "default",
            "device": [f"leaf{p // 64:03d}" for p in range(PORTS)],
            "interface": [f"Ethernet1/{p % 64}" for p in range(PORTS)],
            "serial": [f"XCVR{p:08d}" for p in range(PORTS)],
        }
    ).join(pl.DataFrame({"lane": [1, 2, 3, 4]}), how="cross")
    schema = polars_schema(LANE_SAMPLES)
    for day in range(days):
        begin = START + timedelta(days=day)
        end = begin + timedelta(days=1)
        times = pl.datetime_range(begin, end, f"{INTERVAL_S}s", closed="left", time_unit="us", eager=True)
        rows = names.join(pl.DataFrame({"time": times}), how="cross")
        n = rows.height
        rows = rows.with_columns(
            received_at="time",
            rx_power_dbm=pl.Series(np.round(rng.normal(-2, 0.1, n), 2)),
            tx_power_dbm=pl.Series(np.round(rng.normal(0, 0.1, n), 2)),
            tx_bias_ma=pl.Series(np.round(rng.normal(40, 0.1, n), 2)),
            pre_fec_ber=pl.Series(np.round(10 ** rng.normal(-9, 0.1, n), 11)),
            quality=0,
            source=pl.lit("snmp"),
        )
        missing = [pl.lit(None).alias(name) for name in schema if name not in rows.columns]
        rows = rows.with_columns(missing).select(pl.col(name).cast(kind) for name, kind in schema.items())
        lake.append(LANE_SAMPLES, rows)
    lake.compact(LANE_SAMPLES, lease=FileLease(folder / "lease"), before=date(2030, 1, 1))
    return lake


def part_of(lake: Lake, day: int) -> TilePart:
    """A day as a job."""
    begin = START + timedelta(days=day)
    return TilePart(lake.uri, LANE_TILES.name, begin, begin + timedelta(days=1))


def features(tiles: pl.DataFrame, hours: int) -> list[np.ndarray]:
    """Window features of each quantity, composed of tiles that lie series by series."""
    series = tiles.height // hours
    moments = np.zeros((series, hours, 8))
    moments[:, :, 2] = np.arange(hours) + 0.5
    out = []
    for gauge in LANE_GAUGES:
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
    """Least CPU time of a few runs; the first one, which compiles and fills caches, is not counted."""
    work()
    spent = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def from_disk(lake: Lake) -> None:
    """One line each for tiles, for tiles and features, and for polars."""
    cells = PORTS * 4 * len(LANE_GAUGES) * 86_400 // INTERVAL_S
    part = part_of(lake, 0)
    ours = {
        "disk to tiles": cpu_s(lambda: make_part(part)),
        "disk to tiles to features": cpu_s(lambda: features(make_part(part), 24)),
    }
    peer = cpu_s(lambda: with_polars(lake))
    for name, seconds in ours.items():
        print(f"{name:32s} {seconds * 1e9 / cells:8.1f} ns/cell")
    print(
        f"{'the same in polars, 16 of 20':32s} {peer * 1e9 / cells:8.1f} ns/cell   "
        f"{peer / ours['disk to tiles to features']:5.2f} x ours"
    )


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
