"""Readiness and the champion, in a real registry: it is loaded once, and what cannot be loaded is said."""

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from ingest.lake import Lake
from ingest.schema import SCORES
from models.artifact import Artifact
from models.registry import Registry
from serving.app import create_app
from serving.scoring.champion import Champion
from serving.settings import Settings
from serving.store import AlarmStore

pytestmark = pytest.mark.slow  # MLflow takes seconds to import and to make its database


class CountingRegistry(Registry):
    """The real one, which also counts what is loaded."""

    loads = 0

    def load(self, version: str) -> Artifact:
        self.loads += 1
        return super().load(version)


@dataclass
class Service:
    """A service with fresh scores, its registry, and the seconds of its champion's clock."""

    client: TestClient
    registry: CountingRegistry
    champion: Champion
    seconds: float = 0.0

    def ready(self, after_s: float = 0.0) -> tuple[int, dict[str, Any]]:
        self.seconds += after_s
        answer = self.client.get("/readyz")
        return answer.status_code, answer.json()


@pytest.fixture(name="home")
def _home(trained_home: Path, tmp_path: Path) -> Path:
    """Its own registry, a lake of its own without rows."""
    (tmp_path / "home").mkdir()
    shutil.copy(trained_home / "mlflow.db", tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture(name="service")
def _service(
    home: Path, now: datetime, make_score: Callable[..., Any], make_run: Callable[..., Any]
) -> Iterator[Service]:
    settings = Settings.from_env({"FORELIGHT_HOME": str(home)})
    with AlarmStore(settings.database_url, clock=lambda: now) as store:
        Lake(settings.lake_uri).append(SCORES, make_score())
        store.apply(make_run())
        app = create_app(settings, store, clock=lambda: now)
        registry = CountingRegistry(settings.tracking_uri, settings.artifact_root)
        service = Service(TestClient(app), registry, Champion(lambda: registry, lambda: service.seconds))
        app.state.services = replace(app.state.services, champion=service.champion)
        with service.client:
            yield service


def test_with_champion_and_fresh_scores_it_is_ready_and_asks_for_nothing_twice(service: Service) -> None:
    answers = [service.ready(after_s=10.0) for _ in range(20)]

    assert [(200, {"status": "ready", "reasons": []})] * 20 == answers
    assert 1 == service.registry.loads


def test_a_champion_that_cannot_be_loaded_is_not_ready_where_none_is_in_memory(
    service: Service, artifact: Artifact
) -> None:
    _promote_one_of_other_code(service, artifact)

    status, answer = service.ready()

    assert 503 == status
    assert 1 == len(answer["reasons"])
    assert answer["reasons"][0].startswith(
        "the champion cannot be used: version 2 of forelight: this model was made by other code"
    )


def test_the_champion_before_still_answers_and_the_trouble_is_said(service: Service, artifact: Artifact) -> None:
    """A restart would not find it, so somebody has to look; whoever asks is served meanwhile."""
    service.ready()
    _promote_one_of_other_code(service, artifact)

    still, later = service.ready(after_s=10.0), service.ready(after_s=10.0)
    service.registry.rollback()
    mended = service.ready(after_s=20.0)

    assert (200, "ready") == (still[0], still[1]["status"])
    assert (200, "degraded") == (later[0], later[1]["status"])
    assert "other code" in later[1]["reasons"][0]
    assert (200, "ready") == (mended[0], mended[1]["status"])


def test_the_version_tells_what_the_champion_in_memory_was_trained_on(service: Service, artifact: Artifact) -> None:
    before = service.client.get("/version").json()["champion"]
    service.ready()

    told = service.client.get("/version").json()["champion"]

    assert before is None
    assert artifact.version == told["model_version"]
    assert artifact.trained_until == datetime.fromisoformat(told["trained_until"])
    assert (artifact.policy.watch, artifact.policy.act) == (told["watch"], told["act"])


def test_a_registry_that_hangs_is_told_within_seconds(service: Service) -> None:
    """A probe that waited with it would be taken for a dead process."""
    free = threading.Event()

    def hang() -> Registry:
        free.wait(30)
        return service.registry

    async def asked() -> tuple[str, int | None]:
        champion = Champion(hang)
        first = await champion.state(within_s=0.05)
        free.set()
        later = await champion.state(within_s=30.0)
        return first.trouble, int(later.number or 0)

    assert ("the registry of models has not answered yet", 1) == asyncio.run(asked())


def _promote_one_of_other_code(service: Service, artifact: Artifact) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("features.pipeline.FeaturePipeline.fingerprint", "0123")
        service.registry.promote(service.registry.log(replace(artifact, version="other"), {}), "by mistake")
    service.registry.loads = 0
