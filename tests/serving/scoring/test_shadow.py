"""The challenger beside the champion, from a real registry: the same features, its own table, and no effect."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake
from sqlalchemy import select
from starlette.testclient import TestClient

from features.fleet import Fleet
from features.pipeline import Block
from features.shards import fleet_block
from features.tile_tables import LANE_TILES, PORT_TILES
from ingest.errors import BusyError, ModelError
from ingest.lake import Lake
from ingest.schema import SCORES, SHADOW_SCORES
from models.artifact import Artifact
from models.registry import CHALLENGER, Registry
from serving.alarms import Status
from serving.app import create_app
from serving.cli.lake import retention
from serving.leases import rewrite_lease
from serving.scoring.scorer import Scoring, look_at, score_fleet
from serving.scoring.shadow import Shadow, challenged
from serving.scoring.side_by_side import side_by_side
from serving.settings import Settings
from serving.store import AlarmStore
from serving.tables import alarm_events, alarms, outbox

pytestmark = pytest.mark.slow  # MLflow takes seconds to import and to make its database

HOUR = timedelta(hours=1)
_TIMES = ("start", "end", "judged_until")
PORT = ["site", "device", "interface"]
RISKS = [f"risk_{hours}h" for hours in (6, 12, 24, 48, 96, 168)]


@dataclass
class Home:
    """A home whose hours are scored by champion and challenger."""

    folder: Path
    champion: Artifact
    challenger: str

    def __post_init__(self) -> None:
        self.settings = Settings.from_env({"FORELIGHT_HOME": str(self.folder)})
        self.lake = Lake(self.settings.lake_uri)
        self.store = AlarmStore(self.settings.database_url).open()
        self.registry = Registry(self.settings.tracking_uri, self.settings.artifact_root)

    def score(self, at: datetime) -> tuple[Scoring, Shadow | None]:
        done = score_fleet(self.lake, self.store, self.champion, at)
        return done, challenged(self.registry, self.lake, at, lambda: done.seen or look_at(self.lake, at))

    def shadow(self, at: datetime) -> pl.DataFrame:
        rows = self.lake.latest(SHADOW_SCORES, since=at, until=at + HOUR).collect()
        return rows.sort(PORT)

    def said(self) -> list[list[Any]]:
        """What the store holds of alarms, their life and messages, but for when it was written."""
        columns = ([alarms.c.alarm_id, alarms.c.level, alarms.c.status], [alarm_events], [outbox.c.event_id])
        with self.store.engine.connect() as connection:
            return [[tuple(row) for row in connection.execute(select(*each))] for each in columns]


@pytest.fixture(name="make_home")
def _make_home(trained_home: Path, tmp_path: Path) -> Callable[..., Home]:
    def make(champion: Artifact, challenger: Artifact | None = None) -> Home:
        folder = tmp_path / f"home{len(list(tmp_path.iterdir()))}"
        shutil.copytree(trained_home, folder)
        settings = Settings.from_env({"FORELIGHT_HOME": str(folder)})
        registry = Registry(settings.tracking_uri, settings.artifact_root)
        return Home(folder, champion, registry.log(challenger, {}) if challenger else "")

    return make


def _open(home: Home) -> set[tuple[str, str, datetime]]:
    return {(a.link_id, str(a.level), a.raised_at) for a in home.store.open_alarms()}


def _would_be_open(home: Home, at: datetime) -> set[tuple[str, str, datetime]]:
    told = home.shadow(at).filter(pl.col("link_id").is_not_null())
    return set(told.select("link_id", "alarm_level", "alarm_raised_at").iter_rows())


class TestTheSameModel:
    def test_it_says_the_same_to_the_bit_and_would_raise_the_same_alarms(
        self, make_home: Callable[..., Home], nervous: Artifact, train_until: datetime
    ) -> None:
        home, times = make_home(nervous, nervous), [train_until + HOUR * i for i in range(1, 13)]
        changes = []
        for at in times:
            done, shadow = home.score(at)
            assert shadow is not None
            applied = done.applied
            assert (applied.raised, applied.updated, applied.cleared) == (shadow.raised, shadow.kept, shadow.cleared)
            assert done.run.modules_scored == shadow.modules_scored
            changes.append((shadow.raised, shadow.kept, shadow.cleared))

            scores = home.lake.latest(SCORES, since=at, until=at + HOUR).collect().filter(status="scored").sort(PORT)
            said = home.shadow(at).filter(status="scored")
            assert scores.select(*PORT, *RISKS).equals(said.select(*PORT, *RISKS))
            assert _open(home) == _would_be_open(home, at)
            of_both = scores.join(said.filter(pl.col("link_id").is_not_null()), on=PORT)
            assert of_both["suspect_device"].equals(of_both["suspect_device_right"].rename("suspect_device"))
        assert all(sum(change[k] for change in changes) > 0 for k in range(3)), changes

        found = side_by_side(home.lake, home.store.walk(), 7, times[-1] + timedelta(days=3))

        assert (len(times), 1.0) == (found.hours, found.share_in_common)
        assert found.rank_correlation == pytest.approx(1.0)
        assert found.champion_alarms == found.challenger_alarms == found.in_common > 0
        assert found.champion_judged == found.challenger_judged
        assert found.judged_until == times[-1]
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["challenger"] == nervous.version

    def test_asked_again_nothing_is_written_twice_and_what_is_missing_is_made_up_for(
        self, make_home: Callable[..., Home], nervous: Artifact, train_until: datetime
    ) -> None:
        """A run that was killed between the champion's part and the challenger's is mended by the next of its hour."""
        home, at = make_home(nervous, nervous), train_until + HOUR
        score_fleet(home.lake, home.store, nervous, at)
        assert not home.lake.exists(SHADOW_SCORES)

        done, late = home.score(at)
        rows = home.lake.scan(SHADOW_SCORES).collect()
        again = home.score(at)[1]

        assert (False, True, False) == (done.applied.new, late and late.new, again and again.new)
        assert rows.height == rows.select(PORT).n_unique() > 50
        assert rows.equals(home.lake.scan(SHADOW_SCORES).collect())


class TestNoEffect:
    def test_alarms_events_and_messages_are_those_without_it(
        self, make_home: Callable[..., Home], artifact: Artifact, nervous: Artifact, train_until: datetime
    ) -> None:
        """The challenger would raise many, the champion raises its own, with one beside it or without."""
        beside, alone = make_home(artifact, replace(nervous, version="nervous")), make_home(artifact)
        for at in (train_until + HOUR, train_until + 2 * HOUR):
            shadow, nothing = beside.score(at)[1], alone.score(at)[1]

        assert nothing is None
        assert not alone.lake.exists(SHADOW_SCORES)
        assert shadow is not None
        assert len(_would_be_open(beside, at)) > len(_open(beside))
        assert beside.said()[0] == alone.said()[0]
        assert [len(each) for each in beside.said()] == [len(each) for each in alone.said()]
        assert {"nervous"} == set(beside.shadow(at)["model_version"])
        assert {artifact.version} == set(beside.lake.scan(SCORES).collect()["model_version"])

    def test_what_a_hand_does_to_an_alarm_is_nothing_to_the_challenger(
        self, make_home: Callable[..., Home], nervous: Artifact, train_until: datetime
    ) -> None:
        home = make_home(nervous, nervous)
        home.score(train_until + HOUR)
        first = home.store.open_alarms()[0]
        home.store.transition(first.alarm_id, Status.CLEARED, "jo", "seen to")

        home.score(train_until + 2 * HOUR)

        assert first.link_id in {
            link for link, _, raised in _would_be_open(home, train_until + 2 * HOUR) if raised < train_until + 2 * HOUR
        }


class TestWhatGoesWrong:
    def test_an_alias_that_is_gone_is_no_challenger(
        self, make_home: Callable[..., Home], nervous: Artifact, train_until: datetime
    ) -> None:
        home = make_home(nervous, nervous)
        home.registry._client.delete_registered_model_alias("forelight", CHALLENGER)

        assert home.score(train_until + HOUR)[1] is None
        assert not home.lake.exists(SHADOW_SCORES)

    def test_one_that_knows_the_future_or_meets_a_lost_lease_says_so_and_writes_nothing(
        self, make_home: Callable[..., Home], nervous: Artifact, train_until: datetime
    ) -> None:
        def lost() -> None:
            msg = "the lease was lost"
            raise BusyError(msg)

        at = train_until + HOUR
        home = make_home(nervous, replace(nervous, trained_until=at + HOUR))
        future = home.score(at)[1]
        second = make_home(nervous, nervous)
        late = challenged(second.registry, second.lake, at, lambda: look_at(second.lake, at), lost)
        silent = challenged(second.registry, second.lake, at, lambda: None)

        assert future is not None
        assert future.error.startswith("it knows what came after ")
        assert late is not None
        assert ("2", "the lease was lost") == (late.version, late.error)
        assert silent is not None
        assert silent.error.startswith("no module has sent telemetry")
        assert not home.lake.exists(SHADOW_SCORES)
        assert not second.lake.exists(SHADOW_SCORES)
        with pytest.raises(ModelError, match="no challenger was scored yet"):
            side_by_side(home.lake, home.store.walk(), 7, at)

    def test_a_run_beside_one_that_cannot_be_loaded_ends_as_without_it(
        self, make_home: Callable[..., Home], artifact: Artifact, console: Callable[..., Any], tmp_path: Path
    ) -> None:
        """Its files are gone; the warning, the metric and the answer name it, the exit code is the champion's."""
        home, metrics = make_home(artifact, replace(artifact, version="lost")), tmp_path / "forelight.prom"
        run_id = home.registry._client.get_model_version("forelight", home.challenger).tags["run_id"]
        shutil.rmtree(_artifacts(home, run_id))

        ran = console(home.folder, "score", "--json", "--metrics-textfile", str(metrics))

        assert 0 == ran.code, ran.err
        answer = json.loads(ran.out)
        assert (True, artifact.version) == (answer["new"], answer["model_version"])
        assert ("2", False) == (answer["challenger"]["version"], answer["challenger"]["new"])
        assert answer["challenger"]["error"].startswith("the files of version 2 of forelight cannot be had: ")
        assert "forelight: the challenger (version 2) was not scored: " in ran.err
        assert 'forelight_score_challenger_up{version="2"} 0.0' in metrics.read_text(encoding="utf-8")
        assert not home.lake.exists(SHADOW_SCORES)


def _artifacts(home: Home, run_id: str) -> Path:
    uri: str = home.registry._client.get_run(run_id).info.artifact_uri
    return Path(uri.removeprefix("file://"))


class TestSilence:
    def test_an_alarm_stands_while_its_link_is_silent(
        self, make_home: Callable[..., Home], nervous: Artifact, train_until: datetime
    ) -> None:
        home, at = make_home(nervous, nervous), train_until + HOUR
        home.score(at)
        link, device, peer = next(
            (a.link_id, a.device, a.peer_device) for a in home.store.open_alarms() if a.peer_device is not None
        )
        for table in (LANE_TILES, PORT_TILES):
            uri = f"{home.lake.uri}/{table.name}"
            rows = pl.from_arrow(DeltaTable(uri).to_pyarrow_table())
            assert isinstance(rows, pl.DataFrame)
            said = rows.filter(~(pl.col("device").is_in([device, peer]) & (pl.col("hour") > at - 9 * HOUR)))
            write_deltalake(uri, said.to_arrow(), mode="overwrite")
        later = at + HOUR

        home.score(later)

        silent = home.shadow(later).filter(pl.col("link_id") == link)
        assert {"unknown"} == set(silent["status"])
        assert {at} == set(silent["alarm_raised_at"])
        assert silent.select(RISKS).null_count().sum_horizontal().item() == 6 * silent.height
        assert link in {a.link_id for a in home.store.open_alarms()}


class TestUpkeep:
    def test_the_table_is_compacted_and_pruned_as_others_are(
        self, make_home: Callable[..., Home], nervous: Artifact, train_until: datetime, console: Callable[..., Any]
    ) -> None:
        home = make_home(nervous, nervous)
        for hours in (1, 2, 30):
            home.score(train_until + HOUR * hours)
        before = home.lake.latest(SHADOW_SCORES).sort(*PORT, "time").collect()

        assert 2 == home.lake.compact(SHADOW_SCORES, lease=rewrite_lease(home.settings))
        assert before.equals(home.lake.latest(SHADOW_SCORES).sort(*PORT, "time").collect())
        assert {"shadow_scores": timedelta(days=1)} == retention(["shadow_scores=1d"], {}, None)
        console(home.folder, "lake", "prune", "--keep", "shadow_scores=1d")
        assert 1 == len(home.lake.dates(SHADOW_SCORES))


class TestCommand:
    def test_it_scores_beside_the_champion_and_tells_how_they_differ(
        self,
        make_home: Callable[..., Home],
        artifact: Artifact,
        nervous: Artifact,
        console: Callable[..., Any],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Features are computed once, for both."""
        home, metrics = make_home(artifact, replace(nervous, version="nervous")), tmp_path / "forelight.prom"

        computed: list[datetime] = []

        def counting(lake: Lake, fleet: Fleet, at: datetime, **more: Any) -> Block | None:
            computed.append(at)
            return fleet_block(lake, fleet, at, **more)

        monkeypatch.setattr("serving.scoring.scorer.fleet_block", counting)

        ran = console(home.folder, "score", "--metrics-textfile", str(metrics))
        told, table = (console(home.folder, "model", "shadow", *json_) for json_ in (("--json",), ()))

        assert 0 == ran.code, ran.err
        assert 1 == len(computed)
        assert "challenger nervous, on which nothing rests: " in ran.out
        assert 'forelight_score_challenger_up{version="2"} 1.0' in metrics.read_text(encoding="utf-8")
        answer = json.loads(told.out)
        assert ([artifact.version], "nervous", 1) == (answer["champion"], answer["challenger"], answer["hours"])
        assert answer["champion_alarms"] < answer["challenger_alarms"]
        assert answer["rank_correlation"] == pytest.approx(1.0)
        assert "challenger nervous" in table.out
        assert "ranks of " in table.out
        with TestClient(create_app(home.settings, home.store)) as client:
            served = client.get("/v1/models/comparison").json()
        assert answer == {name: served[name] for name in answer} | {name: answer[name] for name in _TIMES}
        assert [answer[name] for name in _TIMES] == [
            served[name] and datetime.fromisoformat(served[name]).isoformat() for name in _TIMES
        ]
