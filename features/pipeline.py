"""The one way from tiles to features: training, back-test, batch scoring and the service all call it."""

import hashlib
import inspect
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features import (
    baseline_kernels,
    catalogue,
    counter_kernels,
    day_cube,
    day_maker,
    day_tables,
    dense,
    history,
    kernels,
    look,
    optics,
    passage,
    physics,
    signals,
    tile_kernels,
    tile_maker,
    tile_tables,
)
from features import cube as cubes
from features import fleet as fleets
from features.catalogue import CATALOGUE, Feature
from features.cube import PORT, Cube, LakeTiles
from features.fleet import Fleet
from features.history import History
from features.look import DAYS, REACH, Look, series_of

__all__ = ["LINK_FEATURES", "Block", "FeaturePipeline", "heard", "hourly", "link_segments"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_RECENT_H: Final = 6
"""A port that has said nothing for longer has no features: its risk is unknown."""

LINK_FEATURES: Final = {
    "loss_rise_in_6h": (1, "rise of the loss of the path into this end: its Rx fell and the far Tx did not (dB)"),
    "loss_rise_out_6h": (1, "the same for the path out of this end, seen by the far receiver (dB)"),
    "loss_rise_both_6h": (1, "the lesser of the two: a bent fibre dims both ways, a dirty connector one (dB)"),
    "flaps_both_24h": (1, "flaps seen by both ends (log1p): the link, not one port's administrator"),
    "has_peer": (0, "1 where the far end has telemetry"),
}


def _link_features(own: dict[str, Floats], far: dict[str, Floats]) -> list[Floats]:
    """Columns of `LINK_FEATURES` from the two ends' own features."""

    def loss(near: dict[str, Floats], source: dict[str, Floats]) -> Floats:
        launched = np.fmin(np.nan_to_num(source["tx_min_shift_6h"]), 0)
        return launched - near["rx_min_shift_6h"]

    into, out = loss(own, far), loss(far, own)
    return [
        into,
        out,
        np.minimum(into, out),
        np.fmin(own["flaps_24h"], far["flaps_24h"]),
        (~np.isnan(far["rows"])).astype(np.float32),
    ]


@dataclass(frozen=True)
class Block:
    """Features of some ports at some times, not yet laid out as rows.

    Attributes:
        cube: the ports.
        history: links, installations and touches of those ports.
        own: shape (ports, times, features), each end's own features.
        rows: shape (ports, times), samples of the newest hours; 0 where the port is silent.
        pipeline: whose columns these are.
    """

    cube: Cube
    history: History
    own: Floats
    rows: Floats
    pipeline: "FeaturePipeline"

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Shape (ports, times): whether the port has spoken lately and so has features; copper has none."""
        return (self.rows > 0) & ~self.history.copper[:, None]

    @cached_property
    def first(self) -> NDArray[np.bool_]:
        """Shape (ports, times): True at one present end of each link, so that what concerns the link is done once."""
        peer = self.history.peer
        far_first = (peer >= 0) & (peer < np.arange(peer.shape[0]))
        return self.present & ~(far_first[:, None] & self.present[peer])

    def light(self) -> "Block":
        """The same without the tiles that it was made of: what goes from one process to another."""
        kept = ("touched_s", "ends", "links", "copper")  # some hang on the tiles
        told = {name: getattr(self.history, name) for name in kept}
        cube = replace(self.cube, lanes={}, states={}, serials=self.cube.serials[:, :0])
        history = self.history.on(cube)
        history.__dict__.update(told)
        return replace(self, cube=cube, history=history)

    def matrix(self, port: Ints, time: Ints, *, hide_peer: NDArray[np.bool_] | None = None) -> Floats:
        """Feature rows, columns as ``pipeline.names``.

        Args:
            port: shape (n,), rows of the cube.
            time: shape (n,), indices of the history's times.
            hide_peer: shape (n,), where True the far end is treated as silent (augmentation).
        """
        near, peer = self.own[port, time], self.history.peer[port]
        far = np.where((peer < 0)[:, None], np.nan, self.own[peer, time]).astype(np.float32)
        far_rows = np.where((peer >= 0) & self.present[peer, time], 1.0, np.nan).astype(np.float32)
        far[np.isnan(far_rows)] = np.nan
        if hide_peer is not None:
            far[hide_peer], far_rows[hide_peer] = np.nan, np.nan
        names = self.pipeline.own_names
        both = _link_features(
            dict(zip(names, near.T, strict=True)), {**dict(zip(names, far.T, strict=True)), "rows": far_rows}
        )
        return np.concatenate([near, far, np.stack(both, axis=1)], axis=1).astype(np.float32)


class FeaturePipeline:
    """Turns tiles into one row a module and time, looking only at what had been received by then.

    The features are declared here once and name themselves; ``repr`` lists them.

    Args:
        features: of one end; the far end's are the same with ``peer_`` in front.
    """

    def __init__(self, features: Sequence[Feature] = CATALOGUE) -> None:
        self.features = tuple(features)

    def __repr__(self) -> str:
        return f"FeaturePipeline({', '.join(self.own_names)})"

    @cached_property
    def own_names(self) -> tuple[str, ...]:
        """Names of one end's own features."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Columns of a row: own, the far end's, the link's."""
        return (*self.own_names, *(f"peer_{name}" for name in self.own_names), *LINK_FEATURES)

    @cached_property
    def signs(self) -> tuple[int, ...]:
        """Of each column, whether risk can only rise (+1) or fall (-1) with it."""
        own = tuple(feature.sign for feature in self.features)
        return (*own, *own, *(sign for sign, _ in LINK_FEATURES.values()))

    @cached_property
    def fingerprint(self) -> str:
        """Digest of every line of code that makes a feature; a model made by other code is refused."""
        modules = (
            *(baseline_kernels, catalogue, counter_kernels, cubes, day_cube, day_maker, day_tables, dense),
            *(fleets, history, kernels, look, optics, passage, physics, signals, tile_kernels, tile_maker, tile_tables),
        )
        sources = [inspect.getsource(module) for module in (*modules, sys.modules[__name__])]
        sources += [repr(feature) for feature in self.features]
        return hashlib.sha256("\n".join(sources).encode()).hexdigest()[:16]

    def blocks(
        self,
        source: LakeTiles,
        fleet: Fleet,
        at: Sequence[datetime],
        progress: Callable[[float], None] | None = None,
        swapped_s: Mapping[tuple[str, str, str], Sequence[float]] | None = None,
    ) -> Iterator[Block]:
        """Features at several times, in order; the times share a block unless late data or new links part them.

        Args:
            source: where tiles are read.
            fleet: records; each time sees only what was known by then.
            at: whole hours, ascending.
            progress: called with the fraction done.
            swapped_s: `Cube.swapped_s` of all devices, where the source has only some.
        """
        done = 0
        for cube, times in source.cubes(at, REACH, DAYS) if at else ():
            series = series_of(cube, History(cube, fleet, times))
            for group in link_segments(fleet, times):
                yield self.block(Look(cube, History(cube, fleet, group, swapped_s), series))
                done += len(group)
                if progress:
                    progress(done / len(at))

    def block(self, view: Look) -> Block:
        """Features of what a look sees."""
        own = np.empty((view.cube.ports.height, view.at.size, len(self.features)), np.float32)
        for j, feature in enumerate(self.features):
            own[:, :, j] = feature.values(view)
        return Block(view.cube, view.history, own, heard(view), self)

    def transform(self, source: LakeTiles, fleet: Fleet, at: datetime | Sequence[datetime]) -> pl.DataFrame:
        """One row a port that has spoken lately and time, with the features as columns.

        Returns:
            Columns site, device, interface, link_id, time, then `names` as float32 (NaN is missing).
        """
        times = [at] if isinstance(at, datetime) else sorted(set(at))
        columns = {name: pl.String() for name in (*PORT, "link_id")} | {"time": pl.Datetime("us", "UTC")}
        frames = [pl.DataFrame(schema=columns | dict.fromkeys(self.names, pl.Float32()))]
        for block in self.blocks(source, fleet, times):
            port, time = np.nonzero(block.present)
            keys = block.cube.ports[port].with_columns(
                link_id=pl.Series([block.history.links[p] for p in port], dtype=pl.String),
                time=pl.Series([block.history.at[t] for t in time.tolist()], dtype=pl.Datetime("us", "UTC")),
            )
            frames.append(keys.hstack(pl.DataFrame(block.matrix(port, time), schema=list(self.names))))
        return pl.concat(frames).sort(*PORT, "time")


def heard(view: Look) -> Floats:
    """Shape (ports, times): samples of the newest hours, 0 where a port is silent."""
    rows = np.fmax(view.state("rows", _RECENT_H), view.worst("rx", view.lane_sum("rows", _RECENT_H), "max"))
    return np.nan_to_num(rows)


def link_segments(fleet: Fleet, at: Sequence[datetime]) -> Iterator[list[datetime]]:
    """The times, cut where a link began or ceased to exist between two of them."""
    changes = sorted({t for column in ("valid_from", "valid_to") for t in fleet.links[column].drop_nulls().to_list()})
    for _, group in groupby(at, lambda time: bisect_right(changes, time)):
        yield list(group)


def hourly(start: datetime, end: datetime, every_h: int = 1) -> list[datetime]:
    """Whole hours from the first at or after `start` up to `end`, both included where they fit."""
    first = start.replace(minute=0, second=0, microsecond=0)
    first += timedelta(hours=1) if first < start else timedelta()
    count = int((end - first) / timedelta(hours=every_h)) + 1
    return [first + timedelta(hours=every_h * i) for i in range(max(count, 0))]
