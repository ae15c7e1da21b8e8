"""`forelight export` killed, and on full disks: there is a whole export or none, and the next run makes one."""

import multiprocessing
import random
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.errors import ExportError
from ingest.exports import import_export
from ingest.exports.whole import whole_folder
from ingest.exports.write import write_export
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, MODULES, TICKETS

Export = Any  # of conftest.py

KILLS = 32
DISKS = 30
_ROUNDED = 4096 * 16  # a page for each file and folder
T0 = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(name="days")
def _days(lake: Lake) -> Lake:
    """Four days of two lanes that do not compress, an installation and some tickets."""
    chance = random.Random(7)
    times = [T0 + timedelta(minutes=5 * i) for i in range(12 * 24 * 4)]
    port = {"site": "default", "device": "leaf01", "interface": "Ethernet0"}
    for lane in (1, 2):
        rows = pl.DataFrame({"time": times, "received_at": times, **port, "lane": lane, "quality": 0, "source": "file"})
        lake.append(LANE_SAMPLES, rows.with_columns(rx_power_dbm=pl.Series([chance.uniform(-9, 0) for _ in times])))
    lake.append(MODULES, pl.DataFrame({"received_at": [T0], **port, "serial": "SN1"}))
    tickets = [
        {"received_at": T0, **port, "ticket_id": f"INC{i}", "opened_at": T0, "summary": "x" * 200} for i in range(50)
    ]
    lake.append(TICKETS, pl.DataFrame(tickets))
    return lake


def content(out: Path) -> dict[str, bytes]:
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def _write(uri: str, out: str, ready: Any) -> None:
    ready.set()
    write_export(Lake(uri), Path(out))


@pytest.mark.slow
def test_an_export_killed_anywhere_is_whole_or_not_there_and_the_next_run_makes_it(days: Lake, tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "ingest.exports.write"])
    write_export(days, tmp_path / "calm")
    whole, chance, out = content(tmp_path / "calm"), random.Random(8), tmp_path / "killed" / "out"
    began = time.monotonic()
    write_export(days, tmp_path / "timed")
    usual_s, absent, left = time.monotonic() - began, 0, 0
    for _ in range(KILLS):
        ready = context.Event()
        worker = context.Process(target=_write, args=(days.uri, str(out), ready))
        worker.start()
        assert ready.wait(30)
        time.sleep(chance.uniform(0.0, 1.5 * usual_s))
        worker.kill()
        worker.join()
        left += len(list(out.parent.glob(".*"))) if out.parent.exists() else 0
        if out.exists():
            assert whole == content(out)
        else:
            absent += 1
            write_export(days, out)
            assert whole == content(out)
        shutil.rmtree(out)
    assert absent > 5
    assert left > 5
    write_export(days, out)
    assert ["out"] == [path.name for path in out.parent.iterdir()]
    assert not import_export(out, Lake(str(tmp_path / "copy"))).findings


@pytest.fixture(name="small_disk")
def _small_disk(disk_of: Callable[[str], Path]) -> Path:
    """A file system of 1 MB of its own."""
    return disk_of("1m")


@pytest.mark.slow
def test_an_export_on_a_disk_that_fills_up_anywhere_leaves_nothing(
    days: Lake, small_disk: Path, tmp_path: Path
) -> None:
    write_export(days, tmp_path / "calm")
    whole, ballast = content(tmp_path / "calm"), small_disk / "ballast"
    size = sum(len(each) for each in whole.values())
    said: list[str] = []
    for n in range(DISKS):
        ballast.write_bytes(bytes(max(0, shutil.disk_usage(small_disk).free - (size + _ROUNDED) * n // (DISKS - 6))))
        try:
            write_export(days, small_disk / "out")
        except ExportError as error:
            said.append(str(error))
            assert ["ballast"] == [path.name for path in small_disk.iterdir()]
        else:
            assert whole == content(small_disk / "out")
            shutil.rmtree(small_disk / "out")
        ballast.unlink()
    assert DISKS > len(said) > DISKS // 3
    assert all(line.startswith(f"{small_disk}/out: ") and line.endswith("; nothing was written") for line in said)
    assert {1} == {len(line.splitlines()) for line in said}
    write_export(days, small_disk / "out")
    assert whole == content(small_disk / "out")


def test_a_folder_of_a_writer_that_lives_is_left_alone(tmp_path: Path) -> None:
    """Two exports to one place: whoever is done first has it, the other is told."""
    with ExitStack() as writing:
        folders = [writing.enter_context(whole_folder(tmp_path / "out")) for _ in range(2)]
        assert [True, True] == [folder.is_dir() for folder in folders]
        (folders[1] / "of the second").touch()

        with pytest.raises(OSError, match="not empty"):
            writing.close()

    assert ["out"] == [path.name for path in tmp_path.iterdir()]
    assert ["of the second"] == [path.name for path in (tmp_path / "out").iterdir()]


def test_what_a_killed_writer_left_of_this_export_goes_and_of_others_stays(tmp_path: Path) -> None:
    for name in (".out.77-0.partial", ".other.77-0.partial", ".out.notes"):
        (tmp_path / name / "telemetry").mkdir(parents=True)

    with whole_folder(tmp_path / "out"):
        pass

    assert [".other.77-0.partial", ".out.notes", "out"] == sorted(path.name for path in tmp_path.iterdir())
