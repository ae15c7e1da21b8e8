"""Training: one function an arrow, from the lake to an artefact.

lake ──training data──► rows at risk ──fit──► model ──unseen risks──► policy ──► artefact
"""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.engine import Engine
from features.pipeline import FeaturePipeline
from ingest.lake import Lake
from models.artifact import Artifact
from models.base import HORIZONS_H
from models.card import REFERENCE
from models.evidence import evidence
from models.joint import JointModel, joint_model
from models.policy import ALARM_HORIZON_H, Policy
from models.policy_fit import Unseen, fit_policy
from models.reference import reference
from models.training_data import TrainingData, training_data

__all__ = ["LINKS_SHARE", "TUNING", "learn", "train", "unseen_risks"]

Floats = NDArray[np.float32]

TUNING: Final = "tuning"
"""Where a model's facts tell what was tried."""
LINKS_SHARE: Final = "links_share"
"""Where they tell which share of the links was drawn, if not all; those that failed are learnt from besides."""
_SPREAD_H: Final = 6
"""How risks are spread is told by every sixth hour."""
_ALARM_COLUMN: Final = HORIZONS_H.index(ALARM_HORIZON_H)


def unseen_risks(data: TrainingData, model: JointModel) -> Unseen:
    """Risk of every link at every hour from boosters that have not seen it, and what became of it."""
    every = data.every_hour
    names, row = np.unique(every.link.astype(str), return_inverse=True)
    risk = np.full((names.shape[0], len(data.times)), np.nan, np.float32)
    healthy, wait = np.zeros(risk.shape, bool), np.full(risk.shape, np.inf, np.float32)
    foretold = model.predict_unseen(every.rows, every.link)[:, _ALARM_COLUMN]
    np.fmax.at(risk, (row, every.hour), foretold)  # of both ends' risks the worse, where each has its own
    healthy[row, every.hour] = every.healthy
    wait[row, every.hour] = every.until_event_h
    per_link = data.rows.place.unique().height / max(len(set(data.rows.link)), 1)
    return Unseen(risk, healthy, wait, per_link)


def train(
    lake: Lake,
    until: datetime,
    progress: Callable[[str, float], None] = lambda _step, _done: None,
    engine: Engine | None = None,
    *,
    model: JointModel | None = None,
    each_end: bool = False,
    tune: int = 0,
) -> Artifact:
    """A model and its policy from everything that was known at `until`.

    Args:
        lake: telemetry, tiles up to date, records.
        until: whole hour.
        progress: called with a step's name and the fraction of it done.
        engine: where features are computed; this process where not given.
        model: unfitted; the joint model of all columns where not given.
        each_end: the model judges each end of a link by itself.
        tune: settings to try; 0: the usual one.

    Raises:
        ModelError: too little telemetry or no failure before `until`.
    """
    model = model or joint_model()
    data = training_data(lake, until, lambda done: progress("features", done), engine, model, each_end)
    return learn(data, until, model, progress, tune)


def learn(
    data: TrainingData,
    until: datetime,
    model: JointModel | None = None,
    progress: Callable[[str, float], None] = lambda _step, _done: None,
    tune: int = 0,
) -> Artifact:
    """A model and its policy from rows at hand, all of them or a fold's; else as `train`."""
    model, tuning = model or joint_model(), {}
    if tune:
        model, found = model.tuned(data.rows, tune, lambda done: progress("tuning", done))
        tuning = {TUNING: found.to_dict()}
    progress("model", 0.0)
    model.fit(data.rows, data.fault)
    progress("model", 1.0)
    unseen = unseen_risks(data, model)
    policy = fit_policy(unseen, model.alarm_scale)
    progress("alarm policy", 1.0)
    facts = {
        **_facts(data, policy),
        **({LINKS_SHARE: round(data.links_share, 4)} if data.links_share < 1 else {}),
        **tuning,
        "unseen_links": evidence(unseen, model, ALARM_HORIZON_H),
        REFERENCE: _reference(data, model, policy),
    }
    return Artifact(model, policy, until, facts, _version(model, policy, facts))


def _reference(data: TrainingData, model: JointModel, policy: Policy) -> dict[str, Any]:
    risk = model.hazard_.risk(data.every_hour.rows[data.every_hour.hour % _SPREAD_H == 0])[:, _ALARM_COLUMN]
    rows = data.rows
    return reference(rows.rows, FeaturePipeline().names, rows.place, rows.weight, data.fleet, risk, policy.watch)


def _version(model: JointModel, policy: Policy, facts: dict[str, Any]) -> str:
    """A digest of all that decides: two models of the same version raise the same alarms."""
    hazard = model.hazard_
    boosters = (hazard.fitted.trees, model.fault_.trees_)
    trees = [booster.model_to_string() for booster in boosters if booster is not None]
    parts = [FeaturePipeline().fingerprint, *trees, hazard.fitted.ramps.to_dict(), model.fault_.symptoms_.to_dict()]
    parts += [hazard.calibration_.to_dict(), policy.to_dict(), facts]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _facts(data: TrainingData, policy: Policy) -> dict[str, Any]:
    counted = data.events.filter(pl.col("verdict") == "counted")
    return {
        "from": data.times[0].isoformat(),
        "until": data.times[-1].isoformat(),
        "rows": int(data.rows.rows.shape[0]),
        "links": len(set(data.rows.link)),
        "failures": counted.height,
        "failures_by_type": _counts(counted["failure_type"]),
        "tickets_by_verdict": _counts(data.events["verdict"]),
        "healthy_module_weeks": round(policy.healthy_weeks, 1),
    }


def _counts(values: pl.Series) -> dict[str, int]:
    return dict(sorted(values.fill_null("unknown").value_counts().iter_rows()))
