"""An alarm's life, without any store."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from serving.alarm_csv import CSV_COLUMNS, csv_row
from serving.alarms import (
    STANDING,
    AlarmRecord,
    Clear,
    Level,
    ScoreRun,
    Status,
    check_transition,
    fresh,
    left_alone,
)
from serving.errors import NoScoresError, StaleScoresError, TransitionError

LEGAL = {
    ("open", "acked"),
    ("open", "suppressed"),
    ("acked", "suppressed"),
    ("suppressed", "open"),
    ("suppressed", "acked"),
    *((start, end) for start in ("open", "acked", "suppressed") for end in ("cleared", "expired", "confirmed")),
    ("cleared", "confirmed"),
    ("expired", "confirmed"),
}


@pytest.mark.parametrize("new", Status)
@pytest.mark.parametrize("old", Status)
def test_an_alarm_takes_legal_steps_only(old: Status, new: Status) -> None:
    if (old, new) in LEGAL:
        check_transition("a", old, new)
        return

    with pytest.raises(TransitionError, match=f"alarm a is {old} and cannot become {new}"):
        check_transition("a", old, new)


def test_a_closed_alarm_never_stands_again() -> None:
    assert not {(old, new) for old, new in LEGAL if Status(old) not in STANDING and Status(new) in STANDING}


@pytest.mark.parametrize("risk", [float("nan"), float("inf"), -0.1, 1.1])
def test_a_risk_is_a_probability(make_alarm: Callable[..., AlarmRecord], risk: float) -> None:
    with pytest.raises(ValueError, match="risk_24h is a probability"):
        make_alarm(risk_24h=risk)


def test_a_naive_time_is_refused(make_alarm: Callable[..., AlarmRecord], now: datetime) -> None:
    with pytest.raises(ValueError, match=r"expected_to .* has no time zone"):
        make_alarm(expected_to=now.replace(tzinfo=None))


def test_words_become_their_enumerations(make_alarm: Callable[..., AlarmRecord]) -> None:
    assert Level.WATCH is make_alarm(level="watch").level


def test_a_failure_type_that_does_not_exist_is_refused(make_alarm: Callable[..., AlarmRecord]) -> None:
    with pytest.raises(ValueError, match="not a valid FailureType"):
        make_alarm(failure_type="gremlins")


def test_to_clear_is_to_end(now: datetime) -> None:
    with pytest.raises(ValueError, match="acked is not an end"):
        Clear(alarm_id="a", at=now, why="", to=Status.ACKED)


def test_the_csv_has_the_columns_of_the_design_and_when_it_was_act(make_alarm: Callable[..., AlarmRecord]) -> None:
    row = csv_row(make_alarm())

    assert 17 + 1 == len(CSV_COLUMNS)
    assert CSV_COLUMNS == tuple(row)
    assert "2026-11-29T11:00:00+00:00" == row["raised_at"]
    assert "" == row["cleared_at"]


@pytest.mark.parametrize("age_s", [7201, -7201])
def test_old_scores_and_scores_of_a_wrong_clock_are_stale(
    make_run: Callable[..., ScoreRun], now: datetime, age_s: int
) -> None:
    with pytest.raises(StaleScoresError, match="the limit is 7200 s"):
        fresh(make_run(), now=now + timedelta(seconds=age_s), stale_after_s=7200)


def test_so_many_alarms_are_left_alone_always_the_same_ones() -> None:
    """Of 2,000, five per cent within four standard deviations; a larger share holds the smaller one."""
    ids = [f"alarm-{i}" for i in range(2_000)]

    few, many = ({name for name in ids if left_alone(name, share)} for share in (0.05, 0.2))

    assert 100 == pytest.approx(len(few), abs=40)
    assert few < many
    assert not any(left_alone(name, 0.0) for name in ids)


def test_fresh_scores_pass(make_run: Callable[..., ScoreRun], now: datetime) -> None:
    assert make_run() == fresh(make_run(), now=now + timedelta(seconds=7200), stale_after_s=7200)


def test_no_scores_are_an_error(now: datetime) -> None:
    with pytest.raises(NoScoresError, match="no run was applied yet"):
        fresh(None, now=now, stale_after_s=7200)
