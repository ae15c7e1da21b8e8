"""The registry on a real MLflow over SQLite: versions, the champion, the way back, and no pickles."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from features.pipeline import Block
from ingest.errors import ModelError
from models.artifact import Artifact
from models.base import HORIZONS_H
from models.registry import CHAMPION, Registry

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
    """Three trainings, the last one is champion."""
    registry = make_registry("logged")
    for days in range(3):
        trained = replace(artifact, trained_until=artifact.trained_until + timedelta(days=days), version=f"v{days}")
        registry.log(trained, {"healthy_module_weeks": 10.0 + days})
    return registry


class TestVersions:
    def test_what_was_logged_last_is_champion(self, logged: Registry, artifact: Artifact) -> None:
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
        with pytest.raises(ModelError, match=f"^there is no version {version} of logged that forelight made$"):
            logged.load(version)

    def test_nothing_is_pickled(self, logged: Registry, store: Path) -> None:
        files = [file.name for file in (store / "mlartifacts").rglob("*") if file.is_file()]

        assert {"hazard.txt", "fault.txt", "manifest.json", "MLmodel", "mlflow_model.py"} <= set(files)
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
        registry.log(replace(artifact, version="v1"), {})

        assert "1" == registry.rollback()
        assert "v0" == registry.champion().version
        registry.promote("2")
        assert "v1" == registry.champion().version

    def test_rolling_back_twice_does_not_swing_to_the_model_rolled_back_from(
        self, make_registry: MakeRegistry, artifact: Artifact
    ) -> None:
        """What was just found to be bad must not come back by asking once more."""
        registry = make_registry("rollback")
        for i in range(2):
            registry.log(replace(artifact, version=f"v{i}"), {})
        registry.rollback()

        with pytest.raises(ModelError, match="no earlier champion"):
            registry.rollback()

        assert "v0" == registry.champion().version

    def test_promoting_the_champion_changes_nothing(self, make_registry: MakeRegistry, artifact: Artifact) -> None:
        registry = make_registry("again")
        for i in range(2):
            registry.log(replace(artifact, version=f"v{i}"), {})

        registry.promote("2")

        assert "1" == registry.rollback()

    def test_an_unknown_version_is_not_promoted(self, logged: Registry) -> None:
        with pytest.raises(ModelError, match="there is no version 9 of logged"):
            logged.promote("9")

        assert "v2" == logged.champion().version


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


def test_telemetry_is_off_before_mlflow_is_imported() -> None:
    """Off the network it stalls for 20 seconds otherwise; a person's own choice is kept."""
    code = (
        "import sys, os; os.environ.pop('MLFLOW_DISABLE_TELEMETRY', None)\n"
        "import models.registry\n"
        "print('mlflow' in sys.modules, os.environ['MLFLOW_DISABLE_TELEMETRY'])\n"
    )

    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "False true" == said.strip()
