"""Deliveries: each at least once, in order of their alarm, by one at a time, on both databases."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, func, select

from serving.alarms import AlarmRecord, Clear, ScoreRun, Status
from serving.database import reading, writing
from serving.deliveries.errors import LetterError
from serving.deliveries.letters import Count, Letters
from serving.deliveries.outbox import Claimed, Outbox, Outcome, Retries
from serving.notices import Kind
from serving.store import AlarmStore
from serving.tables import deliveries, outbox

MakeRun = Callable[..., ScoreRun]
MakeAlarm = Callable[..., AlarmRecord]
Advance = Callable[..., None]
DONE = Outcome()


@pytest.fixture(name="make_outbox")
def _make_outbox(database_url: str, clock: Callable[[], datetime]) -> Iterator[Callable[..., Outbox]]:
    with ExitStack() as opened:

        def make(owner: str = "ann", **retries: Any) -> Outbox:
            box = Outbox(database_url, owner=owner, retries=Retries(**retries), clock=clock, chance=lambda: 1.0)
            return opened.enter_context(box)

        yield make


@pytest.fixture(name="box")
def _box(store: AlarmStore, make_outbox: Callable[..., Outbox]) -> Outbox:
    """An outbox whose adapter `hook` was seen before anything was raised."""
    box = make_outbox()
    box.fan_out("hook")
    return box


@pytest.fixture(name="letters")
def _letters(database_url: str, clock: Callable[[], datetime]) -> Iterator[Letters]:
    with Letters(database_url, clock=clock) as letters:
        yield letters


def _due(box: Outbox, adapter: str = "hook") -> list[Claimed]:
    box.fan_out(adapter)
    return list(box.claim(adapter, limit=100, lease_s=60.0))


def _kinds(claimed: list[Claimed]) -> list[tuple[str, str]]:
    return [(each.notice.subject, str(each.notice.kind)) for each in claimed]


class TestOrder:
    def test_of_an_alarm_the_next_message_comes_when_the_one_before_is_done(
        self, box: Outbox, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        store.apply(make_run(), [make_alarm(1), make_alarm(2)])
        store.transition("alarm-001", Status.ACKED, "ann", "")
        store.transition("alarm-001", Status.CLEARED, "ann", "")

        rounds = []
        while due := _due(box):
            rounds.append(_kinds(due))
            box.settle([(each, DONE) for each in due])

        assert [
            [("alarm-001", "raised"), ("alarm-002", "raised")],
            [("alarm-001", "acked")],
            [("alarm-001", "cleared")],
        ] == rounds

    def test_a_failure_holds_up_its_own_alarm_only(
        self, box: Outbox, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, advance: Advance
    ) -> None:
        store.apply(make_run(), [make_alarm(1), make_alarm(2)])
        for number in (1, 2):
            store.transition(f"alarm-00{number}", Status.CLEARED, "ann", "")
        first, second = _due(box)
        box.settle([(first, Outcome(error="no")), (second, DONE)])

        assert [("alarm-002", "cleared")] == _kinds(_due(box))
        advance(seconds=1)
        assert [("alarm-001", "raised")] == _kinds(_due(box))

    def test_after_a_dead_raise_the_clear_is_delivered(
        self, box: Outbox, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        store.transition("alarm-001", Status.CLEARED, "ann", "")
        box.settle([(each, Outcome(error="400", refused=True)) for each in _due(box)])

        (clear,) = _due(box)

        assert ("alarm-001", Kind.CLEARED) == (clear.notice.subject, clear.notice.kind)
        assert clear.maybe, "nobody knows what a consumer made of a message that it refused"


class TestRetries:
    def test_a_delivery_is_tried_after_twice_the_time_each_time_and_then_dead(
        self,
        make_outbox: Callable[..., Outbox],
        box: Outbox,
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        advance: Advance,
        letters: Letters,
    ) -> None:
        box = make_outbox(tries=4, first_s=10.0, most_s=25.0)
        store.apply(make_run(), [make_alarm()])
        waits = []
        while not letters.listed():
            waited = 0
            while not (due := _due(box)):
                advance(seconds=1)
                waited += 1
            waits.append(waited)
            box.settle([(due[0], Outcome(error=f"try {len(waits)}"))])

        assert [0, 10, 20, 25] == waits
        assert [("hook/1", "dead", 4, "try 4")] == [(x.name, x.state, x.tries, x.error) for x in letters.listed()]

    def test_what_was_given_back_untried_is_due_at_once(
        self, box: Outbox, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        due = _due(box)
        box.settle([(due[0], Outcome(tried=False))])

        assert due == _due(box)


class TestLeases:
    def test_what_one_has_claimed_no_other_gets_until_its_time_is_over(
        self,
        box: Outbox,
        make_outbox: Callable[..., Outbox],
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        advance: Advance,
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        bob = make_outbox("bob")
        assert 1 == len(_due(box))
        assert [] == _due(bob)

        advance(seconds=61)

        assert [("alarm-001", "raised")] == _kinds(_due(bob))

    def test_who_lost_a_delivery_writes_nothing_about_it(
        self,
        box: Outbox,
        make_outbox: Callable[..., Outbox],
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        advance: Advance,
        letters: Letters,
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        late = _due(box)
        advance(seconds=61)
        assert 1 == len(_due(make_outbox("bob")))

        box.settle([(late[0], Outcome(error="refused", refused=True))])

        assert () == letters.listed()

    def test_many_at_once_claim_each_delivery_once(
        self,
        make_outbox: Callable[..., Outbox],
        box: Outbox,
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
    ) -> None:
        store.apply(make_run(), [make_alarm(number) for number in range(1, 101)])
        got: list[Claimed] = []

        def work(owner: str) -> None:
            mine = make_outbox(owner)
            mine.fan_out("hook")
            while due := mine.claim("hook", limit=7, lease_s=60.0):
                got.extend(due)

        threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sorted(f"alarm-{number:03}" for number in range(1, 101)) == sorted(x.notice.subject for x in got)


class TestStanding:
    STANDS = Outcome(told=True, again_in_s=300.0)

    @pytest.fixture(autouse=True)
    def _told(self, box: Outbox, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm) -> None:
        store.apply(make_run(), [make_alarm()])
        box.settle([(each, self.STANDS) for each in _due(box)])

    def test_it_is_looked_at_again_with_the_risk_of_now(
        self, box: Outbox, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, advance: Advance
    ) -> None:
        store.apply(make_run(make_run().at + timedelta(hours=1)), [], [make_alarm(risk_24h=0.875)])
        assert [] == _due(box)

        advance(seconds=300)

        (again,) = _due(box)
        assert again.stands
        assert again.told
        assert again.notice.alarm == make_alarm(risk_24h=0.875)

    def test_newer_news_takes_its_place(self, box: Outbox, store: AlarmStore, advance: Advance) -> None:
        store.transition("alarm-001", Status.CLEARED, "ann", "")
        advance(seconds=300)

        assert [("alarm-001", "cleared")] == _kinds(_due(box))

    def test_newer_news_waits_for_whoever_is_telling_the_old_and_is_the_last_word(
        self, box: Outbox, make_outbox: Callable[..., Outbox], store: AlarmStore, advance: Advance
    ) -> None:
        """Else a clear could be overtaken by the raise that is told once more."""
        advance(seconds=300)
        again = _due(box)
        store.transition("alarm-001", Status.CLEARED, "ann", "")
        bob = make_outbox("bob")
        assert [] == _due(bob)

        box.settle([(again[0], self.STANDS)])

        (clear,) = _due(bob)
        assert Kind.CLEARED == clear.notice.kind
        assert clear.told
        bob.settle([(clear, Outcome(told=False))])
        advance(hours=9)
        assert [] == _due(bob)


class TestNewAdapters:
    def test_a_new_one_hears_the_newest_of_what_stands_and_nothing_of_what_is_over(
        self, box: Outbox, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        store.apply(make_run(), [make_alarm(1), make_alarm(2)])
        store.transition("alarm-001", Status.CLEARED, "ann", "")
        store.transition("alarm-002", Status.ACKED, "ann", "")

        assert [("alarm-002", "acked")] == _kinds(_due(box, "late"))

    def test_alarms_from_before_there_was_an_outbox_are_told_of(
        self, make_outbox: Callable[..., Outbox], store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        with writing(store._engine) as connection:
            connection.execute(delete(outbox))

        assert [("alarm-001", "raised")] == _kinds(_due(make_outbox(), "late"))

    def test_nodes_stay_those_of_the_raise(
        self, box: Outbox, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        store.apply(make_run(), [make_alarm()])
        (raised,) = _due(box)
        assert not raised.nodes_known
        box.keep_nodes(raised.notice, ["gpu001"])
        box.settle([(raised, DONE)])
        store.transition("alarm-001", Status.CLEARED, "ann", "")

        (clear,) = _due(box)

        assert clear.nodes_known
        assert ("gpu001",) == clear.notice.nodes


class TestLetters:
    @pytest.fixture(autouse=True)
    def _dead(self, box: Outbox, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm) -> None:
        store.apply(make_run(), [make_alarm()])
        box.settle([(each, Outcome(error="400", refused=True)) for each in _due(box)])

    def test_a_dead_one_is_tried_again_when_somebody_says_so(self, box: Outbox, letters: Letters) -> None:
        letters.retry("hook", 1)

        assert [("alarm-001", "raised")] == _kinds(_due(box))

    def test_it_is_not_when_newer_news_was_delivered(self, box: Outbox, store: AlarmStore, letters: Letters) -> None:
        """A raise after its clear would hold a node for ever."""
        store.transition("alarm-001", Status.CLEARED, "ann", "")
        box.settle([(each, DONE) for each in _due(box)])

        with pytest.raises(LetterError, match="comes too late"):
            letters.retry("hook", 1)

    def test_only_what_is_dead_can_be_retried_and_only_what_is_to_be_done_dropped(self, letters: Letters) -> None:
        letters.drop("hook", 1)

        with pytest.raises(LetterError, match="it is dropped"):
            letters.retry("hook", 1)
        with pytest.raises(LetterError, match="there is none"):
            letters.drop("hook", 99)

    def test_counts_tell_what_waits_and_what_is_dead(
        self,
        store: AlarmStore,
        box: Outbox,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        letters: Letters,
        advance: Advance,
    ) -> None:
        store.transition("alarm-001", Status.ACKED, "ann", "")
        advance(minutes=5)

        assert {"hook": Count(waiting=1, dead=1, oldest_s=300.0)} == letters.counts()

    def test_messages_of_alarms_that_are_over_are_pruned_once_nothing_is_to_be_done(
        self, box: Outbox, store: AlarmStore, letters: Letters, advance: Advance
    ) -> None:
        store.transition("alarm-001", Status.CLEARED, "ann", "")
        box.settle([(each, DONE) for each in _due(box)])
        advance(days=31)
        assert 0 == letters.prune(timedelta(days=30)), "a dead one is for a person to see"
        letters.drop("hook", 1)

        assert 0 == letters.prune(timedelta(days=40))
        assert 2 == letters.prune(timedelta(days=30))
        with reading(store._engine) as connection:
            assert (0, 0) == tuple(
                connection.scalar(select(func.count()).select_from(table)) for table in (outbox, deliveries)
            )

    def test_what_stands_is_never_pruned(self, store: AlarmStore, letters: Letters, advance: Advance) -> None:
        letters.drop("hook", 1)
        advance(days=400)

        assert 0 == letters.prune(timedelta(days=30))

    def test_an_adapter_that_is_gone_is_forgotten(self, letters: Letters) -> None:
        assert 1 == letters.forget("hook")

        assert {} == letters.counts()


def test_a_clear_by_a_run_is_delivered_like_any(
    box: Outbox, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
) -> None:
    store.apply(make_run(), [make_alarm()])
    later = make_run().at + timedelta(hours=1)
    store.apply(make_run(later), [], [], [Clear(alarm_id="alarm-001", at=later, why="risk is low")])
    box.settle([(each, DONE) for each in _due(box)])

    (clear,) = _due(box)

    assert replace(make_alarm(), status=Status.CLEARED, cleared_at=later) == clear.notice.alarm
