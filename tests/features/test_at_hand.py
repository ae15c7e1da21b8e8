"""Features of readings at hand are those that a lake's tiles give, bit for bit."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from features.at_hand import PortName, cube_of
from features.cube import PORT, LakeTiles
from features.fleet import Fleet, polars_schema
from features.history_at_hand import HistoryAtHand, Record, history_at_hand
from features.look import DAYS, Look, series_of
from features.pipeline import Block, FeaturePipeline
from features.tile_tables import COUNTERS, LANE_GAUGES, PORT_GAUGES
from features.tiles import update_tiles
from features.tiles_at_hand import Readings
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, LIMITS, PORT_SAMPLES, Table

AT = datetime(2026, 3, 28, 7, tzinfo=UTC)
HOUR_US = 3_600_000_000
FLAGS = ("oper_up", "admin_up", "rx_los", "tx_fault")
NAMES: Sequence[PortName] = tuple(("default", f"leaf{k // 5}", f"Ethernet{k % 5}") for k in range(9))
LINKED = ((0, 5), (1, 6), (2, 2), (3, 7), (3, 8), (4, 7))
"""A port linked to itself, and ports in two links, are among them."""
LANES = ((1, 2, 3), (0, 1), (0, 1, 2))
"""Also modules of one lane that has two numbers, and values of the whole module beside its lanes'."""
MEDIA = ("400GBASE-DR4", "100GBASE-SR4", None)


def _times(rng: np.random.Generator, port: int) -> NDArray[np.int64]:
    """Some of three weeks and a bit more, in any order and some of them twice; the last port stopped days ago."""
    end = int(AT.timestamp()) * 1_000_000 - (5 * 24 * HOUR_US if port == len(NAMES) - 1 else 1)
    far, near = rng.integers(0, (DAYS + 1) * 24 * HOUR_US, 150), rng.integers(0, 60 * HOUR_US, 250)
    times = end - np.concatenate([far, near])
    return rng.permutation(np.concatenate([times, times[:20]])).astype(np.int64)


def _column(rng: np.random.Generator, name: str, n: int) -> list[Any]:
    """Readings with gaps, glitches, darkness and counters that begin anew."""
    if name in FLAGS:
        drawn: list[Any] = (rng.random(n) < 0.8).tolist()
    elif name in COUNTERS.values():
        drawn = (np.cumsum(rng.integers(0, 50, n)) % rng.integers(60, 9_000)).tolist()
    elif name == "pre_fec_ber":
        drawn = (10.0 ** rng.normal(-7, 2, n)).tolist()
    else:
        middle = {"temperature_c": 45.0, "voltage_v": 3.3, "tx_bias_ma": 60.0}.get(name, -2.0)
        drawn = np.where(rng.random(n) < 0.03, -40.0, middle + rng.normal(0, 0.4, n)).tolist()
    missing = rng.random(n) < 0.1
    return [None if gone else value for gone, value in zip(missing, drawn, strict=True)]


def _samples(rng: np.random.Generator, table: Table) -> pl.DataFrame:
    """Rows of a canonical table, and ``port``, the number of the port of each."""
    names = [g.column for g in (LANE_GAUGES if table is LANE_SAMPLES else PORT_GAUGES)]
    names += [] if table is LANE_SAMPLES else [*FLAGS, *COUNTERS.values()]
    frames = []
    for port, name in enumerate(NAMES):
        for lane in LANES[port % 3] if table is LANE_SAMPLES else (0,):
            time, schema = _times(rng, port), polars_schema(table)
            columns: dict[str, Any] = dict(zip(PORT, name, strict=True))
            columns |= {"source": "file", "quality": rng.integers(0, 4, time.size), "port": port, "lane": lane}
            columns["serial"] = np.where(time < np.quantile(time, 0.9), f"S{port}", f"T{port % 4}")
            columns |= {name: pl.Series(_column(rng, name, time.size), dtype=schema[name]) for name in names}
            columns["time"] = columns["received_at"] = pl.Series(time).cast(pl.Datetime("us", "UTC"))
            frames.append(pl.DataFrame(columns))
    return pl.concat(frames).sample(fraction=1.0, shuffle=True, seed=int(rng.integers(1 << 30)))


def _readings(rows: pl.DataFrame, table: Table) -> Readings:
    """The same as arrays."""
    kept = rows.filter(pl.col("time") < AT, pl.col("time") >= AT - timedelta(days=DAYS))
    head = {*PORT, "port", "lane", "time", "received_at", "quality", "serial", "source"}
    kinds = {
        name: np.float32 if str(table.schema.field(name).type) in {"float", "bool"} else np.float64
        for name in kept.columns
        if name not in head
    }
    numbers = {serial: k for k, serial in enumerate(kept["serial"].unique().to_list())}
    return Readings(
        kept["port"].to_numpy().astype(np.int64),
        kept["lane"].to_numpy().astype(np.int64),
        kept["time"].to_physical().to_numpy(),
        {name: kept[name].cast(pl.Float64).to_numpy().astype(kind) for name, kind in kinds.items()},
        kept["quality"].to_numpy(),
        np.array([numbers[serial] for serial in kept["serial"]], np.int32),
    )


def _limits(rng: np.random.Generator) -> Mapping[str, float]:
    return {name: float(rng.normal(0, 5)) for name in LIMITS if rng.random() < 0.7}


def _at_hand(lanes: pl.DataFrame, ports: pl.DataFrame, limits: Sequence[Mapping[str, float]]) -> Block:
    cube = cube_of(NAMES, _readings(lanes, LANE_SAMPLES), _readings(ports, PORT_SAMPLES), AT)
    records = [
        Record(MEDIA[k % 3], [known.get(name, float("nan")) for name in LIMITS]) for k, known in enumerate(limits)
    ]
    history = history_at_hand(cube, AT, NAMES, LINKED, records)
    return FeaturePipeline().block(Look(cube, history, series_of(cube, history)))


def _in_a_lake(folder: Path, samples: Mapping[str, pl.DataFrame], limits: Sequence[Mapping[str, float]]) -> Block:
    lake = Lake(str(folder / "lake"))
    for table in (LANE_SAMPLES, PORT_SAMPLES):
        rows = samples[table.name]
        names = [name for name in polars_schema(table) if name in rows.columns]
        lake.append(table, rows.unique([*PORT, "lane", "time"], keep="last", maintain_order=True).select(names))
    update_tiles(lake, now=AT)
    modules = pl.DataFrame(
        [
            {**dict(zip(PORT, name, strict=True)), "serial": f"S{k}", "media": MEDIA[k % 3], **limits[k]}
            for k, name in enumerate(NAMES)
        ],
        infer_schema_length=None,
    )
    ends = [f"{end}_{name}" for end in "az" for name in PORT]
    links = pl.DataFrame([(*NAMES[a], *NAMES[z]) for a, z in LINKED], schema=ends, orient="row")
    (block,) = FeaturePipeline().blocks(LakeTiles(lake), Fleet.from_frames(modules=modules, links=links), [AT])
    return block


@pytest.mark.parametrize("seed", range(3))
def test_features_of_readings_at_hand_are_those_of_the_lakes_tiles(tmp_path: Path, seed: int) -> None:
    """One definition and two ways to it: every column of every port that speaks, the far end's among them."""
    rng = np.random.default_rng(seed)
    samples = {table.name: _samples(rng, table) for table in (LANE_SAMPLES, PORT_SAMPLES)}
    limits = [_limits(rng) for _ in NAMES]

    expected = _in_a_lake(tmp_path, samples, limits)
    found = _at_hand(samples["lane_samples"], samples["port_samples"], limits)

    rows = [found.cube.port_of[name] for name in expected.cube.ports.iter_rows()]
    assert np.array_equal(expected.present, found.present[rows])
    assert 0 < expected.present.sum() < len(NAMES)
    spoken = np.flatnonzero(expected.present[:, 0])
    there, here = (
        block.matrix(port, np.zeros_like(port)) for block, port in ((expected, spoken), (found, np.array(rows)[spoken]))
    )
    wrong = ~((there == here) | (np.isnan(there) & np.isnan(here)))
    assert [] == [FeaturePipeline().names[j] for j in np.flatnonzero(wrong.any(axis=0))]
    assert [expected.history.links[p] for p in spoken] == [found.history.links[rows[p]] for p in spoken]


def test_ports_without_a_reading_are_silent() -> None:
    nothing = Readings(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), {})
    records = [Record(None, [float("nan")] * len(LIMITS))]

    cube = cube_of(NAMES[:1], nothing, nothing, AT)
    history = history_at_hand(cube, AT, NAMES[:1], (), records)
    block = FeaturePipeline().block(Look(cube, history, series_of(cube, history)))

    assert isinstance(history, HistoryAtHand)
    assert not block.present.any()
