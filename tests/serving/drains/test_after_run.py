"""What a batch run and a drifting model do about drains."""

from collections.abc import Callable
from datetime import datetime, timedelta

import polars as pl
import pytest

from ingest.lake import Lake
from serving.alarms import AlarmRecord, Applied, ScoreRun
from serving.drains.advice import Mode
from serving.drains.after_run import after_run, demote_all
from serving.drains.fabric import LinkClass
from serving.drains.records import Kind
from serving.drains.store import DrainStore
from serving.scoring.scorer import Scoring
from serving.settings import Settings
from serving.store import AlarmStore


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


def test_a_run_as_of_long_ago_advises_nothing(run: Callable[..., int], now: datetime) -> None:
    assert 0 == run(at=now + timedelta(days=9))


def test_what_is_in_shadow_is_not_demoted_again(drains: DrainStore) -> None:
    assert [LinkClass.FABRIC] == demote_all(drains, "drift")
    assert [] == demote_all(drains, "drift")
