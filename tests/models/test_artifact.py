"""A trained model as files: what is saved is what is loaded, and what is not ours is refused in one line."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.errors import ModelError
from models import boosting
from models.artifact import Artifact
from models.hazard import Scorer
from models.joint import JointModel
from models.policy import Policy
from models.training_data import TrainingData

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(name="made", scope="module")
def _made(quick: Callable[..., JointModel], data: TrainingData) -> Artifact:
    model = quick().fit(data.rows, data.fault)
    view, fails = model.link_view(data.rows.rows), (data.rows.until_event_h <= 24).astype(np.float32)
    trees = boosting.fit(view, fails, data.rows.weight, model.link_names, rounds=3, objective="binary")
    model.hazard_.scorer_ = Scorer(model.hazard_.fitted.ramps, trees)  # on few failures none are grown
    policy = Policy(0.2, 0.5, "", 0.4, healthy_weeks=12.5)
    return Artifact(model, policy, data.times[-1], {"failures": 3, "failures_by_type": {"other": 3}}, "abc123")


@pytest.fixture(name="folder")
def _folder(made: Artifact, tmp_path: Path) -> Path:
    made.save(tmp_path / "model")
    return tmp_path / "model"


def test_what_is_loaded_is_what_was_saved(made: Artifact, folder: Path, data: TrainingData) -> None:
    loaded = Artifact.load(folder)

    assert replace(made, model=loaded.model) == loaded
    before, after = (artifact.model.predict(data.rows.rows, made.model.names) for artifact in (made, loaded))
    assert np.array_equal(before.risk, after.risk)
    assert np.array_equal(before.fault, after.fault)


def test_saving_twice_writes_the_same_files(folder: Path, tmp_path: Path) -> None:
    Artifact.load(folder).save(tmp_path / "again")

    first, second = ({file.name: file.read_bytes() for file in f.iterdir()} for f in (folder, tmp_path / "again"))
    assert first == second


def test_an_artefact_is_text_and_nothing_is_pickled(folder: Path) -> None:
    assert {"fault.txt", "hazard.txt", "manifest.json"} == {file.name for file in folder.iterdir()}
    assert "tree\n" == (folder / "hazard.txt").read_text(encoding="utf-8")[:5]
    assert "tree\n" == (folder / "fault.txt").read_text(encoding="utf-8")[:5]
    assert isinstance(json.loads((folder / "manifest.json").read_text(encoding="utf-8")), dict)


def test_a_model_without_trees_has_no_file_of_them(made: Artifact, tmp_path: Path) -> None:
    model = JointModel(made.model.names, made.model.signs)
    model.hazard_.scorer_ = Scorer(made.model.hazard_.fitted.ramps)

    replace(made, model=model).save(tmp_path)

    loaded = Artifact.load(tmp_path).model
    assert ["manifest.json"] == [file.name for file in tmp_path.iterdir()]
    assert (None, None) == (loaded.fault_.trees_, loaded.hazard_.fitted.trees)


@pytest.mark.parametrize("name", ["hazard.txt", "fault.txt"])
def test_a_changed_file_is_refused(folder: Path, name: str) -> None:
    text = (folder / name).read_text(encoding="utf-8")
    (folder / name).write_text(text.replace("0.", "1.", 1), encoding="utf-8")

    with pytest.raises(ModelError, match=rf"{name} is not the file that was saved") as raised:
        Artifact.load(folder)

    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["hazard.txt", "fault.txt", "manifest.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()

    with pytest.raises(ModelError, match=rf"holds no usable model: FileNotFoundError: .*{name}") as raised:
        Artifact.load(folder)

    assert "\n" not in str(raised.value)


def test_a_folder_that_is_not_there_holds_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no usable model"):
        Artifact.load(tmp_path / "nowhere")


def _rewrite(folder: Path, change: Change) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.parametrize("name", ["form", "fingerprint", "horizons_h", "faults"])
def test_a_model_made_by_other_code_is_refused(folder: Path, name: str) -> None:
    _rewrite(folder, lambda manifest: manifest.update({name: "another"}))

    with pytest.raises(ModelError, match=rf"made by other code \({name} is another\); train again"):
        Artifact.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest.pop("calibration"),
        lambda manifest: manifest.pop("sha256"),
        lambda manifest: manifest["sha256"].pop("hazard.txt"),
        lambda manifest: manifest["sha256"].update({"../manifest.json": "0"}),
        lambda manifest: manifest["policy"].update({"mood": "good"}),
        lambda manifest: manifest["policy"].pop("watch"),
        lambda manifest: manifest.update({"trained_until": "yesterday"}),
        lambda manifest: manifest.update({"calibration": {"slope": "steep", "offset": []}}),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused_in_one_line(folder: Path, change: Change) -> None:
    _rewrite(folder, change)

    with pytest.raises(ModelError) as raised:
        Artifact.load(folder)

    assert str(folder) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '"model"'])
def test_a_manifest_that_is_none_is_refused(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text, encoding="utf-8")

    with pytest.raises(ModelError, match="holds no usable model"):
        Artifact.load(folder)


def test_another_threshold_is_another_version_of_the_same_model(made: Artifact, tmp_path: Path) -> None:
    """`act` and the risk that needs no second score are never below `watch`, and the facts say who chose it."""
    lower, higher = (made.with_watch(watch, "the crew bears five") for watch in (0.05, 0.6))

    assert (0.05, 0.5, 0.4) == (lower.policy.watch, lower.policy.act, lower.policy.sure)
    assert (0.6, 0.6, 0.6) == (higher.policy.watch, higher.policy.act, higher.policy.sure)
    assert 3 == len({made.version, lower.version, higher.version})
    assert "0.0500 instead of the 0.2000 of abc123: the crew bears five" == lower.facts["watch_chosen"]
    assert made.model is lower.model
    lower.save(tmp_path / "lower")
    assert Artifact.load(tmp_path / "lower").policy == lower.policy


def test_without_act_another_threshold_makes_none(made: Artifact) -> None:
    shy = replace(made, policy=replace(made.policy, act=None, act_reason="too short"))

    assert shy.with_watch(0.1, "").policy.act is None


@pytest.mark.parametrize("watch", [0.0, 1.0, -0.1, float("nan")])
def test_a_threshold_that_is_no_risk_is_refused(made: Artifact, watch: float) -> None:
    with pytest.raises(ModelError, match="say a risk between 0 and 1"):
        made.with_watch(watch, "")
