"""Whatever is raised while somebody walks the pages, what was there is met once."""

import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serving.alarms import AlarmRecord, ScoreRun
from serving.store import AlarmStore

Minutes = st.lists(st.integers(0, 5), max_size=12)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=Minutes, between=st.lists(Minutes, max_size=5), limit=st.integers(1, 5))
def test_a_walk_meets_what_was_there_exactly_once(
    make_alarm: Callable[..., AlarmRecord],
    make_run: Callable[..., ScoreRun],
    now: datetime,
    before: list[int],
    between: list[list[int]],
    limit: int,
) -> None:
    with tempfile.TemporaryDirectory() as folder, AlarmStore(f"sqlite:///{Path(folder, 'a.db')}") as store:
        numbers = iter(range(1000))
        runs = iter(range(1000))

        def raise_at(minutes: list[int]) -> set[str]:
            alarms = [make_alarm(next(numbers), raised_at=now + timedelta(minutes=m)) for m in minutes]
            store.apply(make_run(now + timedelta(minutes=next(runs))), alarms)
            return {alarm.alarm_id for alarm in alarms}

        there = raise_at(before)
        met: list[str] = []
        cursor: str | None = None
        late = iter(between)
        while True:
            page = store.alarms(cursor=cursor, limit=limit)
            met += [alarm.alarm_id for alarm in page.alarms]
            cursor = page.next_cursor
            if cursor is None:
                break
            raise_at(next(late, []))

        assert len(met) == len(set(met))
        assert there <= set(met)
