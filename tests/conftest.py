"""What holds for all tests: where nothing may be skipped, a skip is a failure; and one small synthetic fleet for all.

The fleet is made, imported and learnt from once a run, however many processes test: whoever comes first holds a lock.
"""

import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ingest.lake import Lake
    from models.artifact import Artifact

Cluster = Any
Once = Callable[[str, Callable[[Path], None]], Path]

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before LightGBM: threads that spin wait for each other all day

if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):  # each program that a test starts would compile all that it imports
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")

STRICT = os.environ.get("FORELIGHT_STRICT_SKIPS") == "1"
"""Set by .ci/run, whose machine has everything."""

FLEET_START = datetime(2024, 3, 1, tzinfo=UTC)
FLEET_DAYS = 18
TRAIN_DAYS = 12


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"{reason} (FORELIGHT_STRICT_SKIPS=1: nothing may be skipped here)"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if STRICT and report.skipped:
        _fail(report)
    return report


@pytest.fixture(name="disk_of")
def _disk_of(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Gives a file system of its own of a size as mount takes it, which needs root."""
    mounted: list[Path] = []

    def disk_of(size: str) -> Path:
        if os.geteuid() != 0 or shutil.which("mount") is None:
            pytest.skip("a small tmpfs is mounted for this: needs root and mount")
        folder = tmp_path / f"disk{len(mounted)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("a small tmpfs is mounted for this, which is not allowed here")
        mounted.append(folder)
        return folder

    yield disk_of
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture(name="once", scope="session")
def _once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Gives a folder by name that the first process to ask for it fills, while the others wait."""
    base = tmp_path_factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def once(name: str, make: Callable[[Path], None]) -> Path:
        folder, made = root / name, root / f"{name}.made"
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                shutil.rmtree(folder, ignore_errors=True)
                make(folder)
                made.touch()
        return folder

    return once


@pytest.fixture(name="fleet_export", scope="session")
def _fleet_export(once: Once) -> Path:
    """Export of a synthetic fleet of 48 links that fail often: some fifty failures in 18 days of hourly readings."""

    def make(folder: Path) -> None:
        from data_samples import FleetConfig, generate

        config = FleetConfig(
            links=48, days=FLEET_DAYS, start=FLEET_START, interval_minutes=60, failures_per_link_year=14.0, seed=5
        )
        generate(folder, config)

    return once("fleet-export", make)


@pytest.fixture(name="fleet_end", scope="session")
def _fleet_end() -> datetime:
    """Nothing is known of the fleet from then on."""
    return FLEET_START + timedelta(days=FLEET_DAYS)


@pytest.fixture(name="train_until", scope="session")
def _train_until() -> datetime:
    """What the shared model was trained on ends then."""
    return FLEET_START + timedelta(days=TRAIN_DAYS)


@pytest.fixture(name="fleet_lake", scope="session")
def _fleet_lake(fleet_export: Path, once: Once) -> "Lake":
    """The fleet's history with its tiles, shared: whoever writes takes a copy."""
    from features.tiles import update_tiles
    from ingest.exports import import_export
    from ingest.lake import Lake

    def make(folder: Path) -> None:
        lake = Lake(str(folder / "lake"))
        import_export(fleet_export, lake)
        update_tiles(lake)

    return Lake(str(once("fleet-lake", make) / "lake"))


@pytest.fixture(name="artifact", scope="session")
def _artifact(fleet_lake: "Lake", train_until: datetime, once: Once) -> "Artifact":
    """A model of the fleet as of `train_until`, as it is when loaded."""
    from models.artifact import Artifact
    from models.train import train

    return Artifact.load(once("fleet-model", lambda folder: train(fleet_lake, train_until).save(folder)))


@pytest.fixture(name="dask_cluster")
def _dask_cluster() -> Iterator[Cluster]:
    """A Dask cluster of two workers of one thread on this machine; its sockets and loops warn as they go down."""
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="1GiB"
    ) as cluster:
        yield cluster


def _kill_a_worker(cluster: Cluster) -> None:
    """As the kernel does when memory runs out; the nanny starts another."""
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)


@pytest.fixture(name="kill_a_worker", scope="session")
def _killer() -> Callable[[Cluster], None]:
    return _kill_a_worker
