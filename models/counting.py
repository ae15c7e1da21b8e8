"""The judge's counting rules: which failures alarms caught, which alarms were false, by event and never by row.

Stated once, here, and kept by a test each. Let ``failed`` be the time of a counted failure.

* An alarm stands for every link of its port: either end, and all links of a breakout or twin-port module.
* It can be right about the next failure of its link only: what is raised before one failure says nothing of the one
  after, and what is raised between a failure and two days after its repair belongs to that failure.
* **Caught** at lead h: raised at least h before ``failed``, and either at most 7 days before, or earlier and still
  standing at ``failed`` (never cleared, or cleared no sooner).
* **Neither right nor false**: raised 7 to 30 days before and standing at ``failed``; raised between a failure (counted
  or not, but for tickets that found no fault) and two days after its repair, in maintenance, or in the 7 days before
  a preventive swap; raised in the 7 days before a real failure that is not counted (duplicate, repeat, copper).
* Raised less than h before ``failed``: too late to be caught at h, but not false.
* **False**: every other alarm, also one that has stood for more than 30 days; at most one a link and UTC day.
"""

from datetime import datetime, timedelta
from typing import Final

import polars as pl

from features.fleet import PORT, Fleet
from features.labels import Verdict, censoring

__all__ = ["NEITHER", "RIGHT", "false_alarms", "hits", "placed"]

RIGHT: Final = timedelta(days=7)
"""An alarm is about the failures of the week after it."""

NEITHER: Final = timedelta(days=30)
"""One that has stood since longer before is false, whatever came of it."""


def placed(alarms: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """The alarms with ``alarm`` (row number) and ``link_id``: a row for each link of the port.

    A port that the fleet does not know is a link of its own, so that an alarm on it is false.
    """
    ends = fleet.ends().select("link_id", *PORT, "valid_from", "valid_to").unique()
    numbered = alarms.with_row_index("alarm")
    begun = pl.col("valid_from").is_null() | (pl.col("valid_from") <= pl.col("raised_at"))
    valid = begun & (pl.col("valid_to").is_null() | (pl.col("valid_to") > pl.col("raised_at")))
    known = numbered.join(ends, on=list(PORT)).filter(valid).drop("valid_from", "valid_to")
    unknown = numbered.join(known, on="alarm", how="anti").with_columns(
        link_id=pl.concat_str(pl.lit("unknown "), "site", pl.lit("/"), "device", pl.lit(":"), "interface")
    )
    return pl.concat([known, unknown.select(known.columns)]).sort("alarm", "link_id")


def hits(placed_alarms: pl.DataFrame, events: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """Alarms that are right about a counted failure: alarm, event_id, link_id, raised_at, failed_at.

    Caught at lead h is: some hit of the event has ``raised_at <= failed_at - h``.
    """
    counted = events.filter(pl.col("verdict") == Verdict.COUNTED)
    meant = _next_failure(_outside_failures(placed_alarms, events, fleet), counted)
    recent = pl.col("raised_at") >= pl.col("failed_at") - RIGHT
    return meant.filter(recent | _standing()).select("alarm", "event_id", "link_id", "raised_at", "failed_at")


def false_alarms(
    placed_alarms: pl.DataFrame, events: pl.DataFrame, fleet: Fleet, *, start: datetime, end: datetime
) -> pl.DataFrame:
    """False alarms raised in [start, end): link_id, day, raised_at (the first), at most one a link and day."""
    raised = placed_alarms.filter(pl.col("raised_at") >= start, pl.col("raised_at") < end)
    real = events.filter(~pl.col("verdict").is_in([Verdict.NO_FAULT_FOUND, Verdict.UNKNOWN_PORT]))
    meant = _next_failure(raised, real)
    recent = pl.col("raised_at") >= pl.col("failed_at") - RIGHT
    early = _standing() & (pl.col("raised_at") >= pl.col("failed_at") - NEITHER)
    excused = meant.filter(recent | early)["alarm"]
    inside = _inside(raised, _nothing_counts(events, fleet))["alarm"]
    return (
        raised.filter(~pl.col("alarm").is_in(pl.concat([excused, inside]).implode()))
        .group_by("alarm")
        .agg(pl.col("link_id").min(), pl.col("raised_at").first())
        .group_by("link_id", day=pl.col("raised_at").dt.date())
        .agg(pl.col("raised_at").min())
        .sort("raised_at", "link_id")
    )


def _standing() -> pl.Expr:
    """Whether the alarm still stood when the failure came."""
    return pl.col("cleared_at").is_null() | (pl.col("cleared_at") >= pl.col("failed_at"))


def _next_failure(alarms: pl.DataFrame, failures: pl.DataFrame) -> pl.DataFrame:
    """Each alarm with the first failure of each of its links that is not before it."""
    return (
        alarms.join(failures.select("event_id", "link_id", "failed_at"), on="link_id")
        .filter(pl.col("raised_at") <= pl.col("failed_at"))
        .sort("alarm", "link_id", "failed_at", "event_id")
        .unique(["alarm", "link_id"], keep="first", maintain_order=True)
    )


def _nothing_counts(events: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """link_id, start, end, reason: no failure is made of a ticket that found no fault."""
    return censoring(fleet, events).filter(pl.col("reason") != Verdict.NO_FAULT_FOUND)


def _inside(alarms: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """The alarms raised in a window of their link; a null end is for ever."""
    begun = pl.col("raised_at") >= pl.col("start")
    return alarms.join(windows, on="link_id").filter(
        begun, pl.col("end").is_null() | (pl.col("raised_at") <= pl.col("end"))
    )


def _outside_failures(alarms: pl.DataFrame, events: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """The alarms but those raised after a failure and before two days after its repair."""
    windows = _nothing_counts(events, fleet).filter(pl.col("reason").is_in(["failure", "rescued"]))
    after = pl.col("raised_at") > pl.col("start")
    return alarms.join(_inside(alarms, windows).filter(after), on=["alarm", "link_id"], how="anti")
