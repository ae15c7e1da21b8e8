"""20 window features at hourly times on one core, against pandas and polars on the same series in the same run.

Windows of 1, 6, 24 and 168 hours; of each the mean, deviation, least, greatest and slope. Peers leave the slope out:
with it polars takes ten times as long. A cell is one sample of one series. Bars: 15 ns a cell on a regular grid, 30 on
irregular times.
"""

import os

os.environ["POLARS_MAX_THREADS"] = "1"

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import polars as pl

from features.moments import hour_moments, window_features

SERIES, PEER_SERIES, DAYS, INTERVAL_S = 1_000, 20, 14, 300
MISSING = 0.01
LENGTHS = np.array([1, 6, 24, 168])
REPEATS = 3


def cpu_ns(cells: int, work: Callable[[], object]) -> float:
    """Least CPU time a cell of a few runs, the first one left out."""
    work()
    spent = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent) * 1e9 / cells


def series(count: int, *, irregular: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds, times in microseconds and readings of so many series, one in a hundred missing."""
    rng = np.random.default_rng(1)
    steps = np.arange(0, DAYS * 86_400, INTERVAL_S, dtype=np.int64) * 1_000_000
    times = np.tile(steps, (count, 1))
    if irregular:
        times += rng.integers(0, INTERVAL_S * 1_000_000, times.shape)
    values = np.round(rng.normal(-2.0, 0.1, times.shape), 2).astype(np.float32)
    values[rng.random(times.shape) < MISSING] = np.nan
    return np.arange(count + 1) * steps.size, times.ravel(), values.ravel()


def ours(bounds: np.ndarray, times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """All features of all series at each hour."""
    return window_features(hour_moments(bounds, times, values, 0, DAYS * 24, -39.5, 10.0), LENGTHS)


def with_polars(frame: pl.DataFrame) -> list[pl.DataFrame]:
    """16 of the features by ``group_by_dynamic``."""
    x = pl.col("x")
    wanted = [x.mean().alias("mean"), x.std().alias("std"), x.min().alias("min"), x.max().alias("max")]
    return [
        frame.group_by_dynamic("time", every="1h", period=f"{hours}h", group_by="series").agg(wanted)
        for hours in LENGTHS
    ]


def with_pandas(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """16 of the features by rolling windows of time."""
    grouped = frame.set_index("time").groupby("series")["x"]
    return [grouped.rolling(f"{hours}h").agg(["mean", "std", "min", "max"]) for hours in LENGTHS]


def main() -> None:
    """One line each, and how many times faster ours is."""
    figures = {}
    for kind, irregular in (("dense", False), ("irregular", True)):
        arrays = series(SERIES, irregular=irregular)
        figures[kind] = cpu_ns(arrays[2].size, partial(ours, *arrays))
    bounds, times, values = series(PEER_SERIES, irregular=True)
    names = np.repeat(np.arange(PEER_SERIES), np.diff(bounds))
    frame = pl.DataFrame({"series": names, "time": times, "x": values}).with_columns(
        pl.col("time").cast(pl.Datetime("us")), pl.col("x").fill_nan(None)
    )
    figures["polars, 16 of 20"] = cpu_ns(values.size, partial(with_polars, frame))
    figures["pandas, 16 of 20"] = cpu_ns(values.size, partial(with_pandas, frame.to_pandas()))
    for name, ns in figures.items():
        print(f"20 window features, {name:24s} {ns:9.1f} ns/cell   {ns / figures['irregular']:7.1f} x ours")


if __name__ == "__main__":
    main()
