"""The fleet in shards: bit for bit what comes of looking at all tiles at once."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from features.cube import LakeTiles
from features.engine import Pool
from features.fleet import Fleet
from features.pipeline import Block, FeaturePipeline
from features.shards import fleet_block
from features.tiles import update_tiles
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

AT = datetime(2024, 3, 15, tzinfo=UTC)


def _whole(lake: Lake, fleet: Fleet, at: datetime) -> Block:
    (block,) = FeaturePipeline().blocks(LakeTiles(lake), fleet, [at])
    return block


def _same(expected: Block, found: Block | None) -> None:
    assert found is not None
    assert expected.cube.ports.equals(found.cube.ports)
    assert np.array_equal(expected.own, found.own, equal_nan=True)
    assert np.array_equal(expected.rows, found.rows)
    assert np.array_equal(expected.cube.newest_s, found.cube.newest_s)
    assert np.array_equal(expected.history.peer, found.history.peer)
    assert np.array_equal(expected.history.touched_s, found.history.touched_s)
    assert expected.history.links == found.history.links
    port = np.flatnonzero(expected.present[:, 0])
    rows = [block.matrix(port, np.zeros_like(port)) for block in (expected, found)]
    assert np.array_equal(rows[0], rows[1], equal_nan=True)


@pytest.fixture(name="fleet", scope="module")
def _fleet(fleet_lake: Lake) -> Fleet:
    return Fleet.load(fleet_lake)


@pytest.mark.parametrize("most_ports", [1, 20, 60, 10_000])
def test_shards_of_any_size_give_what_all_tiles_at_once_give(fleet_lake: Lake, fleet: Fleet, most_ports: int) -> None:
    _same(_whole(fleet_lake, fleet, AT), fleet_block(fleet_lake, fleet, AT, most_ports=most_ports))


def test_no_shard_sees_what_came_later(fleet_lake: Lake, fleet: Fleet) -> None:
    early = AT - timedelta(days=6)

    _same(_whole(fleet_lake, fleet, early), fleet_block(fleet_lake, fleet, early, most_ports=20))


@pytest.mark.slow
def test_shards_on_a_pool_of_processes_give_the_same(fleet_lake: Lake, fleet: Fleet) -> None:
    with Pool(2) as engine:
        _same(_whole(fleet_lake, fleet, AT), fleet_block(fleet_lake, fleet, AT, engine=engine, most_ports=30))


def test_progress_ends_at_one(fleet_lake: Lake, fleet: Fleet) -> None:
    told: list[float] = []

    fleet_block(fleet_lake, fleet, AT, most_ports=30, progress=told.append)

    assert sorted(told) == told
    assert 1.0 == told[-1]


def test_of_an_empty_lake_there_is_nothing(tmp_path: Path) -> None:
    assert fleet_block(Lake(str(tmp_path / "lake")), Fleet.from_frames(), AT) is None


@pytest.fixture(name="wired")
def _wired(tmp_path: Path) -> tuple[Lake, Fleet]:
    """Two devices at each of two sites, cabled to each other; swaps that no record has, and tiles that come late."""
    lake, start = Lake(str(tmp_path / "lake")), AT - timedelta(days=4)
    times = pl.datetime_range(start, AT, "30m", closed="left", eager=True)
    ports = [(site, device, f"Ethernet{i}") for site in ("a", "b") for device in ("leaf", "spine") for i in range(5)]
    frames = []
    for k, (site, device, interface) in enumerate(ports):
        swap = AT - timedelta(hours=20 + 7 * k) if k % 4 == 1 else AT + timedelta(days=1)
        frame = pl.DataFrame({"time": times}).with_columns(
            received_at=pl.col("time") + timedelta(hours=30 if k == 3 else 0),
            site=pl.lit(site),
            device=pl.lit(device),
            interface=pl.lit(interface),
            quality=pl.lit(0, pl.Int16),
            source=pl.lit("file"),
            serial=pl.when(pl.col("time") < swap).then(pl.lit(f"OLD{k}")).otherwise(pl.lit(f"NEW{k}")),
            wave=(pl.int_range(pl.len()) * (k + 3) % 17) / 40,
        )
        frames.append(frame)
    rows = pl.concat(frames)
    lane = rows.select(
        pl.exclude("wave"),
        pl.lit(1, pl.Int8).alias("lane"),
        (-2 - pl.col("wave")).alias("rx_power_dbm"),
        (1 + pl.col("wave")).alias("tx_power_dbm"),
        (40 + pl.col("wave")).alias("tx_bias_ma"),
    )
    port = rows.select(pl.exclude("wave"), (45 + pl.col("wave")).alias("temperature_c"))
    lake.append(LANE_SAMPLES, lane.filter(pl.col("interface") != "Ethernet4"))
    lake.append(PORT_SAMPLES, port.filter(pl.col("interface") != "Ethernet3"))
    update_tiles(lake)
    cables = [
        (site, "leaf", f"Ethernet{i}", site, "spine", f"Ethernet{4 - i}") for site in ("a", "b") for i in range(5)
    ]
    names = [f"{end}_{name}" for end in "az" for name in ("site", "device", "interface")]
    ticket = {"ticket_id": "t", "site": "a", "device": "leaf", "interface": "Ethernet3"}
    span = {"opened_at": AT - timedelta(days=2), "closed_at": AT - timedelta(days=1)}
    return lake, Fleet.from_frames(
        links=pl.DataFrame(cables, schema=names, orient="row"), tickets=pl.DataFrame([ticket | span])
    )


@pytest.mark.parametrize("hours", [0, 5, 30])
def test_a_swap_that_only_the_far_end_told_of_is_known_across_shards(wired: tuple[Lake, Fleet], hours: int) -> None:
    lake, fleet = wired
    at = AT - timedelta(hours=hours)

    found = fleet_block(lake, fleet, at, most_ports=1)

    whole = _whole(lake, fleet, at)
    assert np.isfinite(whole.history.touched_s).any()
    _same(whole, found)
