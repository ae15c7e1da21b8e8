"""The catalogue: each feature alone on series drawn by hand, and the page that describes them."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from features.catalogue import CATALOGUE, FACTS
from features.cube import Cube
from features.describe import describe
from features.fleet import Fleet
from features.history import History
from features.look import Look, series_of
from features.pipeline import FeaturePipeline

MakeCube = Callable[..., Cube]
DAY = datetime(2026, 3, 1, tzinfo=UTC)
HOURS = 360
FEATURES = {feature.name: feature for feature in CATALOGUE}
PORTS = [f"leaf01:Ethernet{i}" for i in range(5)]


@pytest.fixture(name="seen")
def _seen(make_cube: MakeCube) -> Callable[..., dict[str, NDArray[np.float32]]]:
    """Values of the named features after `HOURS` hours, one a port of `PORTS`, from series and records."""

    def see(*names: str, modules: list[dict[str, Any]] | None = None, **series: Any) -> dict[str, Any]:
        records = None if modules is None else pl.DataFrame(modules, infer_schema_length=None)
        cube = make_cube(DAY, PORTS, HOURS, **series)
        past = History(cube, Fleet.from_frames(modules=records), [DAY + timedelta(hours=HOURS)])
        look = Look(cube, past, series_of(cube, past))
        return {name: FEATURES[name].values(look)[:, 0] for name in names}

    return see


Seen = Callable[..., dict[str, NDArray[np.float32]]]


def _series(level: float, **last: float) -> NDArray[np.float32]:
    """Five rows at a level with a noise of 0.1; `last` sets the newest six hours of port number n apart."""
    noise = np.where(np.arange(HOURS) % 2, 0.1, -0.1)
    rows = np.repeat((level + noise)[None, :], 5, axis=0).astype(np.float32)
    for port, shift in last.items():
        rows[int(port.removeprefix("p")), -6:] += np.float32(shift)
    return rows


# ---- the page --------------------------------------------------------------------------------


def test_the_page_is_what_the_catalogue_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "features.md"

    assert describe() == page.read_text(encoding="utf-8"), "run: python -m features.describe > docs/features.md"


def test_every_column_is_named_on_the_page() -> None:
    page = describe()

    assert [] == [name for name in FeaturePipeline().names if f"`{name.removeprefix('peer_')}`" not in page]


@pytest.mark.parametrize("feature", CATALOGUE, ids=lambda feature: str(feature.name))
def test_each_feature_says_which_way_it_points(feature: Any) -> None:
    assert feature.sign in {-1, 0, 1}


# ---- light and current -----------------------------------------------------------------------


def test_a_shift_is_the_worst_lane_from_its_own_baseline(seen: Seen) -> None:
    rx = np.concatenate([_series(-2.0, p1=-1.0), _series(-5.0, p1=-3.0)])[[0, 5, 1, 6, 2, 7, 3, 8, 4, 9]]

    found = seen("rx_min_shift_6h", "rx_min_shift_24h", lanes=[p for p in range(5) for _ in "ab"], lane_rx_mean=rx)

    assert [0.0, -3.0, 0.0] == pytest.approx(found["rx_min_shift_6h"][:3].tolist(), abs=1e-5)
    assert [0.0, -0.75, 0.0] == pytest.approx(found["rx_min_shift_24h"][:3].tolist(), abs=1e-5)


def test_what_all_ports_of_a_device_do_is_no_local_shift(seen: Seen) -> None:
    heat = _series(45.0, p0=5.0, p1=5.0, p2=5.0, p3=5.0, p4=9.0)

    local = seen("temp_max_local_shift_6h", temp_mean=heat)["temp_max_local_shift_6h"]

    assert [0.0, 0.0, 0.0, 0.0, 4.0] == pytest.approx(local.tolist(), abs=1e-5)


def test_bias_that_follows_temperature_has_not_shifted(seen: Seen) -> None:
    temp = _series(45.0, p0=10.0)
    bias = (40.0 * np.exp(0.0065 * temp)).astype(np.float32)

    found = seen("bias_max_shift_6h", lane_bias_mean=bias, temp_mean=temp)["bias_max_shift_6h"]

    assert [0.0] * 5 == pytest.approx(found.tolist(), abs=1e-5)


def test_one_lane_of_a_module_stands_out_and_all_together_do_not(seen: Seen) -> None:
    rx = np.concatenate([_series(-2.0, p0=-4.0), _series(-2.0)])[[0, 5, 0, 0, 1, 6, 1, 6, 1, 6]]

    found = seen("rx_min_one_lane_6h", lanes=[p for p in range(5) for _ in "ab"], lane_rx_mean=rx)

    assert [-2.0, 0.0, 0.0] == pytest.approx(found["rx_min_one_lane_6h"][:3].tolist(), abs=1e-5)


def test_lanes_moved_is_the_share_of_the_worst_lanes_move_that_the_mean_lane_made(seen: Seen) -> None:
    """One lane of two, both, none."""
    rx = np.concatenate([_series(-2.0, p0=-4.0, p1=-4.0), _series(-2.0)])[[0, 5, 1, 1, 2, 7, 2, 7, 2, 7]]

    found = seen("rx_lanes_moved_6h", lanes=[p for p in range(5) for _ in "ab"], lane_rx_mean=rx)

    assert [0.5, 1.0] == pytest.approx(found["rx_lanes_moved_6h"][:2].tolist(), abs=1e-5)
    assert np.isnan(found["rx_lanes_moved_6h"][2:]).all()


def test_age_tells_a_step_from_a_drift(seen: Seen) -> None:
    """A step of 3 dB six hours ago, a drift to it over two days, one that began before three days, and no move."""
    rx = _series(-2.0, p0=-3.0)
    rx[1, -48:] -= np.linspace(0, 3, 48, dtype=np.float32)
    rx[2, -80:] -= 3.0

    found = seen("rx_age_20", "rx_age_50", lane_rx_mean=rx)

    fifth, half = (np.expm1(found[f"rx_age_{percent}"]) for percent in (20, 50))
    assert [6.0, 6.0] == pytest.approx([float(fifth[0]), float(half[0])], abs=0.01)
    assert 36 < fifth[1] < 42
    assert 20 < half[1] < 27
    assert [72.0, 72.0] == pytest.approx([float(fifth[2]), float(half[2])], abs=0.01)
    assert np.isnan(fifth[3:]).all()


def test_significance_counts_in_own_scatter_and_is_bounded(seen: Seen) -> None:
    sigmas = seen("rx_min_sigmas_6h", lane_rx_mean=_series(-2.0, p0=-1.0, p1=-30.0))["rx_min_sigmas_6h"]

    assert [-1.0 / 0.14826, -100.0, 0.0] == pytest.approx(sigmas[:3].tolist(), abs=1e-3)


def test_margin_is_to_the_modules_own_limit_and_no_greater_than_matters(seen: Seen) -> None:
    modules = [
        {"device": "leaf01", "interface": f"Ethernet{i}", "media": "400GBASE-DR4", "rx_power_low_warn_dbm": low}
        for i, low in enumerate([-4.0, -30.0, None])
    ]

    margin = seen("rx_margin_6h", modules=modules, lane_rx_mean=_series(-2.0))["rx_margin_6h"]

    assert [2.0, 4.0, 4.0] == pytest.approx(margin[:3].tolist(), abs=1e-5)
    assert np.isnan(margin[3:]).all()


def test_spent_is_the_share_of_the_way_from_the_baseline_to_the_limit(seen: Seen) -> None:
    modules = [
        {"device": "leaf01", "interface": f"Ethernet{i}", "media": "400GBASE-DR4", "rx_power_low_warn_dbm": -6.0}
        for i in range(4)
    ]

    rx = _series(-2.0, p0=-1.0, p1=-5.0, p2=0.4)
    spent = seen("rx_spent_6h", modules=modules, lane_rx_mean=rx)["rx_spent_6h"]

    past_the_limit = 5.0 / 5.5  # a limit is never nearer than half a decibel
    assert [0.25, past_the_limit, -0.4, 0.0] == pytest.approx(spent[:4].tolist(), abs=1e-5)
    assert np.isnan(spent[4])


def test_closing_is_what_a_day_takes_of_what_is_left(seen: Seen) -> None:
    modules = [
        {"device": "leaf01", "interface": f"Ethernet{i}", "media": "400GBASE-DR4", "rx_power_low_warn_dbm": -6.0}
        for i in range(2)
    ]

    closing = seen("rx_closing_24h", modules=modules, lane_rx_mean=_series(-2.0, p0=-2.0))["rx_closing_24h"]

    assert [0.0, math.log10(3e-3)] == pytest.approx(closing[:2].tolist(), abs=1e-4)


def test_light_used_weighs_lost_light_against_what_the_bit_errors_leave(seen: Seen) -> None:
    modules = [
        {"device": "leaf01", "interface": f"Ethernet{i}", "media": "400GBASE-DR4", "speed_gbps": 400.0}
        for i in range(3)
    ]
    ber = _series(-8.0)
    left_db = 10 * math.log10(5.6120 / 3.4927)  # Q of 1e-8 and of the limit, 2.4e-4

    used = seen("light_used_6h", modules=modules, lane_rx_mean=_series(-2.0, p0=-1.0), lane_ber_mean=ber)

    assert [1 / (1 + left_db), 0.0, 0.0] == pytest.approx(used["light_used_6h"][:3].tolist(), abs=0.01)


def test_a_drift_towards_the_limit_is_passed_before_a_rest_beside_it(seen: Seen) -> None:
    rx = _series(-3.0)
    rx[0] -= np.linspace(0, 10, HOURS, dtype=np.float32) - 10
    rx[0] -= rx[0, -1] + 3.0
    modules = [{"device": "leaf01", "interface": f"Ethernet{i}", "rx_power_low_warn_dbm": -3.7} for i in range(2)]

    passage = seen("rx_passage_72h_to_24h", modules=modules, lane_rx_mean=rx)["rx_passage_72h_to_24h"]

    assert -10 < passage[1] < -5 < passage[0] < 1


def test_ber_comes_from_lanes_or_the_port_or_else_from_corrected_codewords(seen: Seen) -> None:
    rise = _series(-9.0, p0=2.0, p1=2.0, p2=2.0)
    nothing = np.full_like(rise, np.nan)
    lanes, port = nothing.copy(), nothing.copy()
    lanes[0], port[1] = rise[0], rise[1]

    found = seen(
        "ber_max_shift_6h", lane_ber_mean=lanes, pber_mean=port, corrected=10 ** (rise + 12), corrected_s=3600.0
    )

    assert [2.0, 2.0, 2.0, 0.0, 0.0] == pytest.approx(found["ber_max_shift_6h"].tolist(), abs=1e-4)


def test_a_dip_is_seen_in_the_deepest_reading(seen: Seen) -> None:
    low = _series(-2.0)
    low[1, -4] = -9.0

    dip = seen("rx_dip_6h", "rx_dip_24h", lane_rx_mean=_series(-2.0), lane_rx_min=low)

    assert [-0.1, -7.0] == pytest.approx(dip["rx_dip_6h"][:2].tolist(), abs=1e-5)


def test_restlessness_is_in_the_quantitys_own_unit(seen: Seen) -> None:
    rx = _series(-2.0)
    rx[1] = -2.0 + 20 * (rx[1] + 2.0)

    restless = seen("rx_restless_24h", "rx_scatter_24h", lane_rx_mean=rx)

    assert math.log10(20) == pytest.approx(float(np.diff(restless["rx_restless_24h"])[0]), abs=1e-3)
    assert 0.0 == pytest.approx(float(np.diff(restless["rx_scatter_24h"])[0]), abs=1e-3)


# ---- counters and states ---------------------------------------------------------------------


def test_growth_is_logged_and_unknown_where_nothing_is_counted(seen: Seen) -> None:
    flaps = np.zeros((5, HOURS), np.float32)
    flaps[0, -3], flaps[1] = 7.0, np.nan

    grown = seen("flaps_1h", "flaps_6h", flaps=flaps)

    assert [0.0, math.log(8)] == pytest.approx([float(grown[name][0]) for name in grown])
    assert np.isnan(grown["flaps_6h"][1])


def test_what_was_counted_before_a_repair_is_not_counted_after_it(seen: Seen) -> None:
    """Swapped 30 hours ago after many flaps: the 72 h window sees what the 24 h window sees, and no speed is told."""
    modules = [
        {
            "device": "leaf01",
            "interface": f"Ethernet{i}",
            "media": "400GBASE-DR4",
            "rx_power_low_warn_dbm": -6.0,
            "installed_at": DAY + timedelta(hours=HOURS - since),
        }
        for i, since in enumerate((30, 300))
    ]
    flaps = np.zeros((5, HOURS), np.float32)
    flaps[:, -40], flaps[:, -10] = 7.0, 2.0
    columns = ("flaps_24h", "flaps_72h", "rx_closing_24h")

    found = seen(*columns, "rx_closing_66h", modules=modules, flaps=flaps, lane_rx_mean=_series(-2.0))

    assert [math.log(3)] * 2 == pytest.approx([float(found[f"flaps_{hours}h"][0]) for hours in (24, 72)])
    assert math.log(10) == pytest.approx(float(found["flaps_72h"][1]))
    assert [True, False] == np.isnan(found["rx_closing_66h"][:2]).tolist()
    assert [False, False] == np.isnan(found["rx_closing_24h"][:2]).tolist()


def test_a_steady_rate_does_not_accelerate_however_great_it_is(seen: Seen) -> None:
    """The sums of a day and of a week are rounded to float32 each: their difference may even be negative."""
    counts = np.full((5, HOURS), 3.0, np.float32)
    counts[1] = 0.0
    counts[1, -24:] = 1e12
    counts[2, :-24], counts[2, -24:] = 0.1, 333333333.0

    found = seen("uncorrected_accelerating", uncorrected=counts)["uncorrected_accelerating"]

    assert 0.0 == pytest.approx(float(found[0]), abs=1e-5)
    assert np.isfinite(found).all()


def test_shares_are_of_the_samples_that_came(seen: Seen) -> None:
    rows = np.full((5, HOURS), 4.0, np.float32)
    rows[2] = np.nan
    down = np.zeros((5, HOURS), np.float32)
    down[1, -6:] = 2.0

    share = seen("down_share_24h", "down_share_1h", rows=rows, down=down)

    assert [0.0, 0.125] == share["down_share_24h"][:2].tolist()
    assert 0.5 == share["down_share_1h"][1]
    assert np.isnan(share["down_share_24h"][2])


def test_darkness_is_that_of_the_darkest_lane(seen: Seen) -> None:
    dark = np.zeros((6, HOURS), np.float32)
    dark[1, -12:] = 4.0

    share = seen("rx_dark_share_24h", lanes=[0, 0, 1, 2, 3, 4], lane_rx_dark=dark, lane_rows=4.0)

    assert [0.5, 0.0] == share["rx_dark_share_24h"][:2].tolist()


def test_a_gap_of_the_whole_device_is_no_ports_own(seen: Seen) -> None:
    rows = np.full((5, HOURS), 4.0, np.float32)
    rows[:, -4:] = np.nan
    rows[4, -6:] = np.nan

    missing = seen("missing_6h", rows=rows)["missing_6h"]

    assert [0.0] * 4 == missing[:4].tolist()
    assert missing[4] > 1


def test_ports_that_never_spoke_do_not_make_the_common_mode(seen: Seen) -> None:
    """They are in the cube when other times are asked for together with this one."""
    rows = np.full((5, HOURS), 4.0, np.float32)
    rows[3:] = np.nan
    rows[:3, -3:] = np.nan

    missing = seen("missing_6h", rows=rows)["missing_6h"]

    assert (missing[:3] > 0.5).all(), "three ports are too few to tell what the device did"
    assert np.isnan(missing[3:]).all()


def test_a_voltage_dip_is_below_the_ports_own_level(seen: Seen) -> None:
    low = np.full((5, HOURS), 3.3, np.float32)
    low[0, -2] = 3.0

    dip = seen("volt_dip_24h", volt_mean=3.3, volt_min=low)["volt_dip_24h"]

    assert [-0.3, 0.0] == pytest.approx(dip[:2].tolist(), abs=1e-6)


# ---- records ---------------------------------------------------------------------------------


def test_facts_are_bounded_so_that_they_tell_no_module_from_another(seen: Seen) -> None:
    old = [{"device": "leaf01", "interface": "Ethernet0", "installed_at": DAY - timedelta(days=900)}]

    found = seen(*FACTS, modules=old, lane_rows=4.0)

    assert (30.0, 336.0) == (found["age_days"][0], found["since_touch_h"][0])
    assert [1.0] * 5 == found["lanes"].tolist()


def test_nothing_known_is_nan_or_nothing_and_never_a_warning(make_cube: MakeCube) -> None:
    """A cube in which no port ever spoke: every feature must bear it, for warnings are errors here."""
    cube = make_cube(DAY, PORTS, HOURS)
    past = History(cube, Fleet.from_frames(), [DAY + timedelta(hours=HOURS)])
    look = Look(cube, past, series_of(cube, past))

    for feature in CATALOGUE:
        values = feature.values(look)
        assert (5, 1) == values.shape, feature.name
        assert not np.isinf(values).any(), feature.name
