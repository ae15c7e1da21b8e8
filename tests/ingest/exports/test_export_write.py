"""`forelight export`: what comes out goes in again, and with a key no name of the operator's is in it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from ingest.errors import ExportError
from ingest.exports import import_export
from ingest.exports.names import Pseudonyms
from ingest.exports.write import write_export
from ingest.lake import Lake
from ingest.schema import (
    LANE_SAMPLES,
    LINKS,
    MAINTENANCE,
    MODULES,
    PORT_SAMPLES,
    REPAIRS,
    REPLACEMENTS,
    TICKETS,
    Table,
)
from serving.cli.app import app

Export = Any  # of conftest.py

T0 = datetime(2026, 3, 1, tzinfo=UTC)
TABLES = (LANE_SAMPLES, PORT_SAMPLES, MODULES, LINKS, TICKETS, REPAIRS, MAINTENANCE, REPLACEMENTS)
KEY = b"a key of the operator's own, and long"
NAMES = (
    "parisite",
    "tor17",
    "tor18",
    "FSN0001",
    "FSN0002",
    "CAB-77",
    "trunk-seine",
    "panelB",
    "INC4711",
    "ALM99",
    "Renée",
)
"""Every name that is put in; none looks like anything else."""


def rows(table: Table, lake: Lake) -> pl.DataFrame:
    return lake.latest(table).drop("received_at").sort(table.key).collect()


@pytest.fixture(name="full")
def _full(export: Export, lake: Lake) -> Lake:
    """A lake with something in every table and column that an export may have."""
    telemetry = pl.concat(export.lane_rows(60, device=device) for device in ("tor17", "tor18"))
    telemetry = telemetry.with_columns(
        pl.when(pl.col("lane") == 1).then(1).otherwise(0).cast(pl.Int16).alias("quality"),
        site=pl.lit("parisite"),
        serial=pl.when(pl.col("device") == "tor17").then(pl.lit("FSN0001")).otherwise(pl.lit("FSN0002")),
        interface=pl.when(pl.col("interface") == "Ethernet8").then(pl.lit("uplink to tor18")).otherwise("interface"),
        port_pre_fec_ber=pl.when(pl.col("device") == "tor18").then(3e-7),
        rx_los=pl.col("lane") == 2,
        fec_bins=pl.lit([1, 2] * 8),
        sub_interface=pl.lit("Ethernet0/1"),
    )
    dark = [
        pl.lit(None, pl.Float64).alias(name) for name in ("tx_power_dbm", "rx_power_dbm", "tx_bias_ma", "pre_fec_ber")
    ]
    copper = telemetry.filter(lane=1).with_columns(*dark, interface=pl.lit("Ethernet64"))
    export.parquet(pl.concat([telemetry, copper]))
    port = "parisite,tor17,Ethernet0"
    export.file(
        "inventory.csv",
        "site,device,interface,serial,vendor,part_number,lot,installed_at,removed_at,rx_low_warn_dbm",
        f"{port},FSN0000,V,P-400,L7,2025-01-01T00:00Z,2026-02-01T00:00:00.25Z,-9.1",
        f"{port},FSN0001,V,P-400,L7,2026-02-01T00:00:00.25Z,,-9.1",
    )
    export.file(
        "links.csv",
        "site,a_device,a_interface,z_device,z_interface,cable_id,kind,shared_risk",
        "parisite,tor17,Ethernet0,tor18,Ethernet0,CAB-77,fiber,trunk-seine;panelB",
    )
    export.file(
        "tickets.csv",
        "ticket_id,site,device,interface,serial,opened_at,closed_at,failure_type,action,bench_verdict,alarm_id,summary",
        f"INC4711,{port},FSN0001,2026-03-01T02:00Z,2026-03-02T00:00Z,contamination,clean_connector,confirmed,ALM99,Renée",
        f"INC4712,{port},FSN0001,2026-03-05T02:00Z,,other,none,,,ask Renée",
    )
    export.file(
        "repairs.csv",
        "ticket_id,seq,at,end,action,old_serial,new_serial,outcome",
        "INC4711,1,2026-03-01T03:00Z,tor17/Ethernet0,clean_connector,,,fixed",
        "INC4711,2,2026-03-01T04:00Z,tor18/Ethernet0,replace_transceiver,FSN0002,FSN0003,Renée did it",
    )
    export.file(
        "maintenance.csv",
        "site,device,interface,start,end,kind",
        "parisite,tor17,,2026-03-01T00:00Z,2026-03-01T01:00Z,firmware",
    )
    assert not import_export(export.root, lake).findings
    return lake


def test_an_export_imports_as_the_rows_that_it_was_made_of(
    full: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a day is cut into many slices."""
    monkeypatch.setattr("ingest.exports.write._SLICE_ROWS", 50)
    copy = Lake(str(tmp_path / "copy"))

    written = write_export(full, tmp_path / "out")
    report = import_export(tmp_path / "out", copy)

    assert not report.findings
    assert (1, written.lane_rows) == (written.files, report.lane_rows)
    assert {table.name: rows(table, full).to_dicts() for table in TABLES} == {
        table.name: rows(table, copy).to_dicts() for table in TABLES
    }


def test_what_a_port_says_beside_its_lanes_comes_back(lake: Lake, tmp_path: Path) -> None:
    """Doubts about a port, its BER, and a port without lanes, as a collector writes them."""
    key = {"time": T0, "received_at": T0, "site": "s", "device": "d", "source": "snmp"}
    lake.append(
        PORT_SAMPLES,
        pl.DataFrame(
            [
                key | {"interface": "e0", "serial": "S", "quality": 4, "pre_fec_ber": 1e-6, "temperature_c": 40.0},
                key | {"interface": "e1", "quality": 1, "in_packets": 7},
            ]
        ).cast({"quality": pl.Int16}),
    )
    lane = {"interface": "e0", "serial": "S", "quality": 0, "lane": 1, "rx_power_dbm": -2.0, "pre_fec_ber": 1e-9}
    lake.append(LANE_SAMPLES, pl.DataFrame([key | lane]).cast({"quality": pl.Int16, "lane": pl.Int8}))
    write_export(lake, tmp_path / "out")
    copy = Lake(str(tmp_path / "copy"))

    import_export(tmp_path / "out", copy)

    for table in (LANE_SAMPLES, PORT_SAMPLES):
        assert rows(table, lake).drop("source").to_dicts() == rows(table, copy).drop("source").to_dicts()


def test_no_name_is_in_an_anonymised_export(full: Lake, tmp_path: Path) -> None:
    write_export(full, tmp_path / "out", names=Pseudonyms(KEY))

    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    telemetry = pl.read_parquet(tmp_path / "out" / "telemetry").drop("fec_bins")
    texts = [path.read_bytes() for path in files] + [telemetry.write_csv().encode()]
    assert 6 == len(files)
    assert [] == [name for name in NAMES for text in texts if name.lower().encode() in text.lower()]
    assert not any(KEY in text for text in texts)


def test_an_anonymised_export_imports_with_the_same_structure(full: Lake, tmp_path: Path) -> None:
    copy = Lake(str(tmp_path / "copy"))
    write_export(full, tmp_path / "out", names=Pseudonyms(KEY))

    report = import_export(tmp_path / "out", copy)

    assert not report.findings
    assert [rows(table, full).height for table in TABLES] == [rows(table, copy).height for table in TABLES]
    kept = ["time", "lane", "rx_power_dbm", "pre_fec_ber", "quality"]
    assert rows(LANE_SAMPLES, full).select(kept).sort(kept).equals(rows(LANE_SAMPLES, copy).select(kept).sort(kept))
    ticket, link = (rows(table, copy).row(-1, named=True) for table in (TICKETS, LINKS))
    module = rows(MODULES, copy).filter(pl.col("source").is_null()).row(-1, named=True)
    assert ("P-400", "L7", "Ethernet0") == (module["part_number"], module["lot"], module["interface"])
    assert {"contamination", "other"} == set(rows(TICKETS, copy)["failure_type"])
    assert {"clean_connector", "none"} == set(rows(TICKETS, copy)["action"])
    assert {None} == set(rows(TICKETS, copy)["summary"])
    assert {"fixed", None} == set(rows(REPAIRS, copy)["outcome"])
    ends = {(link[f"{end}_site"], link[f"{end}_device"]) for end in "az"}
    assert (ticket["site"], ticket["device"]) in ends
    assert ends == set(rows(PORT_SAMPLES, copy).select("site", "device").iter_rows())
    assert {f"{device}/Ethernet0" for _, device in ends} == set(rows(REPAIRS, copy)["end"])


def test_a_key_gives_the_same_names_for_ever_and_another_key_others() -> None:
    names = Pseudonyms(KEY)

    assert "device-7e0a4558c69b5f08" == names.name("device", "tor17")
    assert names.name("device", "tor17") == Pseudonyms(KEY).name("device", "tor17")
    assert names.name("device", "tor17") != Pseudonyms(KEY + b".").name("device", "tor17")
    assert names.name("serial", "tor17")[-16:] != names.name("device", "tor17")[-16:]


@pytest.mark.parametrize(
    "port",
    [
        "Ethernet1/1",
        "xe-0/0/1:2",
        "HundredGigE0/0/0/1",
        "swp1s0",
        "enp1s0f0np0",
        "1/1/c1/1",
        "mlx5_0",
        "TwentyFiveGigE1/0/1",
    ],
)
def test_a_port_named_by_its_operating_system_keeps_its_name(port: str) -> None:
    assert port == Pseudonyms(KEY).interface(port)


@pytest.mark.parametrize(
    "port", ["tor17:Ethernet1", "to-renee", "00:11:22:33:44:55", "e00000000001", "10.0.0.1", "Köln1"]
)
def test_a_port_whose_name_may_tell_of_somebody_gets_another(port: str) -> None:
    assert Pseudonyms(KEY).interface(port).startswith("interface-")


def test_times_move_by_whole_weeks_that_the_key_alone_tells(full: Lake, tmp_path: Path) -> None:
    names = Pseudonyms(KEY, shift_times=True)
    copy = Lake(str(tmp_path / "copy"))
    write_export(full, tmp_path / "out", names=names)
    import_export(tmp_path / "out", copy)

    assert timedelta() < -names.shift < timedelta(weeks=105)
    assert timedelta() == names.shift % timedelta(weeks=1)
    assert Pseudonyms(KEY, shift_times=True).shift == names.shift
    assert Pseudonyms(KEY).shift == timedelta()
    for table, column in ((LANE_SAMPLES, "time"), (MODULES, "installed_at"), (TICKETS, "closed_at"), (REPAIRS, "at")):
        assert rows(table, copy)[column].max() == (rows(table, full)[column] + names.shift).max()
    day = (T0 + names.shift).strftime("%Y-%m-%d")
    assert [f"{day}.parquet"] == [path.name for path in (tmp_path / "out" / "telemetry").iterdir()]


def test_nothing_is_written_over_what_is_there(full: Lake, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")

    with pytest.raises(ExportError, match="not empty; nothing was written"):
        write_export(full, tmp_path / "out")
    assert ["mine"] == [path.name for path in (tmp_path / "out").iterdir()]


def test_an_export_that_fails_half_way_leaves_nothing(
    full: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ingest.exports.write._write_records", broken)
    before = sorted(path.name for path in tmp_path.iterdir())

    with pytest.raises(ExportError, match=r"out: .*No space left on device; nothing was written"):
        write_export(full, tmp_path / "out")
    assert before == sorted(path.name for path in tmp_path.iterdir())


def test_an_empty_lake_is_an_error(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="no telemetry"):
        write_export(lake, tmp_path / "out")


def test_only_the_telemetry_asked_for_is_written(full: Lake, tmp_path: Path) -> None:
    write_export(full, tmp_path / "out", since=T0 + timedelta(hours=1), until=T0 + timedelta(hours=2))

    times = pl.read_parquet(tmp_path / "out" / "telemetry")["time"]
    assert {T0 + timedelta(minutes=60 + 15 * i) for i in range(4)} == set(times)


def test_the_command_anonymises_by_the_key_of_a_file_or_the_environment(
    full: Lake, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert full.uri == str(home / "lake")
    (tmp_path / "key").write_bytes(KEY + b"\n")
    monkeypatch.delenv("FORELIGHT_EXPORT_KEY", raising=False)
    by_file = CliRunner().invoke(
        app, ["export", str(tmp_path / "a"), "--anonymise", "--key-file", str(tmp_path / "key")]
    )
    monkeypatch.setenv("FORELIGHT_EXPORT_KEY", KEY.decode())
    by_name = CliRunner().invoke(app, ["export", str(tmp_path / "b"), "--anonymise", "--json"])

    assert (0, 0) == (by_file.exit_code, by_name.exit_code)
    assert "1 telemetry files, 1,080 lane rows" in by_file.stdout
    assert 1 == json.loads(by_name.stdout)["files"]
    for name in ("inventory.csv", "tickets.csv", "telemetry/2026-03-01.parquet"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("key", "options", "said"),
    [
        (None, ["--anonymise"], "set FORELIGHT_EXPORT_KEY, or name a file with --key-file"),
        ("short", ["--anonymise"], "the export key has 5 bytes; it must have 16 at least"),
        (None, ["--anonymise", "--key-file", "nowhere"], "nowhere: the key cannot be read"),
        (None, ["--shift-times"], "are for --anonymise; nothing was written"),
    ],
)
def test_without_a_usable_key_nothing_is_written(
    full: Lake,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str | None,
    options: list[str],
    said: str,
) -> None:
    assert full.uri == str(home / "lake")
    monkeypatch.delenv("FORELIGHT_EXPORT_KEY", raising=False)
    if key:
        monkeypatch.setenv("FORELIGHT_EXPORT_KEY", key)

    result = CliRunner().invoke(app, ["export", str(tmp_path / "out"), *options])

    assert isinstance(result.exception, ExportError)
    assert said in str(result.exception)
    assert not (tmp_path / "out").exists()
