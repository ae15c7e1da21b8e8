"""The state of links, from telemetry in a real lake, maintenance and tickets."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from features.fleet import Fleet
from ingest.lake import Lake
from ingest.schema import PORT_SAMPLES
from serving.drains.fabric import Fabric
from serving.drains.observed import Observed, observe, observed_of


@pytest.fixture(name="states")
def _states(lake: Lake, fleet: Fleet, fabric: Fabric, now: datetime) -> Callable[..., Observed]:
    """What is observed of these ports: ``states({"leaf01 Ethernet1": (1, True, True)})``, minutes ago, oper, admin."""

    def read(ports: dict[str, tuple[float, bool | None, bool | None]], **tables: pl.DataFrame) -> Observed:
        rows = []
        for place, (minutes, oper, admin) in ports.items():
            device, interface = place.split()
            time = now - timedelta(minutes=minutes)
            row: dict[str, Any] = {"time": time, "received_at": time, "site": "default", "quality": 0, "source": "snmp"}
            rows.append(row | {"device": device, "interface": interface, "oper_up": oper, "admin_up": admin})
        lake.append(PORT_SAMPLES, pl.DataFrame(rows, schema_overrides={"oper_up": pl.Boolean, "admin_up": pl.Boolean}))
        told = Fleet.from_frames(modules=fleet.modules, links=fleet.links, **tables)
        return observe(lake, told, fabric, now, 900)

    return read


def test_a_link_is_up_where_one_end_was_seen_up_lately(
    states: Callable[..., Observed], name_of: Callable[[str], str], now: datetime
) -> None:
    seen = states({"leaf01 Ethernet1": (2, True, True)})

    assert now - timedelta(minutes=2) == seen.up_at[name_of("leaf01 Ethernet1")]
    assert seen.usable(name_of("leaf01 Ethernet1"))


def test_one_end_down_is_down_and_the_last_state_counts(
    states: Callable[..., Observed], name_of: Callable[[str], str]
) -> None:
    seen = states(
        {
            "leaf01 Ethernet1": (2, True, True),
            "spine01 Ethernet1": (1, False, True),
            "leaf01 Ethernet2": (1, True, False),
        }
    )

    assert "seen down" == seen.down[name_of("leaf01 Ethernet1")]
    assert "seen down" == seen.down[name_of("leaf01 Ethernet2")]


@pytest.mark.parametrize("state", [(20, True, True), (1, None, True)])
def test_what_was_not_seen_up_lately_is_unseen(
    states: Callable[..., Observed], name_of: Callable[[str], str], state: tuple[float, bool | None, bool]
) -> None:
    seen = states({"leaf01 Ethernet1": state})

    assert name_of("leaf01 Ethernet1") in seen.unseen
    assert not seen.usable(name_of("leaf01 Ethernet1"))


def test_work_on_a_cage_takes_the_links_of_its_breakout_out(now: datetime) -> None:
    links = pl.DataFrame([{"a_device": "leaf01", "a_interface": "E1/1/1", "z_device": "spine01", "z_interface": "E1"}])
    cages = pl.DataFrame([{"device": "leaf01", "interface": "E1/1", "serial": "A"}])
    fabric = Fabric.of(Fleet.from_frames(links=links, modules=cages))
    seen = observed_of(fabric, {}, {("default", "leaf01", "E1/1"): "in maintenance (recable)"}, now)

    assert ["in maintenance (recable)"] == list(seen.down.values())


def test_maintenance_and_open_tickets_take_links_out(
    states: Callable[..., Observed], name_of: Callable[[str], str], now: datetime
) -> None:
    hour = timedelta(hours=1)
    work = pl.DataFrame([{"device": "spine02", "start": now - hour, "end": now + hour, "announced_at": now - hour}])
    ticket = {"ticket_id": "T1", "device": "leaf01", "interface": "Ethernet1", "opened_at": now - hour}
    seen = states(
        {"leaf01 Ethernet1": (1, True, True), "leaf01 Ethernet3": (1, True, True)},
        maintenance=work,
        tickets=pl.DataFrame([ticket | {"drained_at": now - hour}]),
    )

    assert "in maintenance (unspecified)" == seen.down[name_of("leaf01 Ethernet3")]
    assert "drained for ticket T1" == seen.down[name_of("leaf01 Ethernet1")]
