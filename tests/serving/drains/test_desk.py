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
from serving.drains.observed import Observed
from serving.drains.records import Drain, DrainState, Exclusion, Kind, Verdict
from serving.drains.store import ALL, DrainStore
from serving.drains.verify import Verification
from serving.errors import DrainNotFoundError, LeaseOwnerError, LinkNotFoundError
from serving.store import AlarmStore

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
