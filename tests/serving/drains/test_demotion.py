"""Drift ends `active`: `forelight model watch` on the fleet that was learnt from, and on it with other optics."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from features.fleet import Fleet
from ingest.lake import Lake
from ingest.schema import MODULES
from models.artifact import Artifact
from models.card import REFERENCE
from models.drift import Drift, Seen, drift
from models.reference import reference
from models.registry import Registry
from serving.cli.progress import step
from serving.drains.advice import Mode
from serving.drains.fabric import LinkClass
from serving.drains.store import DrainStore
from serving.scoring import watching
from serving.settings import Settings
from serving.store import AlarmStore

pytestmark = pytest.mark.slow  # MLflow takes seconds to import and to make its database

DAYS = 5


@pytest.fixture(name="watched_home", scope="module")
def _watched_home(home_copy: Path, artifact: Artifact, fleet_end: datetime) -> Path:
    """The champion's reference is what the last days of the fleet say: nothing can have shifted."""
    settings = Settings.from_env({"FORELIGHT_HOME": str(home_copy)})
    found: list[tuple[Seen, Fleet]] = []

    def noting(artifact: Artifact, seen: Seen, fleet: Fleet) -> Drift:
        found.append((seen, fleet))
        return drift(artifact, seen, fleet)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watching, "drift", noting)
        watching.watched(Lake(settings.lake_uri), artifact, fleet_end, DAYS, step)
    seen, fleet = found[0]
    weight = np.ones(seen.rows.shape[0])
    known = reference(seen.rows, seen.names, seen.place, weight, fleet, seen.risk, artifact.policy.watch)
    registry = Registry(settings.tracking_uri, settings.artifact_root)
    same = replace(artifact, version="same", facts={**artifact.facts, REFERENCE: known})
    registry.promote(registry.log(same, {}), "it knows these days")
    return home_copy


def test_optics_that_training_did_not_know_end_active_and_those_that_it_knew_do_not(
    console: Callable[..., Any], watched_home: Path, database_url: str, tmp_path: Path
) -> None:
    lake = Lake(str(tmp_path / "lake"))
    told = {"FORELIGHT_DATABASE_URL": database_url}

    def watch(**more: str) -> tuple[str, Mode, str]:
        ran = console(watched_home, "model", "watch", "--days", str(DAYS), **told, **more)
        assert 0 == ran.code, ran.err
        with AlarmStore(database_url) as store:
            standing = DrainStore(store.engine).standing()
        return ran.err, standing.mode(LinkClass.FABRIC), standing.switches["fabric"].why

    with AlarmStore(database_url) as store, DrainStore(store.engine).writing() as writing:
        writing.switch("fabric", Mode.ACTIVE, "ann", "shadow went well")
    same = watch()
    shutil.copytree(watched_home / "lake", lake.uri)
    modules = (
        lake.latest(MODULES).with_columns(part_number=pl.lit("XYZ-9"), received_at=pl.lit(datetime.now(UTC))).collect()
    )
    lake.append(MODULES, modules)
    other = watch(FORELIGHT_LAKE_URI=lake.uri)

    assert (Mode.ACTIVE, "shadow went well") == same[1:]
    assert (Mode.SHADOW, "drift: 100% of the modules have part numbers that training did not know: XYZ-9") == other[1:]
    assert "forelight: fabric links are in shadow again" in other[0]
    assert "in shadow again" not in same[0]
