"""Splits of a fleet that keep a judgement honest, and one that does not, to show what it would be worth.

Walk-forward: each part of a span is scored by a model trained before it. Links apart: no installation that is judged
was learnt from, at any time. One vendor out: none of its modules was. An embargo lies between training and judging, so
that no window and no horizon reaches from one into the other.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from features.fleet import PORT, Fleet
from ingest.errors import ModelError
from models.base import HORIZONS_H
from models.training_data import TrainingData

__all__ = ["EMBARGO", "Fold", "leaked", "links_apart", "only", "vendors_out", "walk_forward", "without"]

WINDOW: Final = timedelta(hours=72)
"""The longest window of the features; what they look back on beyond it is the installation's own healthy level."""

EMBARGO: Final = WINDOW + timedelta(hours=HORIZONS_H[-1])
"""Window and horizon: between the last time learnt from and the first judged."""

_SEED: Final = 7
_TWO: Final = 2


@dataclass(frozen=True)
class Fold:
    """What is judged together, by a model that saw none of it.

    Attributes:
        name: for people.
        start, end: judged, ``end`` excluded.
        train_until: nothing later is learnt from.
        links: judged, and not learnt from; None: all are judged, and all learnt from before ``train_until``.
    """

    name: str
    start: datetime
    end: datetime
    train_until: datetime
    links: frozenset[str] | None = None


def walk_forward(start: datetime, end: datetime, parts: int, embargo: timedelta = EMBARGO) -> list[Fold]:
    """The span in equal parts of whole hours, each with a training of its own that ends the embargo before it."""
    hours = int((end - start) / timedelta(hours=1))
    bounds = [start + timedelta(hours=hours * i // parts) for i in range(parts)] + [end]
    return [
        Fold(f"{begin:%Y-%m-%d} to {stop:%Y-%m-%d}", begin, stop, _whole(begin - embargo))
        for begin, stop in pairwise(bounds)
        if begin < stop
    ]


def links_apart(fleet: Fleet, count: int, start: datetime, end: datetime, train_until: datetime) -> list[Fold]:
    """So many folds of links, drawn by lot, that share neither a cage nor a module that was moved between cages."""
    ends = fleet.ends().filter(~pl.col("copper")).select("link_id", *PORT).unique().sort("link_id", *PORT)
    cages = ends.select("link_id", key=pl.concat_str(*PORT, separator="/"))
    held = fleet.modules.select(*PORT, "serial").drop_nulls("serial").unique()
    serials = ends.join(held, on=list(PORT)).select("link_id", key=pl.concat_str(pl.lit("serial "), "serial"))
    group = _together(pl.concat([cages, serials]))
    lot = np.random.default_rng(_SEED).permutation(group["group"].n_unique()) % count
    fold = group.with_columns(fold=pl.Series(lot[group["group"].to_numpy()]))
    return [
        Fold(
            f"links {k + 1} of {count}", start, end, train_until, frozenset(fold.filter(pl.col("fold") == k)["link_id"])
        )
        for k in range(count)
    ]


def vendors_out(fleet: Fleet, start: datetime, end: datetime, train_until: datetime) -> list[Fold]:
    """A fold for each vendor: every link that has a module of it is judged, and not learnt from.

    Raises:
        ModelError: the inventory knows fewer than two vendors.
    """
    ends = fleet.ends().filter(~pl.col("copper")).select("link_id", *PORT)
    of = ends.join(fleet.modules.select(*PORT, "vendor").drop_nulls().unique(), on=list(PORT)).select(
        "vendor", "link_id"
    )
    vendors = of["vendor"].unique().sort().to_list()
    if len(vendors) < _TWO:
        msg = f"the inventory knows {len(vendors)} vendor{'s' * (len(vendors) != 1)}: there is none to leave out"
        raise ModelError(msg)
    return [
        Fold(f"without {name}", start, end, train_until, frozenset(of.filter(pl.col("vendor") == name)["link_id"]))
        for name in vendors
    ]


def without(data: TrainingData, links: Collection[str]) -> TrainingData:
    """What is learnt from, but for some links."""
    held = frozenset(links)
    rows, hours = (
        np.array([name not in held for name in part.link], np.bool_) for part in (data.rows, data.every_hour)
    )
    out = pl.col("link_id").is_in(list(held)).fill_null(value=False)
    events = data.events.with_columns(verdict=pl.when(out).then(pl.lit("held_out")).otherwise("verdict"))
    return _subset(data, rows, hours, events)


def leaked(data: TrainingData, share: float = 0.5) -> TrainingData:
    """A share of the rows drawn by lot: a deliberate leak, if `data` reaches over what is judged.

    An hour before and an hour after each row that is judged are then among those learnt from, with what became of it.
    The folds that calibrate are drawn by row as well: each row is said to be of a link drawn by lot.
    """
    rng = np.random.default_rng(_SEED)
    rows: NDArray[np.bool_] = np.less(rng.random(data.rows.link.shape[0]), share)
    hours: NDArray[np.bool_] = np.less(rng.random(data.every_hour.link.shape[0]), share)
    part = _subset(data, rows, hours, data.events)
    lots = np.array([f"lot {i}" for i in range(len(set(part.rows.link)))], object)
    return replace(part, rows=replace(part.rows, link=lots[rng.integers(0, lots.size, part.rows.link.size)]))


def only(fleet: Fleet, links: Collection[str]) -> Fleet:
    """The fleet of some links: the others' modules and cables are not there."""
    ports = fleet.ends().filter(pl.col("link_id").is_in(list(links))).select(PORT).unique()
    sides = [[f"{end}_{name}" for name in PORT] for end in "az"]
    cables = fleet.links
    for side in sides:
        cables = cables.join(ports, left_on=side, right_on=list(PORT), how="semi")
    return replace(fleet, links=cables, modules=fleet.modules.join(ports, on=list(PORT), how="semi"))


def _subset(
    data: TrainingData, rows: NDArray[np.bool_], hours: NDArray[np.bool_], events: pl.DataFrame
) -> TrainingData:
    """Rows by their masks; rows name events by number, so these keep their order."""
    arrays = {f.name: getattr(data.rows, f.name)[rows] for f in fields(data.rows) if f.name != "place"}
    learnt = replace(data.rows, **arrays, place=data.rows.place.filter(pl.Series(rows)))
    every = replace(
        data.every_hour, **{f.name: getattr(data.every_hour, f.name)[hours] for f in fields(data.every_hour)}
    )
    return replace(data, rows=learnt, fault=data.fault[rows], every_hour=every, events=events)


def _together(pairs: pl.DataFrame) -> pl.DataFrame:
    """link_id, group: links that share a key, directly or through others, are one group."""
    links = pairs["link_id"].unique().sort()
    keys = pairs["key"].unique().sort()
    numbered = pairs.join(links.to_frame().with_row_index("i"), on="link_id").join(
        keys.to_frame().with_row_index("j"), on="key"
    )
    i, j = numbered["i"].to_numpy().astype(np.int64), numbered["j"].to_numpy().astype(np.int64) + len(links)
    size = len(links) + len(keys)
    _, label = connected_components(coo_array((np.ones(i.size), (i, j)), shape=(size, size)), directed=False)
    return pl.DataFrame({"link_id": links, "group": np.unique(label[: len(links)], return_inverse=True)[1]})


def _whole(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)
