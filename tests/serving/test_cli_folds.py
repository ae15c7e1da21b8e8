"""``forelight backtest --folds`` and ``--leak``: judged by models that saw nothing of it, and by one that saw all."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from features.fleet import Fleet
from ingest.lake import Lake
from models.alarm_file import read_alarms
from serving.backtest.folding import LEAK

Console = Callable[..., Any]
Span = tuple[str, ...]


@pytest.fixture(name="span", scope="module")
def _span(train_until: datetime) -> Span:
    """Four days after the shared model's training, every sixth hour."""
    end = train_until + timedelta(days=4)
    return "--from", train_until.isoformat(), "--to", end.isoformat(), "--every", "6h"


@pytest.fixture(name="links", scope="module")
def _links(
    console: Console, fleet_lake: Lake, span: Span, train_until: datetime, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """Folds of links with a leak beside: the alarms' file, and the cards by name."""
    home = tmp_path_factory.mktemp("folds")
    out = ("--alarms", str(home / "alarms.csv"), "--report", str(home / "report.html"), "--json")
    how = ("--train-until", train_until.isoformat(), "--folds", "links:2", "--leak")

    ran = console(home, "backtest", *span, *how, *out, FORELIGHT_LAKE_URI=fleet_lake.uri)

    assert 0 == ran.code, ran.err
    return home / "alarms.csv", json.loads(ran.out)


def test_each_link_is_judged_in_one_fold(links: tuple[Path, dict[str, Any]]) -> None:
    cards = links[1]

    one, two, whole = cards["links 1 of 2"], cards["links 2 of 2"], cards["forelight"]
    assert whole["failures"] == one["failures"] + two["failures"]
    assert whole["modules"] == one["modules"] + two["modules"]
    assert whole["alarms"] == one["alarms"] + two["alarms"] <= read_alarms(links[0]).height
    assert whole["false_alarms"] == one["false_alarms"] + two["false_alarms"]


def test_a_leak_stands_beside_the_honest_figure(links: tuple[Path, dict[str, Any]]) -> None:
    """It learnt from hours beside those it is judged by; ten days of two racks are too few for the gap to show."""
    honest, leak = links[1]["forelight"], links[1][LEAK]

    assert honest["failures"] == leak["failures"]
    assert honest["modules"] == leak["modules"]
    assert {"1h", "6h", "24h"} == set(leak["leads"])


def test_risks_of_all_folds_make_one_curve_and_calibration(links: tuple[Path, dict[str, Any]]) -> None:
    card = links[1]["forelight"]

    assert 3 < len(card["curve"])
    assert [24, 168] == [found["horizon_h"] for found in card["calibration"]]


def test_the_report_is_in_mlflow_too(links: tuple[Path, dict[str, Any]]) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{links[0].parent / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("forelight")
    assert experiment is not None
    run = client.search_runs([experiment.experiment_id])[0]
    assert "backtest" == run.data.tags["forelight.kind"]
    assert links[1]["forelight"]["failures"] == run.data.metrics["failures"]
    assert ["report/report.html"] == [file.path for file in client.list_artifacts(run.info.run_id, "report")]


@pytest.mark.slow
def test_parts_of_time_and_vendors_are_folds_too(
    console: Console, fleet_lake: Lake, span: Span, tmp_path: Path
) -> None:
    out = ("--embargo", "1d", "--json", "--alarms", str(tmp_path / "a.csv"))

    by_time = console(tmp_path, "backtest", *span, *out, "--folds", "time:2", FORELIGHT_LAKE_URI=fleet_lake.uri)
    by_vendor = console(tmp_path, "backtest", *span, *out, "--folds", "vendors", FORELIGHT_LAKE_URI=fleet_lake.uri)

    assert (0, 0) == (by_time.code, by_vendor.code), by_time.err + by_vendor.err
    parts, vendors = json.loads(by_time.out), json.loads(by_vendor.out)
    halves = [card for name, card in parts.items() if " to " in name]
    assert parts["forelight"]["failures"] == sum(card["failures"] for card in halves)
    assert halves[0]["end"] == halves[1]["start"]
    inventory = set(Fleet.load(fleet_lake).modules["vendor"].drop_nulls())
    assert {f"without {vendor}" for vendor in inventory} == {name for name in vendors if name.startswith("without ")}


class TestErrors:
    def test_parts_of_time_have_trainings_of_their_own(
        self, console: Console, span: Span, train_until: datetime, tmp_path: Path
    ) -> None:
        how = ("--folds", "time:2", "--train-until", train_until.isoformat(), "--alarms", str(tmp_path / "a.csv"))

        ran = console(tmp_path, "backtest", *span, *how)

        assert 1 == ran.code
        assert "say --embargo, not --train-until" in ran.err

    @pytest.mark.parametrize("folds", ["links", "links:1", "time:x", "vendors:3", "rows:2"])
    def test_folds_of_no_kind_are_wrong_usage(self, console: Console, span: Span, tmp_path: Path, folds: str) -> None:
        ran = console(tmp_path, "backtest", *span, "--folds", folds, "--alarms", str(tmp_path / "a.csv"))

        assert 2 == ran.code
        assert folds in ran.err

    def test_an_embargo_that_leaves_too_little_says_so(
        self, console: Console, fleet_lake: Lake, span: Span, tmp_path: Path
    ) -> None:
        how = ("--folds", "links:2", "--alarms", str(tmp_path / "a.csv"))

        ran = console(tmp_path, "backtest", *span, *how, FORELIGHT_LAKE_URI=fleet_lake.uri)

        assert 1 == ran.code
        assert "a week is needed" in ran.err.splitlines()[-1]
