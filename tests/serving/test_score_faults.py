"""Batch runs on full disks, in other zones and by clocks that jump: the next run mends, nobody can tell afterwards."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy.exc import SQLAlchemyError

from ingest.errors import ForelightError
from ingest.lake import Lake
from ingest.schema import SCORES
from models.artifact import Artifact
from serving.scoring.scorer import score_fleet
from serving.store import AlarmStore

pytestmark = pytest.mark.slow

HOUR = timedelta(hours=1)
DISKS = 15


def scores(lake: Lake) -> pl.DataFrame:
    return lake.scan(SCORES).collect().drop("received_at").sort(SCORES.key)


def alarms(url: str) -> list[object]:
    with AlarmStore(url) as store:
        return [(alarm, store.events(alarm.alarm_id)) for alarm in store.walk()]


@pytest.fixture(name="small_disk")
def _small_disk(disk_of: Callable[[str], Path]) -> Path:
    """A file system of 8 MB of its own."""
    return disk_of("8m")


def test_a_run_on_a_disk_that_fills_up_is_made_up_for_by_the_next(
    fleet_lake: Lake, nervous: Artifact, train_until: datetime, small_disk: Path, tmp_path: Path
) -> None:
    """Scores and alarms lie on a disk with room for none, some or all of them; telemetry on another."""
    lake, calm, ballast = Lake(str(tmp_path / "lake")), Lake(str(tmp_path / "calm")), small_disk / "ballast"
    shutil.copytree(fleet_lake.uri, lake.uri)
    shutil.copytree(fleet_lake.uri, calm.uri)
    (small_disk / SCORES.name).mkdir()
    Path(lake.uri, SCORES.name).symlink_to(small_disk / SCORES.name, target_is_directory=True)
    url, calm_url = f"sqlite:///{small_disk}/forelight.db", f"sqlite:///{tmp_path}/calm.db"
    with AlarmStore(url), AlarmStore(calm_url) as calm_store:
        failed = 0
        for n in range(DISKS):
            at = train_until + n * HOUR
            score_fleet(calm, calm_store, nervous, at)
            ballast.write_bytes(bytes(max(0, shutil.disk_usage(small_disk).free - n * n * 600)))
            try:
                with AlarmStore(url) as store:
                    score_fleet(lake, store, nervous, at)
            except (ForelightError, SQLAlchemyError, OSError):
                failed += 1
            ballast.unlink()
            with AlarmStore(url) as store:
                score_fleet(lake, store, nervous, at)

    assert DISKS > failed > 2
    assert scores(calm).equals(scores(lake))
    assert 10 < len(alarms(url))
    assert alarms(calm_url) == alarms(url)
    assert [] == lake.check([SCORES], deep=True)


_ZONED = """
import sys, time
from datetime import datetime
from pathlib import Path
from ingest.lake import Lake
from models.artifact import Artifact
from serving.scoring.scorer import score_fleet
from serving.store import AlarmStore
assert time.tzname != ("UTC", "UTC"), time.tzname
home, model, at = sys.argv[1:]
with AlarmStore(f"sqlite:///{home}/forelight.db") as store:
    score_fleet(Lake(f"{home}/lake"), store, Artifact.load(Path(model)), datetime.fromisoformat(at))
"""


def test_the_zone_of_the_machine_changes_no_score_and_no_alarm(
    fleet_lake: Lake, nervous: Artifact, train_until: datetime, tmp_path: Path
) -> None:
    at = train_until + HOUR
    for name in ("utc", "zoned"):
        shutil.copytree(fleet_lake.uri, tmp_path / name / "lake")
    nervous.save(tmp_path / "model")
    with AlarmStore(f"sqlite:///{tmp_path}/utc/forelight.db") as store:
        score_fleet(Lake(str(tmp_path / "utc" / "lake")), store, nervous, at)
    command = [sys.executable, "-c", _ZONED, str(tmp_path / "zoned"), str(tmp_path / "model"), at.isoformat()]
    subprocess.run(command, env={**os.environ, "TZ": "America/New_York"}, check=True)

    utc, zoned = (scores(Lake(str(tmp_path / name / "lake"))) for name in ("utc", "zoned"))

    assert utc.height > 0
    assert alarms(f"sqlite:///{tmp_path}/utc/forelight.db")
    assert utc.equals(zoned)
    assert alarms(f"sqlite:///{tmp_path}/utc/forelight.db") == alarms(f"sqlite:///{tmp_path}/zoned/forelight.db")
