"""Health, version, metrics, and what holds for every answer."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from features.pipeline import FeaturePipeline
from models.day_one import VERSION
from serving.access.auth import OperatorToken
from serving.alarms import AlarmRecord, ScoreRun
from serving.app import create_app
from serving.migrate import head_revision
from serving.settings import Settings
from serving.store import AlarmStore

Score = Callable[..., None]
NO_CHAMPION = (
    "the champion cannot be used: no model bears the alias champion: train one (forelight train), or promote one"
)


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, untrained_home: Path) -> Settings:
    """Nothing is registered, in a database that is there."""
    registry = Settings.from_env({"FORELIGHT_HOME": str(untrained_home)}).tracking_uri
    return Settings.from_env({"FORELIGHT_HOME": str(tmp_path / "home"), "MLFLOW_TRACKING_URI": registry})


@pytest.fixture(name="unmigrated")
def _unmigrated(database_url: str, settings: Settings, now: datetime) -> Iterator[TestClient]:
    """A service whose store has no schema."""
    store = AlarmStore(database_url)
    with TestClient(create_app(settings, store, clock=lambda: now), raise_server_exceptions=False) as client:
        yield client
    store.close()


class TestReadiness:
    def test_it_lives_whatever_it_knows(self, unmigrated: TestClient) -> None:
        assert {"status": "alive"} == unmigrated.get("/livez").json()

    def test_without_scores_it_is_not(self, client: TestClient) -> None:
        answer = client.get("/readyz")

        assert 503 == answer.status_code
        assert ["no run was applied yet: `forelight score` makes one", NO_CHAMPION] == answer.json()["reasons"]

    def test_without_the_champion_whose_scores_it_serves_it_is_not(self, client: TestClient, score: Score) -> None:
        score()

        answer = client.get("/readyz")

        assert (503, [NO_CHAMPION]) == (answer.status_code, answer.json()["reasons"])

    def test_with_fresh_scores_by_physics_alone_it_is_ready_and_says_what_it_lacks(
        self, client: TestClient, score: Score
    ) -> None:
        score(model_version=VERSION)

        answer = client.get("/readyz")

        assert (200, {"status": "degraded", "reasons": [NO_CHAMPION]}) == (answer.status_code, answer.json())

    def test_with_stale_scores_it_is_not(self, client: TestClient, score: Score, advance: Callable[..., None]) -> None:
        score()
        advance(days=1)

        assert "86400 s ago" in client.get("/readyz").json()["detail"]

    def test_with_old_readings_it_is_not(self, client: TestClient, score: Score, now: datetime) -> None:
        score(newest_data_at=now - timedelta(hours=3), model_version=VERSION)

        assert ["the newest reading was 10800 s old when it was scored"] == client.get("/readyz").json()["reasons"]

    def test_without_a_model_version_it_is_not(self, client: TestClient, score: Score) -> None:
        score(model_version="")

        assert "the latest run does not say which model made it" in client.get("/readyz").json()["reasons"]

    def test_without_its_scores_in_the_lake_it_is_not(
        self, client: TestClient, store: AlarmStore, make_run: Callable[..., ScoreRun]
    ) -> None:
        store.apply(make_run())

        assert "the lake has no scores" in client.get("/readyz").json()["detail"]

    def test_without_a_schema_it_is_not(self, unmigrated: TestClient) -> None:
        answer = unmigrated.get("/readyz")

        assert 503 == answer.status_code
        assert f"the alarm store's schema is missing, not {head_revision()}" in answer.json()["reasons"]

    def test_without_its_store_it_is_not(self, settings: Settings) -> None:
        pytest.importorskip("psycopg", reason="psycopg is not installed (extra: postgres)")
        store = AlarmStore("postgresql+psycopg://ann:topsecret@127.0.0.1:1/forelight")
        with TestClient(create_app(settings, store), raise_server_exceptions=False) as client:
            answer = client.get("/readyz")

        assert 503 == answer.status_code
        assert "Connection refused" in answer.json()["detail"]
        assert "topsecret" not in answer.text

    def test_a_store_that_fails_is_a_problem_not_an_all_clear(self, unmigrated: TestClient) -> None:
        answer = unmigrated.get("/v1/alarms")

        assert 503 == answer.status_code
        assert "urn:forelight:problem:store-unavailable" == answer.json()["type"]


class TestVersion:
    def test_it_names_program_schema_and_model(self, client: TestClient, score: Score) -> None:
        score()

        answer = client.get("/version").json()

        assert {
            "api": "v1",
            "schema_revision": head_revision(),
            "feature_schema": FeaturePipeline().fingerprint,
            "champion": None,
            "model_name": "forelight",
            "model_version": "3",
            "scored_at": "2026-11-29T12:00:00Z",
        } == {name: value for name, value in answer.items() if name != "version"}

    def test_before_the_first_run_the_model_is_unknown(self, client: TestClient) -> None:
        assert client.get("/version").json()["model_version"] is None


class TestMetrics:
    def test_they_tell_scores_and_alarms(
        self, client: TestClient, score: Score, make_alarm: Callable[..., AlarmRecord], advance: Callable[..., None]
    ) -> None:
        score(raised=(make_alarm(1), make_alarm(2)), modules_unknown=7)
        advance(seconds=90)

        lines = client.get("/metrics").text.splitlines()

        assert "forelight_store_up 1.0" in lines
        assert "forelight_score_age_seconds 90.0" in lines
        assert "forelight_data_age_seconds 990.0" in lines
        assert "forelight_modules_scored 1.0" in lines
        assert "forelight_modules_unknown 7.0" in lines
        assert 'forelight_model_info{name="forelight",version="3"} 1.0' in lines
        assert 'forelight_open_alarms{failure_type="laser_degradation",level="act",status="open"} 2.0' in lines

    def test_requests_are_counted_by_template_not_by_path(self, client: TestClient, score: Score) -> None:
        score()
        for interface in ("Ethernet1", "Ethernet2", "a/b"):
            client.get(f"/v1/transceivers/leaf01/{interface}")
        client.get("/nowhere/at/all")

        lines = client.get("/metrics").text.splitlines()

        route = 'route="/v1/transceivers/{device}/{interface:path}"'
        assert f'forelight_http_requests_total{{code="404",method="GET",{route}}} 2.0' in lines
        assert f'forelight_http_requests_total{{code="200",method="GET",{route}}} 1.0' in lines
        assert 'forelight_http_requests_total{code="404",method="GET",route="unmatched"} 1.0' in lines

    def test_a_store_that_fails_is_told_not_a_failed_scrape(self, unmigrated: TestClient) -> None:
        answer = unmigrated.get("/metrics")

        assert 200 == answer.status_code
        assert "forelight_store_up 0.0" in answer.text.splitlines()


class TestEveryAnswer:
    @pytest.mark.parametrize(
        ("method", "path", "status"),
        [
            ("GET", "/nothing", 404),
            ("GET", "/docs", 404),
            ("GET", "/v1/nothing", 404),
            ("DELETE", "/v1/alarms", 405),
            ("POST", "/livez", 405),
            ("GET", "/livez?verbose=1", 422),
            ("GET", "/readyz?x=1", 422),
            ("GET", "/version?x=1", 422),
            ("GET", "/metrics?x=1", 422),
            ("GET", "/v1/alarms", 503),
        ],
    )
    def test_an_error_is_a_problem(self, client: TestClient, method: str, path: str, status: int) -> None:
        answer = client.request(method, path)

        assert status == answer.status_code
        assert "application/problem+json" == answer.headers["content-type"]
        assert status == answer.json()["status"]
        assert path.partition("?")[0] == answer.json()["instance"]

    def test_a_failure_of_ours_tells_nothing_of_the_inside(
        self, store: AlarmStore, settings: Settings, now: datetime
    ) -> None:
        def broken() -> datetime:
            msg = "the secret of the house"
            raise RuntimeError(msg)

        with TestClient(create_app(settings, store, clock=broken), raise_server_exceptions=False) as client:
            answer = client.get("/v1/alarms")

        assert 500 == answer.status_code
        assert "application/problem+json" == answer.headers["content-type"]
        assert "secret" not in answer.text
        assert "nosniff" == answer.headers["x-content-type-options"]

    @pytest.mark.parametrize("path", ["/livez", "/v1/alarms", "/nowhere", "/openapi.json"])
    def test_it_carries_the_security_headers(self, client: TestClient, path: str) -> None:
        headers = client.get(path).headers

        assert "nosniff" == headers["x-content-type-options"]
        assert "no-store" == headers["cache-control"]
        assert "default-src 'none'; frame-ancestors 'none'" == headers["content-security-policy"]


class TestContract:
    def test_openapi_has_every_route_with_its_problems(self, client: TestClient) -> None:
        spec = client.get("/openapi.json").json()

        assert {"/v1/alarms", "/v1/score", "/livez", "/readyz", "/version", "/metrics"} < set(spec["paths"])
        for path, methods in spec["paths"].items():
            for operation in methods.values() if path.startswith("/v1/") else ():
                refusals = {code: said["content"] for code, said in operation["responses"].items() if code >= "4"}
                assert {"401", "422", "429", "503"} <= set(refusals), path
                assert {"application/problem+json"} == {media for content in refusals.values() for media in content}
        assert spec["components"]["schemas"]["Alarm"]["examples"]

    def test_each_route_says_which_token_it_wants(self, client: TestClient) -> None:
        spec = client.get("/openapi.json").json()

        assert ("http", "bearer") == tuple(
            spec["components"]["securitySchemes"]["token"][k] for k in ("type", "scheme")
        )
        for path, methods in spec["paths"].items():
            for method, operation in methods.items():
                of_hosts = path in {"/v1/samples", "/v1/probes", "/v1/probes/pinglist"}
                guarded = of_hosts or (method != "get" and path != "/v1/score")
                wanted = [{"token": ["ingest" if of_hosts else "operate"]}] if guarded else [{"token": ["read"]}, {}]
                assert (wanted if path.startswith("/v1/") else []) == operation["security"], (method, path)

    def test_what_the_contract_says_of_tokens_is_so(self, store: AlarmStore, settings: Settings, now: datetime) -> None:
        """Where reading is not open, whoever has no token is refused at just those routes that name one."""
        app = create_app(settings, store, token=OperatorToken.of("t" * 32), open_reads=False, clock=lambda: now)
        with TestClient(app, raise_server_exceptions=False) as client:
            spec = client.get("/openapi.json").json()
            for path, methods in spec["paths"].items():
                for method, operation in methods.items():
                    answer = client.request(method, path.replace("{", "").replace("}", ""), json={})
                    assert (401 == answer.status_code) == bool(operation["security"]), (method, path, answer.text)
                    assert {} not in operation["security"]

    def test_a_parameter_that_is_given_twice_is_refused_where_one_of_them_would_be_dropped(
        self, client: TestClient, score: Score
    ) -> None:
        score()
        spec = client.get("/openapi.json").json()
        values = {"integer": "1", "number": "0.5"}
        asked = 0
        for path, methods in spec["paths"].items():
            for each in methods.get("get", {}).get("parameters", ()):
                kinds = [kind.get("type") for kind in each["schema"].get("anyOf", [each["schema"]])]
                if each["in"] == "query" and "array" not in kinds:
                    pair = f"{each['name']}={values.get(str(kinds[0]), 'x')}"
                    answer = client.get(f"{path.replace('{', '').replace('}', '')}?{pair}&{pair}")
                    assert 422 == answer.status_code, (path, pair, answer.text)
                    asked += 1
        assert asked > 15
        assert 200 == client.get("/v1/alarms?status=open&status=acked").status_code
        twice = client.get("/v1/alarms?device=leaf01&device=leaf02").json()
        assert "'device' is given more than once: say one" == twice["detail"]

    @pytest.mark.parametrize("alarm", ["no/such", "no%2Fsuch", "a/ack", "a//b"])
    def test_an_alarm_whose_name_holds_a_slash_is_not_found_like_any(self, client: TestClient, alarm: str) -> None:
        answers = [client.get(f"/v1/alarms/{alarm}")]

        assert [(404, "urn:forelight:problem:alarm-not-found")] == [(a.status_code, a.json()["type"]) for a in answers]

    def test_an_application_with_its_own_store_migrates_it(self, tmp_path: Path) -> None:
        settings = Settings.from_env({"FORELIGHT_HOME": str(tmp_path / "home")})
        with TestClient(create_app(settings)) as client:
            assert head_revision() == client.get("/version").json()["schema_revision"]
