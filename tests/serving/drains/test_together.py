"""Leases that are asked for at the same time share a transaction, and nothing else: on both databases."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from unittest import mock

import polars as pl
import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from serving.alarms import AlarmRecord
from serving.drains.desk import Desk, Known
from serving.drains.guard import Code, Refusal
from serving.drains.judged import Judged
from serving.drains.observed import Observed
from serving.drains.records import Drain, Entry
from serving.drains.store import DrainStore, Writing
from serving.drains.together import Together
from serving.errors import LinkNotFoundError, StoreError
from serving.store import AlarmStore

PLACES = [f"leaf0{leaf} Ethernet1" for leaf in (1, 2, 3)]
Lease = Future[tuple[Judged, Drain | Refusal]]


@pytest.fixture(name="known")
def _known(
    make_known: Callable[..., Known],
    scores_at: Callable[..., pl.DataFrame],
    act_on: Callable[..., AlarmRecord],
    seen: Callable[..., Observed],
    now: object,
) -> Known:
    alarms = [act_on(place, suspect="fiber") for place in PLACES]
    return make_known(scores_at(*PLACES, risk_24h=0.7), alarms, observed=seen(now))


@contextmanager
def _at_once(desk: Desk, known: Known, *places: str) -> Iterator[list[Lease]]:
    """Leases that wait for one transaction to end, and then share the next: each caller asks for one place."""
    begun, end = threading.Event(), threading.Event()

    def hold(_writing: Writing) -> None:
        begun.set()
        end.wait(30)

    with ThreadPoolExecutor(len(places) + 1) as callers:
        before = callers.submit(desk.store.together, hold)
        begun.wait(30)
        leases = []
        for number, place in enumerate(places, 1):
            device, interface = place.split()
            leases.append(callers.submit(desk.lease, known, ("default", device, interface), f"caller {number}", 600))
            while desk.store.waiting < number:
                time.sleep(0.001)
        end.set()
        before.result(30)
        yield leases


def test_they_are_decided_one_after_another_in_one_transaction(desk: Desk, known: Known, store: AlarmStore) -> None:
    """The second asks for what the first was just given; both are told after the one commit."""
    commits: list[object] = []
    event.listen(store.engine, "commit", commits.append)

    with _at_once(desk, known, PLACES[0], PLACES[0], PLACES[1]) as leases:
        answers = [lease.result(30)[1] for lease in leases]

    assert [True, False, True] == [isinstance(answer, Drain) for answer in answers]
    assert isinstance(answers[1], Refusal)
    assert Code.HELD is answers[1].code
    assert 2 == len(commits), "that which they waited for, and theirs"


def test_one_that_fails_takes_no_neighbour_along(desk: Desk, known: Known, store: AlarmStore) -> None:
    """One asks for what there is not, another breaks down when its drain is written already: that one is undone."""
    log = Writing.log

    def breaking(writing: Writing, entry: Entry) -> None:
        if entry.who == "caller 2":
            raise ZeroDivisionError
        log(writing, entry)

    with (
        mock.patch.object(Writing, "log", breaking),
        _at_once(desk, known, PLACES[0], PLACES[1], "nowhere Ethernet1", PLACES[2]) as leases,
    ):
        errors = [type(lease.exception(30)) for lease in leases]

    assert [type(None), ZeroDivisionError, LinkNotFoundError, type(None)] == errors
    for one in (desk.store, DrainStore(store.engine)):
        assert {"caller 1", "caller 4"} == {drain.holder for drain in one.standing().out}


def test_where_the_transaction_fails_nobody_is_granted_anything(desk: Desk, known: Known, store: AlarmStore) -> None:
    """As when the process dies before the commit: who was not answered holds nothing."""

    commits: list[object] = []

    def full(connection: object) -> None:
        commits.append(connection)
        if len(commits) > 1:  # the first is that which they wait for
            statement = "COMMIT"
            raise OperationalError(statement, {}, OSError("disk full"))

    event.listen(store.engine, "commit", full)
    with _at_once(desk, known, *PLACES) as leases:
        errors = [type(lease.exception(30)) for lease in leases]
    event.remove(store.engine, "commit", full)

    assert [StoreError] * 3 == errors
    for one in (desk.store, DrainStore(store.engine)):
        assert () == one.standing().out
    assert isinstance(desk.lease(known, ("default", "leaf01", "Ethernet1"), "caller 1", 600)[1], Drain)


def test_a_change_that_is_not_logged_is_undone_alone(desk: Desk, known: Known) -> None:
    _, lease = desk.lease(known, ("default", "leaf01", "Ethernet1"), "caller 1", 600)
    assert isinstance(lease, Drain)

    with pytest.raises(RuntimeError, match="not in the log"):
        desk.store.together(lambda writing: writing.change(lease))
    assert (lease,) == desk.store.standing().out


def test_each_gets_its_own_answer_whatever_the_groups() -> None:
    """Hundreds of callers at once; every piece is done once."""
    groups: list[int] = []

    def commit(pieces: object) -> None:
        todo = list(pieces)  # type: ignore[call-overload]  # a sequence
        groups.append(len(todo))
        for piece in todo:
            piece.answer = piece.work(None)

    together = Together(commit)
    with ThreadPoolExecutor(32) as callers:
        answers = list(callers.map(lambda n: together.do(lambda _: n), range(500)))

    assert list(range(500)) == answers
    assert 500 == sum(groups)
    assert 0 == together.waiting
