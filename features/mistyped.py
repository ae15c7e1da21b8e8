"""Tickets whose failure type the light contradicts: doubted only where physics is plain.

Plain is one thing: light that a laser already sends weaker, by its own reading and by the far end's, was not lost in a
connector, in the fibre, or in a receiver. The reverse is not plain: a laser's monitor looks at its back, and light that
arrives weaker though the laser reads as ever may be lost in front of it. A receiver, electronics and a loose seat look
too much alike for readings to overrule a person.
"""

from datetime import timedelta
from typing import Final

import polars as pl

from features.fleet import PORT, Fleet
from ingest.schema import FailureType, Quality

__all__ = ["LOST_AT_THE_LASER", "type_doubts"]

LOST_AT_THE_LASER: Final = "the light was already missing where the laser sends it"

_PAST: Final = timedelta(days=10)
"""The healthy level is read from the first two of so many days before the failure."""
_HEALTHY: Final = timedelta(days=8)
_LAST: Final = timedelta(hours=6)
"""The failing level is read from the last hours before it, while light still came."""
_DARK_DBM: Final = -30.0
"""Below, there is no light to compare: whatever fails hard reads so (receivers' noise floor)."""
_LOST_DB: Final = 3.0
"""Half the light: the accuracy that SFF-8636 asks of a reading, though a difference of one module's is far better."""
_DOUBTED: Final = (FailureType.CONTAMINATION, FailureType.FIBER_DAMAGE, FailureType.RECEIVER_DEGRADATION)
_MARKED: Final = Quality.GLITCH | Quality.STALE
_READINGS: Final = ("tx_power_dbm", "rx_power_dbm")


def type_doubts(events: pl.DataFrame, fleet: Fleet, lane_samples: pl.LazyFrame | pl.DataFrame | None) -> pl.DataFrame:
    """Why a ticket's type can't be right, for those where it can't.

    Args:
        events: event_id, link_id, failed_at, failure_type.
        fleet: for the ends of the links; both must have readings.
        lane_samples: canonical lane samples; only those near the events are read. None: nothing is doubted.

    Returns:
        event_id, type_doubt.
    """
    told = events.filter(pl.col("failure_type").is_in(_DOUBTED)).select("event_id", "link_id", "failed_at")
    if lane_samples is None or told.is_empty():
        return pl.DataFrame(schema=pl.Schema({"event_id": pl.String(), "type_doubt": pl.String()}))
    ends = fleet.ends().select("link_id", "end", *PORT).unique(["link_id", "end"])
    moved = _moved(lane_samples.lazy(), told.join(ends, on="link_id"))
    far = moved.select("event_id", far_rx="rx", end=pl.col("end").replace_strict({"a": "z", "z": "a"}))
    at_the_laser = (pl.col("tx") <= -_LOST_DB) & (pl.col("far_rx") <= -_LOST_DB)
    found = moved.join(far, on=["event_id", "end"]).filter(at_the_laser)
    return found.select("event_id", type_doubt=pl.lit(LOST_AT_THE_LASER)).unique()


def _moved(samples: pl.LazyFrame, cases: pl.DataFrame) -> pl.DataFrame:
    """event_id, end, tx, rx: how far the worst lane of an end moved from healthy to failing, in dB."""
    begin, end = cases.select(begin=pl.col("failed_at").min() - _PAST, end=pl.col("failed_at").max()).row(0)
    there = samples.collect_schema().names()
    readings = [pl.col(name) if name in there else pl.lit(None, pl.Float32).alias(name) for name in _READINGS]
    marks = pl.col("quality").fill_null(0) if "quality" in there else pl.lit(0)
    near = samples.filter(
        pl.col("time").is_between(begin, end),
        pl.col("device").is_in(cases["device"].unique().implode()),
        (marks.cast(pl.Int64) & int(_MARKED)) == 0,
    ).select(*PORT, "lane", "time", *readings)
    before = pl.col("failed_at") - pl.col("time")
    healthy, failing = before.is_between(_HEALTHY, _PAST), before.is_between(timedelta(0), _LAST, closed="right")
    tx, rx = (_median(name, failing) - _median(name, healthy) for name in _READINGS)
    return (
        near.join(cases.lazy(), on=list(PORT))
        .filter(healthy | failing)
        .group_by("event_id", "end", "lane")
        .agg(tx=tx, rx=rx)
        .group_by("event_id", "end")
        .agg(pl.col("tx", "rx").min())
        .collect(engine="streaming")
    )


def _median(name: str, when: pl.Expr) -> pl.Expr:
    """Of the readings at such times that are not dark."""
    return pl.col(name).filter(when & (pl.col(name) > _DARK_DBM)).median()
