"""What consumers are told of is written with it: a message for each event, and none without."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from serving.alarms import AlarmRecord, Clear, Level, ScoreRun, Status
from serving.database import reading
from serving.errors import AlarmConflictError
from serving.notices import STORM, Kind, Notice, notice
from serving.store import AlarmStore
from serving.storms import HeldBack
from serving.tables import alarm_events, outbox

MakeRun = Callable[..., ScoreRun]
MakeAlarm = Callable[..., AlarmRecord]
MakeHeld = Callable[[int], list[HeldBack]]


def _messages(store: AlarmStore) -> list[Notice]:
    with reading(store._engine) as connection:
        rows = connection.execute(select(outbox).order_by(outbox.c.message_id)).mappings().all()
    return [notice(row) for row in rows]


def test_each_step_of_a_life_is_a_message_with_the_alarm_as_it_was_after_it(
    store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime
) -> None:
    later = now + timedelta(hours=1)
    store.apply(make_run(), [make_alarm(level=Level.WATCH)])
    store.transition("alarm-001", Status.ACKED, "ann", "looking")
    store.apply(make_run(later), [], [make_alarm(risk_24h=0.875)])
    store.transition("alarm-001", Status.SUPPRESSED, "ann", "planned work")
    store.transition("alarm-001", Status.OPEN, "bob", "work is over")
    store.apply(make_run(later + timedelta(hours=1)), [], [], [Clear(alarm_id="alarm-001", at=later, why="low")])

    told = [
        (m.kind, m.alarm.status, m.alarm.level, m.alarm.risk_24h, m.who, m.why) for m in _messages(store) if m.alarm
    ]
    assert [
        (Kind.RAISED, "open", "watch", 0.5, "forelight 3", "bias 38 % above its baseline"),
        (Kind.ACKED, "acked", "watch", 0.5, "ann", "looking"),
        (Kind.CHANGED, "acked", "act", 0.875, "forelight 3", "level watch became act"),
        (Kind.SUPPRESSED, "suppressed", "act", 0.875, "ann", "planned work"),
        (Kind.REOPENED, "open", "act", 0.875, "bob", "work is over"),
        (Kind.CLEARED, "cleared", "act", 0.875, "forelight 3", "low"),
    ] == told


def test_every_event_has_one_message_and_every_message_its_event(
    store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
) -> None:
    """Many at once, too: identifiers are paired in the order of the rows."""
    store.apply(make_run(), [make_alarm(number) for number in range(1, 1203)])
    store.transition("alarm-007", Status.CLEARED, "ann", "cleaned")

    query = select(alarm_events.c.event_id, alarm_events.c.alarm_id).order_by(alarm_events.c.event_id)
    with reading(store._engine) as connection:
        events = [tuple(row) for row in connection.execute(query)]
        told = select(outbox.c.event_id, outbox.c.subject).order_by(outbox.c.message_id)
        messages = [tuple(row) for row in connection.execute(told)]
    assert events == messages
    assert [m.subject for m in _messages(store)] == [m.alarm.alarm_id for m in _messages(store) if m.alarm]


def test_what_is_rolled_back_is_not_told(store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm) -> None:
    store.apply(make_run(), [make_alarm()])
    later = make_run(make_run().at + timedelta(hours=1))

    with pytest.raises(AlarmConflictError):
        store.apply(later, [make_alarm(2), make_alarm(3, link_id=make_alarm().link_id)])

    assert ["alarm-001"] == [m.subject for m in _messages(store)]


def test_a_run_applied_again_tells_nothing_more(
    store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, held_back: MakeHeld
) -> None:
    store.apply(make_run(), [make_alarm()], held_back=held_back(7))
    store.apply(make_run(), [make_alarm()], held_back=held_back(7))

    assert [Kind.RAISED, Kind.STORM] == [m.kind for m in _messages(store)]


def test_a_storm_is_one_message_however_many_alarms_it_held_back(
    store: AlarmStore, make_run: MakeRun, now: datetime, held_back: MakeHeld
) -> None:
    store.apply(make_run(), held_back=held_back(812))

    assert [(STORM, 812, now, None)] == [(m.subject, m.held_back, m.at, m.alarm) for m in _messages(store)]


def test_a_message_of_a_storm_names_the_worst_of_its_members(
    store: AlarmStore, make_run: MakeRun, held_back: MakeHeld
) -> None:
    store.apply(make_run(), held_back=held_back(60))

    ((message, *_),) = (_messages(store),)
    assert [f"Ethernet{number}" for number in range(60, 10, -1)] == [one["interface"] for one in message.members]
