"""What becomes of alarms by time alone, on both databases."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from serving import app as application
from serving.access.audit import Entry, entries, note
from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.app import create_app
from serving.database import writing
from serving.errors import StoreError
from serving.settings import Settings
from serving.store import AlarmStore
from serving.upkeep import Pruned, prune, sweep

MakeAlarm = Callable[..., AlarmRecord]
MakeRun = Callable[..., ScoreRun]
TTL_S = 86_400.0


class TestExpiry:
    @pytest.mark.parametrize("before", [Status.OPEN, Status.ACKED, Status.SUPPRESSED])
    def test_an_alarm_of_which_no_run_speaks_expires_in_whatever_state_it_stands(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime, before: Status
    ) -> None:
        """A dead predictor cannot hold nodes cordoned."""
        store.apply(make_run(), [make_alarm()])
        if before != Status.OPEN:
            store.transition("alarm-001", before, "ann", "")
        later = now + timedelta(seconds=TTL_S)

        assert 0 == sweep(store, TTL_S, later - timedelta(seconds=1))
        assert 1 == sweep(store, TTL_S, later)

        record, last = store.alarm("alarm-001"), store.events("alarm-001")[-1]
        assert (Status.EXPIRED, later) == (record.status, record.cleared_at)
        assert (before, Status.EXPIRED, "time") == (last.from_status, last.to_status, last.who)
        assert "no run has spoken of it for 24 h" == last.why

    def test_a_run_that_renews_it_keeps_it(
        self,
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        now: datetime,
        advance: Callable[..., None],
    ) -> None:
        store.apply(make_run(), [make_alarm(1), make_alarm(2)])
        advance(hours=12)
        store.apply(make_run(now + timedelta(hours=12)), updated=[make_alarm(1)])

        assert 1 == sweep(store, TTL_S, now + timedelta(hours=24))
        assert [Status.OPEN, Status.EXPIRED] == [store.alarm(f"alarm-00{n}").status for n in (1, 2)]

    def test_it_expires_once_however_many_look(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime
    ) -> None:
        """Workers and the batch run sweep at the same time."""
        store.apply(make_run(), [make_alarm(number) for number in range(20)])
        changed: list[int] = []
        later = now + timedelta(days=2)
        threads = [threading.Thread(target=lambda: changed.append(sweep(store, TTL_S, later))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert 20 == sum(changed)
        assert {2} == {len(store.events(f"alarm-{number:03}")) for number in range(20)}

    def test_the_service_does_it_though_no_predictor_runs_and_tells_of_it_though_scores_are_stale(
        self,
        store: AlarmStore,
        settings: Settings,
        clock: Callable[[], datetime],
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        advance: Callable[..., None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(application, "_SWEEP_EVERY_S", 0.01)
        store.apply(make_run(), [make_alarm()])
        with TestClient(create_app(settings, store, clock=clock)) as client:
            assert "open" == client.get("/v1/alarms/alarm-001").json()["alarm"]["status"]
            advance(days=1)
            while store.alarm("alarm-001").status == Status.OPEN:
                pass

            assert "expired" == client.get("/v1/alarms/alarm-001").json()["alarm"]["status"]
            ended = client.get("/v1/alarms", params={"status": "expired"}).json()["alarms"]
            assert ["alarm-001"] == [alarm["alarm_id"] for alarm in ended]
            assert 503 == client.get("/v1/alarms").status_code
            assert 503 == client.get("/v1/alarms", params={"status": ["open", "expired"]}).status_code


class TestSuppression:
    def test_what_was_suppressed_opens_when_its_time_is_over(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        until = now + timedelta(hours=2)
        with store.changing("ann") as change:
            change.take("alarm-001", Status.SUPPRESSED, why="recabling", until=until)

        assert 0 == sweep(store, TTL_S, until - timedelta(seconds=1))
        assert until == store.alarm("alarm-001").suppressed_until
        assert 1 == sweep(store, TTL_S, until)

        record, last = store.alarm("alarm-001"), store.events("alarm-001")[-1]
        assert (Status.OPEN, None) == (record.status, record.suppressed_until)
        assert (Status.SUPPRESSED, Status.OPEN) == (last.from_status, last.to_status)

    def test_another_end_is_a_change_and_the_same_is_none(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        for hours in (1, 2, 2):
            with store.changing("ann") as change:
                change.take("alarm-001", Status.SUPPRESSED, why="", until=now + timedelta(hours=hours))

        assert 3 == len(store.events("alarm-001"))
        assert now + timedelta(hours=2) == store.alarm("alarm-001").suppressed_until


class TestRetention:
    def test_what_ended_long_ago_is_deleted_with_its_events_and_nothing_else(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime, advance: Callable[..., None]
    ) -> None:
        store.apply(make_run(), [make_alarm(number) for number in (1, 2, 3)])
        store.transition("alarm-001", Status.CLEARED, "ann", "")
        note(store.engine, Entry(at=now, who="ann", what="clear", subject="alarm-001", outcome="done"))
        advance(days=10)
        store.apply(make_run(now + timedelta(days=10)))
        store.transition("alarm-002", Status.CLEARED, "ann", "")

        assert Pruned(alarms=1, runs=1, audit=1, decisions=0) == prune(store, now + timedelta(days=5))

        assert {"alarm-002", "alarm-003"} == {record.alarm_id for record in store.alarms().alarms}
        assert () == store.events("alarm-001")
        assert 2 == len(store.events("alarm-002"))
        assert () == entries(store.engine)

    def test_the_latest_run_stays_however_old(self, store: AlarmStore, make_run: MakeRun, now: datetime) -> None:
        store.apply(make_run())

        assert Pruned(alarms=0, runs=0, audit=0) == prune(store, now + timedelta(days=5))
        assert make_run() == store.latest_run()

    @pytest.mark.parametrize("statement", ["DELETE FROM alarm_events", "UPDATE alarm_events SET who = 'x'"])
    def test_events_are_as_immutable_afterwards(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime, statement: str
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        prune(store, now)

        with pytest.raises(StoreError, match="immutable"), writing(store.engine) as connection:
            connection.execute(text(statement))


def test_what_a_run_writes_of_an_alarm_leaves_its_suppression_alone(
    store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime
) -> None:
    store.apply(make_run(), [make_alarm()])
    until = now + timedelta(hours=2)
    with store.changing("ann") as change:
        suppressed = change.take("alarm-001", Status.SUPPRESSED, why="", until=until)

    store.apply(make_run(now + timedelta(hours=1)), updated=[replace(suppressed, risk_24h=0.9, suppressed_until=None)])

    record = store.alarm("alarm-001")
    assert (0.9, Status.SUPPRESSED, until) == (record.risk_24h, record.status, record.suppressed_until)
    assert suppressed.revision + 1 == record.revision
