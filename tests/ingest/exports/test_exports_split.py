"""Lane rows of an export become lane and port samples, whatever the shape of the file."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.exports import import_export
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

Export = Any  # of conftest.py

T0 = datetime(2026, 3, 1, tzinfo=UTC)


def test_copper_without_dom_makes_port_samples_only(export: Export, lake: Lake) -> None:
    nothing = [pl.lit(None, pl.Float64).alias(name) for name in ("tx_power_dbm", "rx_power_dbm", "tx_bias_ma")]
    export.parquet(export.lane_rows().with_columns(*nothing, pre_fec_ber=pl.lit(None, pl.Float64)))

    import_export(export.root, lake)

    assert not lake.exists(LANE_SAMPLES) or not lake.scan(LANE_SAMPLES).collect().height
    assert 6 == lake.scan(PORT_SAMPLES).collect().height


def test_a_ber_that_a_lane_says_is_the_lanes_though_all_say_the_same(export: Export, lake: Lake) -> None:
    """What a row means may not hang on the rows around it: features take the worst of lanes and port."""
    export.parquet(export.lane_rows().with_columns(pre_fec_ber=pl.lit(1e-7)))

    import_export(export.root, lake)

    assert {None} == set(lake.scan(PORT_SAMPLES).collect()["pre_fec_ber"])
    assert [1e-7] * 24 == lake.scan(LANE_SAMPLES).collect()["pre_fec_ber"].to_list()


def test_a_ber_of_the_port_beside_its_lanes_is_the_ports(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows().with_columns(port_pre_fec_ber=pl.lit(3e-6)))

    import_export(export.root, lake)

    assert {3e-6} == set(lake.scan(PORT_SAMPLES).collect()["pre_fec_ber"])
    assert 24 == lake.scan(LANE_SAMPLES).collect()["pre_fec_ber"].count()


def test_a_ber_of_lane_0_is_the_ports(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows(lanes=1).with_columns(lane=pl.lit(0, pl.Int8)))

    import_export(export.root, lake)

    assert 6 == lake.scan(PORT_SAMPLES).collect()["pre_fec_ber"].count()
    assert 0 == lake.scan(LANE_SAMPLES).collect()["pre_fec_ber"].count()
    assert {0} == set(lake.scan(LANE_SAMPLES).collect()["lane"])


def test_a_flag_of_one_lane_is_up_at_the_port(export: Export, lake: Lake) -> None:
    export.parquet(export.lane_rows(1).with_columns(rx_los=pl.col("lane") == 3, tx_fault=pl.lit(None, pl.Boolean)))

    import_export(export.root, lake)

    ports = lake.scan(PORT_SAMPLES).collect()
    assert ({True}, {None}) == (set(ports["rx_los"]), set(ports["tx_fault"]))


@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("group", [3, 1000])
def test_the_shape_of_the_file_does_not_matter(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, group: int
) -> None:
    """By time, by port or lane by lane, in batches of any size, in row groups of any size: the same samples."""
    monkeypatch.setattr("ingest.exports.telemetry._BATCH_ROWS", batch)
    found = []
    for order in (["time", "interface", "lane"], ["interface", "time", "lane"], ["lane", "interface", "time"]):
        name = "-".join(order)
        one, lake = export.at(tmp_path / name), Lake(str(tmp_path / f"lake-{name}"))
        one.lane_rows(9).sort(order).write_parquet(one.root / "telemetry" / "a.parquet", row_group_size=group)
        import_export(one.root, lake)
        found.append([lake.scan(table).sort(table.key).collect() for table in (LANE_SAMPLES, PORT_SAMPLES)])

    assert [(72, 18)] * 3 == [(lanes.height, ports.height) for lanes, ports in found]
    assert all(lanes.equals(found[0][0]) and ports.equals(found[0][1]) for lanes, ports in found)


def test_a_flag_that_the_next_batch_tells_is_up_too(
    export: Export, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch may end within a reading, or within a sweep whose lanes do not stand together."""
    monkeypatch.setattr("ingest.exports.telemetry._BATCH_ROWS", 7)
    export.parquet(export.lane_rows().with_columns(rx_los=pl.col("lane") == 4).sort("time", "lane", "interface"))

    import_export(export.root, lake)

    assert [True] * 6 == lake.scan(PORT_SAMPLES).collect()["rx_los"].to_list()


def test_rows_of_one_time_without_end_are_not_held_back_for_ever(
    export: Export, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.exports.telemetry._BATCH_ROWS", 7)
    monkeypatch.setattr("ingest.exports.split._HELD_ROWS", 5)
    export.parquet(export.lane_rows(1, ports=[f"e{i}" for i in range(20)], lanes=8))

    import_export(export.root, lake)

    assert (160, 20) == (lake.scan(LANE_SAMPLES).collect().height, lake.scan(PORT_SAMPLES).collect().height)


def test_types_that_another_tool_wrote_are_cast(export: Export, lake: Lake) -> None:
    """pandas gives integers with gaps as floats, flags as 0 and 1, names as categories, times as nanoseconds."""
    export.parquet(
        export.lane_rows().with_columns(
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
