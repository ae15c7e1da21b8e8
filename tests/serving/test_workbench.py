"""The workbench: what the commands do, as frames, on a home of its own or that of the command line."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from data_samples import SAMPLE
from data_samples.probed import ProbedFabric
from features.pipeline import FeaturePipeline
from ingest.errors import LakeError, ModelError, ServingError
from models.artifact import Artifact
from serving.workbench import Workbench, scorecards

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture(name="bench", scope="module")
def _bench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """With the committed sample."""
    bench = Workbench(tmp_path_factory.mktemp("bench"))
    bench.take(SAMPLE)
    return bench


def test_without_a_folder_it_works_where_the_command_line_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FORELIGHT_HOME", str(tmp_path / "mine"))

    assert str(tmp_path / "mine" / "lake") == Workbench().lake.uri


def test_a_folder_of_its_own_is_not_led_elsewhere_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A notebook that tries something out must not write into the lake in service."""
    monkeypatch.setenv("FORELIGHT_LAKE_URI", "s3://in-service")

    assert str(tmp_path / "lake") == Workbench(tmp_path).lake.uri


def test_an_end_has_its_readings_its_limits_and_its_peer(bench: Workbench) -> None:
    end = bench.end("leaf003", "Ethernet8")

    assert ("spine01", "Ethernet1/2") == end.peer
    assert [1, 2, 3, 4] == sorted(end.lanes["lane"].unique())
    assert end.lanes["time"].is_monotonic_increasing
    assert set(end.lanes["device"]) == set(end.port["device"]) == {"leaf003"}
    assert -40 < end.limits["rx_power_low_alarm_dbm"] < end.limits["rx_power_low_warn_dbm"]


def test_a_port_without_readings_is_said(bench: Workbench) -> None:
    with pytest.raises(LakeError, match="no readings of leaf003 Ethernet999"):
        bench.end("leaf003", "Ethernet999")


def test_labels_are_those_of_the_command(bench: Workbench) -> None:
    labels = bench.labels().set_index("event_id")

    assert "copper" == labels.loc["INC1000", "verdict"]
    assert "counted" == labels.loc["INC1005", "verdict"]


def test_every_column_of_the_features_is_explained(bench: Workbench) -> None:
    told, row = bench.feature_columns(), bench.features()

    assert list(FeaturePipeline().names) == list(told.index)
    assert set(told.index) <= set(row.columns)
    assert told["meaning"].str.len().gt(10).all()


def test_a_back_test_has_alarms_failures_risks_and_cards(
    trained_home: Path, artifact: Artifact, train_until: datetime
) -> None:
    bench = Workbench(trained_home)
    end = train_until + timedelta(days=4)
    found = bench.backtest(artifact, train_until, end)

    assert (found.alarms["raised_at"] < end).sum() == found.cards[0].alarms  # the last hour scored is the period's end
    assert found.failures["failed_at"].notna().all()
    assert [card.name for card in found.cards] == list(found.scorecard().columns)
    assert found.curve()["threshold"].is_monotonic_decreasing
    assert found.scorecard().equals(scorecards(*found.cards))
    bought = found.within(20.0)
    assert bought.false_per_1000_module_weeks <= 20.0
    assert bought.threshold == min(p.threshold for p in found.cards[0].curve if p.false_per_1000_module_weeks <= 20.0)
    with pytest.raises(ModelError, match="no threshold keeps within -1"):
        found.within(-1)


def test_the_verdict_is_that_of_the_command(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    for table, rows in ProbedFabric(NOW, {"gpu3:eth0 → leaf1:h1": 0.02}).tables():
        bench.lake.append(table, rows)

    verdict = bench.diagnose(NOW, link="leaf1/h1")

    assert "network_faulty" == verdict.kind
    assert verdict.fault is not None
    assert ["gpu3:eth0 → leaf1:h1"] == verdict.fault.links
    with pytest.raises(ServingError, match="ask for"):
        bench.diagnose(NOW)
