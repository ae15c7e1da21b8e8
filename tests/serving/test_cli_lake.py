"""``forelight lake``: what it prints, what it exits with, what it does."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.config import Retention
from ingest.errors import ServingError
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES
from serving.cli.lake import _ALL, retention

Console = Callable[..., Any]
T0 = datetime(2026, 3, 1, tzinfo=UTC)


def _rows(hours: int) -> pl.DataFrame:
    times = [T0 + timedelta(hours=hour) for hour in range(hours)]
    constant = {"site": "default", "device": "leaf01", "interface": "Ethernet0", "quality": 0, "source": "file"}
    return pl.DataFrame({"time": times, "received_at": times, **constant})


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Path:
    """Three days of one port, each appended twice."""
    lake = Lake(str(tmp_path / "home" / "lake"))
    for _ in range(2):
        lake.append(LANE_SAMPLES, _rows(72).with_columns(lane=pl.lit(1)))
        lake.append(PORT_SAMPLES, _rows(72))
    return tmp_path / "home"


def _stats(console: Console, home: Path) -> dict[str, Any]:
    ran = console(home, "lake", "stats", "--json")
    assert 0 == ran.code
    return {entry["name"]: entry for entry in json.loads(ran.out)}


def test_stats_tell_rows_files_bytes_days_and_what_waits_for_compaction(console: Console, home: Path) -> None:
    lanes = _stats(console, home)["lane_samples"]

    assert (144, 6, 6, 1) == tuple(lanes[name] for name in ("rows", "files", "waiting_files", "buckets"))
    assert ("2026-03-01", "2026-03-03") == (lanes["first"], lanes["last"])
    assert lanes["row_bytes"] == round(lanes["size_bytes"] / 144, 2)
    table = console(home, "lake", "stats").out
    assert "lane_samples" in table
    assert "bytes/row" in table


def test_compact_rewrites_closed_days_and_says_how_many(console: Console, home: Path) -> None:
    assert "6 days rewritten" in console(home, "lake", "compact").out
    assert "0 days rewritten" in console(home, "lake", "compact").out

    assert (72, 3, 0) == tuple(_stats(console, home)["lane_samples"][n] for n in ("rows", "files", "waiting_files"))


def test_a_compaction_beside_another_fails_at_once_and_says_so(console: Console, home: Path) -> None:
    with FileLease(home / "compact.lock"):
        ran = console(home, "lake", "compact")

    assert 1 == ran.code
    assert "another rewrite of the lake is running" in ran.err


def test_prune_drops_days_by_table_and_deletes_nothing_that_readers_may_hold(console: Console, home: Path) -> None:
    ran = console(home, "lake", "prune", "--keep", "lane_samples=1d", "--json")

    pruned = {entry["name"]: entry for entry in json.loads(ran.out)}
    assert (2, 96, 0) == tuple(pruned["lane_samples"][name] for name in ("days", "rows", "files"))
    assert 0 == pruned["port_samples"]["days"]
    assert (48, 144) == tuple(_stats(console, home)[name]["rows"] for name in ("lane_samples", "port_samples"))
    assert 6 == len(list((home / "lake" / "lane_samples").rglob("*.parquet")))


def test_retention_comes_from_the_environment_and_options_go_over_it() -> None:
    env = {"FORELIGHT_LAKE_KEEP": "lane_samples=400d, port_tiles=36h,"}

    assert {"lane_samples": timedelta(days=400), "port_tiles": timedelta(hours=36)} == retention([], env)
    assert timedelta(days=30) == retention(["lane_samples=30d"], env)["lane_samples"]


def test_prune_goes_by_the_configuration_where_nothing_else_is_said(
    console: Console, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "forelight.toml").write_text("[retention]\nlane_samples = 1\nport_samples = 2\n")
    monkeypatch.chdir(tmp_path)

    ran = console(home, "lake", "prune", "--json")

    days = {entry["name"]: entry["days"] for entry in json.loads(ran.out)}
    assert {"lane_samples": 2, "port_samples": 1} == {name: count for name, count in days.items() if count}


def test_a_configuration_is_named_and_the_environment_and_options_go_over_it(tmp_path: Path) -> None:
    config = tmp_path / "other.toml"
    config.write_text("[retention]\nlane_samples = 1\nscores = 2\nport_tiles = 3\n")

    keep = retention(["lane_samples=9d"], {"FORELIGHT_LAKE_KEEP": "lane_samples=8d,scores=8d"}, config)

    assert {"lane_samples": 9, "scores": 8, "port_tiles": 3} == {name: age.days for name, age in keep.items()}


def test_a_wrong_configuration_stops_prune_before_anything_is_dropped(
    console: Console, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "wrong.toml").write_text("[retention]\nlane_samples = 1\nport_sample = 2\n")

    wrong = console(home, "lake", "prune", "-c", str(tmp_path / "wrong.toml"))
    missing = console(home, "lake", "prune", "-c", str(tmp_path / "none.toml"))

    assert (1, 1) == (wrong.code, missing.code)
    assert "[retention]: unknown key 'port_sample'; the nearest is 'port_samples'" in wrong.err
    assert "none.toml: No such file" in missing.err
    assert 144 == _stats(console, home)["lane_samples"]["rows"]


def test_each_table_with_days_can_be_given_a_retention() -> None:
    dated = {name for name, table in _ALL.items() if table.time is not None}

    assert dated == set(Retention.model_fields)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("modules=30d", "modules is no table with days; the nearest is "),
        ("lane_sample=30d", "lane_sample is no table with days; the nearest is lane_samples"),
        ("lane_samples", "'' is no time such as 30d or 48h"),
        ("lane_samples=30", "'30' is no time"),
        ("lane_samples=0d", "'0d' is no time"),
        ("lane_samples=-3d", "'-3d' is no time"),
    ],
)
def test_a_retention_that_cannot_be_meant_is_refused(entry: str, said: str) -> None:
    with pytest.raises(ServingError, match=said):
        retention([entry], {})


def test_prune_refuses_to_delete_what_a_reader_of_the_last_hour_may_hold(console: Console, home: Path) -> None:
    assert 1 == console(home, "lake", "prune", "--safe-age", "0h").code
    assert 0 == console(home, "lake", "prune", "--safe-age", "1h").code


def test_prune_says_what_it_did(console: Console, home: Path) -> None:
    orphan = home / "lake" / "lane_samples" / "date=2026-03-01" / "part-x.parquet"
    orphan.write_bytes(b"x")
    os.utime(orphan, (1, 1))

    ran = console(home, "lake", "prune", "--keep", "port_samples=2d")

    assert "1 days dropped, 1 files deleted, 0.0 MB freed" in ran.out
    assert not orphan.exists()


def test_check_of_a_whole_lake_says_so(console: Console, home: Path) -> None:
    ran = console(home, "lake", "check", "--deep")

    assert (0, "The lake is whole.\n") == (ran.code, ran.out)
    assert "[]\n" == console(home, "lake", "check", "--json").out


def test_check_prints_a_line_a_finding_and_exits_with_1(console: Console, home: Path) -> None:
    files = sorted((home / "lake" / "lane_samples").rglob("*.parquet"))
    files[0].unlink()
    files[1].write_bytes(b"nonsense")

    ran = console(home, "lake", "check")
    found = json.loads(console(home, "lake", "check", "--json").out)

    assert (1, 2) == (ran.code, len(ran.out.splitlines()))
    assert "forelight: 2 findings in the lake\n" == ran.err
    assert [("missing", False), ("torn", False)] == sorted((entry["kind"], entry["repaired"]) for entry in found)


def test_check_repairs_what_can_be_repaired_and_names_what_is_left(console: Console, home: Path) -> None:
    next((home / "lake" / "lane_samples").rglob("*.parquet")).unlink()
    (home / "lake" / "port_samples" / "notes.txt").touch()

    ran = console(home, "lake", "check", "--repair")

    assert 1 == ran.code
    assert ["(repaired)" in line for line in ran.out.splitlines()] == [True, False]
    assert "forelight: 1 finding in the lake\n" == ran.err
    assert 1 == len(console(home, "lake", "check").out.splitlines())


def test_create_settles_the_buckets_before_the_first_row(console: Console, tmp_path: Path) -> None:
    assert f"{len(_ALL)} tables created, 0 were there" in console(tmp_path, "lake", "create", "--buckets", "4").out
    assert f"0 tables created, {len(_ALL)} were there" in console(tmp_path, "lake", "create", "--buckets", "8").out

    assert 4 == _stats(console, tmp_path)["lane_samples"]["buckets"]
    assert 2 == console(tmp_path, "lake", "create", "--buckets", "0").code


def test_an_empty_lake_is_an_answer_to_every_command(console: Console, tmp_path: Path) -> None:
    for command in (["stats"], ["compact"], ["prune", "--keep", "lane_samples=1d"], ["check"]):
        assert 0 == console(tmp_path, "lake", *command).code
    assert not (tmp_path / "lake").exists()
