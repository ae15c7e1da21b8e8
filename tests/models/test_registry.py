"""The registry on a real MLflow over SQLite: versions, the champion, the way back, and no pickles."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time as time_module
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from features.pipeline import Block
from ingest.errors import ModelError
from models.artifact import Artifact
from models.base import HORIZONS_H
from models.registry import CHALLENGER, CHAMPION, Registry

pytestmark = pytest.mark.slow  # MLflow takes seconds to import and to make its database

MakeRegistry = Callable[..., Registry]
ROOT = Path(__file__).parents[2]


@pytest.fixture(name="store", scope="module")
def _store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlflow")


@pytest.fixture(name="make_registry", scope="module")
def _make_registry(store: Path) -> MakeRegistry:
    """A registered model of its own by name, in one database."""
    return lambda name: Registry(f"sqlite:///{store / 'new' / 'mlflow.db'}", store / "mlartifacts", name)


@pytest.fixture(name="logged", scope="module")
def _logged(make_registry: MakeRegistry, artifact: Artifact) -> Registry:
    """Three trainings, each promoted; the last one is champion."""
    registry = make_registry("logged")
    for days in range(3):
        trained = replace(artifact, trained_until=artifact.trained_until + timedelta(days=days), version=f"v{days}")
        registry.promote(registry.log(trained, {"healthy_module_weeks": 10.0 + days}), f"reason {days}", who="somebody")
    return registry


class TestVersions:
    def test_what_was_promoted_last_is_champion(self, logged: Registry, artifact: Artifact) -> None:
        champion = logged.champion()

        assert "v2" == champion.version
        assert replace(artifact, model=champion.model, version="v2", trained_until=champion.trained_until) == champion

    def test_versions_are_listed_newest_first_with_aliases_and_metrics(
        self, logged: Registry, artifact: Artifact
    ) -> None:
        versions = logged.versions()

        assert ["3", "2", "1"] == [version.version for version in versions]
        assert [(CHAMPION,), ("previous",), ()] == [version.aliases for version in versions]
        assert [12.0, 11.0, 10.0] == [version.metrics["healthy_module_weeks"] for version in versions]
        assert artifact.trained_until.isoformat() == versions[2].trained_until

    def test_every_version_can_be_loaded(self, logged: Registry, artifact: Artifact, block: Block) -> None:
        port, time = np.nonzero(block.first)
        rows = block.matrix(port[:20], time[:20])

        loaded = logged.load("1")

        assert "v0" == loaded.version
        expected, found = (a.model.predict(rows, artifact.model.names) for a in (artifact, loaded))
        assert np.array_equal(expected.risk, found.risk)
        assert np.array_equal(expected.fault, found.fault)

    @pytest.mark.parametrize("version", ["7", "0", "newest", "-1"])
    def test_an_unknown_version_is_named(self, logged: Registry, version: str) -> None:
        with pytest.raises(ModelError, match=f"^no version {version} of logged was made by forelight: "):
            logged.load(version)

    def test_nothing_is_pickled(self, logged: Registry, store: Path) -> None:
        files = [file.name for file in (store / "mlartifacts").rglob("*") if file.is_file()]

        assert {"fault.txt", "manifest.json", "MLmodel", "mlflow_model.py"} <= set(files)
        assert [] == [name for name in files if name.endswith((".pkl", ".pickle", ".joblib", ".cloudpickle"))]


class TestChampion:
    def test_without_one_the_way_to_one_is_told(self, make_registry: MakeRegistry) -> None:
        with pytest.raises(ModelError, match=r"^no model nobody@champion: train one first \(forelight train\)$"):
            make_registry("nobody").champion()

    def test_without_versions_the_list_is_empty(self, make_registry: MakeRegistry) -> None:
        assert [] == make_registry("nobody").versions()

    def test_there_and_back_again(self, make_registry: MakeRegistry, artifact: Artifact) -> None:
        registry = make_registry("there and back")
        registry.log(replace(artifact, version="v0"), {})
        with pytest.raises(ModelError, match="there is no earlier champion of there and back to roll back to"):
            registry.rollback()
        registry.promote(registry.log(replace(artifact, version="v1"), {}), "better")

        assert "1" == registry.rollback()
        assert "v0" == registry.champion().version
        registry.promote("2", "better after all")
        assert "v1" == registry.champion().version

    def test_rolling_back_twice_does_not_swing_to_the_model_rolled_back_from(
        self, make_registry: MakeRegistry, artifact: Artifact
    ) -> None:
        """What was just found to be bad must not come back by asking once more."""
        registry = make_registry("rollback")
        for i in range(2):
            registry.promote(registry.log(replace(artifact, version=f"v{i}"), {}), "better")
        registry.rollback()

        with pytest.raises(ModelError, match="no earlier champion"):
            registry.rollback()

        assert "v0" == registry.champion().version

    def test_promoting_the_champion_changes_nothing(self, make_registry: MakeRegistry, artifact: Artifact) -> None:
        registry = make_registry("again")
        for i in range(2):
            registry.promote(registry.log(replace(artifact, version=f"v{i}"), {}), "better")

        registry.promote("2", "again")

        assert "1" == registry.rollback()

    def test_an_unknown_version_is_not_promoted(self, logged: Registry) -> None:
        with pytest.raises(ModelError, match="no version 9 of logged was made by forelight"):
            logged.promote("9", "better")

        assert "v2" == logged.champion().version


class TestChallenger:
    def test_a_training_does_not_replace_the_champion_that_scores(
        self, make_registry: MakeRegistry, artifact: Artifact
    ) -> None:
        registry = make_registry("challenged")
        for i in range(3):
            registry.log(replace(artifact, version=f"v{i}"), {})

        assert "v0" == registry.champion().version
        assert [(CHALLENGER,), (), (CHAMPION,)] == [version.aliases for version in registry.versions()]

    def test_one_that_is_promoted_challenges_no_more(self, make_registry: MakeRegistry, artifact: Artifact) -> None:
        registry = make_registry("promoted")
        for i in range(2):
            registry.log(replace(artifact, version=f"v{i}"), {})

        registry.promote("2", "it is better")

        assert [(CHAMPION,), ("previous",)] == [version.aliases for version in registry.versions()]

    def test_it_takes_the_place_of_a_champion_that_cannot_score(
        self, make_registry: MakeRegistry, artifact: Artifact
    ) -> None:
        """As after an update of the features: there is nobody to compare with, and nobody scores."""
        registry = make_registry("updated")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("features.pipeline.FeaturePipeline.fingerprint", "0123")
            registry.log(replace(artifact, version="v0"), {})

        registry.log(replace(artifact, version="v1"), {})

        assert "v1" == registry.champion().version

    def test_who_when_and_why_stay_with_the_version(self, make_registry: MakeRegistry, artifact: Artifact) -> None:
        registry = make_registry("told")
        for i in range(2):
            registry.log(replace(artifact, version=f"v{i}"), {})
        registry.promote("2", "a hunch", who="ada", forced=True)
        registry.rollback("it cried wolf", "grace")

        second, first = (version.tags for version in registry.versions())
        assert ("a hunch", "ada", "true") == tuple(second[f"promoted_{name}"] for name in ("why", "by", "forced"))
        assert ("it cried wolf", "grace") == (second["rolled_back_why"], second["rolled_back_by"])
        assert ("rolled back from version 2", "grace") == (first["promoted_why"], first["promoted_by"])
        assert second["promoted_at"] <= second["rolled_back_at"]


class TestServed:
    def test_mlflow_serves_what_the_model_says(self, logged: Registry, artifact: Artifact, block: Block) -> None:
        import mlflow

        port, time = np.nonzero(block.first)
        rows = block.matrix(port[:20], time[:20])
        frame = pd.DataFrame(rows.astype("float64"), columns=list(artifact.model.names))

        served = mlflow.pyfunc.load_model(f"models:/logged@{CHAMPION}")
        found = served.predict(frame[sorted(frame.columns)])

        assert [f"risk_{hours}h" for hours in HORIZONS_H] == list(found.columns)
        expected = artifact.model.predict(rows, artifact.model.names).risk
        assert np.array_equal(expected.astype("float64"), found.to_numpy())

    def test_its_signature_is_of_doubles(self, logged: Registry, artifact: Artifact) -> None:
        """An integer column with a gap would not fit its own signature."""
        import mlflow

        signature = mlflow.models.get_model_info(f"models:/logged@{CHAMPION}").signature

        assert list(artifact.model.names) == signature.inputs.input_names()
        assert {"double"} == {kind.name for kind in signature.inputs.input_types()}
        assert not any(column.required for column in signature.inputs.inputs)
        assert {"double"} == {kind.name for kind in signature.outputs.input_types()}

    def test_the_run_tells_what_the_model_was_made_of(self, logged: Registry, artifact: Artifact) -> None:
        import mlflow

        run = mlflow.get_run(logged.versions()[0].run_id)

        assert str(artifact.facts["failures"]) == run.data.params["failures"]
        assert str(artifact.policy.watch) == run.data.params["policy_watch"]
        assert "v2" == run.data.tags["forelight.version"]

    def test_each_setting_that_was_tried_is_a_run_below(self, make_registry: MakeRegistry, artifact: Artifact) -> None:
        import mlflow

        trials = [{"penalty": 0.3, "least_scale": 0.1, "loss": 2.5}, {"penalty": 1.0, "least_scale": 0.2, "loss": 2.25}]
        registry = make_registry("tuned")
        tuned = replace(artifact, facts={**artifact.facts, "tuning": {"trials": trials, "chosen": trials[1]}})

        registry.log(tuned, {})

        parent = registry.versions()[0].run_id
        below = mlflow.search_runs(
            search_all_experiments=True, filter_string=f"tags.mlflow.parentRunId = '{parent}'", output_format="list"
        )
        assert {("0.3", 2.5), ("1.0", 2.25)} == {
            (run.data.params["penalty"], run.data.metrics["loss"]) for run in below
        }

    def test_the_run_keeps_plots_and_card(self, logged: Registry, store: Path, artifact: Artifact) -> None:
        """As `mlflow ui` shows them."""
        import mlflow

        run_id = logged.versions()[0].run_id
        plots = {file.path for file in mlflow.artifacts.list_artifacts(run_id=run_id, artifact_path="plots")}
        card = mlflow.artifacts.load_text(f"runs:/{run_id}/card.md")

        assert {"plots/reliability.svg", "plots/importance.svg"} == plots
        assert f"| failures | {artifact.facts['failures']} |" in card
        assert card == mlflow.MlflowClient().get_model_version("logged", "3").description

    def test_mlflow_models_serve_answers(self, logged: Registry, store: Path, artifact: Artifact, block: Block) -> None:
        """The real server, in an environment of its own process; missing readings are null."""
        port, time = np.nonzero(block.first)
        rows = block.matrix(port[:4], time[:4])
        assert np.isnan(rows).any()
        data = [[None if np.isnan(value) else float(value) for value in row] for row in rows]

        with _served(f"models:/logged@{CHAMPION}", f"sqlite:///{store / 'new' / 'mlflow.db'}") as url:
            answer = _posted(url, {"dataframe_split": {"columns": list(artifact.model.names), "data": data}})

        expected = artifact.model.predict(rows, artifact.model.names).risk
        found = [[row[f"risk_{hours}h"] for hours in HORIZONS_H] for row in answer["predictions"]]
        assert np.allclose(expected, found)


@contextmanager
def _served(model: str, tracking_uri: str) -> Iterator[str]:
    """URL of `mlflow models serve` on a free port of loopback, up and running."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", model, "--env-manager", "local"]
    env = {
        **os.environ,
        "MLFLOW_TRACKING_URI": tracking_uri,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            cwd=ROOT,
            env=env,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/ping", server)
            yield f"http://127.0.0.1:{port}/invocations"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(20)


def _wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(480):
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except OSError:
            assert server.poll() is None
            time_module.sleep(0.5)
        else:
            return
    pytest.fail("mlflow models serve did not come up in four minutes")


def _posted(url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def test_telemetry_is_off_before_mlflow_is_imported() -> None:
    """Off the network it stalls for 20 seconds otherwise; a person's own choice is kept."""
    code = (
        "import sys, os; os.environ.pop('MLFLOW_DISABLE_TELEMETRY', None)\n"
        "import models.registry\n"
        "print('mlflow' in sys.modules, os.environ['MLFLOW_DISABLE_TELEMETRY'])\n"
    )

    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "False true" == said.strip()
