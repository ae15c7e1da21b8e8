"""Batch scoring of a large fleet from its tiles: wall and CPU time, peak memory, and the model alone as the peer.

A small synthetic fleet is made, imported and learnt from once; the tiles of its four-lane modules, days of the last
fortnight and hours of the last days, are then multiplied by renaming the devices, each copy a little off, until there
are as many modules as asked for. What is measured is what `forelight score` does with them: scores to the lake, alarms
to the store.

    python benchmarks/score.py                              two thousand modules
    python benchmarks/score.py --modules 100000 --keep DIR  the bar: 60 s and 6 GiB on two cores; DIR is used again
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from features.day_maker import DAY_KERNEL
from features.day_tables import LANE_DAYS, PORT_DAYS
from features.engine import Here, Pool
from features.tile_maker import KERNEL
from features.tile_tables import LANE_TILES, PORT_TILES
from ingest.errors import ModelError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, LINKS, MODULES, SCORES

if TYPE_CHECKING:
    from models.artifact import Artifact

# What processes of the pool do not need is imported where it is used: they import this file, as they do `forelight`.

LINKS_MADE, DAYS, TRAINED, LANES = 72, 18, 12, 4
START = datetime(2024, 3, 1, tzinfo=UTC)
AT = START + timedelta(days=DAYS)
HISTORY_DAYS = 14
CHUNK_ROWS = 1_000_000
POOL_FROM = 6_000  # fewer modules are done before the processes of a pool have started
BAR_MODULES, BAR_S, BAR_GIB = 100_000, 60, 6
PORT = ["site", "device", "interface"]
HOUR_DAYS = 5
"""Hours further back are not read: three days, and two from which a counter's last reading serves."""
TILES = (
    *((table, KERNEL, HOUR_DAYS) for table in (LANE_TILES, PORT_TILES)),
    *((table, DAY_KERNEL, HISTORY_DAYS + 1) for table in (LANE_DAYS, PORT_DAYS)),
)


def small_fleet(folder: Path) -> "tuple[Lake, Artifact]":
    """A fleet with its tiles and a model of it, made where they are not there or are of other code."""
    from data_samples import FleetConfig, generate
    from features.tiles import update_tiles
    from ingest.exports import import_export
    from models.artifact import Artifact
    from models.train import train

    lake, model = Lake(str(folder / "small")), folder / "model"
    try:
        return lake, Artifact.load(model)
    except ModelError:
        print("making a small fleet and a model of it", file=sys.stderr)
    if not lake.exists(LANE_SAMPLES):
        config = FleetConfig(
            links=LINKS_MADE, days=DAYS, start=START, interval_minutes=60, failures_per_link_year=14.0, seed=5
        )
        generate(folder / "export", config)
        import_export(folder / "export", lake)
    update_tiles(lake)
    train(lake, START + timedelta(days=TRAINED)).save(model)
    return lake, Artifact.load(model)


def copies(small: Lake, big: Lake, modules: int) -> None:
    """Multiply the fleet until it has so many modules."""
    lanes = small.scan(LANE_TILES).group_by(PORT).agg(pl.col("lane").max()).filter(pl.col("lane") == LANES)
    ports = lanes.select(PORT).collect()
    count = -(-modules // ports.height)
    records = small.latest(MODULES).collect().join(ports, on=PORT, how="semi")
    big.append(MODULES, next(batches(records, count, count)))
    left = [f"a_{name}" for name in PORT]
    links = small.latest(LINKS).collect().join(ports, left_on=left, right_on=PORT, how="semi")
    big.append(LINKS, next(batches(links.with_columns(cable_id=pl.lit(None, pl.String)), count, count)))
    for table, kernel, days in TILES:
        for day in (AT - timedelta(days=back) for back in range(days, 0, -1)):
            tiles = small.scan(table, since=day, until=day + timedelta(days=1)).filter(pl.col("kernel") == kernel)
            rows = tiles.collect().join(ports, on=PORT, how="semi").sort(table.key)
            for batch in batches(rows, count, max(CHUNK_ROWS // rows.height, 1)):
                big.append(table, batch)


def batches(rows: pl.DataFrame, count: int, each: int) -> Iterator[pl.DataFrame]:
    """The copies, some devices a batch and in order of the key, as compaction leaves them."""
    names = [name for name in rows.columns if name.endswith("device")]
    means = [name for name in rows.columns if name.endswith("_mean")]
    for first in range(0, count, each):
        some = min(each, count - first)
        prefix = pl.Series([f"p{first + i:05d}-" for i in range(some)]).gather(np.repeat(range(some), rows.height))
        noise = np.random.default_rng(first).normal(0, 1e-4, some * rows.height).astype(np.float32)
        yield pl.concat([rows] * some).with_columns(
            *(pl.concat_str(prefix, pl.col(name)).alias(name) for name in names),
            *((pl.col(name) + noise).alias(name) for name in means),
        )


class Peak:
    """Most memory that this process and its children had together, looked at ten times a second."""

    def __init__(self) -> None:
        self.bytes, self._stop = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        me = Path("/proc/self/task")
        while not self._stop.wait(0.1):
            children = [c for task in me.iterdir() for c in (task / "children").read_text(encoding="ascii").split()]
            self.bytes = max(self.bytes, sum(_resident(process) for process in ("self", *children)))


def _resident(process: str) -> int:
    try:
        fields = Path("/proc", process, "statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * resource.getpagesize()  # shared libraries are there once


def measure(folder: Path, workers: int) -> None:
    """Score once, and print what it took; run in a process of its own."""
    from models.artifact import Artifact
    from serving.scoring.scorer import score_fleet
    from serving.store import AlarmStore

    lake, artifact = Lake(str(folder / "big")), Artifact.load(folder / "model")
    shutil.rmtree(folder / "big" / SCORES.name, ignore_errors=True)
    wall, cpu = time.monotonic(), _cpu_s()
    with Peak() as peak, Pool(workers) if workers > 1 else Here() as engine, AlarmStore("sqlite://") as store:
        done = score_fleet(lake, store, artifact, AT, engine=engine)
    wall, cpu = time.monotonic() - wall, _cpu_s() - cpu  # children are counted when the pool has ended
    told = {"modules": done.run.modules_scored, "wall_s": wall, "cpu_s": cpu, "peak_gib": peak.bytes / 2**30}
    print(
        json.dumps(told | {"alarms": done.applied.raised, "model_s": model_alone_s(artifact, done.run.modules_scored)})
    )


def _cpu_s() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def model_alone_s(artifact: "Artifact", modules: int) -> float:
    """CPU seconds of the hazard model alone: one risk for each module, from features that are there."""
    from models.base import HORIZONS_H

    rows = np.random.default_rng(1).normal(size=(5_000, len(artifact.model.names))).astype(np.float32)
    start = time.process_time()
    artifact.model.risk(rows)
    spent = time.process_time() - start
    return float(spent / len(HORIZONS_H) * modules / rows.shape[0])


def main() -> None:
    """Make what is missing, score in a process of its own, print the figures."""
    parser = argparse.ArgumentParser(description="Batch scoring from tiles.")
    parser.add_argument("--modules", type=int, default=2_000)
    parser.add_argument("--keep", type=Path, help="folder for the fleets, used again")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.keep, given.workers)
        return
    with tempfile.TemporaryDirectory() as scratch:
        report(given.keep or Path(scratch), given.modules, given.workers or (2 if given.modules >= POOL_FROM else 1))


def report(folder: Path, modules: int, workers: int) -> None:
    """Print one line, and the bar where it is asked for."""
    small, _ = small_fleet(folder)
    made, wanted = folder / "big.made", f"{modules} {DAY_KERNEL}"
    if not made.exists() or made.read_text(encoding="ascii") != wanted:
        print(f"making tiles of {modules:,} modules", file=sys.stderr)
        made.unlink(missing_ok=True)
        shutil.rmtree(folder / "big", ignore_errors=True)
        copies(small, Lake(str(folder / "big")), modules)
        made.write_text(wanted, encoding="ascii")
    command = [sys.executable, __file__, "--measure", "--keep", str(folder), "--workers", str(workers)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(
        f"score {found['modules']:,} modules x {LANES} lanes x {HISTORY_DAYS} days of tiles, {workers} processes: "
        f"{found['wall_s']:.1f} s wall, {found['cpu_s']:.1f} s CPU, {found['peak_gib']:.2f} GiB peak, "
        f"{found['alarms']} alarms; model alone {found['model_s']:.2f} s CPU: {found['cpu_s'] / found['model_s']:.0f}x"
    )
    if modules >= BAR_MODULES:
        met = found["wall_s"] <= BAR_S and found["peak_gib"] <= BAR_GIB
        print(f"bar {BAR_S} s and {BAR_GIB} GiB: {'met' if met else 'MISSED'}")


if __name__ == "__main__":
    main()
