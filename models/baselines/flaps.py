"""The flap rule of GPU fleets: a link that keeps coming back is about to stay away.

Three returns within twelve hours, each after at least 25 s down (gpud), or five losses of carrier within a day
(azurehpc). Events of the port tell where they are kept; else what it counts, and its state from poll to poll:
outages shorter than the polling are then losses of carrier, not returns.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

import polars as pl

from features.fleet import PORT, Fleet
from ingest.schema import Quality
from models.baselines.issues import ISSUE_SCHEMA

__all__ = ["flap_issues"]

_DOWN: Final = timedelta(seconds=25)
_RETURNS, _RETURNS_WITHIN = 3, "12h"
_LOSSES, _LOSSES_WITHIN = 5, "24h"
_FAULT, _SHUT, _UP = 0, 1, 2
_SEEN: Final = {**dict.fromkeys(PORT, pl.String()), "time": pl.Datetime("us", "UTC")} | dict.fromkeys(
    ("lost", "returned"), pl.Int64()
)


def flap_issues(port_samples: Iterable[pl.LazyFrame], port_events: pl.LazyFrame, fleet: Fleet) -> pl.DataFrame:
    """Complaints of ``ISSUE_SCHEMA``: ``returns`` or ``lost_carrier``, at each time that either rule holds anew.

    Args:
        port_samples: canonical port samples, each frame of some devices, whole: memory is bounded by the largest.
        port_events: canonical port events; of the ports that have some their samples are not looked at.
        fleet: its links and inventory say which ports count.
    """
    ports = fleet.ends().select(PORT).unique()
    events = _of_events(port_events.join(ports.lazy(), on=list(PORT), how="semi").collect())
    told = events.select(PORT).unique()
    sampled = [_of_samples(samples, ports.join(told, on=list(PORT), how="anti")) for samples in port_samples]
    seen = pl.concat([events, *sampled]).sort(*PORT, "time")
    often = _within(seen, "returned", _RETURNS_WITHIN) >= _RETURNS
    lossy = _within(seen, "lost", _LOSSES_WITHIN) >= _LOSSES
    returns, losses = often & (pl.col("returned") > 0), lossy & (pl.col("lost") > 0)
    which = pl.when(returns).then(pl.lit("returns")).when(losses).then(pl.lit("lost_carrier"))
    return seen.with_columns(quantity=which).drop_nulls("quantity").select(ISSUE_SCHEMA.names()).cast(ISSUE_SCHEMA)


def _within(seen: pl.DataFrame, column: str, period: str) -> pl.Series:
    """Of each row the column's sum over the period that ends with it, on its port; rows in order of port and time."""
    return seen.select(pl.col(column).rolling_sum_by("time", period).over(PORT))[column]


def _of_events(events: pl.DataFrame) -> pl.DataFrame:
    """Losses of carrier, and returns after long enough, from events up and down; switched off is no loss."""
    shut = pl.col("cause").str.contains("(?i)admin").fill_null(value=False)
    turns = events.filter(pl.col("kind").is_in(["up", "down"]), ~((pl.col("kind") == "down") & shut))
    turns = turns.unique([*PORT, "time", "kind"]).sort(*PORT, "time", "kind")
    down, before = pl.col("kind") == "down", pl.col("kind").shift(1).over(PORT)
    away = pl.col("time") - pl.col("time").shift(1).over(PORT)
    return turns.select(
        *PORT,
        "time",
        lost=(down & before.ne_missing(pl.lit("down"))).cast(pl.Int64),
        returned=(~down & (before == "down") & (away >= _DOWN)).fill_null(value=False).cast(pl.Int64),
    ).cast(pl.Schema(_SEEN))


def _of_samples(samples: pl.LazyFrame, ports: pl.DataFrame) -> pl.DataFrame:
    """The same from what the port counts and from its state: growth of its flaps, and polls at which it is back."""
    names = samples.collect_schema().names()
    wanted = [
        pl.col(name) if name in names else pl.lit(None, kind).alias(name)
        for name, kind in (("oper_up", pl.Boolean), ("admin_up", pl.Boolean), ("link_flaps", pl.Int64))
    ]
    sure = (pl.col("quality") & int(Quality.GLITCH)) == 0
    rows = (
        samples.filter(sure)
        .join(ports.with_row_index("port").lazy(), on=list(PORT))
        .select("port", "time", *wanted)
        .collect(engine="streaming")
        .sort("port", "time")
    )
    up = pl.when(pl.col("admin_up").eq_missing(other=False)).then(_SHUT).when("oper_up").then(_UP)
    state = up.when(~pl.col("oper_up")).then(_FAULT).forward_fill().over("port")
    flaps = pl.col("link_flaps").forward_fill().over("port")
    rows = rows.with_columns(state=state, flaps=flaps)
    begun = pl.when(pl.col("state").ne_missing(pl.col("state").shift(1).over("port"))).then("time")
    rows = rows.with_columns(since=begun.forward_fill().over("port"))
    was, since = (pl.col(name).shift(1).over("port") for name in ("state", "since"))
    back = (pl.col("state") == _UP) & (was == _FAULT) & (pl.col("time") - since >= _DOWN)
    lost = (pl.col("flaps") - pl.col("flaps").shift(1).over("port")).clip(lower_bound=0)
    return (
        rows.select("port", "time", lost=lost.fill_null(0), returned=back.fill_null(value=False).cast(pl.Int64))
        .filter((pl.col("lost") > 0) | (pl.col("returned") > 0))
        .join(ports.with_row_index("port"), on="port")
        .select(list(_SEEN))
        .cast(pl.Schema(_SEEN))
    )
