"""The command line's last resort: what the operating system refuses is one line, not a traceback."""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from ingest.lake import Lake
from ingest.schema import MODULES, PORT_SAMPLES

Console = Callable[..., Any]


def test_a_home_that_cannot_be_made_is_said_in_one_line(tmp_path: Path) -> None:
    afile = tmp_path / "afile"
    afile.write_text("")
    bad = tmp_path / "export"
    (bad / "telemetry").mkdir(parents=True)
    (bad / "telemetry" / "torn.parquet").write_bytes(b"PAR1")
    run = subprocess.run(
        [Path(sys.executable).with_name("forelight"), "import", bad],
        env={**os.environ, "FORELIGHT_HOME": str(afile)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == run.returncode
    assert [f"forelight: {afile}/quarantine: Not a directory"] == run.stderr.splitlines()


def test_a_corrupt_file_of_the_lake_is_one_line_and_the_way_to_its_name(console: Console, tmp_path: Path) -> None:
    """Of those commands, too, that read what others wrote and cannot tell by which file they fail."""
    rows = {"received_at": [datetime(2026, 3, 1, tzinfo=UTC)], "site": "s", "device": "d", "interface": "e"}
    Lake(str(tmp_path / "lake")).append(MODULES, pl.DataFrame(rows))
    Lake(str(tmp_path / "lake")).append(
        PORT_SAMPLES, pl.DataFrame({"time": rows["received_at"], **rows, "quality": 0, "source": "file"})
    )
    (file,) = (tmp_path / "lake" / "port_samples").rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:-60])

    ran = console(tmp_path, "train")

    assert 1 == ran.code
    assert ran.err.endswith("; forelight lake check tells which file it is\n")
    assert 1 == len(ran.err.splitlines())
