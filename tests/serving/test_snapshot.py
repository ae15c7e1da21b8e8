"""The scores in memory: renewed when something is new, and the last good ones where they cannot be."""

import asyncio
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from ingest.lake import Lake
from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.errors import ScoresUnavailableError
from serving.snapshot import LatestScores
from serving.store import AlarmStore

KEY = ("default", "leaf01", "Ethernet1")
Score = Callable[..., None]


@pytest.fixture(name="seconds")
def _seconds() -> list[float]:
    """A clock to set: its only item."""
    return [0.0]


@pytest.fixture(name="latest")
def _latest(store: AlarmStore, lake: Lake, seconds: list[float]) -> LatestScores:
    return LatestScores(store, lake, monotonic=lambda: seconds[0])


def test_a_new_run_is_seen_within_a_second(
    latest: LatestScores, score: Score, now: datetime, seconds: list[float]
) -> None:
    async def walk() -> list[datetime | None]:
        seen = []
        for at_s, new_run in ((0.0, 0), (0.9, 1), (1.0, None)):
            seconds[0] = at_s
            if new_run is not None:
                score(at=now + timedelta(hours=new_run))
            run = (await latest.get()).run
            seen.append(None if run is None else run.at)
        return seen

    assert [now, now, now + timedelta(hours=1)] == asyncio.run(walk())


def test_a_change_of_an_alarm_reads_no_scores_again(
    latest: LatestScores,
    score: Score,
    make_alarm: Callable[..., AlarmRecord],
    store: AlarmStore,
    seconds: list[float],
) -> None:
    score(raised=(make_alarm(),))

    async def walk() -> None:
        first = await latest.get()
        store.transition("alarm-001", Status.ACKED, "ann", "")
        seconds[0] = 2.0
        second = await latest.get()

        assert Status.ACKED == second.alarms[KEY].status
        assert first.scores is second.scores

    asyncio.run(walk())


def test_where_nothing_is_new_the_snapshot_stays(latest: LatestScores, score: Score, seconds: list[float]) -> None:
    score()

    async def walk() -> None:
        first = await latest.get()
        seconds[0] = 2.0

        assert first is await latest.get()

    asyncio.run(walk())


def test_while_new_scores_cannot_be_read_the_last_good_ones_are_given(
    latest: LatestScores,
    score: Score,
    store: AlarmStore,
    make_run: Callable[..., ScoreRun],
    now: datetime,
    seconds: list[float],
) -> None:
    score()

    async def walk() -> None:
        first = await latest.get()
        store.apply(make_run(now + timedelta(hours=1)))
        seconds[0] = 2.0

        assert first is await latest.get()

    asyncio.run(walk())


def test_without_any_good_ones_it_is_an_error(latest: LatestScores, score: Score, lake: Lake) -> None:
    score()
    shutil.rmtree(Path(lake.uri))

    with pytest.raises(ScoresUnavailableError, match="no scores as of"):
        asyncio.run(latest.get())


def test_many_that_ask_at_once_load_once(latest: LatestScores, score: Score) -> None:
    score()

    async def walk() -> None:
        snapshots = await asyncio.gather(*(latest.get() for _ in range(20)))

        assert 1 == len({id(snapshot.scores) for snapshot in snapshots})

    asyncio.run(walk())
