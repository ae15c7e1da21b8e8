"""Engines: the same tiles from this process, a pool and a Dask cluster, whoever of them dies on the way."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from features.engine import Here, Pool, engine_for
from features.tiles import LANE_TILES, PORT_TILES, update_tiles
from ingest.errors import FeatureError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Table

ROOT = Path(__file__).parents[2]
Rows = Callable[..., pl.DataFrame]
Quarters = Callable[[datetime, int], list[datetime]]

DAY = datetime(2026, 3, 1, tzinfo=UTC)
LONG_AFTER = DAY + timedelta(days=300)
DAYS = 6
QUIETLY = pytest.mark.filterwarnings("default")  # distributed's own sockets and loops, as they go down


@pytest.fixture(name="samples", scope="module")
def _samples(tmp_path_factory: pytest.TempPathFactory, lane_rows: Rows, port_rows: Rows, quarters: Quarters) -> Lake:
    """Six days of three devices, late samples and resets among them, without tiles."""
    lake = Lake(str(tmp_path_factory.mktemp("samples") / "lake"))
    times = quarters(DAY, 96 * DAYS)
    late = [t + timedelta(hours=30) if i % 97 == 0 else t for i, t in enumerate(times)]
    for d, device in enumerate(("leaf01", "leaf02", "leaf03")):
        rx = [-2.0 - 0.01 * ((i * (d + 3)) % 17) for i in range(len(times))]
        lake.append(LANE_SAMPLES, lane_rows(times, device=device, rx_power_dbm=rx, received_at=late))
        counts = [(1000 * i) % 170_000 for i in range(len(times))]
        lake.append(PORT_SAMPLES, port_rows(times, device=device, fec_corrected=counts, temperature_c=40.0))
    return lake


def _tiles(lake: Lake, table: Table) -> pl.DataFrame:
    return lake.scan(table).collect().sort(*table.key, "received_at", "rows")


@pytest.fixture(name="expected", scope="module")
def _expected(samples: Lake, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = _copy(samples, tmp_path_factory.mktemp("expected"))
    update_tiles(lake, now=LONG_AFTER)
    return lake


def _copy(samples: Lake, folder: Path) -> Lake:
    lake = Lake(str(folder / "lake"))
    for table in (LANE_SAMPLES, PORT_SAMPLES):
        lake.append(table, samples.scan(table).collect())
    return lake


def _assert_same(expected: Lake, lake: Lake) -> None:
    for table in (LANE_TILES, PORT_TILES):
        assert_frame_equal(_tiles(expected, table), _tiles(lake, table), check_exact=True)


# ---- small parts -----------------------------------------------------------------------------


class _Small(Here):
    """This process, with the memory of a watch: forty samples."""

    def __init__(self) -> None:
        super().__init__()
        self.job_bytes = 512 * 40


def test_tiles_do_not_depend_on_the_parts_they_are_made_in(samples: Lake, expected: Lake, tmp_path: Path) -> None:
    """Devices are parted, and each of them by hours."""
    lake = _copy(samples, tmp_path)

    written = update_tiles(lake, now=LONG_AFTER, engine=_Small())

    assert sum(_tiles(expected, table).height for table in (LANE_TILES, PORT_TILES)) == written
    _assert_same(expected, lake)
    assert 0 == update_tiles(lake, now=LONG_AFTER, engine=_Small())


def test_a_device_whose_name_is_a_columns_is_a_device(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    lake = Lake(str(tmp_path / "lake"))
    for device in ("device", "rx_power_dbm", "time"):
        lake.append(LANE_SAMPLES, lane_rows(quarters(DAY, 96), device=device, rx_power_dbm=-2.0))

    assert 72 == update_tiles(lake, now=LONG_AFTER, engine=_Small())


def test_an_update_that_is_given_up_is_finished_by_the_next(samples: Lake, expected: Lake, tmp_path: Path) -> None:
    """Whatever was committed stays, and nothing is committed twice."""
    lake = _copy(samples, tmp_path)

    class Breaks(_Small):
        def run(self, work: Any, jobs: Any) -> Iterator[Any]:
            for i, done in enumerate(super().run(work, jobs)):
                if i == 17:
                    raise KeyboardInterrupt
                yield done

    with pytest.raises(KeyboardInterrupt):
        update_tiles(lake, now=LONG_AFTER, engine=Breaks())
    update_tiles(lake, now=LONG_AFTER)

    _assert_same(expected, lake)


# ---- processes -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_pool_makes_the_same_tiles_with_a_worker_killed_in_the_middle(
    samples: Lake, expected: Lake, tmp_path: Path
) -> None:
    lake = _copy(samples, tmp_path)

    class Killing(Pool):
        def run(self, work: Any, jobs: Any) -> Iterator[Any]:
            for i, done in enumerate(super().run(work, jobs)):
                if i == 2:
                    os.kill(active_children()[0].pid or 0, signal.SIGKILL)
                yield done

    with Killing(2) as pool:
        update_tiles(lake, now=LONG_AFTER, engine=pool)

    _assert_same(expected, lake)
    assert [] == active_children()


@pytest.mark.slow
def test_work_that_kills_every_worker_is_given_up_with_a_clear_line() -> None:
    with Pool(1) as pool, pytest.raises(FeatureError, match="worker processes died"):
        list(pool.run(signal.raise_signal, [signal.SIGKILL]))


@pytest.mark.slow
def test_what_a_job_raises_comes_out_of_the_pool() -> None:
    with Pool(1) as pool, pytest.raises(ZeroDivisionError):
        list(pool.run((1).__floordiv__, [0]))


def test_a_pool_takes_fewer_workers_where_memory_is_small() -> None:
    gib = 1 << 30

    assert [4, 1] == [Pool(4, memory).workers for memory in (8 * gib, gib)]
    assert isinstance(engine_for(workers=1), Here)
    assert isinstance(engine_for(workers=2, memory=8 * gib), Pool)


def test_the_memory_of_all_processes_together_is_what_was_given() -> None:
    gib = 1 << 30
    pool = Pool(4, 8 * gib)

    assert 8 * gib >= pool.job_bytes * 4 + 5 * (400 << 20) > 7 * gib


# ---- Dask ------------------------------------------------------------------------------------


@contextmanager
def _cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="1GiB"
    ) as cluster:
        yield cluster


@pytest.mark.slow
@QUIETLY
def test_a_dask_cluster_makes_the_same_tiles_with_a_worker_killed_in_the_middle(
    samples: Lake, expected: Lake, tmp_path: Path
) -> None:
    lake = _copy(samples, tmp_path)
    with _cluster() as cluster, engine_for(dask=cluster.scheduler_address) as engine:

        class Killing:
            workers, job_bytes = engine.workers, _Small().job_bytes

            def run(self, work: Any, jobs: Any) -> Iterator[Any]:
                for i, done in enumerate(engine.run(work, jobs)):
                    if i == 5:
                        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
                    yield done

        killing: Any = Killing()
        assert 2 == engine.workers
        update_tiles(lake, now=LONG_AFTER, engine=killing)

    _assert_same(expected, lake)


@QUIETLY
def test_a_scheduler_that_does_not_answer_is_an_error_in_one_line() -> None:
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")

    with pytest.raises(FeatureError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        engine_for(dask="tcp://127.0.0.1:9")


# ---- memory ----------------------------------------------------------------------------------

_PEAK = """
import re, sys
from datetime import UTC, datetime
from pathlib import Path
from features.engine import Here
from features.tiles import update_tiles
from ingest.lake import Lake

memory = int(sys.argv[2])
update_tiles(Lake(sys.argv[1]), now=datetime(2030, 1, 1, tzinfo=UTC), engine=Here(memory))
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024)
"""
# Not ru_maxrss: a child's begins with the size of the process that started it.


@pytest.mark.slow
def test_memory_stays_within_what_was_given_however_large_a_day_is(tmp_path: Path, lane_rows: Rows) -> None:
    """Two and a half million samples of one day, which at once would take twice of it."""
    lake = Lake(str(tmp_path / "lake"))
    minutes = pl.datetime_range(DAY, DAY + timedelta(days=1), "1m", closed="left", time_unit="us", eager=True)
    one = lane_rows(minutes.to_list(), rx_power_dbm=-2.0, tx_power_dbm=0.5, tx_bias_ma=40.0, pre_fec_ber=1e-9)
    for device in range(14):
        ports = pl.DataFrame({"interface": [f"Ethernet{p}" for p in range(128)]})
        rows = one.drop("interface").join(ports, how="cross").with_columns(device=pl.lit(f"leaf{device:02d}"))
        lake.append(LANE_SAMPLES, rows)
    memory = 768 << 20

    run = subprocess.run(
        [sys.executable, "-c", _PEAK, lake.uri, str(memory)], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert memory >= int(run.stdout)
    assert 14 * 128 * 24 == lake.scan(LANE_TILES).select(pl.len()).collect().item()
