"""Batch scoring of the shared synthetic fleet: every module, once an hour, and the alarms of the policy."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from features.cube import LakeTiles
from features.fleet import Fleet
from features.pipeline import hourly
from features.tile_tables import LANE_TILES
from ingest.errors import ModelError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, MODULES, SCORES, FailureType
from models.artifact import Artifact
from models.base import Fault
from models.policy import ALARM_HORIZON_H
from models.walk import walk
from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.errors import RunOrderError
from serving.scoring.scorer import Scoring, score_fleet
from serving.store import AlarmStore
from serving.storms import StormFilter, read_storms

HOUR = timedelta(hours=1)
RISKS = [f"risk_{hours}h" for hours in (6, 12, 24, 48, 96, 168)]


@dataclass
class Live:
    """A lake and a store of their own, scored hour by hour."""

    lake: Lake
    store: AlarmStore
    artifact: Artifact

    def score(self, at: datetime) -> Scoring:
        return score_fleet(self.lake, self.store, self.artifact, at)

    def scores(self, at: datetime) -> pl.DataFrame:
        return self.lake.latest(SCORES, since=at, until=at + HOUR).collect()


@pytest.fixture(name="make_live")
def _make_live(fleet_lake: Lake, artifact: Artifact, tmp_path: Path) -> Iterator[Callable[[], Live]]:
    stores: list[AlarmStore] = []

    def make() -> Live:
        folder = tmp_path / f"live{len(stores)}"
        shutil.copytree(fleet_lake.uri, folder / "lake")
        stores.append(AlarmStore(f"sqlite:///{folder / 'forelight.db'}").open())
        return Live(Lake(str(folder / "lake")), stores[-1], artifact)

    yield make
    for store in stores:
        store.close()


@pytest.fixture(name="live")
def _live(make_live: Callable[[], Live]) -> Live:
    return make_live()


def _copper(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.filter(pl.col("reasons").list.contains("the link is copper: there are no optics in it"))


class TestScores:
    def test_every_module_has_a_score_or_a_reason_why_not(self, live: Live, train_until: datetime) -> None:
        at = train_until + HOUR
        module = {"device": "leaf99", "interface": "Ethernet0", "serial": "NEW", "installed_at": at - HOUR}
        later = {"device": "leaf99", "interface": "Ethernet8", "serial": "LATER", "installed_at": at + HOUR}
        live.lake.append(
            MODULES, pl.DataFrame([module, later]).with_columns(received_at=pl.lit(at), site=pl.lit("default"))
        )

        done = live.score(at)

        scores = live.scores(at)
        cages = Fleet.load(live.lake).as_of(at).in_cages()
        assert cages.join(scores, on=["site", "device", "interface"], how="anti").is_empty()
        assert scores.height == scores.select("site", "device", "interface").n_unique()
        new = scores.filter(pl.col("device") == "leaf99").rows(named=True)
        assert [("NEW", "unknown")] == [(row["serial"], row["status"]) for row in new]
        assert ["no telemetry in the last six hours"] == new[0]["reasons"]
        assert [None] * 6 == [new[0][name] for name in RISKS]
        assert done.run.modules_scored == (scores["status"] == "scored").sum()
        assert done.run.modules_unknown == scores.height - done.run.modules_scored - _copper(scores).height

    def test_copper_is_unknown_says_why_and_is_nothing_to_worry_about(self, live: Live, train_until: datetime) -> None:
        live.score(train_until)

        copper = Fleet.load(live.lake).ends().filter("copper").select("site", "device", "interface").unique()
        told = live.scores(train_until).join(copper, on=["site", "device", "interface"], how="semi")
        assert told.height > 0
        assert told.equals(_copper(told))
        assert {"unknown"} == set(told["status"])
        assert told["risk_24h"].null_count() == told.height

    def test_risks_are_probabilities_that_rise_with_the_horizon(self, live: Live, train_until: datetime) -> None:
        live.score(train_until)

        scored = live.scores(train_until).filter(pl.col("status") == "scored")
        risk = scored.select(RISKS).to_numpy()
        assert 50 < scored.height
        assert ((risk >= 0) & (risk <= 1)).all()
        assert (risk[:, 1:] >= risk[:, :-1]).all()

    def test_why_is_said_of_risks_that_are_not_negligible(
        self, make_live: Callable[[], Live], train_until: datetime
    ) -> None:
        before, live = make_live(), make_live()
        before.score(train_until)
        highest = before.scores(train_until).select(pl.col(f"risk_{ALARM_HORIZON_H}h").max()).item()
        live.artifact = replace(live.artifact, policy=replace(live.artifact.policy, watch=2 * highest))
        live.score(train_until)

        scored = live.scores(train_until).filter(pl.col("status") == "scored")
        high = scored[f"risk_{ALARM_HORIZON_H}h"] >= highest
        assert 0 < high.sum() < scored.height
        assert (scored["reasons"].list.len() > 0).to_list() == high.to_list()
        for column in ("failure_type", "type_probabilities", "suspect", "suspect_device"):
            assert (~high).to_list() == scored[column].is_null().to_list()
        assert {"none"} == set(scored.filter(~high)["action"])

    def test_a_score_says_what_is_wrong_where_and_what_to_do(self, live: Live, train_until: datetime) -> None:
        live.score(train_until)

        rows = live.scores(train_until).filter(pl.col("reasons").list.len() > 0, pl.col("status") == "scored")
        for row in rows.rows(named=True):
            types = row["type_probabilities"]
            ends = {(row["device"], row["interface"]), (row["peer_device"], row["peer_interface"])}
            assert pytest.approx(1.0, abs=1e-4) == sum(types.values())
            unit = Fault(FailureType(row["failure_type"]), here=True).suspect
            assert row["suspect"] in {unit, "unknown"}
            likely = {kind: p for kind, p in types.items() if Fault(FailureType(kind), here=True).suspect == unit}
            assert max(likely, key=likely.__getitem__) == row["failure_type"]
            assert (row["suspect_device"], row["suspect_interface"]) in ends
            assert 0 <= row["data_age_s"] < 6 * 3600
            assert live.artifact.version == row["model_version"]

    def test_both_ends_of_a_link_are_given_the_same_risk(self, live: Live, train_until: datetime) -> None:
        live.score(train_until)

        scored = live.scores(train_until).filter(pl.col("status") == "scored")
        far = scored.select("device", "interface", far_risk="risk_24h")
        both = scored.join(far, left_on=["peer_device", "peer_interface"], right_on=["device", "interface"])
        assert 20 < both.height
        assert both["risk_24h"].equals(both["far_risk"].rename("risk_24h"))

    def test_the_run_says_how_new_its_newest_reading_is(self, live: Live, train_until: datetime) -> None:
        done = live.score(train_until)

        assert done.run.newest_data_at is not None
        assert train_until - 2 * HOUR < done.run.newest_data_at < train_until


class TestRuns:
    def test_a_run_is_recorded_with_its_model(self, live: Live, train_until: datetime) -> None:
        done = live.score(train_until)

        assert done.applied.new
        assert done.run == live.store.latest_run()
        assert live.artifact.version == done.run.model_version
        assert done.run.started_at <= done.run.finished_at

    def test_run_again_it_changes_nothing(self, live: Live, train_until: datetime) -> None:
        live.score(train_until)
        before = (live.scores(train_until), live.store.open_alarms(), live.lake.stats())

        again = live.score(train_until)

        assert not again.applied.new
        assert before[0].equals(live.scores(train_until))
        assert before[1:] == (live.store.open_alarms(), live.lake.stats())

    def test_another_champion_does_not_score_the_same_hour_again(self, live: Live, train_until: datetime) -> None:
        """Else the lake would hold scores of one model and the store the run of another."""
        live.score(train_until)
        other = replace(live, artifact=replace(live.artifact, version="another"))

        again = other.score(train_until)

        assert not again.applied.new
        assert {live.artifact.version} == set(live.scores(train_until)["model_version"])

    def test_what_a_crash_left_in_the_lake_is_mended(self, live: Live, train_until: datetime) -> None:
        """Scores are there and the run is not: the next one applies it, and no score is there twice."""
        other = AlarmStore("sqlite://").open()
        replace(live, store=other).score(train_until)
        other.close()
        rows = live.scores(train_until).height

        done = live.score(train_until)

        assert done.applied.new
        assert rows == live.lake.scan(SCORES).collect().height

    def test_an_earlier_hour_comes_too_late(self, live: Live, train_until: datetime) -> None:
        live.score(train_until + HOUR)

        with pytest.raises(RunOrderError, match="was scored before"):
            live.score(train_until)

        assert live.scores(train_until).is_empty()

    def test_a_model_of_the_future_is_refused(self, live: Live, train_until: datetime) -> None:
        with pytest.raises(ModelError, match=r"the model knows what came after 2024-.*: trained until 2024-"):
            live.score(train_until - HOUR)

        assert not live.lake.exists(SCORES)
        assert live.store.latest_run() is None

    def test_where_nobody_has_spoken_there_is_nothing_to_score(self, live: Live, fleet_end: datetime) -> None:
        """Not an empty run, which would read as an all-clear."""
        with pytest.raises(ModelError, match="no module has sent telemetry in the six hours before"):
            live.score(fleet_end + 7 * HOUR)

        assert live.store.latest_run() is None

    def test_of_an_empty_lake_there_is_nothing_to_score(
        self, artifact: Artifact, train_until: datetime, tmp_path: Path
    ) -> None:
        with (
            AlarmStore("sqlite://") as store,
            pytest.raises(ModelError, match="there is nothing to score"),
        ):
            score_fleet(Lake(str(tmp_path / "lake")), store, artifact, train_until)


def _identity(alarm: AlarmRecord) -> tuple[str, datetime, datetime | None]:
    return alarm.alarm_id, alarm.raised_at, alarm.cleared_at


@pytest.mark.slow
class TestAlarms:
    def test_live_scoring_raises_and_clears_what_the_back_test_does(
        self, live: Live, nervous: Artifact, train_until: datetime
    ) -> None:
        """Hour by hour, from the same state: nothing stands."""
        times = hourly(train_until, train_until + 39 * HOUR)
        live.artifact = replace(nervous, policy=replace(nervous.policy, storm=4))

        held_back = sum(live.score(at).held_back for at in times)

        steps = walk(live.artifact, LakeTiles(live.lake), Fleet.load(live.lake), times)
        scored = {alarm.alarm_id: alarm for alarm in live.store.walk()}
        expected = {alarm.alarm_id: alarm for alarm in steps.alarms}
        assert 3 < len(expected)
        assert sorted((a.alarm_id, a.raised_at, a.cleared_at) for a in steps.alarms if a.cleared_at) == sorted(
            _identity(a) for a in scored.values() if a.cleared_at
        )
        assert {(a.alarm_id, a.raised_at, a.level) for a in steps.alarms} == {
            (a.alarm_id, a.raised_at, str(a.level)) for a in scored.values()
        }
        assert len(steps.held_back) == held_back
        assert {a.link_id for a in steps.alarms if not a.cleared_at} == {a.link_id for a in live.store.open_alarms()}

    def test_a_standing_alarm_tells_the_risk_of_now(self, live: Live, train_until: datetime) -> None:
        certain = replace(live, artifact=_sensitive(live.artifact))
        certain.score(train_until)
        raised = {alarm.alarm_id: alarm for alarm in live.store.open_alarms()}

        done = certain.score(train_until + HOUR)

        now = {alarm.alarm_id: alarm for alarm in live.store.open_alarms()}
        kept = raised.keys() & now.keys()
        assert len(kept) == done.applied.updated > 0
        assert {raised[key].raised_at for key in kept} == {train_until} == {now[key].raised_at for key in kept}
        assert any(raised[key].risk_24h != now[key].risk_24h for key in kept)
        scores = live.scores(train_until + HOUR)
        for key in kept:
            of_end = scores.filter(
                pl.col("device") == now[key].device, pl.col("interface") == now[key].interface, status="scored"
            )
            assert of_end.is_empty() or pytest.approx(now[key].risk_24h, abs=1e-6) == of_end["risk_24h"].item()

    def test_an_alarm_that_somebody_cleared_may_be_raised_anew(self, live: Live, train_until: datetime) -> None:
        certain = replace(live, artifact=_sensitive(live.artifact))
        certain.score(train_until)
        first = live.store.open_alarms()[0]
        live.store.transition(first.alarm_id, Status.CLEARED, "jo", "seen to")

        certain.score(train_until + HOUR)

        again = [alarm for alarm in live.store.open_alarms() if alarm.link_id == first.link_id]
        assert [train_until + HOUR] == [alarm.raised_at for alarm in again]
        assert first.alarm_id != again[0].alarm_id

    def test_the_alarm_of_a_link_that_is_no_longer_there_ends(
        self,
        live: Live,
        train_until: datetime,
        make_alarm: Callable[..., AlarmRecord],
        make_run: Callable[..., ScoreRun],
    ) -> None:
        before = train_until - HOUR
        live.store.apply(make_run(before), [make_alarm(link_id="replaced cable", raised_at=before)])

        done = live.score(train_until)

        ended = live.store.alarm("alarm-001")
        assert 1 == done.applied.cleared
        assert (Status.CLEARED, train_until) == (ended.status, ended.cleared_at)
        assert "the link is no longer there" == live.store.events("alarm-001")[-1].why

    def test_a_storm_on_a_device_is_held_back(self, live: Live, train_until: datetime) -> None:
        policy = replace(live.artifact.policy, watch=0.0, sure=0.0)

        done = replace(live, artifact=replace(live.artifact, policy=policy)).score(train_until)

        assert done.held_back > 30
        assert live.artifact.policy.storm >= len(live.store.open_alarms()) == done.applied.raised
        kept = read_storms(live.store.engine, StormFilter(), limit=1000).alarms
        assert done.held_back == len({one.link_id for one in kept}) == len(kept)
        assert all("new alarms at once on" in one.why for one in kept)
        assert not {one.link_id for one in kept} & {alarm.link_id for alarm in live.store.open_alarms()}

    def test_every_standing_alarm_is_of_a_scored_module_over_the_threshold(
        self, live: Live, train_until: datetime
    ) -> None:
        certain = replace(live, artifact=_sensitive(live.artifact))

        certain.score(train_until)

        risk = {
            (row["device"], row["interface"]): row[f"risk_{ALARM_HORIZON_H}h"]
            for row in live.scores(train_until).filter(status="scored").rows(named=True)
        }
        alarms = live.store.open_alarms()
        assert alarms
        for alarm in alarms:
            ends = [(alarm.device, alarm.interface), (alarm.peer_device, alarm.peer_interface)]
            assert max(risk.get(end, 0.0) for end in ends) >= certain.artifact.policy.watch

    def test_an_alarm_leads_back_to_its_readings(self, live: Live, train_until: datetime) -> None:
        """By keys alone: the score of the hour that raised it, the tiles of the hours before, the samples of each."""
        certain = replace(live, artifact=_sensitive(live.artifact))
        certain.score(train_until)
        lanes = 0

        for alarm in live.store.open_alarms()[:3]:
            ends = [(alarm.device, alarm.interface), (alarm.peer_device, alarm.peer_interface)]
            scores = [live.scores(alarm.raised_at).filter(device=device, interface=port) for device, port in ends]
            score = pl.concat(scores).filter(status="scored")
            place = score.row(0, named=True)["device"], score.row(0, named=True)["interface"]
            tiles = live.lake.latest(LANE_TILES, since=alarm.raised_at - 6 * HOUR, until=alarm.raised_at)
            for tile in tiles.filter(device=place[0], interface=place[1]).collect().rows(named=True):
                samples = live.lake.latest(LANE_SAMPLES, since=tile["hour"], until=tile["hour"] + HOUR)
                of_lane = samples.filter(device=place[0], interface=place[1], lane=tile["lane"])
                assert tile["rows"] == of_lane.collect().height > 0
                lanes += 1
            assert alarm.model_version == score["model_version"].unique().item()
            assert list(alarm.reasons) in score["reasons"].to_list()

        assert lanes > 12


def _sensitive(artifact: Artifact) -> Artifact:
    """The same model with a policy that raises at once and never calms a storm."""
    return replace(artifact, policy=replace(artifact.policy, watch=0.02, sure=0.02, storm=10_000))
