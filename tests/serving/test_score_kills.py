"""Runs killed at any moment: the next run of the hour mends them, and nobody can tell afterwards."""

import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from ingest.lake import Lake
from ingest.schema import SCORES
from models.artifact import Artifact
from serving.alarms import AlarmRecord, Event
from serving.scoring.scorer import score_fleet
from serving.store import AlarmStore

pytestmark = pytest.mark.slow

HOUR = timedelta(hours=1)
KILLS = 32

_RUN = """
import sys
from datetime import datetime
from pathlib import Path

from ingest.lake import Lake
from models.artifact import Artifact
from serving.scoring.scorer import score_fleet
from serving.store import AlarmStore

home, model, at = sys.argv[1:]
artifact = Artifact.load(Path(model))
print("ready", flush=True)
with AlarmStore(f"sqlite:///{home}/forelight.db") as store:
    score_fleet(Lake(f"{home}/lake"), store, artifact, datetime.fromisoformat(at))
"""


class Home:
    """A lake and a store of their own."""

    def __init__(self, folder: Path, lake: Lake, artifact: Artifact) -> None:
        shutil.copytree(lake.uri, folder / "lake")
        self.folder, self.lake, self.artifact = folder, Lake(str(folder / "lake")), artifact
        self.store = AlarmStore(f"sqlite:///{folder / 'forelight.db'}").open()

    def score(self, at: datetime) -> None:
        score_fleet(self.lake, self.store, self.artifact, at)

    def scores(self, at: datetime) -> pl.DataFrame:
        rows = self.lake.latest(SCORES, since=at, until=at + HOUR).collect()
        return rows.drop("received_at").sort("site", "device", "interface")

    def alarms(self) -> dict[str, tuple[AlarmRecord, tuple[Event, ...]]]:
        return {alarm.alarm_id: (alarm, self.store.events(alarm.alarm_id)) for alarm in self.store.walk()}

    def commits(self) -> int:
        return len(list((self.folder / "lake" / SCORES.name / "_delta_log").glob("*.json")))

    def stage(self, at: datetime) -> str:
        """How far a run came."""
        last = self.store.latest_run()
        if last is not None and last.at == at:
            return "done"
        return "scores only" if self.scores(at).height else "nothing"


@pytest.fixture(name="homes")
def _homes(fleet_lake: Lake, nervous: Artifact, tmp_path: Path) -> Iterator[tuple[Home, Home]]:
    """The model is saved to ``model`` beside them."""
    nervous.save(tmp_path / "model")
    loaded = Artifact.load(tmp_path / "model")
    homes = tuple(Home(tmp_path / name, fleet_lake, loaded) for name in ("killed", "calm"))
    yield homes[0], homes[1]
    for home in homes:
        home.store.close()


def _started(home: Home, model: Path, at: datetime) -> "subprocess.Popen[bytes]":
    """A run in a process of its own that is about to begin."""
    command = [sys.executable, "-c", _RUN, str(home.folder), str(model), at.isoformat()]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert run.stdout is not None
    assert b"ready\n" == run.stdout.readline()
    return run


def _killed(home: Home, model: Path, at: datetime, *, after_s: float, at_commit: bool) -> None:
    """Starts a run and kills it so long after it began, or after its scores were committed."""
    before = home.commits()
    with _started(home, model, at) as run:
        while at_commit and home.commits() == before and run.poll() is None:
            time.sleep(0.001)
        time.sleep(after_s)
        run.kill()


def test_a_run_killed_at_any_moment_is_mended_by_the_next(
    homes: tuple[Home, Home], train_until: datetime, tmp_path: Path
) -> None:
    """Half of the kills at random, half just after the scores are in the lake and the alarms are not in the store."""
    killed, calm = homes
    rng, stages = random.Random(5), Counter[str]()
    calm.score(train_until)
    with _started(killed, tmp_path / "model", train_until) as first:
        began = time.monotonic()
        assert 0 == first.wait()
    usual_s = time.monotonic() - began
    for at in (train_until + HOUR * (1 + i) for i in range(KILLS)):
        at_commit = rng.random() < 0.5
        after_s = rng.random() * (0.05 if at_commit else usual_s)
        _killed(killed, tmp_path / "model", at, after_s=after_s, at_commit=at_commit)
        stages[killed.stage(at)] += 1

        killed.score(at)
        calm.score(at)

        assert calm.scores(at).equals(killed.scores(at))
        assert calm.lake.scan(SCORES).collect().height == killed.lake.scan(SCORES).collect().height
    assert calm.alarms() == killed.alarms()
    assert 10 < len(calm.alarms())
    assert any(alarm.cleared_at for alarm, _ in calm.alarms().values())
    assert {"nothing", "scores only"} <= stages.keys(), stages
