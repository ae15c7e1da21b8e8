"""Whether a repair cured, by readings in a real lake."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES, Action, FailureType
from serving.drains.records import Verdict
from serving.drains.verify import ESCALATION, Verification, next_action, verify

ENDS = [("default", "leaf01", "Ethernet1"), ("default", "spine01", "Ethernet1")]


@pytest.fixture(name="after")
def _after(lake: Lake, now: datetime) -> Callable[..., Verification]:
    """The verdict after so many hours of readings every 5 minutes: ``after(25, oper_up={100: False})``."""

    def read(
        hours: float, *, ber: float = 1e-9, rx: float = -2.0, bad_lane_ber: float = 1e-9, **port: dict[int, Any]
    ) -> Verification:
        times = [now + timedelta(minutes=5 * k) for k in range(int(12 * hours) + 1)]
        base = {"site": "default", "device": "leaf01", "interface": "Ethernet1", "quality": 0, "source": "snmp"}
        ports, lanes = [], []
        values: dict[str, Any] = {"oper_up": True, "link_flaps": 3, "fec_uncorrected": 10}
        for k, time in enumerate(times):
            values |= {name: at[k] for name, at in port.items() if k in at}
            ports.append(base | {"time": time, "received_at": time} | values)
            lanes.append(base | {"time": time, "received_at": time, "lane": 1, "rx_power_dbm": rx, "pre_fec_ber": ber})
            more = base | {"time": time, "received_at": time, "rx_power_dbm": rx}
            lanes += [more | {"lane": lane, "pre_fec_ber": bad_lane_ber if lane == 4 else ber} for lane in range(2, 9)]
            values["oper_up"] = True
        lake.append(PORT_SAMPLES, pl.DataFrame(ports))
        lake.append(LANE_SAMPLES, pl.DataFrame(lanes))
        module = {"received_at": now, **base, "serial": "A", "media": "400GBASE-DR4", "speed_gbps": 400.0}
        module |= {"installed_at": now - timedelta(days=9), "rx_power_low_warn_dbm": -6.0}
        lake.append(MODULES, pl.DataFrame([module]).drop("quality", "source"))
        return verify(lake, ENDS, now, times[-1])

    return read


def test_a_day_without_flaps_and_lost_codewords_passes(after: Callable[..., Verification]) -> None:
    assert Verdict.PASSED is after(24.5).verdict


def test_before_a_day_it_is_pending_and_says_what_was_watched(after: Callable[..., Verification]) -> None:
    found = after(3)

    assert Verdict.PENDING is found.verdict
    assert "bit errors are clean over 125 min; 3.0 of 24 h without a flap" == found.findings[0]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"oper_up": {100: False}}, "leaf01 Ethernet1 was down"),
        ({"link_flaps": {100: 5}}, "2 flaps at leaf01 Ethernet1"),
        ({"fec_uncorrected": {100: 17}}, "7 lost codewords at leaf01 Ethernet1"),
        ({"ber": 1e-4}, "pre-FEC BER of leaf01 Ethernet1 is 1.0e-04"),
        ({"rx": -7.5}, "lane 1 of leaf01 Ethernet1 receives -7.5 dBm"),
    ],
)
def test_what_was_not_cured_fails_at_once(
    after: Callable[..., Verification], changes: dict[str, Any], told: str
) -> None:
    found = after(10, **changes)

    assert Verdict.FAILED is found.verdict
    assert told in found.findings[0]


def test_one_bad_lane_of_many_is_not_lost_in_the_middle(after: Callable[..., Verification]) -> None:
    assert Verdict.FAILED is after(10, bad_lane_ber=1e-2).verdict


def test_a_port_that_is_switched_off_has_not_come_back(after: Callable[..., Verification]) -> None:
    off = dict.fromkeys(range(400), False)

    assert Verdict.PENDING is after(24.5, oper_up=off, admin_up=off).verdict


def test_what_happens_while_the_link_settles_is_forgiven(after: Callable[..., Verification]) -> None:
    assert Verdict.PASSED is after(24.5, oper_up={0: False}).verdict


def test_silence_is_no_cure(lake: Lake, now: datetime, after: Callable[..., Verification]) -> None:
    after(1)

    assert Verdict.PENDING is verify(lake, [("default", "leaf09", "Ethernet9")], now, now + timedelta(days=2)).verdict


def test_after_what_did_not_cure_the_next_is_tried() -> None:
    laser = {FailureType.LASER_DEGRADATION: 1.0}

    assert Action.REPLACE_TRANSCEIVER is next_action(laser, [])
    assert Action.CLEAN_CONNECTOR is next_action(laser, [Action.REPLACE_TRANSCEIVER])
    assert [*ESCALATION, None] == [next_action({}, ESCALATION[:k]) for k in range(5)]
