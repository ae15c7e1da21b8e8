"""A bit error ratio that an export repeats on every lane is as good to the features as one of the port."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl

from features.cube import LakeTiles
from features.fleet import Fleet
from features.pipeline import FeaturePipeline
from features.tiles import update_tiles
from ingest.exports import import_export
from ingest.lake import Lake

Export = Any  # of conftest.py


def _features(export: Export, rows: pl.DataFrame) -> pl.DataFrame:
    export.parquet(rows)
    lake = Lake(str(export.root / "lake"))
    import_export(export.root, lake)
    update_tiles(lake)
    at = rows["time"].dt.truncate("1h").to_list()[-1]
    return FeaturePipeline().transform(LakeTiles(lake), Fleet.load(lake), [at - timedelta(hours=6), at])


def test_features_do_not_hang_on_whether_lanes_repeat_the_ports_ber(export: Export, tmp_path: Path) -> None:
    rows = export.lane_rows(polls=4 * 24 * 4)
    worse = pl.col("time").rank("dense") / 50 - 9 + pl.col("time").rank("dense") % 7 / 30
    repeated = rows.with_columns(pre_fec_ber=10**worse)
    ports = repeated.rename({"pre_fec_ber": "port_pre_fec_ber"})

    one, other = (_features(export.at(tmp_path / name), each) for name, each in (("a", repeated), ("b", ports)))

    assert 0 < one.select(pl.col("^ber.*$").is_not_nan().sum()).sum_horizontal().item()
    assert one.equals(other)
