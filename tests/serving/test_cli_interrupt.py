"""Ctrl-C in the middle of a long command: one line, no traceback, and what is there is whole."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from data_samples import SAMPLE
from features.tile_tables import LANE_TILES, PORT_TILES
from ingest.lake import Lake
from ingest.schema import TABLES
from models.registry import Registry
from serving.settings import Settings

Console = Callable[..., Any]
LINE = "forelight: stopped by Ctrl-C; what was finished is kept, the rest can be done again\n"
BEFORE_S = 120.0


def _interrupted(home: Path, *arguments: str, sign: Callable[[], bool]) -> tuple[int, str]:
    """Exit code and stderr of a command that gets SIGINT as soon as a sign of its work is there."""
    command = subprocess.Popen(
        [Path(sys.executable).with_name("forelight"), *arguments],
        env={**os.environ, "FORELIGHT_HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    began = time.monotonic()
    while not sign() and command.poll() is None and time.monotonic() - began < BEFORE_S:
        time.sleep(0.005)
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=BEFORE_S)
    return command.returncode, err


@pytest.fixture(name="home")
def _home(trained_home: Path, tmp_path: Path) -> Path:
    """A trained home whose tiles are to be made again: commands that read telemetry begin with them."""
    home = Path(shutil.copytree(trained_home, tmp_path / "home"))
    for table in (LANE_TILES, PORT_TILES):
        shutil.rmtree(home / "lake" / table.name)
    return home


def _whole(home: Path) -> bool:
    return not Lake(str(home / "lake")).check([*TABLES.values(), LANE_TILES, PORT_TILES], deep=True)


@pytest.mark.parametrize("command", ["train", "score", "backtest"])
def test_what_reads_telemetry_ends_in_one_line_and_leaves_nothing_half_done(
    home: Path, tmp_path: Path, command: str, train_until: datetime
) -> None:
    out = tmp_path / "alarms.csv"
    span = [f"{train_until + timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}" for days in (0, 4)]
    options = ["--from", span[0], "--to", span[1], "--alarms", str(out)] if command == "backtest" else []

    code, err = _interrupted(home, command, *options, sign=(home / "lake" / LANE_TILES.name / "_delta_log").exists)

    assert 130 == code
    assert err.endswith(LINE)
    assert "Traceback" not in err
    assert _whole(home)
    assert not out.exists()
    settings = Settings.from_env({"FORELIGHT_HOME": str(home)})
    assert ["1"] == [version.version for version in Registry(settings.tracking_uri, settings.artifact_root).versions()]


def test_an_import_that_was_stopped_is_finished_by_asking_again(tmp_path: Path, console: Console) -> None:
    home = tmp_path / "home"

    code, err = _interrupted(home, "import", str(SAMPLE), sign=(home / "quarantine").exists)
    again = console(home, "import", str(SAMPLE))

    assert code in {0, 130}  # a quick machine is done before it hears
    assert "Traceback" not in err
    assert 0 == again.code
    assert _whole(home)
    assert 239_532 == sum(table.rows for table in Lake(str(home / "lake")).stats() if table.name == "lane_samples")


def test_an_export_that_was_stopped_leaves_no_folder(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    code, err = _interrupted(home, "export", str(out), sign=lambda: any(tmp_path.glob(".out.*")))

    assert "Traceback" not in err
    assert (code, out.exists()) in {(130, False), (0, True)}
    assert [] == list(tmp_path.glob(".out.*"))
