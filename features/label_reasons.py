"""What was made of each ticket, in words: what `forelight labels` prints."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import polars as pl

from features.fleet import NO_OPTICS
from features.labels import Verdict

__all__ = ["explained"]

_WHY: Final = {
    Verdict.COUNTED: "a failure to be predicted",
    Verdict.DUPLICATE: "another ticket of the link was open",
    Verdict.REPEAT: "within two days of the link's last repair",
    Verdict.NO_FAULT_FOUND: "nothing was found",
    Verdict.MAINTENANCE: "opened in announced work, and nothing failed before it",
    Verdict.COPPER: NO_OPTICS,
    Verdict.UNKNOWN_PORT: "neither its port nor its serial is in inventory or links",
    Verdict.RESCUED: "an alarm was acted on before anything failed",
}
_LATE: Final = timedelta(hours=1)


def explained(events: pl.DataFrame, ticket_ports: pl.DataFrame) -> pl.DataFrame:
    """The events with ``why``, in order of opening.

    Args:
        events: what ``failure_events`` gives.
        ticket_ports: link_id, site, device, interface: the ends of the links (``Fleet.ends``).
    """
    ends = (
        ticket_ports.select("link_id", "site", "device", "interface").unique().with_columns(on_link=pl.lit(value=True))
    )
    keys = ["link_id", "site", "device", "interface"]
    known = events.join(ends, on=keys, how="left", maintain_order="left").with_columns(
        pl.col("on_link").fill_null(value=False)
    )
    words = [_why(event) for event in known.iter_rows(named=True)]
    return events.with_columns(why=pl.Series(words, dtype=pl.String)).sort("opened_at", "event_id")


def _why(event: Mapping[str, Any]) -> str:
    parts = [_WHY[Verdict(event["verdict"])]]
    if event["verdict"] == Verdict.RESCUED:
        parts[0] += f"; weighs {event['weight']:g} by the bench's word"
    if event["link_id"] is not None and not event["on_link"]:
        parts.append("its port is none of this link's; the serial told")
    parts.append(_dating(event))
    if event["type_doubt"]:
        parts.append(f"{event['failure_type']} is doubted: {event['type_doubt']}")
    return "; ".join(parts)


def _dating(event: Mapping[str, Any]) -> str:
    early = event["opened_at"] - event["failed_at"]
    if not event["evidence"]:
        return "no outage is seen, so dated by the ticket" if not early else "dated by the drain before the ticket"
    if early < _LATE:
        return "the outage began as the ticket was opened"
    return f"the ticket came {early / timedelta(hours=1):.0f} h after the outage began"
