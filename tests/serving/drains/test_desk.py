"""Leases and reports, on both databases."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from ingest.schema import Action
from serving.alarms import AlarmRecord
from serving.drains.advice import Mode
from serving.drains.desk import Desk, Known
from serving.drains.guard import Code, Refusal
from serving.drains.log import LogFilter, read_log
from serving.drains.observed import Observed
from serving.drains.records import Drain, DrainState, Exclusion, Kind, Verdict
from serving.drains.store import ALL, DrainStore
from serving.drains.verify import Verification
from serving.errors import CursorError, DrainNotFoundError, LeaseOwnerError, LinkNotFoundError
from serving.store import AlarmStore
from serving.upkeep import prune

ONE = ("default", "leaf01", "Ethernet1")
PLACES = [f"{leaf} Ethernet{port}" for leaf in ("leaf01", "leaf02") for port in (1, 2, 3, 4)]


@pytest.fixture(name="known")
def _known(
    make_known: Callable[..., Known],
    scores_at: Callable[..., pl.DataFrame],
    act_on: Callable[..., AlarmRecord],
    seen: Callable[..., Observed],
    clock: Callable[[], datetime],
) -> Callable[[], Known]:
    """Every uplink of two leaves has an alarm of level act; all links are up as of now."""
    alarms = [act_on(place, suspect="fiber") for place in PLACES]

    def know() -> Known:
        return make_known(scores_at(*PLACES, "leaf01 Ethernet11", risk_24h=0.7), alarms, observed=seen(clock()))

    return know


def _port(place: str) -> tuple[str, str, str]:
    device, interface = place.split()
    return "default", device, interface


def test_a_lease_is_granted_and_written_down(desk: Desk, known: Callable[[], Known], now: datetime) -> None:
    judged, lease = desk.lease(known(), ONE, "remediator", 600)

    assert isinstance(lease, Drain)
    assert (now + timedelta(seconds=600), "remediator", True) == (lease.expires_at, lease.holder, lease.given)
    assert ("granted", lease.drain_id) == (desk.store.log()[0].outcome, desk.store.log()[0].drain_id)
    assert judged.link.link_id == lease.link_id


def test_asking_again_gives_the_same_lease(desk: Desk, known: Callable[[], Known]) -> None:
    first, second = (desk.lease(known(), ONE, "remediator", None)[1] for _ in range(2))

    assert first == second


def test_a_lease_that_was_given_is_not_confirmed_once_drains_are_stopped(
    desk: Desk, known: Callable[[], Known]
) -> None:
    desk.lease(known(), ONE, "remediator", None)
    with desk.store.writing() as writing:
        writing.switch(ALL, Code.STOPPED, "ann", "fire drill")
    _, refused = desk.lease(known(), ONE, "remediator", None)

    assert isinstance(refused, Refusal)
    assert Code.STOPPED is refused.code


def test_another_caller_is_refused_what_is_leased(desk: Desk, known: Callable[[], Known]) -> None:
    desk.lease(known(), ONE, "remediator", None)
    _, refused = desk.lease(known(), ONE, "another", None)

    assert isinstance(refused, Refusal)
    assert Code.HELD is refused.code
    assert ("refused", "held") == (desk.store.log()[0].outcome, desk.store.log()[0].code)


def test_in_shadow_nothing_is_leased_and_what_would_have_been_is_told(desk: Desk, known: Callable[[], Known]) -> None:
    with desk.store.writing() as writing:
        writing.switch("fabric", Mode.SHADOW, "ann", "not yet")
    judged, refused = desk.lease(known(), ONE, "remediator", None)

    assert isinstance(refused, Refusal)
    assert (Code.SHADOW, "drain") == (refused.code, judged.decision.advice)


def test_one_switch_stops_everything(desk: Desk, known: Callable[[], Known]) -> None:
    with desk.store.writing() as writing:
        writing.switch(ALL, Code.STOPPED, "ann", "fire drill")
    _, refused = desk.lease(known(), ONE, "remediator", None)

    assert isinstance(refused, Refusal)
    assert Code.STOPPED is refused.code
    assert "fire drill" in refused.why


def test_an_excluded_device_is_left_alone_until_then(
    desk: Desk, known: Callable[[], Known], now: datetime, advance: Callable[..., None]
) -> None:
    out = Exclusion(
        exclusion_id=0,
        site="default",
        device="spine01",
        interface=None,
        until=now + timedelta(hours=1),
        who="ann",
        why="soak",
    )
    with desk.store.writing() as writing:
        writing.exclude(out)
    _, refused = desk.lease(known(), ONE, "remediator", None)
    advance(hours=2)
    _, granted = desk.lease(known(), ONE, "remediator", None)

    assert isinstance(refused, Refusal)
    assert Code.EXCLUDED is refused.code
    assert isinstance(granted, Drain)


def test_a_lease_that_ran_out_gives_its_capacity_back_when_the_link_is_seen_up(
    desk: Desk, known: Callable[[], Known], advance: Callable[..., None]
) -> None:
    before = known()
    desk.lease(before, ONE, "gone", 60)
    advance(minutes=2)
    _, blind = desk.lease(before, ONE, "another", None)
    _, granted = desk.lease(known(), ONE, "another", None)

    assert isinstance(blind, Refusal)
    assert Code.HELD is blind.code
    assert isinstance(granted, Drain)


def test_a_clock_that_jumps_back_ends_no_lease_and_starts_none_over(
    desk: Desk, known: Callable[[], Known], advance: Callable[..., None], now: datetime
) -> None:
    _, lease = desk.lease(known(), ONE, "remediator", 600)
    advance(hours=-5)
    _, refused = desk.lease(known(), ONE, "another", None)

    assert isinstance(lease, Drain)
    assert isinstance(refused, Refusal)
    assert now == desk.store.standing().now


def test_two_callers_at_once_are_never_both_told_yes_past_the_guard(desk: Desk, known: Callable[[], Known]) -> None:
    answers: list[Drain | Refusal] = []
    start = threading.Barrier(len(PLACES))

    def ask(place: str) -> None:
        start.wait()
        answers.append(desk.lease(known(), _port(place), f"caller {place}", None)[1])

    callers = [threading.Thread(target=ask, args=(place,)) for place in PLACES]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    granted = [link for answer in answers if isinstance(answer, Drain) for link in answer.links]
    left = known().sight.fabric.paths([("default", "leaf01"), ("default", "leaf02")], granted)
    assert len(PLACES) == len(answers)
    assert {2} == set(left.values()), "half of four paths stay, and what may be given is given"


def test_who_holds_a_lease_gives_it_back_and_nobody_else(desk: Desk, known: Callable[[], Known]) -> None:
    _, lease = desk.lease(known(), ONE, "remediator", None)
    assert isinstance(lease, Drain)

    with pytest.raises(LeaseOwnerError):
        desk.release(lease.drain_id, "another")
    assert DrainState.RELEASED is desk.release(lease.drain_id, "remediator").state
    assert DrainState.RELEASED is desk.release(lease.drain_id, "remediator").state
    with pytest.raises(DrainNotFoundError):
        desk.release("nothing", "remediator")


def test_a_drain_is_reported_back_and_verified(
    desk: Desk, known: Callable[[], Known], advance: Callable[..., None], now: datetime
) -> None:
    desk.lease(known(), ONE, "remediator", 60)
    drained = desk.drained(known(), ONE, "remediator", "")
    advance(hours=3)
    back = desk.undrained(known(), ONE, "technician", "", [Action.CLEAN_CONNECTOR])
    done = desk.verified(back.drain_id, Verification(Verdict.PASSED, ("clean",)), "remediator", "")

    assert (DrainState.DRAINED, None) == (drained.state, drained.expires_at)
    assert (DrainState.UNDRAINED, now + timedelta(hours=3)) == (back.state, back.ended_at)
    assert (Verdict.PASSED, ("clean_connector",)) == (done.verdict, tuple(done.actions))
    assert ["verified", "undrained", "drained", "lease"] == [entry.kind for entry in desk.store.log(limit=4)]


def test_who_polls_and_is_refused_is_written_down_when_the_answer_changes_and_once_a_day(
    desk: Desk, known: Callable[[], Known], advance: Callable[..., None]
) -> None:
    """A consumer that asks every ten seconds would bury all else; another caller, reason or day is news."""
    desk.lease(known(), ONE, "first", 3_600)

    def lines() -> int:
        return len(desk.store.log(kind=Kind.LEASE, limit=1000))

    told = []
    for _ in range(5):
        _, answer = desk.lease(known(), ONE, "second", None)
        assert isinstance(answer, Refusal)
        told.append((lines(), answer.code))
    assert [(2, Code.HELD)] * 5 == told
    desk.lease(known(), ONE, "third", None)
    assert 3 == lines()
    with desk.store.writing() as writing:
        writing.switch(ALL, Code.STOPPED, "jo", "")
    assert [4, 4] == [_lines_after(desk, known, "second", lines) for _ in range(2)]
    with desk.store.writing() as writing:
        writing.switch(ALL, "running", "jo", "")
    advance(hours=25)
    assert isinstance(desk.lease(known(), ONE, "second", 60)[1], Drain), "the lease has run out"
    assert 5 == lines()
    assert isinstance(desk.lease(known(), ONE, "third", None)[1], Refusal)
    assert 6 == lines()


def _lines_after(desk: Desk, known: Callable[[], Known], holder: str, lines: Callable[[], int]) -> int:
    desk.lease(known(), ONE, holder, None)
    return lines()


def test_what_was_decided_long_ago_is_deleted_but_for_what_still_holds(
    desk: Desk, known: Callable[[], Known], advance: Callable[..., None], store: AlarmStore, now: datetime
) -> None:
    """The newest line stays, for the store's time is never before it; a drain that is out stays however old."""
    desk.drained(known(), ONE, "ufm", "isolated")
    over = desk.lease(known(), _port("leaf02 Ethernet1"), "remediator", 60)[1]
    assert isinstance(over, Drain)
    with desk.store.writing() as writing:
        place = {"site": "default", "device": "leaf04", "interface": None}
        writing.exclude(Exclusion(exclusion_id=0, until=now + timedelta(hours=1), who="jo", why="", **place))  # type: ignore[arg-type]  # as named
    advance(hours=2)
    desk.record(known(), "forelight 7")  # the lease is over and its link seen up
    advance(days=60)

    gone = prune(store, now + timedelta(days=30))
    kept = desk.store.standing()

    assert gone.decisions > 4
    assert 1 == len(desk.store.log(limit=1000))
    assert ["ufm"] == [one.holder for one in kept.out]
    with pytest.raises(DrainNotFoundError):
        desk.store.drain(over.drain_id)
    assert 0 == prune(store, now + timedelta(days=30)).decisions


def test_pages_of_the_log_meet_each_entry_once_while_others_are_written(
    desk: Desk, known: Callable[[], Known], store: AlarmStore, now: datetime, advance: Callable[..., None]
) -> None:
    desk.record(known(), "forelight 7")
    advance(hours=1)
    desk.drained(known(), ONE, "ufm", "isolated")
    wanted = [entry.link_id for entry in desk.store.log(limit=1000)]
    met, cursor = [], None
    for number in range(100):
        page = read_log(store.engine, LogFilter(), cursor=cursor, limit=2)
        met += [line.entry.link_id for line in page.lines]
        desk.lease(known(), ONE, f"poller {number}", None)
        if (cursor := page.next_cursor) is None:
            break

    assert wanted == met
    later = read_log(store.engine, LogFilter(kind=Kind.DRAINED, since=now + timedelta(minutes=30)))
    assert (["drained"], None) == ([line.entry.kind for line in later.lines], later.next_cursor)
    assert () == read_log(store.engine, LogFilter(kind=Kind.ADVICE, since=now + timedelta(minutes=30))).lines
    for none in ("", "x", "-1", "1" * 40, "²"):
        with pytest.raises(CursorError):
            read_log(store.engine, LogFilter(), cursor=none)


def test_a_verdict_is_written_down_when_it_changes_not_at_each_poll(
    desk: Desk, known: Callable[[], Known], advance: Callable[..., None]
) -> None:
    def back(actions: list[Action]) -> str:
        desk.drained(known(), ONE, "remediator", "")
        advance(hours=1)
        return desk.undrained(known(), ONE, "technician", "", actions).drain_id

    def verdicts() -> list[str]:
        return [entry.outcome for entry in desk.store.log(kind=Kind.VERIFIED)][::-1]

    first = back([Action.CLEAN_CONNECTOR])
    for hours in range(3):
        desk.verified(first, Verification(Verdict.PENDING, (f"watched for {hours} h",)), "remediator", "")
    for _ in range(3):
        desk.verified(first, Verification(Verdict.FAILED, ("3 flaps",)), "remediator", "")
    assert ["pending", "failed"] == verdicts()

    second = back([Action.RESEAT])
    desk.verified(second, Verification(Verdict.FAILED, ("2 flaps",)), "remediator", "")

    assert ["pending", "failed", "failed"] == verdicts(), "the next repair has a verdict of its own"


def test_a_drain_that_nobody_asked_for_counts_as_out(desk: Desk, known: Callable[[], Known]) -> None:
    drain = desk.drained(known(), ONE, "ufm", "isolated")
    _, refused = desk.lease(known(), _port("leaf01 Ethernet2"), "remediator", None)

    assert not drain.given
    assert isinstance(refused, Refusal)
    assert Code.BUNDLE is refused.code


def test_a_link_that_was_never_drained_does_not_come_back(desk: Desk, known: Callable[[], Known]) -> None:
    with pytest.raises(DrainNotFoundError):
        desk.undrained(known(), ONE, "technician", "", [])


def test_a_port_without_a_known_link_is_an_error_not_an_all_clear(desk: Desk, known: Callable[[], Known]) -> None:
    with pytest.raises(LinkNotFoundError):
        desk.lease(known(), ("default", "leaf09", "Ethernet1"), "remediator", None)


def test_advice_is_logged_once_until_it_changes(desk: Desk, known: Callable[[], Known]) -> None:
    first, again = desk.record(known(), "forelight 7"), desk.record(known(), "forelight 7")
    desk.lease(known(), ONE, "remediator", None)
    after = desk.record(known(), "forelight 7")

    assert (len(PLACES), 0) == (first, again)
    assert after > 0, "what is held by the lease is advised otherwise"
    assert {"drain", "hold"} == {entry.outcome for entry in desk.store.log(kind=Kind.ADVICE)}


def test_another_process_sees_what_this_one_decided(
    desk: Desk, known: Callable[[], Known], store: AlarmStore, clock: Callable[[], datetime]
) -> None:
    other = Desk(DrainStore(store.engine, clock=clock), desk.config)
    before = (desk.store.standing().out, other.store.standing().out)
    desk.lease(known(), ONE, "remediator", None)
    _, refused = other.lease(known(), ONE, "another", None)

    assert ((), ()) == before
    assert isinstance(refused, Refusal)
    assert 1 == len(desk.store.standing().out) == len(other.store.standing().out)


def test_a_change_that_is_not_logged_is_undone(desk: Desk, known: Callable[[], Known]) -> None:
    _, lease = desk.lease(known(), ONE, "remediator", None)
    assert isinstance(lease, Drain)

    with pytest.raises(RuntimeError, match="not in the log"), desk.store.writing() as writing:
        writing.change(replace(lease, state=DrainState.RELEASED))
    assert DrainState.LEASED is desk.store.drain(lease.drain_id).state


def test_repairs_that_cure_nothing_put_the_class_back_to_shadow(
    desk: Desk, known: Callable[[], Known], advance: Callable[..., None]
) -> None:
    for place in ("leaf01 Ethernet1", "leaf01 Ethernet3", "leaf02 Ethernet1"):
        assert Mode.ACTIVE is desk.store.standing().mode(desk.judge(known(), desk.store.standing(), ONE).link_class)
        port = _port(place)
        desk.drained(known(), port, "remediator", "")
        advance(minutes=5)
        back = desk.undrained(known(), port, "technician", "", [Action.RESEAT])
        desk.verified(back.drain_id, Verification(Verdict.FAILED, ("3 flaps",)), "remediator", "")

    standing = desk.store.standing()
    assert "shadow" == standing.switches["fabric"].mode
    assert "3 of the last 10 repairs cured nothing" == standing.switches["fabric"].why
    assert datetime.min.replace(tzinfo=UTC) < standing.switches["fabric"].since
