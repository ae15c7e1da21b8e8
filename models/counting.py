"""The judge's counting rules: which failures alarms caught, which alarms were false, by event and never by row.

Stated once, here, and kept by a test each. Let ``failed`` be the time of a counted failure.

* An alarm stands for every link of its port: either end, and all links of a breakout or twin-port module.
* It can be right about the next failure of its link only: what is raised before one failure (or rescue) says nothing
  of the one after, and what is raised between a failure and two days after its repair belongs to that failure.
* It is about the module in the cage at that time, or about the fibre: where the module at its own end was exchanged
  between alarm and failure, an alarm that does not suspect the fibre was about another module.
* **Caught** at lead h: raised at least h before ``failed``, and either at most 7 days before, or earlier and still
  standing at ``failed`` (never cleared, or cleared no sooner).
* **Neither right nor false**: raised 7 to 30 days before and standing at ``failed``; raised between a failure (counted
  or not, but for tickets that found no fault) and two days after its repair, while drained, or in the 7 days before
  a preventive swap; raised in the 7 days before a real failure that is not counted (duplicate, repeat, copper, and
  an outage in which no fault was found, where telemetry shows the outage) or before a rescue.
* Raised in maintenance: counts from the end of the work on, right or false, if it still stands then; else not at all.
* Raised less than h before ``failed``: too late to be caught at h, but not false.
* **False**: every other alarm, also one that has stood for more than 30 days; at most one a link and UTC day. One that
  stood before the period began, and so can catch in it, can be false in it: on its first day.
* What was over before the period began is neither right nor false in it.
* One that stands is said again every 30 days for as long as it may be right: until it is cleared, its link fails or is
  rescued, or the module it is about is exchanged. Each time it can be false.
"""

from collections.abc import Collection
from datetime import date, datetime, timedelta
from typing import Final

import polars as pl

from features.fleet import PORT, Fleet
from features.labels import Verdict, censoring, link_maintenance
from models.rows import TICKET_LAG

__all__ = ["NEITHER", "RIGHT", "TOLD_WITHIN", "false_alarms", "hits", "placed", "unknown_ports"]

RIGHT: Final = timedelta(days=7)
"""An alarm is about the failures of the week after it."""

NEITHER: Final = timedelta(days=30)
"""One that has stood since longer before is false, whatever came of it; one that stands is said again as often."""

TOLD_WITHIN: Final = RIGHT + TICKET_LAG
"""So long after an alarm it is known whether it was right."""


def placed(alarms: pl.DataFrame, fleet: Fleet, start: datetime) -> pl.DataFrame:
    """The alarms with ``alarm`` (row number), ``link_id`` and ``since``: a row for each link of the port.

    A port that the fleet does not know is a link of its own, so that an alarm on it is false. ``since`` is when the
    alarm begins to count: when it was raised, or when the work ended that it was raised in; null if it ended sooner.
    Alarms that were over as the period began, at ``start``, are left out: they cannot be false in it, so neither right.
    """
    ends = fleet.ends().select("link_id", *PORT, "valid_from", "valid_to").unique()
    numbered = alarms.filter((pl.col("raised_at") >= start) | _standing_at(start)).with_row_index("alarm")
    begun = pl.col("valid_from").is_null() | (pl.col("valid_from") <= pl.col("raised_at"))
    valid = begun & (pl.col("valid_to").is_null() | (pl.col("valid_to") > pl.col("raised_at")))
    known = numbered.join(ends, on=list(PORT)).filter(valid).drop("valid_from", "valid_to")
    unknown = numbered.join(known, on="alarm", how="anti").with_columns(
        link_id=pl.concat_str(pl.lit("unknown "), "site", pl.lit("/"), "device", pl.lit(":"), "interface")
    )
    return _after_work(pl.concat([known, unknown.select(known.columns)]), fleet).sort("alarm", "link_id")


def unknown_ports(alarms: pl.DataFrame, fleet: Fleet) -> list[str]:
    """Ports of alarms, site/device:interface, that no link and no inventory knows, each once: mostly slips."""
    strange = alarms.select(PORT).unique().join(fleet.ends(), on=list(PORT), how="anti").sort(PORT)
    return [f"{site}/{device}:{interface}" for site, device, interface in strange.iter_rows()]


def _after_work(alarms: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """With ``since``: moved to the end of announced work, be it in several parts."""
    work = link_maintenance(fleet).select("link_id", "start", "end")
    moved = alarms.with_columns(since="raised_at")
    while True:
        ends = _inside(moved, work).group_by("alarm", "link_id").agg(pl.col("end").max().alias("over"))
        later = moved.join(ends.filter(pl.col("over").is_not_null()), on=["alarm", "link_id"], how="left")
        still = (later["over"] > later["since"]).fill_null(value=False)
        moved = later.with_columns(since=pl.max_horizontal("since", "over")).drop("over")
        if not still.any():
            break
    ended = (pl.col("since") > pl.col("raised_at")) & (pl.col("cleared_at") <= pl.col("since")).fill_null(value=False)
    return moved.with_columns(since=pl.when(~ended).then("since"))


def hits(placed_alarms: pl.DataFrame, events: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """Alarms that are right about a counted failure: alarm, event_id, link_id, raised_at, failed_at.

    Caught at lead h is: some hit of the event has ``raised_at <= failed_at - h``.
    """
    turns = events.filter(pl.col("verdict").is_in([Verdict.COUNTED, Verdict.RESCUED]))
    counting = placed_alarms.drop_nulls("since").with_columns(raised_at="since")
    meant = _next_failure(_outside_failures(counting, events, fleet), turns, fleet)
    recent = pl.col("raised_at") >= pl.col("failed_at") - RIGHT
    counted = pl.col("verdict") == Verdict.COUNTED
    return meant.filter(counted, recent | _standing()).select("alarm", "event_id", "link_id", "raised_at", "failed_at")


def false_alarms(
    placed_alarms: pl.DataFrame,
    events: pl.DataFrame,
    fleet: Fleet,
    *,
    start: datetime,
    end: datetime,
    watched: Collection[date] | None = None,
) -> pl.DataFrame:
    """False alarms raised in [start, end): link_id, day, raised_at (the first), at most one a link and day.

    Where the UTC days with telemetry are told, alarms that stand are said again on these alone.
    """
    nothing_failed = (pl.col("verdict") == Verdict.NO_FAULT_FOUND) & ~pl.col("evidence")
    real = events.filter(pl.col("verdict") != Verdict.UNKNOWN_PORT, ~nothing_failed)
    windows = _nothing_counts(events, fleet).filter(pl.col("reason") != "maintenance")
    begun = pl.when(pl.col("raised_at") < start, _standing_at(start)).then(pl.lit(start)).otherwise("raised_at")
    first = placed_alarms.with_columns(begun=begun.dt.cast_time_unit("us"))
    again = _said_again(first, real, windows, fleet, end)
    if watched is not None:
        again = again.filter(pl.col("begun").dt.date().is_in(list(watched)))
    said = pl.concat([first, again])
    clamped = _after_work(said.select("alarm", "link_id", "cleared_at", raised_at="begun"), fleet)
    on = clamped.select("alarm", "link_id", on="since").drop_nulls()
    raised = said.join(on, on=["alarm", "link_id"]).filter(pl.col("on") >= start, pl.col("on") < end)
    meant = _next_failure(raised, real, fleet)
    recent = pl.col("since") >= pl.col("failed_at") - RIGHT
    early = _standing() & (pl.col("since") >= pl.col("failed_at") - NEITHER)
    excused = meant.filter(recent | early)["alarm"]
    inside = [_inside(raised.with_columns(since=when), windows)["alarm"] for when in ("raised_at", "on")]
    return (
        raised.filter(~pl.col("alarm").is_in(pl.concat([excused, *inside]).implode()))
        .group_by("alarm")
        .agg(pl.col("link_id").min(), pl.col("on").first().alias("raised_at"))
        .group_by("link_id", day=pl.col("raised_at").dt.date())
        .agg(pl.col("raised_at").min())
        .sort("raised_at", "link_id")
    )


def _said_again(
    alarms: pl.DataFrame, failures: pl.DataFrame, windows: pl.DataFrame, fleet: Fleet, end: datetime
) -> pl.DataFrame:
    """Alarms of their own for those that stand on, from ``begun`` every 30 days for as long as they may be right.

    One that began after a failure or before a preventive swap belongs to that, and is not said again.
    """
    over = pl.min_horizontal(pl.col("cleared_at").fill_null(end), pl.lit(end))
    long = alarms.with_columns(over=over).filter(pl.col("over") > pl.col("begun") + NEITHER)
    long = long.join(_inside(long.with_columns(since="raised_at"), windows), on="alarm", how="anti")
    alone = long.drop("over")
    if alone.is_empty():
        return alone
    failed = alone.join(failures.select("link_id", over="failed_at"), on="link_id")
    exchanged = alone.join(_exchanges(fleet).rename({"exchanged_at": "over"}), on=list(PORT))
    exchanged = exchanged.filter(pl.col("suspect").ne_missing("fiber"))
    ends = [rows.filter(pl.col("over") >= pl.col("raised_at")).select("alarm", "over") for rows in (failed, exchanged)]
    limits = [long.select("alarm", "over"), *ends]
    first_over = pl.concat(limits, how="vertical_relaxed").group_by("alarm").agg(pl.col("over").min())
    times = pl.datetime_ranges(pl.col("begun"), pl.col("over"), NEITHER, closed="left")
    again = (
        alone.join(first_over, on="alarm")
        .filter(pl.col("over") > pl.col("begun") + NEITHER)
        .with_columns(begun=times.list.slice(1))
        .explode("begun")
    )
    number = pl.struct("alarm", "begun").rank("dense") + alarms["alarm"].max()
    return again.with_columns(alarm=number.cast(pl.UInt32), raised_at="begun", since="begun").select(alarms.columns)


def _standing_at(time: datetime) -> pl.Expr:
    """Whether the alarm is not over by then."""
    return pl.col("cleared_at").is_null() | (pl.col("cleared_at") > time)


def _standing() -> pl.Expr:
    """Whether the alarm still stood when the failure came."""
    return pl.col("cleared_at").is_null() | (pl.col("cleared_at") >= pl.col("failed_at"))


def _next_failure(alarms: pl.DataFrame, failures: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """Each alarm with the first failure of each of its links that is not before it, and whose module it was about."""
    meant = (
        alarms.join(failures.select("event_id", "link_id", "failed_at", "verdict"), on="link_id")
        .filter(pl.col("since") <= pl.col("failed_at"))
        .sort("alarm", "link_id", "failed_at", "event_id")
        .unique(["alarm", "link_id"], keep="first", maintain_order=True)
    )
    exchanged = meant.join(_exchanges(fleet), on=list(PORT)).filter(
        pl.col("suspect").ne_missing("fiber"),
        pl.col("raised_at") < pl.col("exchanged_at"),
        pl.col("exchanged_at") < pl.col("failed_at"),
    )
    return meant.join(exchanged, on=["alarm", "link_id"], how="anti", maintain_order="left")


def _exchanges(fleet: Fleet) -> pl.DataFrame:
    """Port and exchanged_at: whenever a module came into a cage or left it."""
    times = [fleet.modules.select(*PORT, exchanged_at=name) for name in ("installed_at", "removed_at")]
    return pl.concat(times).drop_nulls().unique()


def _nothing_counts(events: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """link_id, start, end, reason: no failure is made of a ticket that found no fault."""
    return censoring(fleet, events).filter(pl.col("reason") != Verdict.NO_FAULT_FOUND)


def _inside(alarms: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """The alarms that begin to count in a window of their link; a null end is for ever."""
    begun = pl.col("since") >= pl.col("start")
    return alarms.join(windows, on="link_id").filter(
        begun, pl.col("end").is_null() | (pl.col("since") <= pl.col("end"))
    )


def _outside_failures(alarms: pl.DataFrame, events: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """The alarms but those raised after a failure and before two days after its repair."""
    windows = _nothing_counts(events, fleet).filter(pl.col("reason").is_in(["failure", "rescued"]))
    after = pl.col("since") > pl.col("start")
    return alarms.join(_inside(alarms, windows).filter(after), on=["alarm", "link_id"], how="anti")
