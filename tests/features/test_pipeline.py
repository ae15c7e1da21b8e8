"""The pipeline: nothing of the future is in a row, and a row is the same whatever else is computed beside it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from features.cube import LakeTiles
from features.fleet import PORT, Fleet
from features.pipeline import FeaturePipeline, hourly
from features.tiles import update_tiles
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Table

ROOT = Path(__file__).parents[2]
PIPELINE = FeaturePipeline()
Quarters = Callable[[datetime, int], list[datetime]]
Rows = Callable[..., pl.DataFrame]

HOUR = timedelta(hours=1)
MOMENTS: dict[str, Callable[[Fleet], datetime]] = {
    "on the second day": lambda fleet: _at(2, 5),
    "at a ticket": lambda fleet: _next_hour(fleet.tickets["opened_at"]),
    "when one is closed": lambda fleet: _next_hour(fleet.tickets["closed_at"]),
    "at a swap": lambda fleet: _next_hour(fleet.modules["installed_at"]),
    "an hour after a swap": lambda fleet: _next_hour(fleet.modules["installed_at"]) + HOUR,
    "in maintenance": lambda fleet: _next_hour(fleet.maintenance["start"]),
    "on the last day": lambda fleet: _at(12, 5),
}
"""Whole hours of the sample at which something has just become known."""


def _next_hour(times: pl.Series) -> datetime:
    """The whole hour at or after the first of the times within the sample's telemetry, its first day left out."""
    first = times.filter((times > _at(2)) & (times < _at(12))).min()
    assert isinstance(first, datetime)
    return first.replace(minute=0, second=0, microsecond=0) + (HOUR if first.minute else timedelta())


def _at(day: int, hour: int = 0) -> datetime:
    return datetime(2026, 3, day, hour, tzinfo=UTC)


@pytest.fixture(name="whole", scope="module")
def _whole(sample_lake: Lake, sample_fleet: Fleet) -> pl.DataFrame:
    """Features of every hour of the sample, of one call that knows everything."""
    return PIPELINE.transform(LakeTiles(sample_lake), sample_fleet, hourly(_at(1, 2), _at(12, 20)))


def _same(left: pl.DataFrame, right: pl.DataFrame) -> None:
    assert left.height > 0
    assert_frame_equal(left, right, check_exact=True)


# ---- the future ------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", MOMENTS)
def test_features_of_a_time_are_the_same_where_nothing_later_is_known(
    moment: str, whole: pl.DataFrame, lake_at: Callable[[datetime], Lake], sample_fleet: Fleet
) -> None:
    """The leak test: lake and records cut off at a time against everything."""
    at = MOMENTS[moment](sample_fleet)
    cut = PIPELINE.transform(LakeTiles(lake_at(at)), sample_fleet.as_of(at), at)

    _same(whole.filter(pl.col("time") == at), cut)


@pytest.mark.parametrize("moment", MOMENTS)
def test_one_time_alone_gives_the_row_that_many_together_give(
    moment: str, whole: pl.DataFrame, sample_lake: Lake, sample_fleet: Fleet
) -> None:
    at = MOMENTS[moment](sample_fleet)
    _same(whole.filter(pl.col("time") == at), PIPELINE.transform(LakeTiles(sample_lake), sample_fleet, at))


def test_what_lies_further_back_than_the_reach_changes_nothing(
    tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters
) -> None:
    """Forty days of one link with a swap after a long silence, and of them the last hour asked for alone."""
    times = [*quarters(_at(1) - timedelta(days=40), 500), *quarters(_at(1) - timedelta(days=9), 96 * 9)]
    serials = ["A"] * 500 + ["B"] * (96 * 9)
    rx = [-2.0 + 0.01 * (i % 17) for i in range(len(times))]
    corrected = [1000 * i for i in range(len(times))]
    lake = _lake(tmp_path, lane_rows(times, rx_power_dbm=rx), port_rows(times, serial=serials, fec_corrected=corrected))
    fleet = Fleet.from_frames()

    many = PIPELINE.transform(LakeTiles(lake), fleet, hourly(_at(1) - timedelta(days=36), _at(1)))

    _same(many.filter(pl.col("time") == _at(1)), PIPELINE.transform(LakeTiles(lake), fleet, _at(1)))


def test_a_touch_between_noon_and_the_time_starts_the_baseline_anew_however_many_times_are_asked_for(
    tmp_path: Path, lane_rows: Rows, quarters: Quarters
) -> None:
    times = quarters(_at(1), 96 * 6)
    lake = _lake(tmp_path, lane_rows(times, rx_power_dbm=-2.0))
    swap = pl.DataFrame({"device": ["leaf01"], "interface": ["Ethernet0"], "installed_at": [_at(6, 3)]})
    fleet = Fleet.from_frames(modules=swap)

    many = PIPELINE.transform(LakeTiles(lake), fleet, hourly(_at(6), _at(6, 23)))

    _same(many.filter(pl.col("time") == _at(6, 5)), PIPELINE.transform(LakeTiles(lake), fleet, _at(6, 5)))
    assert many["rx_min_shift_6h"].is_nan().to_list()[3:12] == [True] * 9


def test_links_that_come_and_go_within_the_range_are_seen_as_of_each_time(
    sample_lake: Lake, sample_fleet: Fleet
) -> None:
    halves = [
        sample_fleet.links.with_columns(valid_from=pl.lit(None, pl.Datetime("us", "UTC")), valid_to=pl.lit(_at(6, 7))),
        sample_fleet.links.head(9).with_columns(valid_from=pl.lit(_at(6, 9)), cable_id=pl.lit(None, pl.String)),
    ]
    fleet = Fleet.from_frames(**{**vars(sample_fleet), "links": pl.concat(halves)})
    times = hourly(_at(6, 4), _at(6, 12))

    many = PIPELINE.transform(LakeTiles(sample_lake), fleet, times)

    _same(many, pl.concat(_alone(sample_lake, fleet, times)).sort("site", "device", "interface", "time"))
    link = sample_fleet.links.row(0, named=True)
    near, far = (f"{link[f'{end}_device']}:{link[f'{end}_interface']}" for end in "az")
    names = many.filter(pl.concat_str("device", pl.lit(":"), "interface") == near).sort("time")["link_id"]
    assert [link["cable_id"]] * 3 + [near] * 2 + ["--".join(sorted([near, far]))] * 4 == names.to_list()


def test_late_samples_within_the_range_are_seen_from_when_they_were_received(
    tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters
) -> None:
    times = quarters(_at(1), 96 * 3)
    received = [t + timedelta(hours=5, minutes=10) if i % 50 == 0 else t for i, t in enumerate(times)]
    rx = [-2.0 - 0.1 * (i % 50 == 0) for i in range(len(times))]
    lake = _lake(
        tmp_path,
        lane_rows(times, rx_power_dbm=rx, received_at=received),
        port_rows(times, temperature_c=40.0, fec_corrected=list(range(len(times))), received_at=received),
    )
    at = hourly(_at(2), _at(3, 12))

    many = PIPELINE.transform(LakeTiles(lake), Fleet.from_frames(), at)

    _same(many, pl.concat(_alone(lake, Fleet.from_frames(), at)))
    before, after = many.filter(pl.col("time").is_in([_at(2, 6), _at(2, 7)]))["rx_min_shift_24h"]
    assert after < before < 0


def _alone(lake: Lake, fleet: Fleet, times: list[datetime]) -> list[pl.DataFrame]:
    return [PIPELINE.transform(LakeTiles(lake), fleet, time) for time in times]


def _lake(folder: Path, *rows: pl.DataFrame) -> Lake:
    lake = Lake(str(folder / "lake"))
    for frame in rows:
        table: Table = LANE_SAMPLES if "lane" in frame.columns else PORT_SAMPLES
        lake.append(table, frame)
    update_tiles(lake, now=datetime(2030, 1, 1, tzinfo=UTC))
    return lake


# ---- rows ------------------------------------------------------------------------------------


def test_columns_are_the_keys_and_then_the_names_in_order(whole: pl.DataFrame) -> None:
    assert ["site", "device", "interface", "link_id", "time", *PIPELINE.names] == whole.columns


def test_names_are_unique_and_each_has_a_sign() -> None:
    assert len(PIPELINE.names) == len(set(PIPELINE.names)) == len(PIPELINE.signs)


def test_no_identity_is_among_the_names() -> None:
    words = {word for name in PIPELINE.names for word in name.split("_")}

    assert not words & {"site", "device", "interface", "vendor", "serial", "part", "number", "id"}


def test_no_column_is_infinite(whole: pl.DataFrame) -> None:
    assert not np.isinf(whole.select(PIPELINE.names).to_numpy()).any()


def test_the_order_of_samples_and_files_changes_nothing(
    tmp_path: Path, whole: pl.DataFrame, sample_lake: Lake, sample_fleet: Fleet
) -> None:
    """Rows shuffled and appended in pieces: the ports are met in another order."""
    lake = Lake(str(tmp_path / "lake"))
    for table in (LANE_SAMPLES, PORT_SAMPLES):
        rows = sample_lake.scan(table, until=_at(4)).collect().sample(fraction=1.0, shuffle=True, seed=7)
        for start in range(0, rows.height, 40_000):
            lake.append(table, rows.slice(start, 40_000))
    update_tiles(lake, now=datetime(2030, 1, 1, tzinfo=UTC))
    shuffled = Fleet.from_frames(
        **{name: frame.sample(fraction=1.0, shuffle=True, seed=3) for name, frame in vars(sample_fleet).items()}
    )

    again = PIPELINE.transform(LakeTiles(lake), shuffled, _at(3, 18))

    _same(whole.filter(pl.col("time") == _at(3, 18)), again)


def test_a_port_that_has_said_nothing_for_longer_than_six_hours_has_no_row(
    tmp_path: Path, port_rows: Rows, quarters: Quarters
) -> None:
    lake = _lake(
        tmp_path,
        port_rows(quarters(_at(1), 96), interface="Ethernet0"),
        port_rows(quarters(_at(1), 72), interface="Ethernet4"),
    )

    rows = PIPELINE.transform(LakeTiles(lake), Fleet.from_frames(), [_at(1, 23), _at(2)])

    assert [("Ethernet0", 23), ("Ethernet0", 0), ("Ethernet4", 23)] == rows.select(
        "interface", pl.col("time").dt.hour()
    ).rows()


def test_a_link_with_one_silent_end_has_one_row_without_a_peer(
    tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters
) -> None:
    times = quarters(_at(1), 96 * 3)
    lake = _lake(tmp_path, lane_rows(times, rx_power_dbm=-2.0), port_rows(times, temperature_c=40.0))
    link = {"a_device": ["leaf01"], "a_interface": ["Ethernet0"], "z_device": ["gpu01"], "z_interface": ["eth0"]}

    row = PIPELINE.transform(LakeTiles(lake), Fleet.from_frames(links=pl.DataFrame(link)), _at(3, 23)).row(
        0, named=True
    )

    assert "gpu01:eth0--leaf01:Ethernet0" == row["link_id"]
    assert 0.0 == row["has_peer"]
    assert 0.0 == row["loss_rise_in_6h"]
    assert np.isnan(row["peer_rx_min_shift_6h"])


def test_a_hidden_peer_is_the_same_as_a_silent_one(sample_lake: Lake, sample_fleet: Fleet) -> None:
    (block,) = PIPELINE.blocks(LakeTiles(sample_lake), sample_fleet, [_at(5)])
    port = np.flatnonzero(block.present[:, 0] & (block.history.peer >= 0))
    time = np.zeros_like(port)

    hidden = block.matrix(port, time, hide_peer=np.ones(port.size, bool))

    far = [i for i, name in enumerate(PIPELINE.names) if name.startswith("peer_")]
    assert np.isnan(hidden[:, far]).all()
    assert not hidden[:, PIPELINE.names.index("has_peer")].any()
    assert not np.isnan(block.matrix(port, time)[:, far]).all()


def test_each_link_is_spoken_for_by_one_of_its_ends(sample_lake: Lake, sample_fleet: Fleet) -> None:
    (block,) = PIPELINE.blocks(LakeTiles(sample_lake), sample_fleet, [_at(5), _at(6)])
    links = np.array(block.history.links)

    for t in range(2):
        assert sorted(set(links[block.present[:, t]])) == sorted(links[block.first[:, t]])


def test_copper_speaks_and_has_no_features(whole: pl.DataFrame, sample_lake: Lake, sample_fleet: Fleet) -> None:
    """There are no optics in it: it is neither learnt from nor scored."""
    copper = sample_fleet.ends().filter("copper").select(PORT).unique()
    heard = sample_lake.scan(PORT_SAMPLES).select(PORT).unique().collect()

    assert copper.join(heard, on=PORT, how="semi").height > 0
    assert whole.height > 0
    assert 0 == whole.join(copper, on=PORT, how="semi").height


def test_a_lake_without_tiles_has_no_rows(tmp_path: Path) -> None:
    rows = PIPELINE.transform(LakeTiles(Lake(str(tmp_path / "lake"))), Fleet.from_frames(), [_at(1), _at(2)])

    assert (0, 5 + len(PIPELINE.names)) == rows.shape


def test_no_times_give_no_rows(sample_lake: Lake, sample_fleet: Fleet) -> None:
    assert 0 == PIPELINE.transform(LakeTiles(sample_lake), sample_fleet, []).height


def test_progress_ends_at_the_whole(sample_lake: Lake, sample_fleet: Fleet) -> None:
    told: list[float] = []

    list(PIPELINE.blocks(LakeTiles(sample_lake), sample_fleet, [_at(5), _at(6)], told.append))

    assert [1.0] == told


def test_whole_hours_lie_within_start_and_end() -> None:
    times = hourly(_at(1, 3) + timedelta(minutes=1), _at(1, 10) + timedelta(minutes=59), every_h=3)

    assert [_at(1, 4), _at(1, 7), _at(1, 10)] == times
    assert [] == hourly(_at(2), _at(1))


# ---- fingerprint -----------------------------------------------------------------------------


def _fingerprint_elsewhere(root: Path, seed: str) -> str:
    code = "from features.pipeline import FeaturePipeline; print(FeaturePipeline().fingerprint)"
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": seed, "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, cwd=root
    )
    return done.stdout.strip()


def test_the_fingerprint_is_the_same_in_another_process() -> None:
    assert PIPELINE.fingerprint == _fingerprint_elsewhere(ROOT, seed="7")


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [("signals.py", "log1p", "sqrt"), ("cube.py", "CARRY_H: Final = 48", "CARRY_H: Final = 24")],
)
def test_the_fingerprint_changes_with_the_code_of_a_feature(tmp_path: Path, module: str, old: str, new: str) -> None:
    for layer in ("features", "ingest"):
        shutil.copytree(ROOT / layer, tmp_path / layer, ignore=shutil.ignore_patterns("__pycache__"))
    source = (tmp_path / "features" / module).read_text()
    assert old in source
    (tmp_path / "features" / module).write_text(source.replace(old, new))

    assert PIPELINE.fingerprint != _fingerprint_elsewhere(tmp_path, seed="0")


def test_the_fingerprint_changes_with_the_choice_of_features() -> None:
    assert PIPELINE.fingerprint != FeaturePipeline(PIPELINE.features[::-1]).fingerprint
