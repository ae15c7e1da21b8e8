"""Lane rows of an export become lane and port samples, whatever the shape of the file."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from ingest.exports import import_export
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

T0 = datetime(2026, 3, 1, tzinfo=UTC)


def lane_rows(polls: int = 3, ports: Iterable[str] = ("Ethernet0", "Ethernet8"), lanes: int = 4) -> pl.DataFrame:
    """Lane rows with the port's columns repeated; every lane has a BER of its own."""
    return pl.DataFrame(
        [
            {
                "time": T0 + timedelta(minutes=15 * poll),
                "device": "leaf01",
                "interface": port,
                "serial": f"SN-{port}",
                "lane": lane,
                "tx_power_dbm": 0.5,
                "rx_power_dbm": -2.0 - lane / 4,
                "tx_bias_ma": 7.0,
                "pre_fec_ber": 1e-8 * lane,
                "temperature_c": 45.0,
                "fec_corrected": 1000 * poll,
                "oper_up": True,
            }
            for poll in range(polls)
            for port in ports
            for lane in range(1, lanes + 1)
        ],
        schema_overrides={"lane": pl.Int8},
    )


class Export:
    """A directory in the form of an operator's export."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "telemetry").mkdir(parents=True)

    def parquet(self, rows: pl.DataFrame, name: str = "part-0.parquet") -> Path:
        rows.write_parquet(self.root / "telemetry" / name)
        return self.root / "telemetry" / name

    def csv(self, rows: pl.DataFrame, name: str = "part-0.csv", time_format: str = "%Y-%m-%d %H:%M:%S%:z") -> Path:
        rows.with_columns(pl.col("time").dt.strftime(time_format)).write_csv(self.root / "telemetry" / name)
        return self.root / "telemetry" / name

    def file(self, name: str, *lines: str) -> None:
        (self.root / name).write_text("\n".join(lines) + "\n")


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return Export(tmp_path / "export")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "home" / "lake"))


def test_copper_without_dom_makes_port_samples_only(export: Export, lake: Lake) -> None:
    nothing = [pl.lit(None, pl.Float64).alias(name) for name in ("tx_power_dbm", "rx_power_dbm", "tx_bias_ma")]
    export.parquet(lane_rows().with_columns(*nothing, pre_fec_ber=pl.lit(None, pl.Float64)))

    import_export(export.root, lake)

    assert not lake.exists(LANE_SAMPLES) or not lake.scan(LANE_SAMPLES).collect().height
    assert 6 == lake.scan(PORT_SAMPLES).collect().height


def test_a_ber_that_all_lanes_repeat_is_the_ports(export: Export, lake: Lake) -> None:
    by_port = pl.when(pl.col("interface") == "Ethernet0").then(1e-7).otherwise("pre_fec_ber")
    export.parquet(lane_rows().with_columns(pre_fec_ber=by_port))

    import_export(export.root, lake)

    lanes, ports = lake.scan(LANE_SAMPLES).collect(), lake.scan(PORT_SAMPLES).collect()
    assert {1e-7} == set(ports.filter(interface="Ethernet0")["pre_fec_ber"])
    assert {None} == set(lanes.filter(interface="Ethernet0")["pre_fec_ber"])
    assert {None} == set(ports.filter(interface="Ethernet8")["pre_fec_ber"])
    assert {1e-8, 2e-8, 3e-8, 4e-8} == {round(ber, 12) for ber in lanes.filter(interface="Ethernet8")["pre_fec_ber"]}


def test_a_ber_of_lane_0_is_the_ports(export: Export, lake: Lake) -> None:
    export.parquet(lane_rows(lanes=1).with_columns(lane=pl.lit(0, pl.Int8)))

    import_export(export.root, lake)

    assert 6 == lake.scan(PORT_SAMPLES).collect()["pre_fec_ber"].count()
    assert 0 == lake.scan(LANE_SAMPLES).collect()["pre_fec_ber"].count()
    assert {0} == set(lake.scan(LANE_SAMPLES).collect()["lane"])


def test_a_flag_of_one_lane_is_up_at_the_port(export: Export, lake: Lake) -> None:
    export.parquet(lane_rows(1).with_columns(rx_los=pl.col("lane") == 3, tx_fault=pl.lit(None, pl.Boolean)))

    import_export(export.root, lake)

    ports = lake.scan(PORT_SAMPLES).collect()
    assert ({True}, {None}) == (set(ports["rx_los"]), set(ports["tx_fault"]))


def test_the_shape_of_the_file_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By time, by port or lane by lane, in batches of any size: one port sample a reading."""
    monkeypatch.setattr("ingest.export_telemetry._BATCH_ROWS", 7)
    counts = []
    for order in (["time", "interface", "lane"], ["interface", "time", "lane"], ["lane", "interface", "time"]):
        name = "-".join(order)
        export, lake = Export(tmp_path / name), Lake(str(tmp_path / f"lake-{name}"))
        export.parquet(lane_rows(9).sort(order))
        import_export(export.root, lake)
        counts.append((lake.scan(LANE_SAMPLES).collect().height, lake.scan(PORT_SAMPLES).collect().height))

    assert [(72, 18)] * 3 == counts


def test_types_that_another_tool_wrote_are_cast(export: Export, lake: Lake) -> None:
    """pandas gives integers with gaps as floats, flags as 0 and 1, names as categories, times as nanoseconds."""
    export.parquet(
        lane_rows().with_columns(
            pl.col("time").dt.cast_time_unit("ns"),
            pl.col("device").cast(pl.Categorical),
            pl.col("lane").cast(pl.Int64),
            pl.col("oper_up").cast(pl.Int8),
            pl.col("fec_corrected").cast(pl.Float64),
            fec_bins=pl.concat_list([pl.lit(float(i)) for i in range(16)]),
        )
    )

    report = import_export(export.root, lake)

    row = lake.scan(PORT_SAMPLES).sort("time").collect().row(-1, named=True)
    assert not report.findings
    assert (True, 2000, list(range(16))) == (row["oper_up"], row["fec_corrected"], row["fec_bins"])
