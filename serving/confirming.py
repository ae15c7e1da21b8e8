"""Alarms are confirmed by tickets: what was foretold was found."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl
from sqlalchemy import ColumnElement, or_, select

from ingest.lake import Lake
from ingest.schema import TICKETS, FailureType
from serving.alarms import Status
from serving.database import reading
from serving.queries import is_standing
from serving.store import AlarmStore
from serving.tables import alarms

__all__ = ["confirm"]

_ANSWERS_FOR: Final = timedelta(days=7)
"""An alarm answers for a failure so long after it was raised, as the judge has it, or while it stands."""
_LOOKED_BACK: Final = timedelta(days=90)
"""Alarms that ended longer ago wait for no ticket any more."""
_END: Final = ("site", "device", "interface")
_ALARM: Final = ("alarm_id", "raised_at", "cleared_at", *_END, "peer_device", "peer_interface")

Row = Mapping[Any, Any]


def confirm(store: AlarmStore, lake: Lake, now: datetime) -> int:
    """Confirm the alarms whose failure a ticket has found by now; how many.

    A ticket tells of an alarm by its identifier, or by its port's link within the time that the alarm answers for. It
    has found a failure where the bench confirmed one, or where it is closed with the type of one. A ticket that is only
    open proves nothing: an alarm may have opened it.
    """
    with reading(store.engine) as connection:
        waiting = connection.execute(select(*(alarms.c[n] for n in _ALARM)).where(_unconfirmed(now))).mappings().all()
    if not waiting:
        return 0
    found = dict(_confirmed(waiting, _telling(lake, now)))
    if not found:
        return 0
    with store.changing("tickets") as change:
        query = select(alarms.c.alarm_id, alarms.c.status).where(_unconfirmed(now))
        due = [(each, Status(status)) for each, status in change.connection.execute(query) if each in found]
        for alarm_id, status in due:
            change.step(alarm_id, status, Status.CONFIRMED, at=now, why=found[alarm_id])
    return len(due)


def _unconfirmed(now: datetime) -> ColumnElement[bool]:
    ended = alarms.c.status.in_([Status.CLEARED.value, Status.EXPIRED.value])
    return or_(is_standing(), ended & (alarms.c.cleared_at >= now - _LOOKED_BACK))


def _telling(lake: Lake, now: datetime) -> Sequence[Row]:
    """Tickets that have found a failure by now, the oldest first."""
    verdict, closed = pl.col("bench_verdict"), pl.col("closed_at") <= now
    failed = closed & pl.col("failure_type").is_not_null() & (pl.col("failure_type") != FailureType.NO_FAULT_FOUND)
    refuted = verdict.eq_missing("no_trouble_found")
    rows = lake.latest(TICKETS).filter(pl.col("opened_at") <= now, (verdict == "confirmed") | failed, ~refuted)
    return rows.sort("opened_at").collect().to_dicts()


def _confirmed(waiting: Sequence[Row], tickets: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Alarms with the words of the first ticket that tells of each."""
    by_id = {alarm["alarm_id"]: alarm for alarm in waiting}
    by_end: dict[tuple[str, str, str], list[Row]] = {}
    for alarm in waiting:
        by_end.setdefault((alarm["site"], alarm["device"], alarm["interface"]), []).append(alarm)
        by_end.setdefault((alarm["site"], alarm["peer_device"], alarm["peer_interface"]), []).append(alarm)
    for ticket in reversed(tickets):  # of several, the first is the last word here
        words = f"ticket {ticket['ticket_id']} found {ticket['failure_type'] or 'a failure'}"
        if ticket["alarm_id"] is not None:
            if ticket["alarm_id"] in by_id:
                yield ticket["alarm_id"], words
            continue
        port = (ticket["site"], ticket["device"], ticket["interface"])
        yield from ((a["alarm_id"], words) for a in by_end.get(port, []) if _answers(a, ticket["opened_at"]))


def _answers(alarm: Row, opened_at: datetime) -> bool:
    stood = alarm["cleared_at"] is None or opened_at <= alarm["cleared_at"]
    raised_at: datetime = alarm["raised_at"]
    return raised_at <= opened_at and (stood or opened_at - raised_at <= _ANSWERS_FOR)
