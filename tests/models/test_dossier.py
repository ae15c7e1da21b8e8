"""The evidence on a module, from a real lake."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES, TICKETS
from models.dossier import Subject, module_evidence, write_dossier
from models.tables import Small

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
PLACE = {"site": "default", "device": "leaf01", "interface": "Ethernet1"}


@pytest.fixture(name="evidence")
def _evidence(tmp_path: Path) -> tuple[list[Small], list[dict[str, str]]]:
    """Ten hourly readings of two lanes: lane 2 is below its warning limit three times; another serial once."""
    lake = Lake(str(tmp_path / "lake"))
    times = [NOW + timedelta(hours=k) for k in range(10)]
    base = PLACE | {"serial": "A", "quality": 0, "source": "snmp"}
    lanes = [
        base | {"time": time, "received_at": time, "lane": lane, "rx_power_dbm": -9.0 if lane == 2 and k > 6 else -2.0}
        for k, time in enumerate(times)
        for lane in (1, 2)
    ]
    early = NOW - timedelta(hours=1)
    lanes.append(base | {"time": early, "received_at": early, "lane": 1, "rx_power_dbm": -20.0, "serial": "B"})
    lake.append(LANE_SAMPLES, pl.DataFrame(lanes))
    ports = [base | {"time": t, "received_at": t, "link_flaps": k, "temperature_c": 40.0} for k, t in enumerate(times)]
    lake.append(PORT_SAMPLES, pl.DataFrame(ports))
    module = PLACE | {"received_at": NOW, "serial": "A", "vendor": "<b>ACME</b>", "rx_power_low_warn_dbm": -6.0}
    lake.append(MODULES, pl.DataFrame([module]))
    ticket = PLACE | {"ticket_id": "T1", "received_at": NOW, "opened_at": NOW, "action": "reseat"}
    lake.append(TICKETS, pl.DataFrame([ticket]))
    subject = Subject("default", "leaf01", "Ethernet1", "A", NOW - timedelta(days=1), NOW + timedelta(days=1))
    return module_evidence(lake, subject)


def test_limits_crossed_are_counted_for_the_module_alone(evidence: tuple[list[Small], object]) -> None:
    crossed = next(table for table in evidence[0] if "crossed" in table.title)

    assert (
        ("rx power low warn dbm", "-6", "2", "3", "-9.00", "2026-11-29 19:00Z", "2026-11-29 21:00Z"),
    ) == crossed.rows


def test_counters_and_tickets_stand_beside_and_empty_tables_do_not(evidence: tuple[list[Small], object]) -> None:
    by_title = {table.title: table.rows for table in evidence[0]}

    assert (("link flaps", "9"),) == by_title["What the port counted"]
    assert "T1" == by_title["Tickets"][0][0]
    assert "Repairs" not in by_title


def test_each_quantity_that_was_read_is_drawn_with_its_limits(evidence: tuple[object, list[dict[str, str]]]) -> None:
    assert ["Received light, dBm", "Case temperature, °C"] == [plot["title"] for plot in evidence[1]]
    assert "lane 2" in evidence[1][0]["svg"]


def test_the_page_escapes_what_devices_say_and_fetches_nothing(
    evidence: tuple[list[Small], list[dict[str, str]]], tmp_path: Path
) -> None:
    write_dossier(tmp_path / "out" / "a.html", title="Module A", note="", tables=evidence[0], plots=evidence[1])
    page = (tmp_path / "out" / "a.html").read_text(encoding="utf-8")

    assert "&lt;b&gt;ACME&lt;/b&gt;" in page
    assert "<script" not in page
    assert "src=" not in page
