"""The whole fleet at one time, some devices after the other: memory is bounded whatever the fleet's size.

What is computed of a port's tiles needs its device and the records, never another device's tiles, but for one thing:
whether the far end got another module, by the serials it told. So serials are read first, of all devices; then the
features of each shard; then what hangs on the records alone, once for all. The result is bit for bit that of
`FeaturePipeline.blocks`, which holds all tiles at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.catalogue import Fact, Feature
from features.cube import PORT, Cube, LakeTiles, hour_index
from features.engine import Engine, Here
from features.fleet import Fleet
from features.history import History
from features.look import DAYS, REACH, Look, Series, series_of
from features.pipeline import Block, FeaturePipeline, heard
from features.tile_tables import PORT_TILES
from ingest.lake import Lake

__all__ = ["fleet_block"]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
PortName = tuple[str, str, str]
Range = tuple[str | None, str | None]

_PORT_BYTES: Final = 400_000
"""Memory that a port of some five lanes takes while its features are made: measured."""
_MOST_PORTS: Final = 4_000
"""Larger shards are no faster."""


@dataclass(frozen=True)
class _Shard:
    """Some devices, and what the records say of them."""

    tiles: LakeTiles
    at: datetime
    modules: pl.DataFrame | None = None
    touched: pl.DataFrame | None = None


@dataclass(frozen=True)
class _Part:
    """What comes of a shard: its ports, their features (NaN where of the records), samples and newest readings."""

    ports: pl.DataFrame
    own: Floats
    rows: Floats
    newest_s: Floats64


@dataclass(frozen=True)
class _Heard(Cube):
    """A cube whose tiles have been looked at and are gone."""

    told_s: Floats64 = field(default_factory=lambda: np.empty(0))

    @cached_property
    def newest_s(self) -> Floats64:
        """As it was told."""
        return self.told_s


@dataclass(frozen=True)
class _Touched(History):
    """Installations of a shard's ports; when they were touched is told, for that takes all records."""

    told: pl.DataFrame | None = None

    @cached_property
    def touched_s(self) -> Floats64:
        """As it was told."""
        if self.told is None:
            return super().touched_s
        found = self.cube.ports.join(self.told, on=PORT, how="left", maintain_order="left")["touched_s"]
        return found.fill_null(-np.inf).to_numpy().reshape(-1, 1)


def fleet_block(
    lake: Lake,
    fleet: Fleet,
    at: datetime,
    *,
    engine: Engine | None = None,
    most_ports: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Block | None:
    """Features of every port at one time; None where there is no tile to look at.

    The cube of the block has its ports only: their tiles have been looked at.

    Args:
        lake: tiles are up to date.
        fleet: records.
        at: whole hour.
        engine: where shards are computed; this process where not given. Memory is bounded by its ``job_bytes``.
        most_ports: of a shard, about; what the engine's memory allows where not given.
        progress: called with the fraction done.
    """
    engine = engine or Here()
    ranges = _ranges(lake, fleet, at, most_ports or max(min(engine.job_bytes // _PORT_BYTES, _MOST_PORTS), 1))
    report = progress or (lambda _: None)
    if len(ranges) == 1:
        block = next(FeaturePipeline().blocks(LakeTiles(lake), fleet, [at], progress), None)
        return block if block is not None and block.cube.ports.height else None
    tiles = LakeTiles(lake).pinned(at, REACH, DAYS)
    shards = [_Shard(replace(tiles, devices=devices), at) for devices in ranges]
    everyone = _everyone(fleet, at, [found for _, found in engine.run(_serials, shards)])
    report(0.1)
    touched = everyone.cube.ports.with_columns(touched_s=everyone.touched_s[:, 0])
    parts = []
    for _, part in engine.run(_features, (_told(shard, fleet, touched) for shard in shards)):
        parts.append(part)
        report(0.1 + 0.8 * len(parts) / len(ranges))
    block = _joined(parts, everyone)
    report(1.0)
    return block


def _ranges(lake: Lake, fleet: Fleet, at: datetime, most: int) -> list[Range]:
    """Device names in ranges of about so many ports; together they are all names there can be."""
    tiles = lake.scan(PORT_TILES, since=at - timedelta(days=1), until=at, columns=["device", "interface"])
    known = [tiles.unique().collect(engine="streaming"), fleet.modules.select("device", "interface")]
    count = pl.concat(known).unique().group_by("device").len().sort("device")
    cuts: list[str | None] = [None]
    held = 0
    for device, ports in count.iter_rows():
        if held and held + ports > most:
            cuts.append(device)
            held = 0
        held += ports
    return list(pairwise([*cuts, None]))


def _serials(shard: _Shard) -> tuple[pl.DataFrame, dict[PortName, list[float]]]:
    ports, cube = shard.tiles.heard(shard.at, REACH, DAYS)
    return ports, cube.swapped_s


def _everyone(fleet: Fleet, at: datetime, heard_of: list[Any]) -> History:
    """The records seen from every port that tiles or records name."""
    ends = [fleet.links.select(pl.col(f"{end}_{name}").alias(name) for name in PORT) for end in "az"]
    named = [fleet.modules.select(PORT), fleet.tickets.select(PORT), *ends, *(ports for ports, _ in heard_of)]
    ports = pl.concat(named).drop_nulls().unique().sort(PORT)
    swapped = {name: times for _, found in heard_of for name, times in found.items()}
    return History(_portless(at, ports), fleet, [at], swapped)


def _portless(at: datetime, ports: pl.DataFrame, newest_s: Floats64 | None = None) -> Cube:
    told = np.empty(0) if newest_s is None else newest_s
    nothing = np.empty((ports.height, 0), np.int32)
    return _Heard(hour_index(at - REACH), ports, np.empty(0, np.int64), {}, {}, nothing, told_s=told)


def _told(shard: _Shard, fleet: Fleet, touched: pl.DataFrame) -> _Shard:
    first, end = shard.tiles.devices
    within = [pl.col("device") >= first] if first is not None else []
    within += [pl.col("device") < end] if end is not None else []
    ever = pl.col("touched_s") > -np.inf
    return replace(shard, modules=fleet.modules.filter(*within), touched=touched.filter(ever, *within))


def _recorded(feature: Feature) -> bool:
    return isinstance(feature, Fact) and feature.recorded


def _features(shard: _Shard) -> _Part:
    """A pure function of what the lake holds and of what the shard says of the records."""
    features = FeaturePipeline().features
    fleet = Fleet.from_frames(modules=shard.modules)
    for cube, times in shard.tiles.cubes([shard.at], REACH, DAYS):
        if cube.ports.height:
            history = _Touched(cube, fleet, times, told=shard.touched)
            view = Look(cube, history, series_of(cube, history))
            own = np.full((cube.ports.height, len(features)), np.nan, np.float32)
            for j, feature in enumerate(features):
                if not _recorded(feature):
                    own[:, j] = feature.values(view)[:, 0]
            return _Part(cube.ports, own, heard(view)[:, 0], cube.newest_s)
    nothing = pl.DataFrame(schema=dict.fromkeys(PORT, pl.String()))
    return _Part(nothing, np.empty((0, len(features)), np.float32), np.empty(0, np.float32), np.empty(0))


def _joined(parts: list[_Part], everyone: History) -> Block | None:
    """The parts in the order of a cube that has all ports, with the features of the records."""
    pipeline = FeaturePipeline()
    ports = pl.concat(part.ports for part in parts).with_row_index("row").sort(PORT)
    if ports.height == 0:
        return None
    order = ports["row"].to_numpy()
    own, rows, newest_s = (
        np.concatenate([getattr(part, name) for part in parts])[order] for name in ("own", "rows", "newest_s")
    )
    history = everyone.on(_portless(everyone.at[0], ports.select(PORT), newest_s))
    view = Look(history.cube, history, Series({}, {}, {}))
    for j, feature in enumerate(pipeline.features):
        if _recorded(feature):
            own[:, j] = feature.values(view)[:, 0]
    return Block(history.cube, history, own[:, None, :], rows[:, None], pipeline)
