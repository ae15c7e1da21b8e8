"""A window of a large fabric, from rows of probes to the links that are blamed, on one core.

100,000 cables and more, two million 5-tuples whose ways are known, one link in two thousand lossy. Bar: 20 s.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl

from data_samples.fat_tree import FatTree, Routes
from data_samples.lossy_fabric import Flows, Losses, background, draw_flows, faults, round_trip
from diagnosis.fabric import Fabric
from diagnosis.localizers.glrt import Glrt
from diagnosis.observations import Evidence
from diagnosis.probes import Known
from diagnosis.ways import Span, Ways
from diagnosis.windows import judge, located
from ingest.schema import PROBE_PATHS, PROBES

SEED = 30_000
START = datetime(2026, 3, 1, tzinfo=UTC)
SPAN = Span(START, START + timedelta(seconds=20))
Result = TypeVar("Result")


def fabric_of(tree: FatTree) -> Fabric:
    """The tree's cables in the order of their numbers, then one of a server at each edge switch."""
    cables = [(row[:3], row[3:]) for row in tree.table().select(*_ends("a"), *_ends("z")).iter_rows()]
    edges = [f"edge{edge // tree.half}-{edge % tree.half}" for edge in range(tree.edges)]
    cables += [(("default", f"host{at}", "eth0"), ("default", name, "down")) for at, name in enumerate(edges)]
    return Fabric(tuple(cables), frozenset(("default", f"host{at}") for at in range(tree.edges)))


def _ends(end: str) -> list[str]:
    return [f"{end}_{what}" for what in ("site", "device", "interface")]


def flows_as_rows(tree: FatTree, flows: Flows, rng: np.random.Generator) -> pl.DataFrame:
    """What both tables tell of each 5-tuple; a port's address is the number of the link that arrives there."""
    first = 2 * tree.cables
    edge = {end: _edge(tree, routes) for end, routes in (("source", flows.there), ("target", flows.back))}
    same = {"site": pl.lit("default"), "time": pl.lit(START), "source_port": pl.int_range(pl.len(), dtype=pl.Int32)}
    ends = pl.DataFrame(edge).with_columns(
        *(pl.format("host{}", end).alias(f"{end}_device") for end in edge),
        *(pl.format("a{}", 2 * pl.col(end) + first + 1).alias(f"{end}_address") for end in edge),
        *(pl.lit("eth0").alias(f"{end}_interface") for end in edge),
        **same,
    )
    times = {"rtt_p50_ns": rng.integers(9_000, 12_000, ends.height), "target_p99_ns": rng.integers(1, 9, ends.height)}
    return ends.with_columns(**{name: pl.Series(values) for name, values in times.items()})


def _edge(tree: FatTree, routes: Routes) -> np.ndarray:
    return routes.links[:, 0] // 2 // tree.half


def probes_of(same: pl.DataFrame, flows: Flows, lost: Losses) -> pl.DataFrame:
    """Rows of ``probes``."""
    counts = {"sent": flows.sent, "lost": lost.there + lost.back, "forward_lost": lost.there, "reverse_lost": lost.back}
    rows = same.with_columns(**{name: pl.Series(values) for name, values in counts.items()})
    rows = rows.with_columns(rtt_p99_ns=2 * pl.col("rtt_p50_ns"), target_max_ns=2 * pl.col("target_p99_ns"))
    return _filled(rows, pl.DataFrame(PROBES.of([])))


def paths_of(tree: FatTree, same: pl.DataFrame, flows: Flows) -> pl.DataFrame:
    """Rows of ``probe_paths``: at which ports a packet came in."""
    found = []
    for direction, routes, near in (("forward", flows.there, "source"), ("reverse", flows.back, "target")):
        first = 2 * same[near].to_numpy() + 2 * tree.cables
        links = np.column_stack([first, routes.links]).astype(np.int32)
        hops = (
            pl.Series(links.ravel())
            .to_frame("link")
            .select(pl.when(pl.col("link") >= 0).then(pl.format("a{}", "link")))
        )
        listed = hops.to_series().reshape(links.shape).arr.to_list().list.drop_nulls()
        rows = same.with_columns(hops=listed, direction=pl.lit(direction), reached=pl.lit(value=True))
        found.append(rows.with_columns(time=pl.lit(START - timedelta(minutes=1))))
    return _filled(pl.concat(found), pl.DataFrame(PROBE_PATHS.of([])))


def _filled(rows: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    lacking = [pl.lit(None).alias(name) for name in table.columns if name not in rows.columns]
    return rows.with_columns(lacking).select(table.columns).cast(table.schema)


def timed(name: str, work: Callable[[], Result]) -> Result:
    """Do it, and print how long it took."""
    start, cpu = time.perf_counter(), time.process_time()
    result = work()
    print(f"{name:28} {time.process_time() - cpu:6.2f} s CPU, {time.perf_counter() - start:6.2f} s", flush=True)
    return result


def main() -> None:
    """One window."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cables", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=2_000_000)
    wanted = parser.parse_args()
    tree = FatTree(next(k for k in range(4, 200, 2) if k**3 // 2 >= wanted.cables))
    rng, fabric = np.random.default_rng(SEED), fabric_of(tree)
    loss = background(2 * tree.cables, rng)
    truth = set(faults(loss, 2 * tree.cables // 4_000, 0.005, 0.5, rng).tolist())
    flows = draw_flows(tree, wanted.rows, wanted.rows * 50, rng)
    same = flows_as_rows(tree, flows, rng)
    rows, paths = probes_of(same, flows, round_trip(flows, loss, rng)), paths_of(tree, same, flows)
    ports = {f"a{link}": fabric.ends(link)[1] for link in range(fabric.links)}
    ways = Ways(Known(fabric, ports, fabric.servers))
    print(f"{len(fabric.cables):,} cables, {rows.height:,} rows of probes, {paths.height:,} of paths")
    timed("ways as links", lambda: ways.add(paths))
    judged = timed("hosts, ways, queues, holes", lambda: judge(rows, ways, SPAN))
    found = timed("links", lambda: located([judged], Glrt(), ways.known, Evidence()))
    links = {link for each in found for link in each.links}
    print(f"{len(links & truth)} of {len(truth)} lossy links found, {len(links - truth)} false")
    print(f"other findings: {[each.cause.value for each in judged.findings]}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB")


if __name__ == "__main__":
    main()
