"""MLflow: runs, models and aliases. Only this file imports it, and the code that it hands to MLflow to serve.

Local stores are SQLite below FORELIGHT_HOME; artefacts are LightGBM text and JSON, and the model that
MLflow keeps is code of this project plus those files: no pickle is written or read.
"""

import io
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ingest.errors import ModelError
from models.artifact import Artifact
from models.card import model_card, parameters
from models.evidence import evidence_metrics, evidence_plots
from models.kept import Kept, keep, last
from models.train import TUNING

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # before the import: off the network it stalls for 20 s

__all__ = ["CHALLENGER", "CHAMPION", "NAME", "Registry", "Version"]

NAME: Final = "forelight"
CHAMPION: Final = "champion"
CHALLENGER: Final = "challenger"
_PREVIOUS: Final = "previous"
_EXPERIMENT: Final = "forelight"
_FOLDER: Final = "forelight_model"


@dataclass(frozen=True, slots=True)
class Version:
    """A registered model version; tags say who promoted it or rolled back from it, when and why."""

    version: str
    aliases: tuple[str, ...]
    run_id: str
    trained_until: str
    metrics: Mapping[str, float]
    tags: Mapping[str, str] = field(default_factory=dict)


class Registry:
    """Registered models of one tracking store.

    Args:
        tracking_uri: MLflow's.
        artifact_root: where a local store keeps artefacts.
        name: of the registered model.
    """

    def __init__(self, tracking_uri: str, artifact_root: Path, name: str = NAME) -> None:
        os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")  # of two files
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "IProgress not found")  # tqdm, in a notebook without ipywidgets
            import mlflow

        for noisy in ("mlflow", "alembic"):  # they tell of every table they create
            logging.getLogger(noisy).setLevel(logging.WARNING)
        self._mlflow = mlflow
        self._uri = tracking_uri
        self._name = name
        self._root = artifact_root
        if tracking_uri.startswith("sqlite:///"):
            Path(tracking_uri.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
        mlflow.set_tracking_uri(tracking_uri)
        mlflow.set_registry_uri(tracking_uri)
        with self._answering():
            self._client = mlflow.MlflowClient(tracking_uri, tracking_uri)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Whatever MLflow, or the database beneath it, raises where its store is away or broken is a ModelError."""
        try:
            yield
        except Exception as error:
            msg = f"MLflow does not answer: {str(error).splitlines()[0]}"
            raise ModelError(msg) from error

    def keep(
        self, kind: str, metrics: Mapping[str, float], found: Mapping[str, Any], report: Path | None = None
    ) -> str:
        """Log what was found of a model, a back-test or drift, as a run of that kind; returns the run's id."""
        return keep(self._mlflow, self._experiment(), kind, metrics, found, report)

    def last(self, kind: str) -> Kept | None:
        """What was kept last of a kind; None where nothing was."""
        found = self._client.get_experiment_by_name(_EXPERIMENT)
        return None if found is None else last(self._mlflow, self._client, found.experiment_id, kind)

    def log(self, artifact: Artifact, metrics: Mapping[str, float], files: Mapping[str, Path] | None = None) -> str:
        """Log a training as a run and register its model: as challenger where a champion scores, else as champion.

        Args:
            artifact: what was trained.
            metrics: numbers worth comparing.
            files: further artefacts: name to path.

        Returns:
            The registered version.
        """
        mlflow = self._mlflow
        with mlflow.start_run(experiment_id=self._experiment(), run_name=artifact.version) as run:
            mlflow.log_params(parameters(artifact))
            mlflow.log_metrics(dict(metrics))
            if found := artifact.facts.get("unseen_links"):
                mlflow.log_metrics(evidence_metrics(found))
                for name, svg in evidence_plots(found).items():
                    mlflow.log_text(svg, f"plots/{name}")
            self._log_trials(artifact.facts.get(TUNING, {}).get("trials", []))
            for name, path in (files or {}).items():
                mlflow.log_artifact(str(path), artifact_path=name)
            card = model_card(artifact, metrics)
            mlflow.log_text(card, "card.md")
            with tempfile.TemporaryDirectory() as folder:
                artifact.save(Path(folder, _FOLDER))
                mlflow.log_artifacts(str(Path(folder, _FOLDER)), artifact_path=_FOLDER)
                info = mlflow.pyfunc.log_model(
                    name="model",
                    python_model=str(Path(__file__).with_name("mlflow_model.py")),
                    artifacts={_FOLDER: str(Path(folder, _FOLDER))},
                    signature=_signature(artifact),
                    input_example=_example(artifact),
                    pip_requirements=["forelight"],
                )
            with redirect_stderr(io.StringIO()):  # where it says that it did
                version = mlflow.register_model(info.model_uri, self._name, await_registration_for=0)
            mlflow.set_tag("forelight.version", artifact.version)
        number = str(version.version)
        self._client.update_model_version(self._name, number, description=card)
        self._tag(number, run_id=run.info.run_id, until=artifact.trained_until.isoformat())
        if self._scores():
            self._client.set_registered_model_alias(self._name, CHALLENGER, number)
        else:
            self.promote(number, "no champion could score")
        return number

    def _log_trials(self, trials: Sequence[Mapping[str, float]]) -> None:
        """Each setting that was tried as a run below the training's."""
        for number, trial in enumerate(trials):
            with self._mlflow.start_run(experiment_id=self._experiment(), run_name=f"trial {number}", nested=True):
                self._mlflow.log_params({name: value for name, value in trial.items() if name != "loss"})
                self._mlflow.log_metric("loss", trial["loss"])

    def _experiment(self) -> str:
        found = self._client.get_experiment_by_name(_EXPERIMENT)
        if found is not None:
            return str(found.experiment_id)
        self._root.mkdir(parents=True, exist_ok=True)
        return str(self._client.create_experiment(_EXPERIMENT, artifact_location=self._root.as_uri()))

    def champion(self) -> Artifact:
        """The model that scores.

        Raises:
            ModelError: none is registered, or it does not fit this code.
        """
        return self.load(self.alias(CHAMPION) or "")

    def ping(self) -> None:
        """Do nothing where the store answers.

        Raises:
            ModelError: it does not.
        """
        with self._answering():
            self._client.search_experiments(max_results=1)

    def _scores(self) -> bool:
        """Whether there is a champion that this code can score with."""
        try:
            self.champion()
        except ModelError:
            return False
        return True

    def load(self, version: str) -> Artifact:
        """The artefact of a version.

        Raises:
            ModelError: there is no such version, or it does not fit this code.
        """
        run_id = self._run_of(version)
        with tempfile.TemporaryDirectory() as folder:
            try:
                path = self._mlflow.artifacts.download_artifacts(
                    run_id=run_id, artifact_path=_FOLDER, dst_path=folder, tracking_uri=self._uri
                )
            except (self._mlflow.exceptions.MlflowException, OSError) as error:
                msg = f"the files of version {version} of {self._name} cannot be had: {type(error).__name__}"
                raise ModelError(msg) from error
            try:
                return Artifact.load(Path(path))
            except ModelError as error:  # of a folder that is gone when somebody reads it
                msg = f"version {version} of {self._name}: {str(error).removeprefix(f'{path}: ')}"
                raise ModelError(msg) from error

    def _run_of(self, version: str) -> str:
        if not version:
            msg = f"no model {self._name}@{CHAMPION}: train one first (forelight train)"
            raise ModelError(msg)
        try:
            return str(self._client.get_model_version(self._name, version).tags["run_id"])
        except (self._mlflow.exceptions.MlflowException, KeyError):
            msg = f"no version {version} of {self._name} was made by forelight: `forelight model list` shows them"
            raise ModelError(msg) from None

    def alias(self, alias: str) -> str | None:
        """The version that bears an alias, None where there is none."""
        try:
            return str(self._client.get_model_version_by_alias(self._name, alias).version)
        except self._mlflow.exceptions.MlflowException:
            return None

    def promote(self, version: str, why: str, *, who: str = "", forced: bool = False) -> None:
        """Make a version the champion; the one before it can be rolled back to.

        Args:
            version: what is promoted.
            why: kept as a tag of the version, with the time.
            who: likewise.
            forced: whether it was not found to be better, and is nevertheless.

        Raises:
            ModelError: there is no such version.
        """
        self._run_of(version)
        before = self.alias(CHAMPION)
        if before and before != version:
            self._client.set_registered_model_alias(self._name, _PREVIOUS, before)
        self._client.set_registered_model_alias(self._name, CHAMPION, version)
        if self.alias(CHALLENGER) == version:
            self._client.delete_registered_model_alias(self._name, CHALLENGER)
        self._tag(version, promoted_at=_now(), promoted_by=who, promoted_why=why, promoted_forced=str(forced).lower())

    def rollback(self, why: str = "", who: str = "") -> str:
        """Make the champion before this one the champion again; the one left is not come back to by asking twice.

        Time, person and reason become tags of the version that is left.

        Raises:
            ModelError: there was none.
        """
        before, left = self.alias(_PREVIOUS), self.alias(CHAMPION)
        if before is None or left is None:
            msg = f"there is no earlier champion of {self._name} to roll back to"
            raise ModelError(msg)
        self.promote(before, f"rolled back from version {left}", who=who)
        self._client.delete_registered_model_alias(self._name, _PREVIOUS)
        self._tag(left, rolled_back_at=_now(), rolled_back_by=who, rolled_back_why=why)
        return before

    def _tag(self, version: str, **tags: str) -> None:
        for name, value in tags.items():
            self._client.set_model_version_tag(self._name, version, name, value)

    def versions(self) -> list[Version]:
        """Registered versions, the newest first."""
        try:
            aliases: dict[str, list[str]] = {}
            for alias, number in self._client.get_registered_model(self._name).aliases.items():
                aliases.setdefault(str(number), []).append(alias)
        except self._mlflow.exceptions.MlflowException:
            return []
        found = self._client.search_model_versions(f"name = '{self._name}'")
        return [
            Version(
                str(v.version),
                tuple(sorted(aliases.get(str(v.version), []))),
                v.tags.get("run_id", ""),
                v.tags.get("until", ""),
                dict(self._client.get_run(v.tags["run_id"]).data.metrics) if "run_id" in v.tags else {},
                {name: value for name, value in v.tags.items() if name.startswith(("promoted_", "rolled_back_"))},
            )
            for v in sorted(found, key=lambda v: -int(v.version))
        ]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _signature(artifact: Artifact) -> Any:
    """Doubles throughout: an integer column with a gap would not fit its own signature."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    from models.base import HORIZONS_H

    inputs = Schema([ColSpec("double", name, required=False) for name in artifact.model.names])
    outputs = Schema([ColSpec("double", f"risk_{hours}h") for hours in HORIZONS_H])
    return ModelSignature(inputs, outputs)


def _example(artifact: Artifact) -> Any:
    """One row without news: what a caller has to send."""
    import pandas as pd

    return pd.DataFrame([[0.0] * len(artifact.model.names)], columns=list(artifact.model.names))
