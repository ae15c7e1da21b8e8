"""From what a rule complains of, time after time, to alarms: one alarm for as long as it goes on.

The merge rule is the model's: an alarm stands until a day has passed without a complaint, or until people
were at the link; in announced work nothing is complained of.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from features.fleet import PORT, Fleet
from features.labels import link_maintenance
from models.baselines.limits import ALARM_SCHEMA

__all__ = ["ISSUE_SCHEMA", "QUIET", "Meaning", "merged"]

QUIET: Final = timedelta(hours=24)
"""An alarm ends when so long nothing was complained of, as the model's policy has it."""

ISSUE_SCHEMA: Final = pl.Schema(
    {**dict.fromkeys(PORT, pl.String()), "time": pl.Datetime("us", "UTC"), "quantity": pl.String()}
)
"""A complaint: on which port, when, and of what."""

Meaning = Mapping[str, tuple[str, str, str]]
"""By quantity what a technician would make of it: suspect, failure type, first action."""


def merged(
    issues: pl.DataFrame, fleet: Fleet, *, end: datetime, quiet: timedelta = QUIET, meaning: Meaning | None = None
) -> pl.DataFrame:
    """Alarms of ``limits.ALARM_SCHEMA`` from complaints of ``ISSUE_SCHEMA``, in order of time.

    Args:
        issues: complaints in any order.
        fleet: records: maintenance, and when modules were installed and tickets closed at either end of a link.
        end: nothing later was looked at: an alarm that would end after it still stands.
        quiet: so long without a complaint ends an alarm.
        meaning: what each quantity says; a rule that only detects says nothing.
    """
    touches = _touches(fleet)
    told = _outside_work(issues, fleet).sort(*PORT, "time", "quantity").unique([*PORT, "time"], keep="first")
    told = told.sort("time", *PORT).join_asof(
        touches, left_on="time", right_on="touched_at", by=PORT, check_sortedness=False
    )
    told = told.sort(*PORT, "time")
    late = (pl.col("time") - pl.col("time").shift(1)).over(PORT) > quiet
    touched = pl.col("touched_at").ne_missing(pl.col("touched_at").shift(1)).over(PORT)
    first = pl.struct(PORT) != pl.struct(PORT).shift(1)
    begins = (first | late | touched).fill_null(value=True)
    found = (
        told.with_columns(alarm=begins.cum_sum())
        .group_by("alarm", *PORT)
        .agg(pl.col("time").min().alias("raised_at"), pl.col("time").max().alias("last"), pl.col("quantity").first())
        .sort("raised_at", *PORT)
        .join_asof(
            touches.rename({"touched_at": "next_touch"}),
            left_on="raised_at",
            right_on="next_touch",
            by=PORT,
            strategy="forward",
            check_sortedness=False,
        )
        .with_columns(cleared_at=pl.min_horizontal(pl.col("last") + quiet, "next_touch"))
    )
    standing = pl.when(pl.col("cleared_at") < end).then("cleared_at").alias("cleared_at")
    return found.with_columns(standing, *_said(meaning or {})).select(ALARM_SCHEMA.names()).cast(ALARM_SCHEMA)


def _said(meaning: Meaning) -> list[pl.Expr]:
    """Suspect, failure type and action of each quantity, null where it has no meaning."""
    return [
        pl.col("quantity")
        .replace_strict({name: str(said[i]) for name, said in meaning.items()}, default=None, return_dtype=pl.String)
        .alias(column)
        for i, column in enumerate(("suspect", "failure_type", "action"))
    ]


def _outside_work(issues: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """The complaints but those in announced work on the port's links."""
    ends = fleet.ends().select("link_id", *PORT).unique()
    work = link_maintenance(fleet).join(ends, on="link_id").select(*PORT, "start", "end")
    idle = issues.join(work, on=list(PORT)).filter(pl.col("time").is_between("start", "end"))
    return issues.join(idle, on=[*PORT, "time"], how="anti")


def _touches(fleet: Fleet) -> pl.DataFrame:
    """site, device, interface, touched_at: when people were at a port's link, in order of time."""
    ends = fleet.ends().select("link_id", *PORT).unique()
    at = [
        fleet.modules.select(*PORT, touched_at="installed_at"),
        fleet.tickets.select(*PORT, touched_at="closed_at"),
    ]
    touched = pl.concat(at).drop_nulls().join(ends, on=list(PORT)).select("link_id", "touched_at").unique()
    return touched.join(ends, on="link_id").select(*PORT, "touched_at").unique().sort("touched_at", *PORT)
