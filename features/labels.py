"""Labels: failures, each once and at the time it began to hurt, and the times in which nothing counts.

A ticket is late, at times names the wrong end, repeats another or finds nothing wrong. So a failure
is dated by the evidence of both ends of its link, and every ticket that is not counted says why.
Training and judging take their events from here, and as of a time they are the same ones.

What was acted on before it failed is a class of its own, "rescued": degrading as far as anyone can tell, but no
failure. It weighs what the bench says: confirmed 1, unknown 0.5, no trouble found 0.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import polars as pl

from features.evidence import episodes, read_samples
from features.fleet import PORT, Fleet
from features.mistyped import type_doubts
from ingest.schema import Action, FailureType

__all__ = [
    "AFTER_REPAIR",
    "BEFORE_SWAP",
    "EVENT_SCHEMA",
    "RESCUE_WEIGHTS",
    "UNSEEN_AFTER",
    "Verdict",
    "censoring",
    "failure_events",
    "link_maintenance",
]

AFTER_REPAIR: Final = timedelta(days=2)
"""After a repair nothing counts for as long (design.md section 5)."""

BEFORE_SWAP: Final = timedelta(days=7)
"""Before a preventive swap nothing counts: whether the module would have failed is not known."""

RESCUE_WEIGHTS: Final = {"confirmed": 1.0, "unknown": 0.5, "no_trouble_found": 0.0}
"""How much of a failure a rescued module was, by what the bench found in it; not tested is "unknown"."""

UNSEEN_AFTER: Final = frozenset({"preventive_swap", "rescued", "drain"})
"""Reasons of ``censoring`` that end what is seen of a link: whether it would have failed soon after is not known."""

_EVIDENCE: Final = timedelta(hours=72)
"""Tickets are up to two days late; evidence is looked for in three."""

_HABIT: Final = timedelta(days=7)
"""How far back a port's own error level is learnt."""

_NEVER: Final = datetime.max.replace(tzinfo=UTC)

EVENT_SCHEMA: Final = pl.Schema(
    {
        "event_id": pl.String(),  # the ticket's
        "link_id": pl.String(),  # null where the ticket's port is unknown
        "site": pl.String(),
        "device": pl.String(),  # the port as the ticket says it
        "interface": pl.String(),
        "serial": pl.String(),
        "failed_at": pl.Datetime("us", "UTC"),
        "opened_at": pl.Datetime("us", "UTC"),
        "closed_at": pl.Datetime("us", "UTC"),
        "repaired_at": pl.Datetime("us", "UTC"),
        "failure_type": pl.String(),
        "action": pl.String(),
        "evidence": pl.Boolean(),  # whether telemetry shows the failure; else failed_at is opened_at
        "verdict": pl.String(),  # a Verdict
        "weight": pl.Float64(),  # 1 where counted, a RESCUE_WEIGHTS where rescued, else 0
        "type_doubt": pl.String(),  # why failure_type can't be right, by the light; else null
    }
)
"""What ``failure_events`` gives: one row a ticket, in order of link and time."""


class Verdict(StrEnum):
    """Whether a ticket is a failure to be predicted, or why not."""

    COUNTED = "counted"
    DUPLICATE = "duplicate"  # another ticket of the link was open
    REPEAT = "repeat"  # within two days of the link's last repair
    NO_FAULT_FOUND = "no_fault_found"
    MAINTENANCE = "maintenance"  # opened in announced work, and nothing before it
    COPPER = "copper"  # no optics in it
    RESCUED = "rescued"  # an alarm was acted on before anything failed
    UNKNOWN_PORT = "unknown_port"  # neither its port nor its serial is in inventory or links


def link_maintenance(fleet: Fleet) -> pl.DataFrame:
    """Announced work as link_id, start, end, kind: work on either end, or on a whole device, is work on the link."""
    ends = fleet.ends().select("link_id", *PORT)
    work = fleet.maintenance.select(*PORT, "start", "end", "kind")
    whole = work.filter(pl.col("interface").is_null()).drop("interface").join(ends, on=["site", "device"])
    single = work.filter(pl.col("interface").is_not_null()).join(ends, on=list(PORT))
    columns = ["link_id", "start", "end", "kind"]
    return pl.concat([whole.select(columns), single.select(columns)]).unique().sort("link_id", "start")


def _cases(fleet: Fleet) -> pl.DataFrame:
    """case, ticket_id, link_id, opened_at, prefer: the links a ticket may mean, by its port (0) or its serial (1)."""
    ends = fleet.ends().select("link_id", *PORT, "valid_from", "valid_to")
    tickets = fleet.tickets.select("ticket_id", *PORT, "serial", "opened_at")
    homes = fleet.modules.filter(pl.col("serial").is_not_null()).select("serial", *PORT, "installed_at", "removed_at")
    here = pl.col("installed_at").is_null() | (pl.col("installed_at") <= pl.col("opened_at"))
    still = pl.col("removed_at").is_null() | (pl.col("removed_at") >= pl.col("opened_at") - _EVIDENCE)
    by_serial = tickets.drop(PORT).join(homes, on="serial").filter(here, still)
    columns = ["ticket_id", *PORT, "opened_at"]
    named = [tickets.select(columns).with_columns(prefer=0), by_serial.select(columns).with_columns(prefer=1)]
    valid = pl.col("valid_from").is_null() | (pl.col("valid_from") <= pl.col("opened_at"))
    valid &= pl.col("valid_to").is_null() | (pl.col("valid_to") > pl.col("opened_at") - _EVIDENCE)
    return (
        pl.concat(named)
        .join(ends, on=list(PORT))
        .filter(valid)
        .sort("ticket_id", "prefer", "link_id")
        .unique(["ticket_id", "link_id"], keep="first", maintain_order=True)
        .select(pl.int_range(pl.len()).alias("case"), "ticket_id", "link_id", "opened_at", "prefer")
    )


def _not_evidence(cases: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """case, start, end: too long ago, in maintenance, drained, or before an earlier ticket of the link was closed."""
    since = pl.col("opened_at") - _HABIT
    old = cases.select("case", start=since, end=pl.col("opened_at") - _EVIDENCE)
    work = cases.join(link_maintenance(fleet), on="link_id").select("case", "start", "end")
    of_link = cases.select("ticket_id", "link_id").join(
        fleet.tickets.select("ticket_id", "closed_at", "drained_at"), on="ticket_id"
    )
    others = cases.join(of_link.select("link_id", "closed_at", "drained_at"), on="link_id")
    earlier = others.filter(pl.col("closed_at") < pl.col("opened_at"))
    drained = others.filter(pl.col("drained_at") <= pl.col("opened_at"))
    until = pl.min_horizontal("opened_at", "closed_at")
    return pl.concat(
        [
            old,
            work,
            earlier.select("case", start=since, end="closed_at"),
            drained.select("case", start="drained_at", end=until),
        ]
    )


def _dated(fleet: Fleet, samples: pl.LazyFrame) -> pl.DataFrame:
    """ticket_id, link_id, failed_at (null without evidence): the link that a ticket means, and since when it hurt."""
    cases = _cases(fleet)
    if cases.is_empty():
        return cases.select("ticket_id", "link_id", failed_at=pl.col("opened_at"))
    windows = cases.join(fleet.ends().select("link_id", *PORT), on="link_id").with_columns(
        since=pl.col("opened_at") - _HABIT, until=pl.col("opened_at")
    )
    found = episodes(read_samples(samples, windows), _not_evidence(cases, fleet))
    last = found.group_by("case").agg(pl.col("start").max().alias("failed_at"))
    return (
        cases.join(last, on="case", how="left")
        .sort("ticket_id", pl.col("failed_at").is_null(), "prefer", "link_id")
        .unique("ticket_id", keep="first", maintain_order=True)
        .select("ticket_id", "link_id", "failed_at")
    )


def failure_events(
    fleet: Fleet, port_samples: pl.LazyFrame | pl.DataFrame, lane_samples: pl.LazyFrame | pl.DataFrame | None = None
) -> pl.DataFrame:
    """Every ticket as an event: the link it means, when the failure began, and whether it counts.

    The failure begins with the last sustained bad episode in the three days before the ticket, at either end of the
    link: down though it should be up, or losing frames far above the port's own habit; where telemetry shows none,
    with the ticket, or with the drain before it. What a drained link does is no evidence. Hand in ``fleet.as_of(t)``
    and samples received by ``t`` for what was known at ``t``.

    Args:
        fleet: records, whole or as of a time.
        port_samples: canonical port samples; only those near tickets are read.
        lane_samples: canonical lane samples, to doubt mistyped tickets by; only those near tickets are read.

    Returns:
        A frame of ``EVENT_SCHEMA``. Only rows with verdict "counted" are failures to be predicted; "rescued" ones were
        acted on before they failed, and their ``weight`` is how much of a failure the bench found.
    """
    dated = _dated(fleet, port_samples.lazy())
    repaired = fleet.repairs.group_by("ticket_id").agg(pl.col("at").max().alias("repaired_at"))
    copper = fleet.ends().select("link_id", "copper").unique("link_id")
    events = (
        fleet.tickets.join(dated, on="ticket_id", how="left")
        .join(repaired, on="ticket_id", how="left")
        .join(copper, on="link_id", how="left")
        .with_columns(
            event_id=pl.col("ticket_id"),
            evidence=pl.col("failed_at").is_not_null(),
            failed_at=pl.coalesce("failed_at", pl.min_horizontal("opened_at", "drained_at")),
            repaired_at=pl.coalesce("repaired_at", "closed_at"),
        )
        .sort("link_id", "opened_at", "event_id")
    )
    verdicts = pl.Series(_verdicts(events, link_maintenance(fleet)), dtype=pl.String)
    judged = events.with_columns(verdict=verdicts).with_columns(weight=_weight())
    doubts = type_doubts(judged, fleet, lane_samples)
    return judged.join(doubts, on="event_id", how="left", maintain_order="left").select(EVENT_SCHEMA.names())


def _weight() -> pl.Expr:
    """1 for a failure, what the bench says for a rescued module, 0 for all else."""
    bench = pl.col("bench_verdict").replace_strict(
        RESCUE_WEIGHTS, default=RESCUE_WEIGHTS["unknown"], return_dtype=pl.Float64
    )
    verdict = pl.col("verdict")
    return pl.when(verdict == Verdict.COUNTED).then(1.0).when(verdict == Verdict.RESCUED).then(bench).otherwise(0.0)


def _verdicts(events: pl.DataFrame, work: pl.DataFrame) -> list[str]:
    """A verdict for each event, in order of link and time."""
    windows = work.group_by("link_id").agg(pl.struct("start", "end"))
    planned: dict[str, list[dict[str, datetime]]] = dict(windows.iter_rows())
    verdicts: list[str] = []
    link, open_until = None, None
    for event in events.iter_rows(named=True):
        if event["link_id"] != link:
            link, open_until = event["link_id"], None
        verdict = _verdict(event, open_until, planned.get(link or "", []))
        if verdict != Verdict.NO_FAULT_FOUND:
            closed = event["closed_at"] or _NEVER
            open_until = max(open_until or closed, closed)
        verdicts.append(verdict)
    return verdicts


def _verdict(event: dict[str, Any], open_until: datetime | None, planned: list[dict[str, datetime]]) -> Verdict:
    """One event's verdict, given until when an earlier ticket of its link was open and the work announced on it."""
    foretold = event["alarm_id"] is not None and not event["evidence"]
    let_be = foretold and event["action"] == Action.NONE and event["drained_at"] is None
    found_nothing = event["failure_type"] == FailureType.NO_FAULT_FOUND or let_be
    returned_good = event["bench_verdict"] == "no_trouble_found" and not event["evidence"] and not foretold
    planned_now = any(window["start"] <= event["opened_at"] <= window["end"] for window in planned)
    reasons = {
        Verdict.UNKNOWN_PORT: event["link_id"] is None,
        Verdict.NO_FAULT_FOUND: found_nothing or returned_good,
        Verdict.DUPLICATE: open_until is not None and event["opened_at"] <= open_until,
        Verdict.REPEAT: open_until is not None and event["failed_at"] - AFTER_REPAIR <= open_until,
        Verdict.COPPER: event["copper"],
        Verdict.RESCUED: foretold,
        Verdict.MAINTENANCE: planned_now and not event["evidence"],
    }
    return next((verdict for verdict, holds in reasons.items() if holds), Verdict.COUNTED)


def censoring(fleet: Fleet, events: pl.DataFrame) -> pl.DataFrame:
    """Times in which nothing counts on a link, neither for training nor against an alarm.

    Args:
        fleet: records, whole or as of a time.
        events: what ``failure_events`` gives of the same fleet, uncounted tickets included.

    Returns:
        link_id, start, end (null: not over), reason: "failure" (until two days after the repair), "rescued" and
        "no_fault_found" (the same of such tickets; where the link had failed all the same, the week before, too),
        "drain" (from a ticket's drain to its end), "maintenance", or "preventive_swap" (the week before a module was
        taken out without a ticket).
    """
    known = events.filter(pl.col("link_id").is_not_null())
    over = pl.max_horizontal("closed_at", pl.when(pl.col("closed_at").is_not_null()).then("repaired_at"))
    apart = pl.col("verdict").is_in([Verdict.RESCUED, Verdict.NO_FAULT_FOUND])
    failures = known.select(
        "link_id",
        start="failed_at",
        end=over + AFTER_REPAIR,
        reason=pl.when(apart).then("verdict").otherwise(pl.lit("failure")),
    )
    drained = known.join(
        fleet.tickets.select("drained_at", event_id="ticket_id").drop_nulls("drained_at"), on="event_id"
    ).select("link_id", start="drained_at", end="closed_at", reason=pl.lit("drain"))
    work = link_maintenance(fleet).select("link_id", "start", "end", reason=pl.lit("maintenance"))
    windows = [failures, drained, work, _swaps(fleet, failures), _unexplained(known)]
    return pl.concat(windows).sort("link_id", "start", "reason")


def _unexplained(events: pl.DataFrame) -> pl.DataFrame:
    """The week before each outage in which nothing was found: it was no healthy one, nor is it known what ailed.

    Hours in the week before another failure of the link are that failure's.
    """
    outages = events.filter(pl.col("verdict") == Verdict.NO_FAULT_FOUND, "evidence").select("link_id", "failed_at")
    failures = events.filter(pl.col("verdict") == Verdict.COUNTED).select("link_id", failure="failed_at")
    told = outages.join(failures, on="link_id", how="left").group_by("link_id", "failed_at")
    last = pl.col("failure").filter(pl.col("failure") <= pl.col("failed_at")).max()
    following = pl.col("failure").filter(pl.col("failure") > pl.col("failed_at")).min()
    return (
        told.agg(last=last, following=following)
        .select(
            "link_id",
            start=pl.max_horizontal(pl.col("failed_at") - BEFORE_SWAP, "last"),
            end=pl.min_horizontal("failed_at", pl.col("following") - BEFORE_SWAP),
            reason=pl.lit(str(Verdict.NO_FAULT_FOUND)),
        )
        .filter(pl.col("start") < pl.col("end"))
    )


def _swaps(fleet: Fleet, failures: pl.DataFrame) -> pl.DataFrame:
    """The week before each removal that no failure of its link explains."""
    ends = fleet.ends().select("link_id", *PORT).unique()
    removed = fleet.modules.filter(pl.col("removed_at").is_not_null()).join(ends, on=list(PORT))
    explained = removed.join(failures, on="link_id").filter(
        pl.col("removed_at") >= pl.col("start"), pl.col("end").is_null() | (pl.col("removed_at") <= pl.col("end"))
    )
    return (
        removed.join(explained, on=["link_id", *PORT, "removed_at"], how="anti")
        .select("link_id", start=pl.col("removed_at") - BEFORE_SWAP, end="removed_at", reason=pl.lit("preventive_swap"))
        .unique()
    )
