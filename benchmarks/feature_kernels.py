"""CPU time of the feature kernels and of tile building, on series drawn at random; ``make bench`` runs it.

A cell is one hourly value of one series read for one time (windows), one day (baselines), or one sample (tiles).
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import polars as pl

from features.baseline_kernels import baselines, day_centres
from features.counter_kernels import tile_counter
from features.fleet import polars_schema
from features.kernels import lines, medians, of_lanes, windows
from features.tile_kernels import FOUND, tile_gauge
from features.tiles import LANE_TILES, PORT_TILES, tile_day
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

SERIES, HOURS, TIMES = 2_000, 960, 360
RULE = np.array([24, 14, 12, 72])
"""Of baselines: hours left out, days, hours of a day that are enough, hours of the young."""
REPEATS = 3
MISSING = 0.01  # share of hours


def cpu_s(work: Callable[[], object]) -> float:
    """Least CPU time of a few runs; the first one, which compiles, is not counted."""
    work()
    spent = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def report(name: str, cells: float, work: Callable[[], object]) -> None:
    """Print one line."""
    seconds = cpu_s(work)
    print(f"{name:44s} {seconds * 1e9 / cells:8.2f} ns/cell   {seconds:7.3f} s")


def bench_windows(x: np.ndarray) -> None:
    """Windows and lines of hours to days, what a day comes to, baselines hour by hour and at one time."""
    at = np.arange(HOURS - TIMES, HOURS)
    for hours in (6, 24, 72):
        report(f"windows, mean of {hours} h", SERIES * TIMES * hours, partial(windows, x, at, hours, 0))
    for hours in (24, 72):
        report(f"lines, {hours} h", SERIES * TIMES * hours, partial(lines, x, at, hours))
    every, touched = np.arange(SERIES), np.zeros((SERIES, TIMES), np.int64)
    hourly = [np.ascontiguousarray(x[:, 24 * d : 24 * d + 24]) for d in range(HOURS // 24)]
    report("days of 24 h", x.size, lambda: [day_centres(day) for day in hourly])
    days = np.stack([day_centres(day) for day in hourly], axis=2)
    cells = SERIES * RULE[1]
    report("baselines, hour by hour", cells * TIMES, lambda: baselines(days, 0, x, 0, at, touched, every, RULE))
    report("baselines, one time", cells, lambda: baselines(days, 0, x, 0, at[-1:], touched[:, -1:], every, RULE))
    values = np.ascontiguousarray(x[:, :TIMES])
    report("lanes to ports, least of 4", values.size, lambda: of_lanes(values, every // 4, SERIES // 4, 1))
    report("ports to devices, median of 64", values.size, lambda: medians(values, every // 64, 4))


def samples(ports: int, interval_s: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A day of ports with four lanes each."""
    start = datetime(2026, 3, 1, tzinfo=UTC)
    times = [start + timedelta(seconds=interval_s * i) for i in range(86_400 // interval_s)]
    day = pl.DataFrame({"time": times, "received_at": times}).cast(pl.Datetime("us", "UTC"))
    names = pl.DataFrame(
        {"device": [f"leaf{p // 64:03d}" for p in range(ports)], "interface": [str(p) for p in range(ports)]}
    )
    rng = np.random.default_rng(1)

    def table(frame: pl.DataFrame, schema: pl.Schema, **columns: np.ndarray) -> pl.DataFrame:
        fixed = {"site": "default", "source": "file", "quality": 0}
        frame = frame.with_columns(**{name: pl.Series(values) for name, values in columns.items()})
        missing = [pl.lit(fixed.get(name)).alias(name) for name in schema if name not in frame.columns]
        return frame.with_columns(missing).select(pl.col(name).cast(kind) for name, kind in schema.items())

    port_rows = names.join(day, how="cross")
    lane_rows = port_rows.join(pl.DataFrame({"lane": [1, 2, 3, 4]}), how="cross")
    n, m = lane_rows.height, port_rows.height
    return (
        table(
            lane_rows,
            polars_schema(LANE_SAMPLES),
            rx_power_dbm=rng.normal(-2, 0.1, n),
            tx_power_dbm=rng.normal(0, 0.1, n),
            tx_bias_ma=rng.normal(40, 0.1, n),
            pre_fec_ber=10 ** rng.normal(-9, 0.1, n),
        ),
        table(port_rows, polars_schema(PORT_SAMPLES), temperature_c=rng.normal(45, 1, m), fec_corrected=np.arange(m)),
    )


def main() -> None:
    """Everything."""
    rng = np.random.default_rng(1)
    x = rng.normal(-2, 0.1, (SERIES, HOURS)).astype(np.float32)
    x[rng.random(x.shape) < MISSING] = np.nan
    bench_windows(x)
    bounds, count = np.arange(50_001) * 60, 50_000 * 60
    gauge, marks = rng.normal(-2, 0.1, count).astype(np.float32), np.zeros(count, np.int8)
    found = np.empty((len(FOUND), bounds.size - 1), np.float32)
    arguments = (found, bounds, gauge, marks, -39.5, 10.0, 15.0, 3.0, 1)
    report("tile kernel, a gauge of 60 samples", count, lambda: tile_gauge(*arguments))
    counts = np.arange(count, dtype=np.float64)
    report("tile kernel, a counter of 60 samples", count, lambda: tile_counter(bounds, counts))
    lanes, ports = samples(ports=256, interval_s=300)
    report("tiles of a day of lanes (4 values a row)", lanes.height * 4, lambda: tile_day(lanes, LANE_TILES))
    report("tiles of a day of ports (12 values a row)", ports.height * 12, lambda: tile_day(ports, PORT_TILES))


if __name__ == "__main__":
    main()
