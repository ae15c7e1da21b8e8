"""The alarm store, each test on SQLite and on PostgreSQL."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ingest.schema import FailureType
from serving.alarms import AlarmRecord, Applied, Clear, Level, ScoreRun, Status
from serving.errors import (
    AlarmConflictError,
    AlarmNotFoundError,
    CursorError,
    RunOrderError,
    StoreError,
    TransitionError,
)
from serving.store import AlarmFilter, AlarmStore

MakeAlarm = Callable[..., AlarmRecord]
MakeRun = Callable[..., ScoreRun]


class TestApply:
    def test_a_run_is_kept_as_it_was(self, store: AlarmStore, make_run: MakeRun) -> None:
        store.apply(make_run())

        assert make_run() == store.latest_run()

    def test_before_the_first_run_there_is_none(self, store: AlarmStore) -> None:
        assert store.latest_run() is None

    def test_an_alarm_comes_back_as_it_was_raised(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        applied = store.apply(make_run(), [make_alarm()])

        assert Applied(new=True, raised=1) == applied
        assert make_alarm() == store.alarm("alarm-001")
        assert (make_alarm(),) == store.open_alarms()

    def test_the_same_run_twice_changes_nothing(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        before = store.version()

        again = store.apply(make_run(), [make_alarm(2)], [make_alarm(risk_24h=0.9)])

        assert Applied(new=False) == again
        assert before == store.version()
        assert (make_alarm(),) == store.open_alarms()

    def test_another_model_may_score_the_same_time(self, store: AlarmStore, make_run: MakeRun) -> None:
        store.apply(make_run())

        assert store.apply(make_run(model_name="rival")).new

    def test_a_run_of_an_earlier_time_is_refused(self, store: AlarmStore, make_run: MakeRun, now: datetime) -> None:
        store.apply(make_run())

        with pytest.raises(RunOrderError, match="comes too late"):
            store.apply(make_run(now - timedelta(hours=1)))

    def test_a_fault_unit_has_one_standing_alarm(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        second = make_alarm(2, link_id=make_alarm().link_id)

        with pytest.raises(AlarmConflictError, match="already has alarm alarm-001"):
            store.apply(make_run(now + timedelta(hours=1)), [second])

        assert make_run() == store.latest_run(), "the refused run left nothing behind"

    def test_a_run_cannot_raise_two_alarms_on_one_fault_unit(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        with pytest.raises(AlarmConflictError, match="two alarms on one fault unit"):
            store.apply(make_run(), [make_alarm(), make_alarm(2, link_id=make_alarm().link_id)])

    def test_a_run_may_clear_one_alarm_and_raise_the_next_on_a_fault_unit(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        later = now + timedelta(hours=1)
        second = make_alarm(2, link_id=make_alarm().link_id)

        applied = store.apply(make_run(later), [second], [], [Clear(alarm_id="alarm-001", at=later, why="module gone")])

        assert Applied(new=True, raised=1, cleared=1) == applied
        assert (second,) == store.open_alarms()
        assert replace(make_alarm(), status=Status.CLEARED, cleared_at=later) == store.alarm("alarm-001")

    def test_an_update_keeps_the_life_that_hands_gave_it(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime
    ) -> None:
        store.apply(make_run(), [make_alarm(level=Level.WATCH)])
        store.transition("alarm-001", Status.ACKED, "ann", "looking")
        later = now + timedelta(hours=1)

        store.apply(make_run(later), [], [make_alarm(risk_24h=0.875, raised_at=later, model_version="4")])

        assert make_alarm(status="acked", risk_24h=0.875, model_version="4") == store.alarm("alarm-001")
        assert "level watch became act" == store.events("alarm-001")[-1].why

    def test_an_alarm_that_a_hand_closed_is_skipped(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        store.transition("alarm-001", Status.CLEARED, "ann", "cleaned")
        closed = store.alarm("alarm-001")
        later = now + timedelta(hours=1)

        applied = store.apply(
            make_run(later), [], [make_alarm(risk_24h=0.9)], [Clear(alarm_id="alarm-001", at=later, why="low")]
        )

        assert Applied(new=True, skipped=2) == applied
        assert closed == store.alarm("alarm-001")

    def test_an_update_of_no_alarm_is_an_error(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        with pytest.raises(AlarmNotFoundError, match="no alarm 'alarm-001'"):
            store.apply(make_run(), [], [make_alarm()])

    def test_two_scorers_at_once_apply_a_run_once(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        results: list[Applied] = []
        threads = [
            threading.Thread(target=lambda: results.append(store.apply(make_run(), [make_alarm()]))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert [False, False, False, True] == sorted(applied.new for applied in results)

    def test_many_alarms_are_raised_at_once(self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm) -> None:
        store.apply(make_run(), [make_alarm(number) for number in range(1, 1203)])

        assert 1202 == len(store.open_alarms())


class TestTransition:
    @pytest.fixture(autouse=True)
    def _raised(self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm) -> None:
        store.apply(make_run(), [make_alarm()])

    def test_each_step_is_an_event(self, store: AlarmStore, now: datetime) -> None:
        store.transition("alarm-001", Status.ACKED, "ann", "looking")
        cleared = store.transition("alarm-001", Status.CLEARED, "bob", "cleaned")

        steps = [(e.from_status, e.to_status, e.who, e.why) for e in store.events("alarm-001")]
        assert [
            (None, "open", "forelight 3", "bias 38 % above its baseline"),
            ("open", "acked", "ann", "looking"),
            ("acked", "cleared", "bob", "cleaned"),
        ] == steps
        assert now == cleared.cleared_at

    def test_the_same_step_again_changes_nothing(self, store: AlarmStore) -> None:
        store.transition("alarm-001", Status.ACKED, "ann", "looking")
        before = store.version()

        again = store.transition("alarm-001", Status.ACKED, "bob", "me too")

        assert Status.ACKED == again.status
        assert before == store.version()

    def test_an_illegal_step_is_an_error_that_names_the_legal_ones(self, store: AlarmStore) -> None:
        store.transition("alarm-001", Status.CLEARED, "ann", "")

        with pytest.raises(TransitionError, match="is cleared and cannot become open; it may become confirmed"):
            store.transition("alarm-001", Status.OPEN, "ann", "")

    def test_a_ticket_confirms_an_alarm_that_had_expired(self, store: AlarmStore, now: datetime) -> None:
        store.transition("alarm-001", Status.EXPIRED, "policy", "")
        confirmed = store.transition("alarm-001", Status.CONFIRMED, "ticket 7", "")

        assert now == confirmed.cleared_at

    def test_there_must_be_an_alarm(self, store: AlarmStore) -> None:
        with pytest.raises(AlarmNotFoundError, match="no alarm 'nobody'"):
            store.transition("nobody", Status.ACKED, "ann", "")

    @pytest.mark.parametrize("statement", ["UPDATE alarm_events SET who = 'x'", "DELETE FROM alarm_events"])
    def test_events_cannot_be_changed_by_anybody(self, store: AlarmStore, statement: str) -> None:
        from serving.database import writing

        with (
            pytest.raises(StoreError, match="alarm events are immutable"),
            writing(store._engine) as connection,
        ):
            connection.exec_driver_sql(statement)

    def test_the_database_itself_refuses_a_second_standing_alarm(self, store: AlarmStore) -> None:
        from serving.database import writing

        columns = "link_id, site, device, interface, suspect, level, status, raised_at, action, model_version, reasons"
        copy = f"INSERT INTO alarms (alarm_id, changed_at, {columns}) SELECT 'x', changed_at, {columns} FROM alarms"
        with pytest.raises(StoreError, match=r"(?i)unique"), writing(store._engine) as connection:
            connection.exec_driver_sql(copy)


class TestTimes:
    def test_times_come_back_in_utc(self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm) -> None:
        there = datetime(2026, 11, 29, 17, 30, 0, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30)))
        store.apply(make_run(), [make_alarm(raised_at=there)])

        raised_at = store.alarm("alarm-001").raised_at
        assert datetime(2026, 11, 29, 12, 0, 0, 123456, tzinfo=UTC) == raised_at
        assert UTC == raised_at.tzinfo


class TestFilters:
    @pytest.fixture(autouse=True)
    def _raised(self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm) -> None:
        raised = [
            make_alarm(1),
            make_alarm(2, device="leaf02", risk_24h=0.125, level="watch"),
            make_alarm(3, site="north", failure_type="contamination"),
            make_alarm(4, risk_24h=None, failure_type=None),
        ]
        store.apply(make_run(), raised)
        store.transition("alarm-004", Status.ACKED, "ann", "")

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            (AlarmFilter(), [1, 2, 3, 4]),
            (AlarmFilter(statuses=frozenset({Status.OPEN})), [1, 2, 3]),
            (AlarmFilter(statuses=frozenset({Status.CLEARED})), []),
            (AlarmFilter(device="leaf02"), [2]),
            (AlarmFilter(interface="Ethernet3"), [3]),
            (AlarmFilter(site="north"), [3]),
            (AlarmFilter(failure_type=FailureType.CONTAMINATION), [3]),
            (AlarmFilter(level=Level.WATCH), [2]),
            (AlarmFilter(min_risk=0.5), [1, 3]),
            (AlarmFilter(min_risk=0.5, site="default"), [1]),
        ],
    )
    def test_a_filter_selects(self, store: AlarmStore, where: AlarmFilter, expected: list[int]) -> None:
        assert [f"alarm-{number:03}" for number in expected] == [a.alarm_id for a in store.alarms(where).alarms]

    def test_since_selects_what_changed_so_that_a_poller_sees_clears(
        self, database_url: str, store: AlarmStore, now: datetime
    ) -> None:
        later = now + timedelta(hours=1)
        with AlarmStore(database_url, clock=lambda: later) as other:
            other.transition("alarm-003", Status.CLEARED, "ann", "cleaned")

        found = store.alarms(AlarmFilter(since=later)).alarms
        assert [("alarm-003", Status.CLEARED)] == [(a.alarm_id, a.status) for a in found]

    def test_counts_are_by_level_type_and_status(self, store: AlarmStore) -> None:
        assert {
            ("act", "laser_degradation", "open"): 1,
            ("watch", "laser_degradation", "open"): 1,
            ("act", "contamination", "open"): 1,
            ("act", "unknown", "acked"): 1,
        } == store.standing_counts()


class TestPages:
    def test_a_page_ends_where_the_next_begins(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime
    ) -> None:
        same_time = [make_alarm(number, raised_at=now) for number in range(1, 6)]
        store.apply(make_run(), same_time)

        first = store.alarms(limit=3)
        second = store.alarms(limit=3, cursor=first.next_cursor)

        assert [a.alarm_id for a in same_time] == [a.alarm_id for a in first.alarms + second.alarms]
        assert second.next_cursor is None

    def test_walking_meets_each_alarm_once_while_others_are_raised(
        self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, now: datetime
    ) -> None:
        store.apply(make_run(), [make_alarm(n, raised_at=now - timedelta(minutes=n % 3)) for n in range(1, 30)])
        met: list[str] = []
        cursor: str | None = None
        for page in range(1, 100):
            found = store.alarms(cursor=cursor, limit=4)
            met += [a.alarm_id for a in found.alarms]
            at = now + timedelta(hours=page)
            store.apply(make_run(at), [make_alarm(100 + page, raised_at=at)])
            cursor = found.next_cursor
            if cursor is None:
                break

        assert len(met) == len(set(met))
        assert {f"alarm-{number:03}" for number in range(1, 30)} == set(met)

    @pytest.mark.parametrize(
        "cursor",
        ["", "nonsense", "W10", "WzEsMl0", "4pyTIA", "=" * 9, "WyIyMDI2LTExLTI5VDEyOjAwOjAwIiwieCJd", "é"],
    )
    def test_a_cursor_that_is_not_ours_is_an_error(self, store: AlarmStore, cursor: str) -> None:
        with pytest.raises(CursorError, match="not given out by this service"):
            store.alarms(cursor=cursor)

    def test_the_walk_reads_all_pages(self, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm) -> None:
        store.apply(make_run(), [make_alarm(number) for number in range(1, 1502)])

        walk: Iterator[AlarmRecord] = store.walk()
        assert 1501 == len({record.alarm_id for record in walk})
