"""What a batch run and a drifting model do about drains."""

from collections.abc import Callable
from datetime import datetime, timedelta

import polars as pl
import pytest

from ingest.lake import Lake
from ingest.schema import PORT_SAMPLES, Action
from serving.alarms import AlarmRecord, Applied, ScoreRun
from serving.drains.advice import Mode
from serving.drains.after_run import after_run, demote_all
from serving.drains.config import DrainConfig
from serving.drains.desk import Desk, Known
from serving.drains.fabric import LinkClass
from serving.drains.records import Kind
from serving.drains.store import DrainStore
from serving.scoring.scorer import Scoring
from serving.settings import Settings
from serving.store import AlarmStore
from serving.storms import HeldBack, keep


@pytest.fixture(name="drains")
def _drains(store: AlarmStore, clock: Callable[[], datetime]) -> DrainStore:
    """Fabric links are active."""
    drains = DrainStore(store.engine, clock=clock)
    with drains.writing() as writing:
        writing.switch("fabric", Mode.ACTIVE, "ann", "")
    return drains


@pytest.fixture(name="alarmed")
def _alarmed(
    score: Callable[..., None], scores_at: Callable[..., pl.DataFrame], act_on: Callable[..., AlarmRecord]
) -> None:
    score(scores_at("leaf01 Ethernet1", risk_24h=0.7), raised=(act_on("leaf01 Ethernet1"),))


@pytest.fixture(name="run")
def _run(
    lake: Lake,
    wire: Callable[[Lake, datetime], None],
    store: AlarmStore,
    settings: Settings,
    now: datetime,
    alarmed: None,
    make_run: Callable[..., ScoreRun],
) -> Callable[..., int]:
    """A run that raised an alarm on leaf01 Ethernet1: ``run(held_back=3)``; how much advice was written down."""
    wire(lake, now)

    def run(held_back: int = 0, at: datetime = now) -> int:
        return after_run(settings, lake, store, Scoring(make_run(), Applied(new=True), held_back), at)

    return run


@pytest.fixture(name="again")
def _again(
    run: Callable[..., int],
    settings: Settings,
    lake: Lake,
    store: AlarmStore,
    make_run: Callable[..., ScoreRun],
    clock: Callable[[], datetime],
) -> Callable[[], None]:
    """The run of `run`, asked for once more."""

    def again() -> None:
        after_run(settings, lake, store, Scoring(make_run(), Applied(new=False), 0), clock())

    return again


def test_a_run_writes_down_what_it_advises_once(run: Callable[..., int], drains: DrainStore) -> None:
    assert [1, 0] == [run(), run()]
    advised = drains.log(kind=Kind.ADVICE)
    assert [("drain", "alarm-leaf01-Ethernet1", Mode.ACTIVE)] == [
        (one.outcome, one.alarm_id, one.mode) for one in advised
    ]


def test_a_storm_puts_active_classes_back_to_shadow(run: Callable[..., int], drains: DrainStore) -> None:
    run(held_back=3)

    assert Mode.SHADOW is drains.standing().mode(LinkClass.FABRIC)
    assert "a storm: 3 alarms were held back" in drains.standing().switches["fabric"].why


def test_the_storm_of_a_run_that_was_killed_ends_active_when_it_is_asked_for_again(
    again: Callable[[], None],
    store: AlarmStore,
    drains: DrainStore,
    held_back: Callable[[int], list[HeldBack]],
    advance: Callable[..., None],
) -> None:
    """Its alarms were held back in the transaction of the run; who activated since has seen them."""
    again()
    before = drains.standing().mode(LinkClass.FABRIC)
    with store.engine.begin() as connection:
        keep(connection, held_back(3))
    again()
    after = drains.standing()
    advance(minutes=1)
    with drains.writing() as writing:
        writing.switch("fabric", Mode.ACTIVE, "ann", "a rack was switched off")
    again()

    assert (Mode.ACTIVE, Mode.SHADOW) == (before, after.mode(LinkClass.FABRIC))
    assert "a storm: 3 alarms were held back" in after.switches["fabric"].why
    assert Mode.ACTIVE is drains.standing().mode(LinkClass.FABRIC)


def test_repairs_that_nobody_asks_about_are_verified_and_end_active_where_they_fail(
    again: Callable[[], None],
    lake: Lake,
    drains: DrainStore,
    make_known: Callable[..., Known],
    scores_at: Callable[..., pl.DataFrame],
    advance: Callable[..., None],
    clock: Callable[[], datetime],
) -> None:
    desk, known = Desk(drains, DrainConfig.default()), make_known(scores_at("leaf01 Ethernet1"))
    ports = [("default", f"leaf0{number}", "Ethernet1") for number in (1, 2, 3)]
    for port in ports:
        desk.drained(known, port, "remediator", "")
        desk.undrained(known, port, "technician", "", [Action.RESEAT])
    facts = {"quality": 0, "source": "snmp", "oper_up": True, "admin_up": True}
    for k in range(3):
        advance(minutes=10)
        rows = [dict(zip(("site", "device", "interface"), port, strict=True)) for port in ports]
        told = {"time": clock(), "received_at": clock(), "link_flaps": k, **facts}
        lake.append(PORT_SAMPLES, pl.DataFrame([row | told for row in rows]))
        again()

    verdicts = [one.outcome for one in drains.log(kind=Kind.VERIFIED)]
    assert ["failed", "pending"] == list(dict.fromkeys(verdicts))
    assert {"failed": 3, "pending": 3} == {name: verdicts.count(name) for name in set(verdicts)}
    assert Mode.SHADOW is drains.standing().mode(LinkClass.FABRIC)
    assert "3 of the last 10 repairs cured nothing" == drains.standing().switches["fabric"].why


def test_a_run_as_of_long_ago_advises_nothing(run: Callable[..., int], now: datetime) -> None:
    assert 0 == run(at=now + timedelta(days=9))


def test_what_is_in_shadow_is_not_demoted_again(drains: DrainStore) -> None:
    assert [LinkClass.FABRIC] == demote_all(drains, "drift")
    assert [] == demote_all(drains, "drift")
