"""An operator's export: what goes in comes out, split, once, and changed records make new versions."""

import json
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.errors import ExportError
from ingest.exports import import_export
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.quarantine import Kind
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, REPAIRS, TABLES

Export = Any  # of conftest.py

T0 = datetime(2026, 3, 1, tzinfo=UTC)
EXAMPLE = Path(__file__).parents[4] / "shared" / "recordings" / "export_small"


def versions(lake: Lake) -> dict[str, tuple[int, int]]:
    return {entry.name: (entry.version, entry.rows) for entry in lake.stats()}


def test_lane_rows_are_split_into_lane_and_port_samples(export: Export, lake: Lake) -> None:
    rows = export.lane_rows()
    export.parquet(rows)

    report = import_export(export.root, lake)

    lanes = lake.scan(LANE_SAMPLES).sort(LANE_SAMPLES.key).collect()
    ports = lake.scan(PORT_SAMPLES).sort(PORT_SAMPLES.key).collect()
    assert (24, 24, 6) == (report.lane_rows, report.lane_samples, report.port_samples)
    assert (24, 6) == (lanes.height, ports.height)
    assert {"default"} == set(lanes["site"]) == set(ports["site"])
    assert {"file"} == set(lanes["source"]) == set(ports["source"])
    assert lanes["time"].equals(lanes["received_at"])
    expected = rows.sort("interface", "lane", "time")["rx_power_dbm"].cast(pl.Float32)
    assert expected.equals(lanes.sort("interface", "lane", "time")["rx_power_dbm"])
    assert [0, 1000, 2000] * 2 == ports["fec_corrected"].to_list()
    assert {45.0} == set(ports["temperature_c"])
    assert {True} == set(ports["oper_up"])
    assert not report.findings
    assert report.quarantine is None


def test_csv_and_parquet_of_the_same_rows_are_the_same_samples(export: Export, tmp_path: Path) -> None:
    tables = []
    for form in ("csv", "parquet"):
        one, lake = export.at(tmp_path / form), Lake(str(tmp_path / f"lake-{form}"))
        getattr(one, form)(export.lane_rows())
        import_export(one.root, lake)
        tables.append([lake.scan(t).sort(t.key).collect() for t in (LANE_SAMPLES, PORT_SAMPLES)])

    assert tables[0][0].equals(tables[1][0])
    assert tables[0][1].equals(tables[1][1])


@pytest.mark.parametrize("time_format", ["%FT%TZ", "%FT%T%.3f%:z", "%F %T%z", "%F %H:%M%:z"])
def test_iso_times_of_every_usual_form_are_taken(export: Export, lake: Lake, time_format: str) -> None:
    export.csv(export.lane_rows(), time_format=time_format)

    import_export(export.root, lake)

    assert T0 + timedelta(minutes=30) == lake.scan(LANE_SAMPLES).collect()["time"].max()


def test_another_zone_becomes_utc(export: Export, lake: Lake) -> None:
    export.csv(export.lane_rows(1), time_format="%FT02:00:00+02:00")

    import_export(export.root, lake)

    assert {T0} == set(lake.scan(LANE_SAMPLES).collect()["time"])


def test_importing_twice_changes_nothing(export: Export, lake: Lake) -> None:
    """Neither rows nor table versions."""
    export.parquet(export.lane_rows(), "a.parquet")
    export.csv(export.lane_rows(5).slice(24), "b.csv")
    export.file("inventory.csv", "device,interface,serial", "leaf01,Ethernet0,SN1")
    export.file("links.csv", "a_device,a_interface,z_device,z_interface,shared_risk", "leaf01,Ethernet0,s,e,t1;p2")
    export.file("tickets.csv", "ticket_id,device,interface,opened_at", "T1,leaf01,Ethernet0,2026-03-01T00:00Z")
    export.file("maintenance.csv", "device,interface,start,end", "leaf01,,2026-03-01T00:00Z,2026-03-01T01:00Z")
    export.file(
        "repairs.csv", "ticket_id,at,action", "T1,2026-03-01T00:00Z,clean_connector", "T1,2026-03-01T01:00Z,reseat"
    )
    import_export(export.root, lake)
    before = versions(lake)

    again = import_export(export.root, lake)

    assert before == versions(lake)
    assert (0, 2) == (again.files, again.known_files)
    assert {(0, 1), (0, 2)} == set(again.records.values())
    assert [1, 2] == lake.scan(REPAIRS).sort("seq").collect()["seq"].to_list()


def test_a_file_copied_under_another_name_is_taken_once(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows(), "a.parquet")
    export.parquet(export.lane_rows(), "b.parquet")

    report = import_export(export.root, lake)

    assert (1, 1) == (report.files, report.known_files)
    assert 24 == lake.scan(LANE_SAMPLES).collect().height


def test_a_corrected_file_replaces_what_it_corrects(export: Export, lake: Lake, tmp_path: Path) -> None:
    export.parquet(export.lane_rows())
    import_export(export.root, lake)
    export.parquet(export.lane_rows().with_columns(rx_power_dbm=pl.lit(-9.0)))
    import_export(export.root, lake)

    latest = lake.latest(LANE_SAMPLES).collect()
    lake.compact(LANE_SAMPLES, lease=FileLease(tmp_path / "lock"))

    assert (24, {-9.0}) == (latest.height, set(latest["rx_power_dbm"]))
    assert {-9.0} == set(lake.scan(LANE_SAMPLES).collect()["rx_power_dbm"])


@pytest.mark.parametrize("rows", [1, 7, 30, 1000])
def test_the_size_of_commits_does_not_matter(
    export: Export, lake: Lake, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """Lanes and ports are committed apart; a file is recorded once all of it is in."""
    monkeypatch.setattr("ingest.exports.telemetry._BATCH_ROWS", 5)
    monkeypatch.setattr("ingest.exports._FLUSH_ROWS", rows)
    dark = [pl.lit(None, pl.Float64).alias(c) for c in ("tx_power_dbm", "rx_power_dbm", "tx_bias_ma", "pre_fec_ber")]
    export.parquet(export.lane_rows(), "a.parquet")
    export.parquet(export.lane_rows(device="leaf02").with_columns(dark), "b.parquet")
    export.parquet(export.lane_rows(device="leaf03"), "c.parquet")

    first, again = import_export(export.root, lake), import_export(export.root, lake)

    assert (3, 48, 18) == (first.files, first.lane_samples, first.port_samples)
    assert (48, 18) == (lake.scan(LANE_SAMPLES).collect().height, lake.scan(PORT_SAMPLES).collect().height)
    assert (0, 3) == (again.files, again.known_files)


power = st.one_of(st.none(), st.floats(-60, 8), st.just(float("-inf")), st.just(float("nan")))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 300), st.integers(0, 2), st.integers(0, 16)), power, min_size=1, max_size=40
    ),
    st.sampled_from(["csv", "parquet"]),
    st.integers(1, 50),
)
def test_every_reading_comes_back_with_no_light_at_the_floor(
    export: Export, readings: dict[tuple[int, int, int], float | None], form: str, batch: int
) -> None:
    rows = pl.DataFrame(
        [
            {
                "time": T0 + timedelta(hours=hour),
                "device": "d",
                "interface": f"e{port}",
                "lane": lane,
                "rx_power_dbm": dbm,
            }
            for (hour, port, lane), dbm in readings.items()
        ],
        schema_overrides={"rx_power_dbm": pl.Float32, "lane": pl.Int64},
    )
    one = export.at(export.root / uuid.uuid4().hex)
    lake = Lake(str(one.root / "lake"))
    getattr(one, form)(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ingest.exports.telemetry._BATCH_ROWS", batch)
        import_export(one.root, lake)

    floored = rows.with_columns(pl.col("rx_power_dbm").fill_nan(None).clip(lower_bound=-40.0)).drop_nulls()
    expected = floored.sort("interface", "lane", "time")
    found = lake.scan(LANE_SAMPLES).sort("interface", "lane", "time").collect()
    assert expected["rx_power_dbm"].to_list() == pytest.approx(found["rx_power_dbm"].to_list())
    assert rows.unique(["time", "interface"]).height == lake.scan(PORT_SAMPLES).collect().height


def test_a_directory_that_is_not_there_or_holds_no_telemetry_is_an_error(tmp_path: Path, lake: Lake) -> None:
    with pytest.raises(ExportError, match="no such directory"):
        import_export(tmp_path / "nowhere", lake)
    with pytest.raises(ExportError, match="holds no telemetry"):
        import_export(tmp_path, lake)


def test_progress_ends_with_everything_read(export: Export, lake: Lake) -> None:
    path, seen = export.parquet(export.lane_rows()), []

    import_export(export.root, lake, progress=lambda file, done, total: seen.append((file, done, total)))

    size = float(path.stat().st_size)
    assert ("telemetry/part-0.parquet", 0.0, size) == seen[0]
    assert ("", size, size) == seen[-1]


@pytest.mark.device
@pytest.mark.skipif(not EXAMPLE.is_dir(), reason="the example of an export is not beside the project")
def test_the_example_of_an_export_is_taken_whole(lake: Lake) -> None:
    report = import_export(EXAMPLE, lake)

    rows = pl.read_parquet(EXAMPLE / "telemetry" / "*.parquet")
    assert rows.height == report.lane_rows
    assert rows.unique(["device", "interface", "time"]).height == report.port_samples
    small = {"modules": (65, 0), "links": (32, 0), "tickets": (12, 0), "maintenance": (18, 0), "replacements": (8, 6)}
    assert small == report.records
    assert {Kind.VALUE} == {finding.kind for finding in report.findings}
    assert not report.refused


_IMPORT = """
import json, re, sys
from pathlib import Path
from ingest.exports import import_export
from ingest.lake import Lake
report = import_export(Path(sys.argv[1]), Lake(sys.argv[2]))
peak_kib = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
print(json.dumps([report.lane_samples, peak_kib]))
"""
# Not ru_maxrss: a child's begins with the size of the process that started it.


@pytest.mark.slow
def test_memory_does_not_grow_with_the_export(export: Export, tmp_path: Path) -> None:
    """Of four million rows more the peak may not hold more than a part: 50 million must fit in 2 GiB."""
    one = export.lane_rows(2500, ports=[f"Ethernet{i}" for i in range(50)])
    small, large = export.at(tmp_path / "small"), export.at(tmp_path / "large")
    small.parquet(one)
    days = [one.with_columns(pl.col("time") + timedelta(days=30 * i)) for i in range(9)]
    pl.concat(days).write_parquet(large.root / "telemetry" / "all.parquet", row_group_size=10_000_000)
    peaks = []
    for each in (small, large):
        command = [sys.executable, "-c", _IMPORT, str(each.root), str(tmp_path / f"lake-{each.root.name}")]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        peaks.append(json.loads(out))

    (small_rows, small_kib), (large_rows, large_kib) = peaks
    assert (500_000, 4_500_000) == (small_rows, large_rows)
    assert large_kib < 1.2 * 2**20
    assert large_kib < small_kib + 900 * 2**10


def test_every_table_of_an_export_is_a_table_of_the_lake(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows())
    export.file("inventory.csv", "device,interface", "leaf01,Ethernet0")

    import_export(export.root, lake)

    assert set(versions(lake)) <= set(TABLES)
