"""The six thresholds, each crossed by hand on a block of two links."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from features.fleet import Fleet
from features.pipeline import Block, FeaturePipeline
from models.baselines.physics import THRESHOLDS, PhysicsRule

MakeBlock = Callable[..., Block]
Told = list[tuple[str, int, str]]

DOCS = Path(__file__).parents[3] / "docs" / "baselines.md"
NAMES = FeaturePipeline().own_names
LINKS = 2

CROSSED: dict[str, dict[str, float]] = {
    "path_loss": {"rx_min_shift_6h": -1.1},
    "rx_drop": {"rx_min_shift_6h": -2.1, "tx_min_shift_6h": 0.0},
    "bias": {"bias_max_local_shift_6h": 0.1},
    "bit_errors": {"ber_margin_6h": 0.1},
    "bursts": {"flaps_6h": float(np.log1p(3))},
    "one_lane": {"tx_min_one_lane_6h": -1.1},
}
"""Features beyond each threshold; of `rx_drop` at a link whose far end is silent."""


@pytest.fixture(name="well")
def _well(make_block: MakeBlock) -> Block:
    """Two links at 24 hours, of which nothing is to be said."""
    block = make_block(LINKS)
    block.own[:, :, NAMES.index("ber_margin_6h")] = 4.0
    return block


def _set(block: Block, hours: range, values: dict[str, float], port: int = 0) -> Block:
    for name, value in values.items():
        block.own[port, hours.start : hours.stop, NAMES.index(name)] = value
    return block


def _told(*blocks: Block, every_h: int = 1) -> Told:
    """Device, hour of the first block's times at which each alarm is raised, and what it says."""
    rule = PhysicsRule()
    for block in blocks:
        rule.feed(block)
    begin = blocks[0].history.at[0]
    alarms = rule.alarms(Fleet.from_frames(), end=begin + timedelta(days=90), every_h=every_h)
    hour = (pl.col("raised_at") - pl.lit(begin)).dt.total_hours()
    return alarms.select("device", hour, "quantity").rows()


@pytest.mark.parametrize("name", CROSSED)
def test_each_threshold_raises_at_the_second_hour(well: Block, name: str) -> None:
    block = _set(well, range(5, 9), CROSSED[name])
    if name == "rx_drop":
        block.rows[LINKS] = 0  # the far end is silent: its launch is not known

    assert [("leaf00", 6, name)] == [row for row in _told(block) if row[0] == "leaf00"]


def test_just_inside_raises_nothing(well: Block) -> None:
    inside = {
        "rx_min_shift_6h": -0.9,
        "bias_max_local_shift_6h": 0.09,
        "ber_margin_6h": 0.3,
        "flaps_6h": float(np.log1p(2)),
        "uncorrected_6h": float(np.log1p(35)),
        "tx_min_one_lane_6h": -0.9,
    }

    assert [] == _told(_set(well, range(24), inside))


def test_one_hour_alone_raises_nothing_and_two_of_three_do(well: Block) -> None:
    _set(well, range(3, 4), CROSSED["bias"])
    _set(well, range(10, 11), CROSSED["bias"])
    _set(well, range(12, 13), CROSSED["bias"])

    assert [("leaf00", 12, "bias")] == _told(well)


def test_less_light_is_no_path_loss_where_the_far_end_launches_less(well: Block) -> None:
    _set(well, range(24), {"rx_min_shift_6h": -1.5})
    _set(well, range(24), {"tx_min_shift_6h": -1.5}, port=LINKS)

    assert [] == _told(well)


def test_errors_that_rise_far_from_the_limit_say_nothing(well: Block) -> None:
    rising = {"ber_max_slope_24h": 2.0, "ber_passage_24h_to_24h": 2.0, "ber_max_shift_6h": 2.0}

    assert [] == _told(_set(well, range(24), rising))
    assert [("leaf00", 1, "bit_errors")] == _told(_set(well, range(24), {"ber_margin_6h": 2.9}))


def test_what_is_missing_crosses_nothing(well: Block) -> None:
    well.own[:] = np.nan

    assert [] == _told(well)


def test_hours_count_across_blocks_and_by_the_step_of_the_walk(well: Block, make_block: MakeBlock) -> None:
    _set(well, range(23, 24), CROSSED["bias"])
    later = make_block(LINKS)
    later.own[:, :, NAMES.index("ber_margin_6h")] = 4.0
    hours = [time + timedelta(hours=24) for time in later.history.at]
    later = replace(_set(later, range(1), CROSSED["bias"]), history=replace(later.history, at=hours))

    assert [("leaf00", 24, "bias")] == _told(well, later)

    _set(well, range(18, 19), CROSSED["bias"])  # five hours before
    assert [] != _told(well, every_h=6)
    assert [] == _told(well)


def test_the_docs_say_what_the_thresholds_are() -> None:
    text = DOCS.read_text(encoding="utf-8")

    assert [] == [each.name for each in THRESHOLDS if f"| `{each.name}` | {each.why} |" not in text]


def test_an_alarm_says_what_its_threshold_means(well: Block, begin: datetime) -> None:
    rule = PhysicsRule()
    rule.feed(_set(well, range(24), CROSSED["bias"]))

    alarms = rule.alarms(Fleet.from_frames(), end=begin)

    said = alarms.select("suspect", "failure_type", "action").row(0)
    assert ("module", "laser_degradation", "replace_transceiver") == said
