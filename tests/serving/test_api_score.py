"""Ad-hoc scores and models over HTTP."""

import asyncio
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from models.artifact import Artifact
from models.registry import Registry
from serving.app import create_app
from serving.errors import ModelUnavailableError, OverloadedError
from serving.scoring import champion as champions
from serving.scoring.adhoc import Module, score
from serving.scoring.champion import Champion, Scorer
from serving.settings import Settings
from serving.store import AlarmStore

AT = datetime(2024, 3, 18, 12, tzinfo=UTC)


def _module(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A module that fades, the more the higher its number."""
    times = [AT - timedelta(hours=h, minutes=30) for h in range(24)]
    texts = [time.isoformat() for time in times]
    rx = [-3.0 - 0.2 * number * (1 - h / 24) for h in range(24)]
    lanes = {"time": texts, "lane": [1] * 24, "rx_power_dbm": rx, "tx_power_dbm": [0.0] * 24}
    return {"device": "leaf01", "interface": f"Ethernet{number}", "lanes": lanes} | changes


@pytest.fixture(name="served", scope="module")
def _served(home_copy: Path) -> Iterator[TestClient]:
    """The service over a home with a champion."""
    settings = Settings.from_env({"FORELIGHT_HOME": str(home_copy)})
    with AlarmStore(settings.database_url) as store, TestClient(create_app(settings, store)) as client:
        yield client


class TestScore:
    def test_it_answers_what_the_model_says(self, served: TestClient, artifact: Artifact) -> None:
        answer = served.post("/v1/score", json={"modules": [_module()]}).json()

        lanes = _module()["lanes"]
        times = [datetime.fromisoformat(time) for time in lanes["time"]]
        expected = score(
            artifact, [Module(port=("", "leaf01", "Ethernet1"), lanes=lanes | {"time": times}, ports={})], AT
        )
        assert ("2024-03-18T12:00:00Z", artifact.version) == (answer["at"], answer["model_version"])
        (told,) = answer["modules"]
        assert ("leaf01", "Ethernet1", "scored") == (told["device"], told["interface"], told["status"])
        assert {f"{hours}h": risk for hours, risk in (expected[0].risks or {}).items()} == told["risks"]
        assert 1800.0 == told["data_age_s"]

    def test_many_are_answered_in_their_order(self, served: TestClient) -> None:
        names = [module["interface"] for module in (_module(n) for n in (3, 1, 2))]

        answer = served.post("/v1/score", json={"modules": [_module(n) for n in (3, 1, 2)]}).json()

        assert names == [module["interface"] for module in answer["modules"]]

    def test_a_silent_one_is_unknown_not_healthy(self, served: TestClient) -> None:
        body = {"at": AT.isoformat(), "modules": [{"device": "a", "interface": "b"}, _module()]}

        silent, told = served.post("/v1/score", json=body).json()["modules"]

        assert ("unknown", "scored") == (silent["status"], told["status"])
        assert {None} == set(silent["risks"].values())
        assert ["no reading in the six hours before"] == silent["reasons"]

    def test_requests_that_come_at_once_are_answered_each_its_own(self, served: TestClient) -> None:
        """They have the same names; none sees another's readings."""
        alone = {
            n: served.post("/v1/score", json={"modules": [_module(n) | {"interface": "x"}]}).json() for n in range(8)
        }
        with ThreadPoolExecutor(8) as pool:
            bodies = [{"modules": [_module(n) | {"interface": "x"}]} for n in range(8)]
            together = list(pool.map(lambda body: served.post("/v1/score", json=body).json(), bodies))

        assert list(alone.values()) == together

    @pytest.mark.parametrize(
        ("body", "says"),
        [
            ({"modules": []}, "modules"),
            ({"modules": [_module()] * 2}, "a port is given twice"),
            ({"modules": [_module(n) for n in range(1001)]}, "modules"),
            ({"modules": [_module(vendor="x")]}, "vendor"),
            ({"modules": [_module(limits={"nonsense": 1.0})]}, "there is no limit"),
            ({"modules": [_module(lanes={"time": ["2024-03-18T11:00:00Z"], "lane": []})]}, "lane has 0 values"),
            ({"modules": [_module(lanes={"time": ["2024-03-18T11:00:00"], "lane": [1]})]}, "time"),
            ({"modules": [_module()], "at": "2024-03-18T11:30:00Z"}, "at is a whole hour"),
            ({"modules": [_module()], "at": "1970-01-01T00:00:00Z"}, "at lies before"),
            ({"modules": [{"device": "a", "interface": "b"}]}, "there is no reading"),
        ],
    )
    def test_what_it_cannot_take_is_refused(self, served: TestClient, body: object, says: str) -> None:
        answer = served.post("/v1/score", json=body)

        assert (422, "urn:forelight:problem:invalid-request") == (answer.status_code, answer.json()["type"])
        assert says in answer.json()["detail"]

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400"])
    def test_a_number_that_is_none_is_refused(self, served: TestClient, number: str) -> None:
        body = (
            '{"modules": [{"device": "a", "interface": "b", "lanes": {"time": ["2024-03-18T11:00:00Z"], '
            f'"lane": [1], "rx_power_dbm": [{number}]}}}}]}}'
        )

        assert 422 == served.post("/v1/score", content=body, headers={"Content-Type": "application/json"}).status_code

    def test_a_body_beyond_the_limit_is_refused(self, served: TestClient) -> None:
        assert 413 == served.post("/v1/score", content=b" " * 16_000_001).status_code

    def test_without_a_model_it_says_so(self, client: TestClient) -> None:
        answer = client.post("/v1/score", json={"modules": [_module()]})

        assert (503, "urn:forelight:problem:model-unavailable") == (answer.status_code, answer.json()["type"])


class TestModels:
    def test_the_champion_is_listed_and_has_a_card(self, served: TestClient) -> None:
        listed = served.get("/v1/models").json()["models"]
        card = served.get("/v1/models/champion").json()

        assert [("1", ["champion"])] == [(model["version"], model["aliases"]) for model in listed]
        assert listed[0] == {name: card[name] for name in listed[0]}
        assert 9.5 == card["metrics"]["healthy_module_weeks"]
        assert "watch" in card["policy"]
        assert card == served.get("/v1/models/1").json()

    def test_an_unknown_one_is_a_problem(self, served: TestClient) -> None:
        answer = served.get("/v1/models/nobody")

        assert (404, "urn:forelight:problem:model-not-found") == (answer.status_code, answer.json()["type"])

    def test_before_the_first_there_is_none(self, client: TestClient) -> None:
        assert {"models": []} == client.get("/v1/models").json()

    def test_before_a_challenger_there_is_nothing_to_compare(self, served: TestClient) -> None:
        answer = served.get("/v1/models/comparison")

        assert (404, "urn:forelight:problem:model-not-found") == (answer.status_code, answer.json()["type"])
        assert "forelight model shadow" in answer.json()["detail"]


class _Registry:
    """A registry of which the champion can be changed; loads are counted."""

    def __init__(self, artifact: Artifact) -> None:
        self.champion: str | None = "1"
        self.artifact = artifact
        self.loads: list[str] = []

    def versions(self) -> list[object]:
        return []

    def alias(self, _alias: str) -> str | None:
        return self.champion

    def load(self, number: str) -> Artifact:
        self.loads.append(number)
        return replace(self.artifact, version=number)


class TestReload:
    @pytest.fixture(name="registry")
    def _registry(self, artifact: Artifact) -> _Registry:
        return _Registry(artifact)

    @pytest.fixture(name="seconds")
    def _seconds(self) -> list[float]:
        return [0.0]

    @pytest.fixture(name="champion")
    def _champion(self, registry: _Registry, seconds: list[float]) -> Champion:
        def opened() -> Registry:
            return registry  # type: ignore[return-value]  # all that is asked of it

        return Champion(opened, monotonic=lambda: seconds[0])

    def test_another_champion_takes_over_without_a_restart_and_is_loaded_once(
        self, champion: Champion, registry: _Registry, seconds: list[float]
    ) -> None:
        async def moved() -> list[str]:
            before = await champion.get()
            registry.champion = "2"
            seconds[0] += 15.0
            after = await asyncio.gather(*(champion.get() for _ in range(20)))
            return [before.version, *{each.version for each in after} - {"1"}, (await champion.get()).version]

        assert ["1", "2", "2"] == asyncio.run(moved())
        assert ["1", "2"] == registry.loads

    def test_a_registry_that_fails_leaves_the_model_in_memory(
        self, champion: Champion, registry: _Registry, seconds: list[float]
    ) -> None:
        async def broken() -> str:
            await champion.get()
            registry.load = None  # type: ignore[assignment,method-assign]  # not asked for: the alias has not moved
            registry.champion = None
            seconds[0] += 15.0
            return (await champion.get()).version

        assert "1" == asyncio.run(broken())

    def test_what_a_registry_that_cannot_be_read_keeps_is_not_nothing(self) -> None:
        def opened() -> Registry:
            msg = "the database of MLflow is locked"
            raise OSError(msg)

        class Broken(_Registry):
            def last(self, _kind: str) -> None:
                opened()

        for champion in (Champion(opened), Champion(lambda: Broken(None))):  # type: ignore[arg-type,return-value]
            with pytest.raises(ModelUnavailableError, match="the registry of models cannot be read: OSError"):
                asyncio.run(champion.kept("shadow"))

    def test_no_champion_is_an_error_that_says_what_to_do(self, champion: Champion, registry: _Registry) -> None:
        registry.champion = None

        with pytest.raises(ModelUnavailableError, match="forelight train"):
            asyncio.run(champion.get())

    def test_requests_on_the_way_are_answered_while_the_model_is_replaced(
        self, champion: Champion, registry: _Registry, seconds: list[float]
    ) -> None:
        """No request is dropped: each is answered by the one or the other, and says by which."""
        scorer, modules = Scorer(champion), [Module(port=("", "a", "b"), lanes={}, ports={})]

        async def stream() -> list[str]:
            versions = []
            for k in range(30):
                if k == 10:
                    registry.champion, seconds[0] = "2", 15.0
                answers = await asyncio.gather(*(scorer.score(modules, AT) for _ in range(3)))
                versions += [artifact.version for artifact, _ in answers]
            return versions

        versions = asyncio.run(stream())
        assert 90 == len(versions)
        assert ["1", "2"] == sorted(set(versions))
        assert versions == sorted(versions)

    def test_beyond_what_can_wait_the_answer_is_come_again(
        self, champion: Champion, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(champions, "_MOST_WAITING", 3)
        scorer, modules = Scorer(champion), [Module(port=("", "a", str(k)), lanes={}, ports={}) for k in range(2)]

        async def at_once() -> list[object]:
            return await asyncio.gather(*(scorer.score(modules, AT) for _ in range(3)), return_exceptions=True)

        told = asyncio.run(at_once())
        assert 2 == sum(isinstance(each, OverloadedError) for each in told)


def test_no_answer_holds_a_number_that_json_has_not(served: TestClient, artifact: Artifact) -> None:
    strange = replace(artifact, facts=artifact.facts | {"ratio": math.nan})
    card: Callable[[], dict[str, Any]] = served.get("/v1/models/champion").json
    assert "NaN" not in str(card())

    from serving.wire.models import Model, ModelCard

    base = Model(version="1", aliases=[], trained_until="", metrics={}, tags={}).model_dump()
    assert ModelCard(**base, facts={"ratio": strange.facts["ratio"]}, policy={}).facts == {"ratio": None}
