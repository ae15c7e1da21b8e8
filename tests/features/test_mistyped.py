"""A ticket's type is doubted where the light plainly contradicts it, and nowhere else."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from features.fleet import Fleet
from features.labels import failure_events
from features.mistyped import LOST_AT_THE_LASER
from models.truth import truth

OPENED = datetime(2026, 3, 12, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
PORTS = {"a": ("leaf01", "Ethernet0"), "z": ("spine01", "Ethernet4")}


def _fleet(failure_type: str) -> Fleet:
    (a, a_port), (z, z_port) = PORTS.values()
    links = {"a_device": [a], "a_interface": [a_port], "z_device": [z], "z_interface": [z_port], "kind": ["fiber"]}
    ticket = {"ticket_id": "T1", "device": a, "interface": a_port, "opened_at": OPENED, "failure_type": failure_type}
    return Fleet.from_frames(links=pl.DataFrame(links), tickets=pl.DataFrame([ticket]))


def _lanes(tx_drop_db: float = 0.0, rx_drop_db: float = 0.0, ends: str = "az") -> pl.DataFrame:
    """Hourly lanes of 12 days: on the last, end a sends and end z receives so much less on one of two lanes."""
    rows = []
    for hour in range(12 * 24):
        time = OPENED - timedelta(days=12) + hour * HOUR
        failing = float(hour >= 11 * 24)
        for end in ends:
            for lane in (1, 2):
                fell = failing * (lane == 2)
                tx = -1.0 - tx_drop_db * fell * (end == "a")
                rx = -3.0 - rx_drop_db * fell * (end == "z")
                rows.append((time, "default", *PORTS[end], lane, tx, rx))
    columns = ["time", "site", "device", "interface", "lane", "tx_power_dbm", "rx_power_dbm"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def _doubt(failure_type: str, lanes: pl.DataFrame | None) -> str | None:
    no_ports = pl.DataFrame(
        schema={"time": pl.Datetime("us", "UTC"), **dict.fromkeys(("site", "device", "interface"), pl.String)}
    )
    doubt: str | None = failure_events(_fleet(failure_type), no_ports, lanes)["type_doubt"].item()
    return doubt


@pytest.mark.parametrize("told", ["contamination", "fiber_damage", "receiver_degradation"])
def test_light_that_the_laser_already_sends_weaker_was_not_lost_later(told: str) -> None:
    assert LOST_AT_THE_LASER == _doubt(told, _lanes(tx_drop_db=4.0, rx_drop_db=4.0))


@pytest.mark.parametrize("told", ["laser_degradation", "module_electronics", "loose_seating", "other"])
def test_what_may_weaken_a_laser_is_not_doubted(told: str) -> None:
    assert _doubt(told, _lanes(tx_drop_db=4.0, rx_drop_db=4.0)) is None


@pytest.mark.parametrize("told", ["contamination", "laser_degradation"])
def test_light_lost_after_the_laser_s_own_reading_is_not_plain(told: str) -> None:
    """A monitor looks at the back of a laser: what is lost in front of it shows at the far end only."""
    assert _doubt(told, _lanes(rx_drop_db=6.0)) is None


def test_a_reading_that_the_other_end_does_not_bear_out_is_no_proof() -> None:
    assert _doubt("contamination", _lanes(tx_drop_db=4.0)) is None
    assert _doubt("contamination", _lanes(tx_drop_db=4.0, ends="a")) is None


def test_readings_marked_as_glitches_and_darkness_are_no_proof() -> None:
    weak = _lanes(tx_drop_db=4.0, rx_drop_db=4.0)

    assert _doubt("contamination", weak.with_columns(quality=pl.lit(1, pl.Int16))) is None
    assert _doubt("contamination", _lanes(tx_drop_db=39.0, rx_drop_db=37.0)) is None


def test_without_lane_samples_nothing_is_doubted() -> None:
    assert _doubt("contamination", None) is None


def test_a_doubted_type_is_nobodys_truth() -> None:
    fleet = _fleet("contamination")
    no_ports = pl.DataFrame(
        schema={"time": pl.Datetime("us", "UTC"), **dict.fromkeys(("site", "device", "interface"), pl.String)}
    )

    doubted = failure_events(fleet, no_ports, _lanes(tx_drop_db=4.0, rx_drop_db=4.0))
    believed = failure_events(fleet, no_ports, _lanes())

    assert [None] == truth(doubted, fleet)["true_type"].to_list()
    assert ["contamination"] == truth(believed, fleet)["true_type"].to_list()
