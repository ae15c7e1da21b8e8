"""What was wrong in the end, as far as the records tell: type, fault unit, the end, and the action that helped.

A ticket's port is where the trouble was noticed, at times the wrong end. A module that was taken out tells the end
better, and what was done last tells the fault unit better than the type somebody chose from a list.
"""

from typing import Final

import polars as pl

from features.fleet import PORT, Fleet
from features.labels import AFTER_REPAIR
from ingest.schema import Action, FailureType
from models.scorecard import Attribution

__all__ = ["attribution", "truth"]

_UNIT_OF_ACTION: Final = {
    Action.REPLACE_TRANSCEIVER: "module",
    Action.RESEAT: "module",
    Action.RESET: "module",
    Action.CLEAN_CONNECTOR: "fiber",
    Action.REPLACE_FIBER: "fiber",
    Action.REPLACE_CABLE: "fiber",
}

_UNIT_OF_TYPE: Final = {
    FailureType.LASER_DEGRADATION: "module",
    FailureType.RECEIVER_DEGRADATION: "module",
    FailureType.MODULE_ELECTRONICS: "module",
    FailureType.LOOSE_SEATING: "module",
    FailureType.CONTAMINATION: "fiber",
    FailureType.FIBER_DAMAGE: "fiber",
}


def truth(events: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """event_id, true_type, true_action, true_unit ("module", "fiber" or null), true_site, true_device, true_interface.

    The action is the last of the repairs, else the ticket's. The end is the one whose module was taken out between
    the failure and two days after its repair, where that was one end only; else the ticket's. A type that the light
    contradicts is null.
    """
    done = fleet.repairs.filter(pl.col("action") != Action.NONE).sort("seq").group_by("ticket_id")
    last = done.agg(pl.col("action").last().alias("repair_action"))
    by_action = pl.col("true_action").replace_strict(_UNIT_OF_ACTION, default=None, return_dtype=pl.String)
    by_type = pl.col("failure_type").replace_strict(_UNIT_OF_TYPE, default=None, return_dtype=pl.String)
    return (
        events.join(last, left_on="event_id", right_on="ticket_id", how="left")
        .join(_taken_out(events, fleet), on="event_id", how="left")
        .with_columns(true_action=pl.coalesce("repair_action", "action"))
        .select(
            "event_id",
            pl.when(pl.col("type_doubt").is_null()).then("failure_type").alias("true_type"),
            "true_action",
            pl.coalesce(by_action, by_type).alias("true_unit"),
            *(pl.coalesce(f"swapped_{name}", name).alias(f"true_{name}") for name in PORT),
        )
    )


def _taken_out(events: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """event_id and the port (swapped_…) whose module left its cage in the repair, where exactly one did."""
    ends = fleet.ends().select("link_id", *(pl.col(name).alias(f"swapped_{name}") for name in PORT))
    ports = [f"swapped_{name}" for name in PORT]
    removed = fleet.modules.filter(pl.col("removed_at").is_not_null()).select(*PORT, "removed_at")
    return (
        events.select("event_id", "link_id", "failed_at", "closed_at")
        .join(ends, on="link_id")
        .join(removed, left_on=ports, right_on=list(PORT))
        .filter(pl.col("removed_at").is_between("failed_at", pl.col("closed_at") + AFTER_REPAIR))
        .unique(["event_id", *ports])
        .filter(pl.len().over("event_id") == 1)
        .select("event_id", *ports)
    )


def attribution(placed_alarms: pl.DataFrame, hits: pl.DataFrame, events: pl.DataFrame, fleet: Fleet) -> Attribution:
    """Whether the last hit of each failure told what was wrong.

    Args:
        placed_alarms: what ``models.counting.placed`` gives, with suspect, failure_type and action.
        hits: what ``models.counting.hits`` gives, of the failures and the lead wanted.
        events: what ``failure_events`` gives.
        fleet: records as known in the end.
    """
    told = placed_alarms.select("alarm", "link_id", *PORT, "suspect", "failure_type", "action")
    last = hits.sort("raised_at", "alarm").unique("event_id", keep="last").select("alarm", "link_id", "event_id")
    rows = last.join(told, on=["alarm", "link_id"]).join(truth(events, fleet), on="event_id")
    unit = pl.when(pl.col("suspect").is_in(["module", "fiber"])).then("suspect")
    same_unit = unit == pl.col("true_unit")
    same_end = pl.all_horizontal(pl.col(name) == pl.col(f"true_{name}") for name in PORT)
    of_module = pl.col("true_unit") == "module"
    shares = rows.select(
        type_accuracy=(pl.col("failure_type") == pl.col("true_type")).mean(),
        unit_accuracy=same_unit.mean(),
        end_accuracy=same_end.filter(of_module).mean(),
        fault_unit_accuracy=(same_unit & (same_end | ~of_module)).mean(),
        action_accuracy=(pl.col("action") == pl.col("true_action")).mean(),
    ).row(0, named=True)
    return Attribution(
        **shares,
        type_confusion=_confusion(rows, "true_type", "failure_type"),
        unit_confusion=_confusion(rows, "true_unit", "suspect"),
    )


def _confusion(rows: pl.DataFrame, true: str, told: str) -> dict[str, dict[str, int]]:
    """True value, then told value, then count; rows that lack either are left out."""
    counts: dict[str, dict[str, int]] = {}
    for actual, said, count in rows.drop_nulls([true, told]).group_by(true, told).len().sort(true, told).iter_rows():
        counts.setdefault(actual, {})[said] = count
    return counts
