"""A look: windows and baselines over a cube, computed once; series that take the place of missing ones."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from features.cube import Cube
from features.fleet import Fleet
from features.history import History
from features.look import DAYS, REACH, Look, series_of
from features.pipeline import hourly

MakeCube = Callable[..., Cube]
LookAt = Callable[..., Look]
DAY = datetime(2026, 3, 1, tzinfo=UTC)
NAN = float("nan")


@pytest.fixture(name="look")
def _look(make_cube: MakeCube) -> LookAt:
    """Makes a look at two ports of 400 hours, at the last two days' hours."""

    def make(modules: pl.DataFrame | None = None, hours: int = 400, **series: NDArray[np.float32] | float) -> Look:
        cube = make_cube(DAY, ["leaf01:Ethernet0", "leaf02:Ethernet0"], hours, **series)
        times = hourly(DAY + timedelta(hours=hours - 48), DAY + timedelta(hours=hours))
        past = History(cube, Fleet.from_frames(modules=modules), times)
        return Look(cube, past, series_of(cube, past))

    return make


def _steps(hours: int = 400) -> NDArray[np.float32]:
    return np.repeat(np.arange(hours, dtype=np.float32)[None, :], 2, axis=0)


def test_times_are_hours_of_the_cube(look: LookAt) -> None:
    assert [*range(352, 401)] == look().at.tolist()


def test_a_window_is_computed_once(look: LookAt) -> None:
    view = look(lane_rx_mean=-2.0)

    assert view.window("rx", 6, "mean") is view.window("rx", 6, "mean")
    assert view.base("rx").base is view.noise("rx").base


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("mean", 396.5),
        ("min", 394.0),
        ("max", 399.0),
        ("sum", 2379.0),
        ("last", 399.0),
        ("slope", 24.0),
        ("scatter", 0.0),
    ],
)
def test_each_statistic_is_of_the_hours_before_the_time(look: LookAt, kind: str, expected: float) -> None:
    assert expected == pytest.approx(float(look(lane_rx_mean=_steps()).window("rx", 6, kind)[0, -1]), abs=1e-4)


def test_a_baseline_is_of_whole_days_and_moved_at_midnight_only(look: LookAt) -> None:
    base = look(lane_rx_mean=_steps()).base("rx")[0]

    changed = np.flatnonzero(np.diff(base)) + 1
    assert [360, 384] == (352 + changed).tolist()
    assert np.median(np.arange(24, 360)) == base[-1], "at 400 the newest day that ended a day ago is that up to 360"


def test_the_noise_of_a_baseline_is_that_within_days_and_between_them(look: LookAt) -> None:
    within, between = 1.4826 * 6.0, 1.4826 * np.median(np.abs(np.arange(14) * 24 - 156))

    assert np.hypot(within, between) == pytest.approx(float(look(lane_rx_mean=_steps()).noise("rx")[0, -1]), rel=1e-6)


def test_a_swap_starts_the_baseline_anew(look: LookAt) -> None:
    swap = pl.DataFrame(
        {"device": ["leaf01"], "interface": ["Ethernet0"], "installed_at": [DAY + timedelta(hours=365)]}
    )

    base = look(modules=swap, lane_rx_mean=_steps()).base("rx")

    own = base[0]
    assert np.isnan(own[13:20]).all(), "from the swap until noon nothing of the new module is known"
    assert np.median(np.arange(365, 369)) == own[20]
    assert not np.isnan(base[1]).any(), "the other port is not touched"


def test_a_new_module_stands_where_its_first_hours_stood_until_a_whole_day_is_over_for_a_day(look: LookAt) -> None:
    swap = pl.DataFrame(
        {"device": ["leaf01"], "interface": ["Ethernet0"], "installed_at": [DAY + timedelta(hours=313)]}
    )

    own = look(modules=swap, lane_rx_mean=_steps()).base("rx")[0]

    assert [np.median(np.arange(313, 325))] * 32 == own[:32].tolist()
    assert [np.median(np.arange(336, 360))] * 17 == own[32:].tolist()


def test_windows_longer_than_three_days_begin_at_a_midnight(look: LookAt) -> None:
    view = look(flaps=1.0, rows=4.0)

    assert (1.0 * (400 - 216), 4.0 * (400 - 216)) == (view.counted("flaps", 168)[0, -1], view.state("rows", 168)[0, -1])
    assert (400 - 216, 72) == (view.span(168)[-1], view.span(72)[-1])
    with pytest.raises(ValueError, match="longer than 72 h"):
        view.window("rx", 96, "mean")


def test_lanes_are_those_that_reported(look: LookAt) -> None:
    rows = np.full((3, 400), 4.0, np.float32)
    rows[1, 380:] = NAN

    lanes = look(lanes=[0, 0, 1], lane_rows=rows).lanes(6)

    assert [[2.0, 1.0], [1.0, 1.0]] == lanes[:, [0, -1]].tolist()


def test_worst_and_middle_go_over_the_lanes_of_a_port(look: LookAt) -> None:
    levels = np.repeat(np.array([[-2.0], [-4.0], [NAN]], np.float32), 400, axis=1)
    view = look(lanes=[0, 0, 1], lane_rx_mean=levels)
    mean = view.window("rx", 6, "mean")

    assert (-4.0, -2.0, -3.0) == (
        view.worst("rx", mean, "min")[0, 0],
        view.worst("rx", mean, "max")[0, 0],
        view.middle("rx", mean)[0, 0],
    )
    assert np.isnan(view.worst("rx", mean, "min")[1]).all()


def test_bias_is_compared_at_equal_temperature_where_the_port_tells_one(look: LookAt) -> None:
    temp = np.full((2, 400), NAN, np.float32)
    temp[0] = 50.0

    bias = look(lane_bias_mean=40.0, temp_mean=temp).window("bias", 6, "mean")[:, -1]

    assert [np.log(40) - 0.0065 * 50, np.log(40)] == pytest.approx(bias.tolist(), rel=1e-6)


def test_a_port_that_has_told_its_ber_within_a_week_is_not_guessed_from_counters(look: LookAt) -> None:
    told = np.full((2, 400), NAN, np.float32)
    told[0, 300], told[1, 100] = -9.0, -9.0

    ber = look(pber_mean=told, corrected=36.0, corrected_s=3600.0).window("ber", 1, "mean")
    ports = ber[[1, 3]] if ber.shape[0] == 4 else ber

    assert np.isnan(ports[0]).all()
    assert [-13.0] == pytest.approx([float(ports[1, -1])])


def test_the_reach_covers_every_window_that_stands_on_another() -> None:
    """Baseline (14 d, guard 1 d) of a BER that depends on a week, at most a day before the time's own day."""
    assert (timedelta(hours=72), 1 + 14 + 7 + 1) == (REACH, DAYS)
