"""Inventory, links, tickets and maintenance of an export; what changed makes a new version."""

from datetime import UTC, datetime, timedelta
from typing import Any

from ingest.exports import import_export
from ingest.lake import Lake
from ingest.schema import LINKS, MAINTENANCE, MODULES, TICKETS

Export = Any  # of conftest.py

T0 = datetime(2026, 3, 1, tzinfo=UTC)


def test_a_ticket_that_was_closed_since_makes_a_new_version_and_the_others_do_not(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows())
    head = "ticket_id,device,interface,opened_at,closed_at,failure_type"
    other = "T2,leaf01,Ethernet8,2026-03-02 00:00:00+00:00,,"
    export.file("tickets.csv", head, "T1,leaf01,Ethernet0,2026-03-01 00:00:00+00:00,,", other)
    import_export(export.root, lake)
    closed = "T1,leaf01,Ethernet0,2026-03-01 00:00:00+00:00,2026-03-01 09:00:00+00:00,contamination"
    export.file("tickets.csv", head, closed, other)

    report = import_export(export.root, lake)

    latest = lake.latest(TICKETS).sort("ticket_id").collect()
    assert (1, 1) == report.records["tickets"]
    assert [T0 + timedelta(hours=9), None] == latest["closed_at"].to_list()
    assert 3 == lake.scan(TICKETS).collect().height


def test_a_ticket_changed_there_and_back_is_as_it_was(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows())
    for summary in ("one", "two", "one"):
        export.file(
            "tickets.csv",
            "ticket_id,device,interface,opened_at,summary",
            f"T1,leaf01,Ethernet0,2026-03-01T00:00Z,{summary}",
        )
        import_export(export.root, lake)

    assert ["one"] == lake.latest(TICKETS).collect()["summary"].to_list()


def test_limits_may_be_written_short_and_an_infinite_one_is_none(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows())
    export.file(
        "inventory.csv",
        "device,interface,tx_low_warn_dbm,rx_low_alarm_dbm,tx_bias_high_warn_ma,temperature_high_alarm_c,rx_power_high_warn_dbm",
        "leaf01,Ethernet0,-2.5,-inf,12,75.5,0",
    )

    import_export(export.root, lake)

    row = lake.latest(MODULES).collect().row(0, named=True)
    assert (-2.5, None, 12.0, 75.5, 0.0) == (
        row["tx_power_low_warn_dbm"],
        row["rx_power_low_alarm_dbm"],
        row["tx_bias_high_warn_ma"],
        row["temperature_high_alarm_c"],
        row["rx_power_high_warn_dbm"],
    )


def test_links_get_their_site_and_their_shared_risks(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows())
    export.file(
        "links.csv", "site,a_device,a_interface,z_device,z_interface,shared_risk", "fra1,a,e0,z,e1,trunk7;panel2"
    )

    import_export(export.root, lake)

    row = lake.latest(LINKS).collect().row(0, named=True)
    assert ("fra1", "fra1", ["trunk7", "panel2"], "file") == (
        row["a_site"],
        row["z_site"],
        row["shared_risk"],
        row["source"],
    )


def test_maintenance_is_announced_when_it_starts_unless_said(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows())
    export.file("maintenance.csv", "device,start,end", "leaf01,2026-03-01T00:00Z,2026-03-01T01:00Z")

    import_export(export.root, lake)

    row = lake.latest(MAINTENANCE).collect().row(0, named=True)
    assert (T0, None) == (row["announced_at"], row["interface"])
