"""Bad telemetry of an export: a clear line that names file, place and reason, and everything else kept."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from ingest.exports import import_export
from ingest.lake import Lake
from ingest.quarantine import EXAMPLES, Kind
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES, Quality

Export = Any  # of conftest.py

T0 = datetime(2026, 3, 1, tzinfo=UTC)
HEADER = "time,device,interface,lane,rx_power_dbm"


@pytest.fixture(autouse=True)
def _one_good_file(export: Export) -> None:
    export.good()


@pytest.mark.parametrize("keep", [0, 3, 200, -20], ids=["empty", "three bytes", "footer gone", "tail gone"])
def test_a_truncated_parquet_file_is_named_and_the_others_are_kept(export: Export, lake: Lake, keep: int) -> None:
    whole = (export.root / "telemetry" / "good.parquet").read_bytes()
    (export.root / "telemetry" / "cut.parquet").write_bytes(whole[:keep])
    export.file("inventory.csv", "device,interface", "leaf01,Ethernet0")

    report = import_export(export.root, lake)

    assert str(export.only(report, Kind.ERROR)).startswith("telemetry/cut.parquet: cannot be read: ")
    assert (1, 6) == (report.files, lake.scan(LANE_SAMPLES).collect().height)
    assert 1 == lake.scan(MODULES).collect().height


def test_a_file_damaged_in_the_middle_is_not_recorded_as_taken(
    export: Export, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read before the damage stays; a repaired file is read whole, and no reading counts twice."""
    monkeypatch.setattr("ingest.exports.telemetry._BATCH_ROWS", 1000)
    path = export.root / "telemetry" / "good.parquet"
    rows = pl.concat([export.good(time=pl.col("time") + timedelta(days=i)) for i in range(1000)])
    rows.write_parquet(path, row_group_size=500, compression="uncompressed", use_pyarrow=False)
    whole = path.read_bytes()
    data, footer = len(whole) // 2, len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(whole[:data] + whole[data:footer].replace(b"Ethernet0", b"\xff" * 9) + whole[footer:])
    damaged = import_export(export.root, lake)
    path.write_bytes(whole)

    report = import_export(export.root, lake)

    assert f"of which {damaged.lane_rows:,} rows were taken" in str(export.only(damaged, Kind.ERROR))
    assert 0 < damaged.lane_samples < 6000
    assert 1 == report.files
    assert 6000 == lake.latest(LANE_SAMPLES).filter(pl.col("interface") == "Ethernet0").collect().height


def test_rows_of_a_csv_with_a_naive_time_are_refused_with_file_and_line(export: Export, lake: Lake) -> None:
    export.file(
        "telemetry/n.csv",
        HEADER,
        "2026-03-02T00:00:00Z,leaf02,e1,1,-3",
        "2026-03-02T01:00:00,leaf02,e1,1,-3",
        "2026-03-02 02:00,leaf02,e1,1,-3",
    )

    report = import_export(export.root, lake)

    error = export.only(report, Kind.ERROR)
    assert "telemetry/n.csv:3: time: a time without a zone (write +00:00 or Z for UTC) (2 times)" == str(error)
    assert 7 == lake.scan(LANE_SAMPLES).collect().height


def test_a_parquet_file_with_naive_times_is_refused_as_a_whole(export: Export, lake: Lake) -> None:
    export.good().with_columns(pl.col("time").dt.replace_time_zone(None)).write_parquet(
        export.root / "telemetry/n.parquet"
    )

    report = import_export(export.root, lake)

    assert "telemetry/n.parquet" == export.only(report, Kind.ERROR).file
    assert "without a zone" in str(export.only(report, Kind.ERROR))
    assert 6 == lake.scan(LANE_SAMPLES).collect().height


@pytest.mark.parametrize(
    ("time", "said"),
    [
        ("", "no time"),
        ("yesterday", "not an ISO 8601 time"),
        ("2026-13-01T00:00:00Z", "not an ISO 8601 time"),
        ("1970-01-01T00:00:10Z", "not a time between 2000 and 2100"),
    ],
)
def test_a_row_without_a_usable_time_is_left_out(export: Export, lake: Lake, time: str, said: str) -> None:
    export.file("telemetry/t.csv", HEADER, f"{time},leaf02,e1,1,-3", "2026-03-02T00:00:00Z,leaf02,e1,1,-3")

    report = import_export(export.root, lake)

    assert f"telemetry/t.csv:2: time: {said}" == str(export.only(report, Kind.ROW))
    assert not report.refused
    assert 7 == lake.scan(LANE_SAMPLES).collect().height


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("2026-03-02T00:00:00Z,,e1,1,-3", "device: no device"),
        ("2026-03-02T00:00:00Z,leaf02, ,1,-3", "interface: no interface"),
        ("2026-03-02T00:00:00Z,leaf02,e1,17,-3", "lane: not a lane from 0 to 16"),
        ("2026-03-02T00:00:00Z,leaf02,e1,-1,-3", "lane: not a lane from 0 to 16"),
        ("2026-03-02T00:00:00Z,leaf02,e1,x,-3", "lane: not a lane from 0 to 16"),
        ("2026-03-02T00:00:00Z,leaf02,e1,1", "not 5 cells, as the header has"),
        ("2026-03-02T00:00:00Z,leaf02,e1,1,-3,7", "not 5 cells, as the header has"),
    ],
)
def test_a_row_that_names_no_lane_is_left_out(export: Export, lake: Lake, row: str, said: str) -> None:
    export.file("telemetry/r.csv", HEADER, "2026-03-02T00:00:00Z,leaf02,e1,2,-3", row)

    report = import_export(export.root, lake)

    assert f"telemetry/r.csv:3: {said}" == str(export.only(report, Kind.ROW))
    assert 7 == lake.scan(LANE_SAMPLES).collect().height


def test_a_line_is_counted_right_after_lines_that_were_skipped(export: Export, lake: Lake) -> None:
    export.file("telemetry/r.csv", HEADER, "too,few", "2026-03-02T00:00Z,a,e,1,-3", "x", "2026-03-02T00:00Z,a,e,99,-3")

    report = import_export(export.root, lake)

    assert "telemetry/r.csv:5" in [finding.where for finding in report.findings]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("rx_power_dbm", 8.17),
        ("rx_power_dbm", float("inf")),
        ("tx_bias_ma", 131.07),
        ("tx_bias_ma", -1.0),
        ("tx_bias_ma", 600.0),
        ("pre_fec_ber", 1.5),
        ("pre_fec_ber", -1e-9),
        ("snr_db", 256.0),
        ("laser_temperature_c", -128.0),
    ],
)
def test_a_value_no_module_can_give_becomes_null_and_a_glitch(
    export: Export, lake: Lake, column: str, value: float
) -> None:
    first = pl.int_range(pl.len()) == 0
    export.good(**{"tx_power_dbm": pl.lit(1.0), column: pl.when(first).then(value).otherwise(0.5)})

    report = import_export(export.root, lake)

    finding = export.only(report, Kind.VALUE)
    glitched = lake.scan(LANE_SAMPLES).filter(pl.col("quality") == Quality.GLITCH).collect()
    assert (1, column, "telemetry/good.parquet row 1") == (finding.count, finding.column, finding.where)
    assert ([None], 6) == (glitched[column].to_list(), lake.scan(LANE_SAMPLES).collect().height)


def test_a_bias_above_what_two_bytes_hold_is_kept(export: Export, lake: Lake) -> None:
    """CMIS modules multiply the register by 2 or 4."""
    export.good(tx_bias_ma=pl.lit(136.8))

    assert not import_export(export.root, lake).findings
    assert 6 == lake.scan(LANE_SAMPLES).collect()["tx_bias_ma"].count()


@pytest.mark.parametrize("word", ["", "N/A", "nan", "NULL", "-"])
def test_a_missing_value_is_null_and_nothing_to_report(export: Export, lake: Lake, word: str) -> None:
    export.file("telemetry/v.csv", f"{HEADER},oper_up,crc_errors", f"2026-03-02T00:00:00Z,leaf02,e1,1,{word},up,12.0")

    report = import_export(export.root, lake)

    row = lake.scan(PORT_SAMPLES).filter(device="leaf02").collect().row(0, named=True)
    assert not report.findings
    assert (True, 12) == (row["oper_up"], row["crc_errors"])


def test_a_word_where_a_number_belongs_is_null_and_reported(export: Export, lake: Lake) -> None:
    export.file("telemetry/v.csv", f"{HEADER},voltage_v", "2026-03-02T00:00:00Z,leaf02,e1,1,nil,3.3")

    report = import_export(export.root, lake)

    assert "telemetry/v.csv:2: rx_power_dbm: not a number" == str(export.only(report, Kind.VALUE))
    assert "nil" in [line["raw"] for line in export.quarantined(report)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "telemetry/x.csv: has no column time, device, interface"),
        (b"device,interface\na,b\n", "telemetry/x.csv: has no column time"),
        (b"time,device,interface,lane\n2026-03-02T00:00Z,leaf\xff,e1,1\n", "telemetry/x.csv: cannot be read: "),
        (b"\x00\x01\x02\x03", "telemetry/x.csv: "),
    ],
    ids=["empty", "no time", "not UTF-8", "binary"],
)
def test_a_file_that_is_no_telemetry_is_refused_by_name(export: Export, lake: Lake, content: bytes, said: str) -> None:
    (export.root / "telemetry" / "x.csv").write_bytes(content)

    report = import_export(export.root, lake)

    assert str(export.only(report, Kind.ERROR)).startswith(said)
    assert 6 == lake.scan(LANE_SAMPLES).collect().height


def test_unknown_columns_are_said_and_left_out(export: Export, lake: Lake) -> None:
    export.good(colour=pl.lit("red"))
    export.file("inventory.csv", "device,interface,rack", "leaf01,Ethernet0,R7")

    report = import_export(export.root, lake)

    assert [("telemetry/good.parquet", "colour"), ("inventory.csv", "rack")] == [
        (finding.file, finding.column) for finding in report.findings
    ]
    assert {Kind.NOTE} == {finding.kind for finding in report.findings}
    assert report.quarantine is None


def test_the_quarantine_is_bounded_and_counts_all(export: Export, lake: Lake) -> None:
    rows = [f"2026-03-02T00:00:00Z,leaf02,e{i},1,99" for i in range(1000)]
    export.file("telemetry/v.csv", HEADER, *rows)

    report = import_export(export.root, lake)

    lines = export.quarantined(report)
    assert 1000 == export.only(report, Kind.VALUE).count
    assert EXAMPLES + 1 == len(lines)
    assert (1000, "telemetry/v.csv") == (lines[-1]["count"], lines[-1]["where"])
    assert ("telemetry/v.csv:2", "99") == (lines[0]["where"], lines[0]["raw"])


def test_a_column_that_stands_twice_is_refused_by_name(export: Export, lake: Lake) -> None:
    """Which of the two is meant nobody can tell."""
    export.file("telemetry/twice.csv", f"{HEADER},rx_power_dbm", "2026-03-02T00:00:00Z,leaf02,e0,1,-2,-3")

    report = import_export(export.root, lake)

    assert "telemetry/twice.csv: column rx_power_dbm stands there more than once" == str(
        export.only(report, Kind.ERROR)
    )
    assert 6 == lake.scan(LANE_SAMPLES).collect().height


def test_a_column_of_lists_where_a_number_belongs_is_refused(export: Export, lake: Lake) -> None:
    export.good(rx_power_dbm=pl.lit([-2.0, -3.0])).write_parquet(export.root / "telemetry" / "lists.parquet")
    export.good()

    report = import_export(export.root, lake)

    assert str(export.only(report, Kind.ERROR)).startswith("telemetry/lists.parquet: cannot be read")
    assert 6 == lake.scan(LANE_SAMPLES).collect().height


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("name", ["leaf\x1b[31m01", "leaf01\nINFO all is well", "leaf\u202e10", "\x9b2Jleaf"])
def test_a_name_that_moves_a_terminal_is_refused_and_the_rows_beside_it_are_kept(
    export: Export, lake: Lake, form: str, name: str
) -> None:
    """Who names a device would write into the logs and tables of everybody who reads of it."""
    rows = export.lane_rows(device="leaf02", ports=("Ethernet0",))
    evil = rows.with_columns(device=pl.lit(name))
    getattr(export, form)(pl.concat([rows, evil]))

    report = import_export(export.root, lake)

    found = export.only(report, Kind.ROW)
    assert ("control characters in a name", "device", 12) == (found.reason, found.column, found.count)
    assert {"leaf01", "leaf02"} == set(lake.scan(LANE_SAMPLES).collect()["device"].unique())


def test_a_serial_that_moves_a_terminal_becomes_null(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows(device="leaf02").with_columns(serial=pl.lit("SN\x07")))

    report = import_export(export.root, lake)

    assert "control characters in a name" == export.only(report, Kind.VALUE).reason
    assert lake.scan(PORT_SAMPLES).filter(pl.col("device") == "leaf02").collect()["serial"].is_null().all()
