"""Decisions, leases and reports over HTTP, with scores, links and port states in a real lake."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from starlette.testclient import TestClient

from ingest.lake import Lake
from ingest.schema import Action
from serving.alarms import AlarmRecord
from serving.client import Client
from serving.drains.advice import Mode
from serving.drains.store import DrainStore
from serving.store import AlarmStore

LINK = "/v1/links/leaf01/Ethernet1"


@pytest.fixture(name="fabric_in_lake")
def _fabric_in_lake(
    lake: Lake,
    wire: Callable[[Lake, datetime], None],
    now: datetime,
    score: Callable[..., None],
    scores_at: Callable[..., pl.DataFrame],
    act_on: Callable[..., AlarmRecord],
) -> None:
    """Every port is up; leaf01 Ethernet1 has an alarm of level act, spine01 Ethernet9 has none."""
    wire(lake, now)
    score(
        scores_at("leaf01 Ethernet1", risk_24h=0.7),
        scores_at("spine01 Ethernet9", "leaf01 Ethernet11", risk_24h=0.001),
        scores_at("leaf02 Ethernet1", status="unknown", risk_24h=None, reasons=["no telemetry in the last six hours"]),
        raised=(act_on("leaf01 Ethernet1"),),
    )


@pytest.fixture(name="active")
def _active(store: AlarmStore, clock: Callable[[], datetime]) -> None:
    with DrainStore(store.engine, clock=clock).writing() as writing:
        writing.switch("fabric", Mode.ACTIVE, "ann", "")


@pytest.mark.usefixtures("fabric_in_lake")
class TestDecision:
    """Advice."""

    def test_a_failing_redundant_link_is_to_be_drained_by_when_it_is_expected_to_fail(
        self, client: TestClient, now: datetime
    ) -> None:
        answer = client.get(f"{LINK}/decision").json()

        assert ("drain", "shadow", "fabric") == (answer["decision"], answer["mode"], answer["link_class"])
        assert (now + timedelta(hours=6)).isoformat().replace("+00:00", "Z") == answer["deadline"]
        assert "replace_transceiver" == answer["action"]
        assert pytest.approx(0.7) == answer["risk_24h"]
        assert {"observe", "cost_out", "drain"} == set(answer["costs_gpu_h"])
        assert ("alarm-leaf01-Ethernet1", []) == (answer["alarm_id"], answer["affected_nodes"])

    def test_the_other_end_gives_the_same_advice(self, client: TestClient) -> None:
        near, far = (
            client.get(f"/v1/links/{end}/decision").json() for end in ("leaf01/Ethernet1", "spine01/Ethernet1")
        )

        assert (near["decision"], near["link_id"]) == (far["decision"], far["link_id"])

    def test_a_healthy_link_is_observed_and_an_unscored_one_unknown(self, client: TestClient) -> None:
        healthy = client.get("/v1/links/spine01/Ethernet9/decision").json()
        unknown = client.get("/v1/links/leaf02/Ethernet1/decision").json()
        missing = client.get("/v1/links/leaf02/Ethernet2/decision").json()

        assert ["observe", "unknown", "unknown"] == [one["decision"] for one in (healthy, unknown, missing)]
        assert "no telemetry" in unknown["reason"]

    def test_an_access_link_names_its_server(self, client: TestClient) -> None:
        answer = client.get("/v1/links/leaf01/Ethernet11/decision").json()

        assert ("access", ["gpu00"]) == (answer["link_class"], answer["affected_nodes"])

    def test_stale_scores_are_an_error(self, client: TestClient, advance: Callable[..., None]) -> None:
        advance(hours=3)

        assert 503 == client.get(f"{LINK}/decision").status_code

    def test_an_unknown_link_is_not_found(self, client: TestClient) -> None:
        answer = client.get("/v1/links/leaf09/Ethernet1/decision")

        assert (404, "urn:forelight:problem:link-not-found") == (answer.status_code, answer.json()["type"])


@pytest.mark.usefixtures("fabric_in_lake")
class TestLease:
    """Reservations and reports."""

    def test_in_shadow_it_is_refused_with_a_stable_word(self, client: TestClient, authorized: dict[str, str]) -> None:
        answer = client.post(f"{LINK}/lease", json={}, headers=authorized)

        assert (200, False, "shadow", None) == (answer.status_code, *_of(answer, "granted", "code", "lease"))

    @pytest.mark.usefixtures("active")
    def test_a_drain_goes_its_way_from_lease_to_verification(
        self, client: TestClient, authorized: dict[str, str]
    ) -> None:
        def post(path: str, **body: Any) -> Any:
            answer = client.post(path, json=body, headers=authorized)
            assert 200 == answer.status_code, answer.text
            return answer.json()

        granted = post(f"{LINK}/lease", ttl_s=600)
        assert granted["granted"]
        assert "hold" == client.get(f"{LINK}/decision").json()["decision"]
        assert "drained" == post(f"{LINK}/drained", reason="bgp shut")["state"]
        assert "undrained" == post(f"{LINK}/undrained", actions=["clean_connector"])["state"]
        checked = post(f"{LINK}/verified")

        assert ("pending", None) == (checked["verdict"], checked["next_action"])
        log = client.get("/v1/decisions", params={"limit": 4}).json()["entries"]
        assert ["verified", "undrained", "drained", "lease"] == [entry["kind"] for entry in log]
        assert {granted["lease"]["drain_id"]} == {entry["drain_id"] for entry in log}

    @pytest.mark.usefixtures("active")
    def test_a_lease_is_given_back(self, client: TestClient, authorized: dict[str, str]) -> None:
        lease = client.post(f"{LINK}/lease", json={}, headers=authorized).json()["lease"]
        answer = client.post(f"/v1/leases/{lease['drain_id']}/release", headers=authorized)

        assert (200, "released") == (answer.status_code, answer.json()["state"])
        assert 404 == client.post("/v1/leases/none/release", headers=authorized).status_code

    @pytest.mark.parametrize("what", ["lease", "drained", "undrained", "verified"])
    def test_nothing_is_changed_without_a_token(self, client: TestClient, what: str) -> None:
        assert 401 == client.post(f"{LINK}/{what}", json={}).status_code

    @pytest.mark.parametrize(
        "body", [{"ttl_s": 1}, {"ttl_s": 1e9}, {"ttl": 600}, {"ttl_s": "NaN"}], ids=["short", "long", "misspelt", "nan"]
    )
    def test_a_lease_of_no_sensible_length_is_refused(
        self, client: TestClient, authorized: dict[str, str], body: dict[str, object]
    ) -> None:
        assert 422 == client.post(f"{LINK}/lease", json=body, headers=authorized).status_code

    def test_what_was_done_is_told_however_old_the_scores_are(
        self, client: TestClient, authorized: dict[str, str], advance: Callable[..., None]
    ) -> None:
        advance(hours=3)
        answer = client.post(f"{LINK}/drained", json={}, headers=authorized)

        assert (200, "drained") == (answer.status_code, answer.json()["state"])
        assert 503 == client.post(f"{LINK}/lease", json={}, headers=authorized).status_code

    def test_what_was_never_drained_is_not_verified(self, client: TestClient, authorized: dict[str, str]) -> None:
        answer = client.post(f"{LINK}/verified", json={}, headers=authorized)

        assert (404, "urn:forelight:problem:drain-not-found") == (answer.status_code, answer.json()["type"])


def test_without_links_in_the_lake_no_link_is_known(client: TestClient, score: Callable[..., None]) -> None:
    score()

    assert 404 == client.get(f"{LINK}/decision").status_code


def _of(answer: Any, *names: str) -> list[Any]:
    return [answer.json()[name] for name in names]


@pytest.mark.usefixtures("fabric_in_lake", "active")
def test_the_code_of_the_automation_page_drains_what_it_may(client: TestClient, authorized: dict[str, str]) -> None:
    """As it stands on the page, against the service; a second sweep finds nothing more to do."""
    page = (Path(__file__).parents[3] / "docs" / "automation.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    found: dict[str, Any] = {}
    exec(code, found)
    drained: list[str] = []
    token = authorized["Authorization"].removeprefix("Bearer ")

    with Client("http://testserver", token, transport=client._transport) as ours:
        leases = found["sweep"](ours, lambda *place: drained.append(" ".join(place)))
        again = found["sweep"](ours, lambda *place: drained.append(" ".join(place)))
        back = ours.undrained("leaf01", "Ethernet1", actions=[Action.CLEAN_CONNECTOR])

    assert (["leaf01 Ethernet1"], 1, []) == (drained, len(leases), again)
    assert back.drain_id == leases[0]
