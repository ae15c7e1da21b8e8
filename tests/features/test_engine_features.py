"""Features on engines: the same bits from this process, a pool and a Dask cluster, whoever of them dies on the way."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from multiprocessing import active_children
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from features.cube import PORT, LakeTiles
from features.engine import Engine, Here, Pool, engine_for, in_order
from features.fleet import Fleet
from features.pieces import engine_blocks
from features.pipeline import Block, FeaturePipeline, hourly
from features.shards import fleet_block
from ingest.lake import Lake

AT = datetime(2024, 3, 15, tzinfo=UTC)
SPAN = hourly(AT, AT + timedelta(hours=80))
QUIETLY = pytest.mark.filterwarnings("default")  # distributed's own sockets and loops, as they go down


class Killing:
    """An engine one of whose workers is killed when the first result is there."""

    def __init__(self, engine: Engine, kill: Callable[[], None]) -> None:
        self.engine, self.kill = engine, kill
        self.workers, self.job_bytes = engine.workers, engine.job_bytes
        self.killed = 0

    def run(self, work: Any, jobs: Any) -> Iterator[Any]:
        for i, done in enumerate(self.engine.run(work, jobs)):
            if i == 0:
                self.kill()
                self.killed += 1
            yield done


def _kill_a_child() -> None:
    os.kill(active_children()[0].pid or 0, signal.SIGKILL)


def _rows(blocks: Sequence[Block]) -> pl.DataFrame:
    """Everything that is known of each port at each time, however the times are parted."""
    frames = []
    for block in blocks:
        port, time = np.nonzero(block.present)
        frame = pl.DataFrame(block.matrix(port, time), schema=list(block.pipeline.names))
        frames.append(
            frame.with_columns(
                *block.cube.ports[port].iter_columns(),
                pl.Series("time", [block.history.at[t] for t in time.tolist()]),
                pl.Series("link", [block.history.links[p] for p in port.tolist()]),
                pl.Series("touched", block.history.touched_s[port, time]),
                pl.Series("first", block.first[port, time]),
                pl.Series("heard", block.rows[port, time]),
            )
        )
    return pl.concat(frames).sort(*PORT, "time")


def _same(expected: Sequence[Block], found: Sequence[Block]) -> None:
    assert_frame_equal(_rows(expected), _rows(found), check_exact=True)


@pytest.fixture(name="fleet", scope="module")
def _fleet(fleet_lake: Lake) -> Fleet:
    return Fleet.load(fleet_lake)


@pytest.fixture(name="whole", scope="module")
def _whole(fleet_lake: Lake, fleet: Fleet) -> list[Block]:
    return list(FeaturePipeline().blocks(LakeTiles(fleet_lake), fleet, [AT]))


@pytest.fixture(name="walked", scope="module")
def _walked(fleet_lake: Lake, fleet: Fleet) -> list[Block]:
    return list(engine_blocks(Here(), LakeTiles(fleet_lake), fleet, SPAN))


@pytest.mark.slow
def test_a_pool_makes_the_same_features_with_a_worker_killed_in_the_middle(
    fleet_lake: Lake, fleet: Fleet, whole: list[Block], walked: list[Block]
) -> None:
    with Pool(2) as pool:
        killing: Any = Killing(pool, _kill_a_child)
        shards = fleet_block(fleet_lake, fleet, AT, engine=killing, most_ports=10)
        pieces = list(engine_blocks(killing, LakeTiles(fleet_lake), fleet, SPAN))

    assert killing.killed == 3
    assert shards is not None
    _same(whole, [shards])
    _same(walked, pieces)


@pytest.mark.slow
@QUIETLY
def test_a_dask_cluster_makes_the_same_features_with_a_worker_killed_in_the_middle(
    fleet_lake: Lake,
    fleet: Fleet,
    whole: list[Block],
    walked: list[Block],
    dask_cluster: Any,
    kill_a_worker: Callable[[Any], None],
) -> None:
    with engine_for(dask=dask_cluster.scheduler_address) as engine:
        killing: Any = Killing(engine, lambda: kill_a_worker(dask_cluster))
        shards = fleet_block(fleet_lake, fleet, AT, engine=killing, most_ports=10)
        pieces = list(engine_blocks(killing, LakeTiles(fleet_lake), fleet, SPAN))

    assert killing.killed == 3
    assert shards is not None
    _same(whole, [shards])
    _same(walked, pieces)


def test_results_come_in_the_order_of_the_jobs_a_few_at_a_time() -> None:
    """Whatever the order in which they are done."""
    asked: list[int] = []

    def jobs() -> Iterator[int]:
        for i in range(9):
            asked.append(i)
            yield i

    class Backwards(Here):
        def run(self, work: Any, jobs: Any) -> Iterator[Any]:
            return iter([(job, work(job)) for job in reversed(list(jobs))])

    found = in_order(Backwards(), str, jobs())

    assert (0, "0") == next(found)
    assert 2 == len(asked)
    assert [(i, str(i)) for i in range(1, 9)] == list(found)


def test_a_block_sent_elsewhere_leaves_its_tiles_behind(walked: list[Block]) -> None:
    light = walked[0].light()

    assert {} == light.cube.lanes == light.cube.states
    _same(walked[:1], [light])
