"""The whole fleet at one time, some devices after the other: memory is bounded whatever the fleet's size.

What is computed of a port's tiles needs its device and the records, never another device's tiles, but for one thing:
whether the far end got another module, by the serials it told. So serials are read first, of all devices; then the
features of each shard; then what hangs on the records alone, once for all. The result is bit for bit that of
`FeaturePipeline.blocks`, which holds all tiles at once.
"""

from collections.abc import Callable, Iterator, Sequence
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
from features.pipeline import Block, FeaturePipeline, heard, link_segments
from features.tile_tables import PORT_TILES
from ingest.lake import Lake

__all__ = ["fleet_block", "fleet_blocks", "ports_known"]

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
    most = most_ports or max(min(engine.job_bytes // _PORT_BYTES, _MOST_PORTS), 1)
    ranges = _ranges(ports_known(lake, fleet, at, at), most)
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


def fleet_blocks(
    lake: Lake, fleet: Fleet, times: Sequence[datetime], ports: pl.DataFrame, engine: Engine, most_ports: int
) -> Iterator[Block]:
    """Features of some ports at several times, as `FeaturePipeline.blocks` has them, made device by device.

    Late serials are the one thing that is known a little early: within the times, a swap at the far end.

    Args:
        lake: tiles are up to date.
        fleet: records.
        times: whole hours, ascending.
        ports: those wanted, of any devices; a link's features need both of its ends.
        engine: where shards are computed.
        most_ports: of a shard, about.
    """
    ranges = _ranges(ports_known(lake, fleet, times[0], times[-1]), most_ports)
    spans = [_Span(LakeTiles(lake, devices), fleet, times, ports.sort(PORT)) for devices in ranges]
    swapped = {name: when for _, found in engine.run(_swaps, spans) for name, when in found.items()}
    pipeline, wanted = FeaturePipeline(), ports.sort(PORT)
    own = np.full((wanted.height, len(times), len(pipeline.features)), np.nan, np.float32)
    rows = np.zeros(own.shape[:2], np.float32)
    for _, (which, values, samples) in engine.run(_own, (replace(span, swapped_s=swapped) for span in spans)):
        own[which], rows[which] = values, samples
    done = 0
    for group in link_segments(fleet, times):
        held = slice(done, done + len(group))
        done += len(group)
        cube = _portless(group[-1], wanted)
        yield Block(cube, History(cube, fleet, group, swapped), own[:, held], rows[:, held], pipeline)


@dataclass(frozen=True)
class _Span:
    """Some devices at several times, and which ports are wanted of all."""

    tiles: LakeTiles
    fleet: Fleet
    times: Sequence[datetime]
    ports: pl.DataFrame
    swapped_s: dict[PortName, list[float]] = field(default_factory=dict)


def _swaps(span: _Span) -> dict[PortName, list[float]]:
    length = span.times[-1] - span.times[0]
    days = DAYS + length // timedelta(days=1) + 1  # as far back as at the first of the times
    return span.tiles.heard(span.times[-1], REACH + length, days)[1].swapped_s


def _own(span: _Span) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Of the ports wanted those of the span's devices: their rows, features and samples."""
    within = _within(*span.tiles.devices)
    wanted = span.ports.with_row_index("row").filter(*within)
    own = np.full((wanted.height, len(span.times), len(FeaturePipeline().features)), np.nan, np.float32)
    rows, done = np.zeros(own.shape[:2], np.float32), 0
    if wanted.height:
        for block in FeaturePipeline().blocks(span.tiles, span.fleet, span.times, swapped_s=span.swapped_s):
            found = wanted.with_row_index("p").join(block.cube.ports.with_row_index("q"), on=PORT)
            p, q = found["p"].to_numpy(), found["q"].to_numpy()
            held = slice(done, done + len(block.history.at))
            own[p, held], rows[p, held] = block.own[q], block.rows[q]
            done = held.stop
    return wanted["row"].to_numpy().astype(np.int64), own, rows


def ports_known(lake: Lake, fleet: Fleet, since: datetime, until: datetime) -> pl.DataFrame:
    """Site, device and interface of every port that tiles from a day before the first time on, or records, name."""
    tiles = lake.scan(PORT_TILES, since=since - timedelta(days=1), until=until, columns=list(PORT))
    known = [tiles.unique().collect(engine="streaming"), fleet.modules.select(PORT)]
    return pl.concat(known).unique()


def _ranges(ports: pl.DataFrame, most: int) -> list[Range]:
    """Device names in ranges of about so many ports; together they are all names there can be."""
    count = ports.select("device", "interface").unique().group_by("device").len().sort("device")
    cuts: list[str | None] = [None]
    held = 0
    for device, more in count.iter_rows():
        if held and held + more > most:
            cuts.append(device)
            held = 0
        held += more
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
    within = _within(*shard.tiles.devices)
    ever = pl.col("touched_s") > -np.inf
    return replace(shard, modules=fleet.modules.filter(*within), touched=touched.filter(ever, *within))


def _within(first: str | None, end: str | None) -> list[pl.Expr]:
    after = [pl.col("device") >= first] if first is not None else []
    return [*after, pl.col("device") < end] if end is not None else after


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
