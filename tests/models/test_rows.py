"""Rows to learn from: who is at risk when, what is known, what each row weighs."""

from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from features.pipeline import Block
from models.base import INTERVALS_H
from models.rows import Outcomes, RiskSet, outcomes, risk_set, stack

MakeBlock = Callable[..., Block]
MakeFrame = Callable[..., pl.DataFrame]

WEEK_H = 168


@pytest.fixture(name="known")
def _known(make_block: MakeBlock, make_events: MakeFrame, make_censored: MakeFrame, begin: datetime) -> Outcomes:
    """Link C0 fails at hour 100, C1 never; nothing after hour 300 is known."""
    return outcomes(
        make_block(links=2, hours=200),
        make_events(("C0", 100.0, "counted")),
        make_censored(("C0", 100.0, 150.0, "failure")),
        begin + timedelta(hours=300),
    )


def test_both_ends_wait_for_the_failure_of_their_link(known: Outcomes) -> None:
    assert 100.0 == known.until_event_h[0, 0]
    assert 1.0 == known.until_event_h[2, 99]
    assert np.array_equal(known.until_event_h[0], known.until_event_h[2])
    assert np.isinf(known.until_event_h[0, 100:]).all()
    assert np.isinf(known.until_event_h[1]).all()


def test_what_is_not_counted_is_no_event_but_keeps_its_row(
    make_block: MakeBlock, make_events: MakeFrame, make_censored: MakeFrame, begin: datetime
) -> None:
    events = make_events(("C0", 10.0, "duplicate"), ("C0", 20.0, "counted"), ("C9", 5.0, "counted"))

    elsewhere = make_censored(("C9", 0.0, None, "failure"))

    known = outcomes(make_block(), events, elsewhere, begin + timedelta(hours=100))

    assert known.well.all()
    assert 20.0 == known.until_event_h[0, 0]
    assert 1 == known.event[0, 0]
    assert (known.event[0, 20:] == -1).all()


def test_who_was_rescued_led_to_half_a_failure_and_has_no_time_of_it(
    make_block: MakeBlock, make_events: MakeFrame, make_censored: MakeFrame, begin: datetime
) -> None:
    """The module was taken out at hour 200 on an alarm and never tested; the link failed for good at hour 390."""
    events = make_events(("C0", 390.0, "counted"), ("C0", 200.0, "rescued"))
    out = make_censored(("C0", 200.0, 250.0, "rescued"))

    known = outcomes(make_block(hours=300), events, out, begin + timedelta(hours=500))

    assert [0.0, 0.5, 0.5, 0.0, 1.0] == [known.leads[0, t] for t in (31, 32, 199, 200, 250)]
    assert [1, 1, 0] == [known.event[0, t] for t in (0, 199, 200)]
    assert np.isinf(known.until_event_h[0, :200]).all()
    assert [1.0, 190.0] == [known.observed_h[0, 199], known.until_event_h[0, 200]]


def test_of_two_failures_the_next_one_counts(
    make_block: MakeBlock, make_events: MakeFrame, make_censored: MakeFrame, begin: datetime
) -> None:
    events = make_events(("C0", 20.0, "counted"), ("C0", 8.0, "counted"))

    known = outcomes(make_block(), events, make_censored(), begin + timedelta(hours=100))

    assert [8.0, 1.0, 12.0] == [known.until_event_h[0, t] for t in (0, 7, 8)]
    assert [1, 1, 0] == [known.event[0, t] for t in (0, 7, 8)]


def test_the_newest_two_days_are_not_known_to_be_well(known: Outcomes) -> None:
    assert 300 - 48 == known.observed_h[1, 0]
    assert 300 - 48 - 199 == known.observed_h[1, 199]


def test_nothing_counts_from_a_failure_until_its_end(known: Outcomes) -> None:
    assert [True, False, False, True] == [bool(known.well[0, t]) for t in (99, 100, 149, 150)]
    assert known.well[1].all()


def test_what_is_not_over_counts_to_no_end(
    make_block: MakeBlock, make_events: MakeFrame, make_censored: MakeFrame, begin: datetime
) -> None:
    open_span = make_censored(("C0", 10.0, None, "failure"))

    known = outcomes(make_block(), make_events(), open_span, begin + timedelta(hours=100))

    assert not known.well[0, 10:].any()


@pytest.mark.parametrize("reason", ["preventive_swap", "rescued", "drain"])
def test_a_swap_before_a_failure_ends_what_is_observed(
    make_block: MakeBlock, make_events: MakeFrame, make_censored: MakeFrame, begin: datetime, reason: str
) -> None:
    swap = make_censored(("C0", 50.0, 50.0 + WEEK_H, reason))

    known = outcomes(make_block(hours=300), make_events(), swap, begin + timedelta(hours=500))

    assert [50.0, 1.0] == [known.observed_h[0, t] for t in (0, 49)]
    assert not known.well[0, 50 : 50 + WEEK_H].any()
    assert 500 - 48 - 250 == known.observed_h[0, 250]
    assert 500 - 48 == known.observed_h[1, 0]


def _row(until_event_h: float, observed_h: float) -> RiskSet:
    one = np.ones(1)
    return RiskSet(
        np.zeros((1, 1), np.float32),
        np.array(["C0"], object),
        until_event_h * one,
        np.zeros(1, np.int64),
        one * (until_event_h <= WEEK_H),
        observed_h * one,
        np.ones(1, np.bool_),
        one,
        one,
        pl.DataFrame({"site": ["default"], "device": ["leaf00"], "interface": ["Ethernet0"]}),
    )


@pytest.mark.parametrize(
    ("until_event_h", "observed_h", "at_risk", "fails_in"),
    [
        (30.0, 1000.0, [0, 1, 2, 3], [3]),
        (6.0, 1000.0, [0], [0]),
        (6.5, 1000.0, [0, 1], [1]),
        (np.inf, 20.0, [0, 1], []),
        (np.inf, 24.0, [0, 1, 2], []),
        (np.inf, 1000.0, [0, 1, 2, 3, 4, 5], []),
        (np.inf, 5.0, [], []),
        (168.0, 1000.0, [0, 1, 2, 3, 4, 5], [5]),
    ],
)
def test_a_row_is_at_risk_until_it_fails_or_is_lost_from_sight(
    until_event_h: float, observed_h: float, at_risk: list[int], fails_in: list[int]
) -> None:
    masks = [_row(until_event_h, observed_h).at_risk(k) for k in range(len(INTERVALS_H))]

    assert at_risk == [k for k, (at, _) in enumerate(masks) if at[0]]
    assert fails_in == [k for k, (_, fails) in enumerate(masks) if fails[0]]


@pytest.mark.parametrize("failed_h", [200.0, 203.0, 206.5])
def test_a_failure_weighs_the_same_in_every_interval(
    failed_h: float, make_block: MakeBlock, make_events: MakeFrame, make_censored: MakeFrame, begin: datetime
) -> None:
    """However many of the hours before it are rows: those left out are made up for."""
    block = make_block(links=1, hours=240)
    censored = make_censored(("C0", failed_h, 400.0, "failure"))
    known = outcomes(block, make_events(("C0", failed_h, "counted")), censored, begin + timedelta(days=40))

    rows = risk_set(block, known)

    once = rows.first
    for k, (start, end) in enumerate(INTERVALS_H):
        _, fails = rows.at_risk(k)
        assert end - start == rows.weight[fails & once].sum()


def test_a_well_link_weighs_as_many_hours_as_it_has(
    make_block: MakeBlock, make_events: MakeFrame, make_censored: MakeFrame, begin: datetime
) -> None:
    block = make_block(links=3, hours=240)

    rows = risk_set(block, outcomes(block, make_events(), make_censored(), begin + timedelta(days=40)))

    assert 3 * 240 == rows.weight[rows.first].sum()
    assert 2 * rows.first.sum() == rows.weight.shape[0]
    assert 3 * 240 / 6 == rows.first.sum()


def test_hours_of_work_and_of_failure_are_no_rows(
    make_block: MakeBlock, make_events: MakeFrame, make_censored: MakeFrame, begin: datetime
) -> None:
    block = make_block(links=1, hours=240)
    censored = make_censored(("C0", 30.0, 60.0, "maintenance"), ("C0", 100.0, 150.0, "failure"))
    known = outcomes(block, make_events(("C0", 100.0, "counted")), censored, begin + timedelta(days=40))

    rows = risk_set(block, known)

    hours = (rows.time_s - begin.timestamp()) / 3600.0
    assert not (((hours >= 30) & (hours < 60)) | ((hours >= 100) & (hours < 150))).any()
    assert (rows.until_event_h[hours >= 150] == np.inf).all()


def test_hours_of_which_nothing_is_known_yet_are_no_rows(
    make_block: MakeBlock, make_events: MakeFrame, make_censored: MakeFrame, begin: datetime
) -> None:
    """Rows before a known failure are: that it failed is known."""
    block = make_block(links=2, hours=100)
    events = make_events(("C0", 99.0, "counted"))

    rows = risk_set(block, outcomes(block, events, make_censored(), begin + timedelta(hours=100)))

    hours = (rows.time_s - begin.timestamp()) / 3600.0
    assert hours[rows.link == "C1"].max() <= 100 - 48 - 6
    assert 98 == hours[rows.link == "C0"].max()


def test_a_silent_port_has_no_rows_and_the_other_end_speaks_for_the_link(
    make_block: MakeBlock, make_events: MakeFrame, make_censored: MakeFrame, begin: datetime
) -> None:
    block = make_block(links=1, hours=48)
    block.rows[0] = 0

    rows = risk_set(block, outcomes(block, make_events(), make_censored(), begin + timedelta(days=40)))

    assert {"spine01"} == set(rows.place["device"])
    assert rows.first.all()


def test_stacked_sets_are_one_after_the_other(make_block: MakeBlock, known: Outcomes) -> None:
    part = risk_set(make_block(links=2, hours=200), known)

    both = stack([part, part])

    n = part.rows.shape[0]
    assert (2 * n, part.rows.shape[1]) == both.rows.shape
    assert both.place[n:].equals(part.place)
    assert np.array_equal(both.until_event_h[n:], part.until_event_h)
