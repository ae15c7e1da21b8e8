"""Ports that telemetry shows and no inventory lists are modules all the same, and say that they are inferred."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from features.fleet import Fleet
from ingest.exports import import_export
from ingest.exports.seen import INFERRED
from ingest.lake import Lake
from ingest.schema import MODULES

Export = Any  # of conftest.py

T0 = datetime(2026, 3, 1, tzinfo=UTC)


def modules(lake: Lake, *columns: str) -> list[tuple[Any, ...]]:
    return lake.latest(MODULES).sort("interface", "installed_at").select(columns).collect().rows()


def serials(export: Export, *by_poll: str | None) -> pl.DataFrame:
    """Polls of one port that tell these serials."""
    rows: pl.DataFrame = export.lane_rows(len(by_poll), ports=["e0"])
    told = pl.Series("serial", by_poll, dtype=pl.String)
    return rows.with_columns(serial=told.gather(rows["time"].rank("dense") - 1))


def test_a_port_of_no_inventory_is_a_module_known_by_its_telemetry(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows())
    export.file("tickets.csv", "ticket_id,device,interface,opened_at", "T1,leaf01,Ethernet0,2026-03-01T00:00Z")

    report = import_export(export.root, lake)

    expected = [("Ethernet0", "SN-Ethernet0", None, INFERRED), ("Ethernet8", "SN-Ethernet8", None, INFERRED)]
    assert expected == modules(lake, "interface", "serial", "installed_at", "source")
    assert 2 == report.inferred
    assert {"leaf01:Ethernet0", "leaf01:Ethernet8"} == set(Fleet.load(lake).as_of(T0).ends()["link_id"])
    assert not report.findings


def test_what_an_inventory_lists_is_not_inferred(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows())
    export.file("inventory.csv", "device,interface,serial", "leaf01,Ethernet0,S1")

    report = import_export(export.root, lake)

    assert 1 == report.inferred
    assert [("S1", None), ("SN-Ethernet8", INFERRED)] == modules(lake, "serial", "source")


def test_telemetry_without_serials_gives_ports_without_serials(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows().drop("serial"))

    import_export(export.root, lake)

    assert [(None, INFERRED)] * 2 == modules(lake, "serial", "source")


def test_files_with_and_without_serials_go_together(export: Export, lake: Lake) -> None:
    export.good()
    export.parquet(export.lane_rows(device="leaf02"))
    export.parquet(export.lane_rows(device="leaf03").drop("serial"), "part-1.parquet")

    report = import_export(export.root, lake)

    assert (3, []) == (report.files, report.findings)
    modules = lake.scan(MODULES).collect()
    assert {"leaf01": 1, "leaf02": 2, "leaf03": 2} == dict(modules["device"].value_counts().iter_rows())
    assert {"leaf02"} == set(modules.filter(pl.col("serial").is_not_null())["device"])


def test_a_serial_that_follows_another_is_an_installation_from_then_on(export: Export, lake: Lake) -> None:
    export.parquet(serials(export, "A", "A", None, "B"))

    import_export(export.root, lake)

    swapped = T0 + timedelta(minutes=45)
    assert [("A", None, swapped), ("B", swapped, None)] == modules(lake, "serial", "installed_at", "removed_at")


def test_serials_that_come_and_go_tell_only_of_the_newest(export: Export, lake: Lake) -> None:
    export.parquet(serials(export, "A", "B", "A"))

    import_export(export.root, lake)

    assert [("A", None)] == modules(lake, "serial", "removed_at")


def test_a_later_import_adds_only_what_is_new(export: Export, lake: Lake) -> None:
    export.parquet(serials(export, "A", "A"), "a.parquet")
    import_export(export.root, lake)
    later = pl.col("time") + timedelta(days=1)
    export.parquet(serials(export, "A", "A").with_columns(later), "b.parquet")
    same = import_export(export.root, lake)
    export.parquet(serials(export, "A", "C").with_columns(later + timedelta(days=1)), "c.parquet")

    import_export(export.root, lake)

    swapped = T0 + timedelta(days=2, minutes=15)
    assert 0 == same.inferred
    assert [("A", None, swapped), ("C", swapped, None)] == modules(lake, "serial", "installed_at", "removed_at")


def test_an_inventory_that_comes_later_ends_what_was_inferred(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows(ports=["e0"]))
    import_export(export.root, lake)
    export.file("inventory.csv", "device,interface,serial,installed_at", "leaf01,e0,S1,2026-01-01T00:00Z")

    import_export(export.root, lake)

    assert ["S1"] == Fleet.load(lake).in_cages()["serial"].to_list()
    assert 0 == import_export(export.root, lake).inferred
