"""A trained model as files: LightGBM's own text and a JSON manifest. No pickles, nothing of ours is unpickled."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import lightgbm as lgb

from features.pipeline import FeaturePipeline
from ingest.errors import ModelError
from models.base import FAULTS, HORIZONS_H
from models.calibration import Calibration
from models.hazard import Scorer
from models.joint import JointModel
from models.policy import Policy
from models.ramps import RampModel
from models.symptoms import SymptomModel
from models.tree_text import booster_text

__all__ = ["Artifact"]

_FORM: Final = 4
_MANIFEST: Final = "manifest.json"
_TREES: Final = ("hazard.txt", "fault.txt")
"""Trees that correct the ramps of the hazard, and those of the fault; either may have none."""


@dataclass(frozen=True)
class Artifact:
    """Everything that scoring needs, and what it was made of.

    Attributes:
        model: the fitted estimator.
        policy: when its risks become alarms.
        trained_until: nothing later was looked at.
        facts: what it was trained on and how it did, for the model card.
        version: name of this model in scores and alarms.
    """

    model: JointModel
    policy: Policy
    trained_until: datetime
    facts: dict[str, Any]
    version: str

    def with_watch(self, watch: float, why: str) -> "Artifact":
        """The same model with another threshold of `watch`, under a version of its own; `act` is never below it.

        Args:
            watch: risk within a day from which an alarm is raised, between 0 and 1.
            why: stands among the facts: for what budget, by whom.

        Raises:
            ModelError: no risk reaches such a threshold, or every one does.
        """
        if not 0 < watch < 1:
            msg = f"a threshold of {watch} is none: say a risk between 0 and 1"
            raise ModelError(msg)
        before = self.policy
        act = None if before.act is None else max(before.act, watch)
        policy = replace(before, watch=watch, act=act, sure=max(before.sure, watch))
        chosen = f"{watch:.4f} instead of the {before.watch:.4f} of {self.version}: {why}"
        version = hashlib.sha256(json.dumps([self.version, policy.to_dict()]).encode()).hexdigest()[:12]
        return replace(self, policy=policy, facts={**self.facts, "watch_chosen": chosen}, version=version)

    def save(self, folder: Path) -> None:
        """Write `manifest.json` into a folder, and `hazard.txt` and `fault.txt` where there are trees."""
        folder.mkdir(parents=True, exist_ok=True)
        hazard = self.model.hazard_
        trees = dict(zip(_TREES, (hazard.fitted.trees, self.model.fault_.trees_), strict=True))
        for name, columns, classes in _seen(self.model):
            if (booster := trees[name]) is not None:
                text = booster_text(booster.model_to_string(), columns, classes)
                folder.joinpath(name).write_text(text, encoding="utf-8")
        manifest = {
            "form": _FORM,
            "version": self.version,
            "trained_until": self.trained_until.isoformat(),
            "fingerprint": FeaturePipeline().fingerprint,
            "features": list(self.model.names),
            "signs": list(self.model.signs),
            "horizons_h": list(HORIZONS_H),
            "faults": [[fault.failure_type, fault.here] for fault in FAULTS],
            "ramps": hazard.fitted.ramps.to_dict(),
            "symptoms": self.model.fault_.symptoms_.to_dict(),
            "calibration": hazard.calibration_.to_dict(),
            "policy": self.policy.to_dict(),
            "trees": [name for name, booster in trees.items() if booster is not None],
            "sha256": {name: _digest(folder / name) for name, booster in trees.items() if booster is not None},
            "facts": self.facts,
        }
        folder.joinpath(_MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Artifact":
        """Read what `save` wrote.

        Raises:
            ModelError: a file is missing or was changed, or other code made its features.
        """
        try:
            manifest = json.loads(folder.joinpath(_MANIFEST).read_text(encoding="utf-8"))
            return cls._read(folder, manifest)
        except (OSError, KeyError, TypeError, ValueError, lgb.basic.LightGBMError) as error:
            msg = f"{folder} holds no usable model: {type(error).__name__}: {error}"
            raise ModelError(msg) from None

    @classmethod
    def _read(cls, folder: Path, manifest: dict[str, Any]) -> "Artifact":
        pipeline = FeaturePipeline()
        expected = {
            "form": _FORM,
            "fingerprint": pipeline.fingerprint,
            "horizons_h": list(HORIZONS_H),
            "faults": [[fault.failure_type, fault.here] for fault in FAULTS],
        }
        for name, wanted in expected.items():
            if manifest[name] != wanted:
                msg = f"{folder}: this model was made by other code ({name} is another); train again"
                raise ModelError(msg)
        digests = manifest["sha256"]
        for name in (*manifest["trees"], *digests):
            if name not in _TREES or _digest(folder / name) != digests[name]:
                msg = f"{folder / name} is not the file that was saved"
                raise ModelError(msg)
        model = JointModel(tuple(manifest["features"]), tuple(manifest["signs"]))
        hazard = model.hazard_
        hazard_trees, model.fault_.trees_ = (
            _booster(folder / name, columns, classes) if name in digests else None
            for name, columns, classes in _seen(model)
        )
        model.fault_.symptoms_ = SymptomModel.from_dict(manifest["symptoms"], model.names)
        hazard.scorer_ = Scorer(RampModel.from_dict(manifest["ramps"], hazard.names, hazard.signs), hazard_trees)
        hazard.calibration_ = Calibration.from_dict(manifest["calibration"])
        until = datetime.fromisoformat(manifest["trained_until"])
        return cls(model, Policy.from_dict(manifest["policy"]), until, manifest["facts"], manifest["version"])


def _seen(model: JointModel) -> list[tuple[str, Sequence[str], int]]:
    """Of each file of trees the columns that they see, and their classes."""
    return list(zip(_TREES, (model.hazard_.names, model.fault_.tree_names), (1, len(FAULTS)), strict=True))


def _booster(path: Path, columns: Sequence[str], classes: int) -> lgb.Booster:
    return lgb.Booster(model_str=booster_text(path.read_text(encoding="utf-8"), columns, classes))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
