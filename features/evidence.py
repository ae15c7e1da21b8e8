"""Service-affecting evidence: when a link stopped carrying traffic as it should, as its counters and states say.

Evidence is what hurts traffic (a port down that should be up, frames lost for good), never what
merely announces it (falling light, pre-FEC errors): those are the symptoms to predict from.
"""

from datetime import timedelta
from typing import Final

import polars as pl

from features.fleet import PORT

__all__ = ["ERROR_FLOOR_PER_S", "episodes", "read_samples"]

ERROR_FLOOR_PER_S: Final = 0.1
"""Lost codewords or frames a second that hurt: IEEE 802.3's frame loss ratio of 6.2e-10 at 100 Gb/s of small frames."""

_ABOVE_OWN_LEVEL: Final = 10.0
"""How far above its own median an error rate must lie: some links always lose a little."""

_UP_AGAIN: Final = timedelta(hours=1)
"""A link good for as long has come back: what follows is another outage."""

_SUSTAINED: Final = timedelta(minutes=15)
"""From the first to the last bad sample: two polls of 15 minutes. Shorter outages are flaps, which are symptoms."""

_RECOVERED: Final = timedelta(hours=6)
"""Outages closer than this are one failure that comes and goes."""

_FRESH: Final = timedelta(hours=2)
"""A link last seen bad no longer ago is still bad when the ticket is opened."""

_AHEAD: Final = timedelta(days=1)
"""Clocks that are ahead by no more than this are put right by when their samples were received."""

_COUNTERS: Final = ("fec_uncorrected", "crc_errors")
_STATES: Final = ("oper_up", "admin_up")


def read_samples(samples: pl.LazyFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """The samples of each window and port, bounded by the windows and not by the lake.

    Args:
        samples: port samples; absent counters and states are null.
        windows: case, site, device, interface, since, until: what to read for which case.

    Returns:
        case, site, device, interface, time, states and counters, in order of case, port and time.
    """
    there = samples.collect_schema().names()
    wanted = [*PORT, "time", *(name for name in (*_STATES, *_COUNTERS, "received_at") if name in there)]
    bounds = windows.select(pl.col("since").min(), pl.col("until").max()).row(0)
    near = samples.select(wanted).filter(
        pl.col("device").is_in(windows["device"].unique().implode()),
        pl.col("time").is_between(bounds[0], bounds[1] + _AHEAD),
    )
    if "received_at" in there:  # a clock that is ahead tells of times that have not been
        near = near.with_columns(time=pl.min_horizontal("time", "received_at"))
    read = (
        near.join(windows.lazy().select("case", *PORT, "since", "until"), on=PORT)
        .filter(pl.col("time").is_between("since", "until"))
        .drop("since", "until")
        .collect(engine="streaming")
    )
    absent = [pl.lit(None, pl.Boolean).alias(name) for name in _STATES if name not in there]
    absent += [pl.lit(None, pl.Int64).alias(name) for name in _COUNTERS if name not in there]
    key = ["case", *PORT, "time"]
    ordered = read.with_columns(absent).sort(*key, *(name for name in read.columns if name == "received_at"))
    return ordered.unique(key, keep="last", maintain_order=True).drop("received_at", strict=False)


def _rate(counter: str) -> pl.Expr:
    """Increase a second since the port's sample before; a counter that fell began anew from 0."""
    series = ["case", *PORT]
    value, before = pl.col(counter), pl.col(counter).shift(1).over(series)
    seconds = (pl.col("time") - pl.col("time").shift(1).over(series)).dt.total_seconds()
    return pl.when(value >= before).then(value - before).otherwise(value) / seconds


def _losing(counter: str) -> pl.Expr:
    """Whether the counter grows at a rate that hurts and that is not this port's own habit."""
    rate = pl.col(f"{counter}_rate")
    habit = rate.median().over("case", *PORT).fill_null(0.0)
    return ((rate > ERROR_FLOOR_PER_S) & (rate > _ABOVE_OWN_LEVEL * habit)).fill_null(value=False)


def _bad(samples: pl.DataFrame) -> pl.DataFrame:
    """The samples with ``bad``: down though it should be up, or losing frames."""
    rated = samples.with_columns(_rate(counter).alias(f"{counter}_rate") for counter in _COUNTERS)
    down = pl.col("oper_up").eq(other=False).fill_null(value=False) & pl.col("admin_up").fill_null(value=True)
    return rated.select("case", "time", bad=pl.any_horizontal(down, *(_losing(counter) for counter in _COUNTERS)))


def _outages(judged: pl.DataFrame) -> pl.DataFrame:
    """case, start, last, seen (the case's last sample): runs of bad samples with no hour of good ones between."""
    good = pl.col("time").filter(~pl.col("bad"))
    steps = (
        judged.with_columns(step=pl.col("bad").cum_sum().over("case"), seen=pl.col("time").max().over("case"))
        .filter(pl.col("step") > 0)
        .group_by("case", "step", maintain_order=True)
        .agg(pl.col("time", "seen").first(), good=good.max() - good.min())
    )
    back = (pl.col("good").shift(1) >= _UP_AGAIN).fill_null(value=False)
    return (
        steps.with_columns(outage=back.cum_sum().over("case"))
        .group_by("case", "outage", maintain_order=True)
        .agg(pl.col("time").first().alias("start"), pl.col("time").last().alias("last"), pl.col("seen").first())
    )


def episodes(samples: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """Each case's bad episodes, over all ports of the case together.

    Args:
        samples: what ``read_samples`` gives.
        work: case, start, end: maintenance, in which nothing is evidence.

    Returns:
        case, start (first bad sample), last (last bad sample); in order. Only outages count that last, or that are
        still on at the case's last sample; those close together are one episode.
    """
    judged = _bad(samples).sort("case", "time", "bad").with_row_index("row")
    idle = judged.join(work, on="case").filter(pl.col("time").is_between("start", "end"))["row"]
    judged = judged.with_columns(bad=pl.col("bad") & ~pl.col("row").is_in(idle.implode()))
    lasting = (pl.col("last") - pl.col("start") >= _SUSTAINED) | (pl.col("seen") - pl.col("last") <= _FRESH)
    apart = (pl.col("start") - pl.col("last").shift(1).over("case") >= _RECOVERED).fill_null(value=False)
    return (
        _outages(judged)
        .filter(lasting)
        .with_columns(episode=apart.cum_sum().over("case"))
        .group_by("case", "episode", maintain_order=True)
        .agg(pl.col("start").first(), pl.col("last").last())
        .drop("episode")
    )
