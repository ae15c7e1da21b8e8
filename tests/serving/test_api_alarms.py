"""Alarms over HTTP, on both databases."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest
from starlette.testclient import TestClient

from ingest.lake import Lake
from ingest.schema import MODULES
from serving.access.auth import OperatorToken
from serving.alarm_csv import CSV_COLUMNS
from serving.alarms import AlarmRecord, ScoreRun, left_alone
from serving.app import create_app
from serving.settings import Settings
from serving.store import AlarmStore

MakeAlarm = Callable[..., AlarmRecord]
MakeRun = Callable[..., ScoreRun]
Score = Callable[..., None]


@pytest.fixture(name="raised")
def _raised(store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm) -> tuple[AlarmRecord, ...]:
    """Five alarms, the first the newest."""
    alarms = tuple(make_alarm(number) for number in range(1, 6))
    store.apply(make_run(), alarms)
    return alarms


class TestList:
    def test_it_names_the_run_it_rests_on(self, client: TestClient, raised: tuple[AlarmRecord, ...]) -> None:
        answer = client.get("/v1/alarms").json()

        assert "2026-11-29T12:00:00Z" == answer["scored_at"]
        assert "3" == answer["model_version"]
        assert "2026-11-29T12:00:00Z" == answer["answered_at"]

    def test_an_alarm_carries_all_columns_of_the_csv(self, client: TestClient, raised: tuple[AlarmRecord, ...]) -> None:
        alarm = client.get("/v1/alarms").json()["alarms"][0]

        assert set(CSV_COLUMNS) < set(alarm)
        assert {
            "alarm_id": "alarm-001",
            "status": "open",
            "level": "act",
            "site": "default",
            "device": "leaf01",
            "interface": "Ethernet1",
            "serial": "SN0001",
            "suspect": "module",
            "link_id": "default/leaf01/Ethernet1--default/spine01/Ethernet1",
            "peer_device": "spine01",
            "peer_interface": "Ethernet1",
            "affected_nodes": [],
            "left_alone": False,
            "raised_at": "2026-11-29T11:00:00Z",
            "act_at": None,
            "cleared_at": None,
            "suppressed_until": None,
            "expires_at": "2026-11-30T12:00:00Z",
            "risk_24h": 0.5,
            "risk_168h": 0.75,
            "failure_type": "laser_degradation",
            "action": "replace_transceiver",
            "expected_from": "2026-11-29T12:00:00Z",
            "expected_to": "2026-11-30T12:00:00Z",
            "reasons": ["bias 38 % above its baseline"],
            "model_version": "3",
        } == alarm

    def test_pages_are_walked_by_cursor(self, client: TestClient, raised: tuple[AlarmRecord, ...]) -> None:
        met: list[str] = []
        cursor: dict[str, str] = {}
        for _ in range(3):
            answer = client.get("/v1/alarms", params={"limit": "2"} | cursor).json()
            met += [alarm["alarm_id"] for alarm in answer["alarms"]]
            cursor = {"cursor": answer["next_cursor"]}

        assert [alarm.alarm_id for alarm in raised] == met
        assert {"cursor": None} == cursor

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("device=leaf01&interface=Ethernet2", ["alarm-002"]),
            ("status=acked", ["alarm-003"]),
            ("status=acked&status=cleared", ["alarm-003", "alarm-004"]),
            ("site=elsewhere", []),
            ("failure_type=contamination", []),
            ("level=watch", []),
            ("min_risk=0.51", []),
            ("level=act&min_risk=0.5&status=open&site=default", ["alarm-001", "alarm-002", "alarm-005"]),
            ("since=2026-11-29T12:00:01Z", []),
            ("since=2026-11-29T13:00:00%2B01:00&status=acked", ["alarm-003"]),
        ],
    )
    def test_filters(
        self,
        client: TestClient,
        raised: tuple[AlarmRecord, ...],
        authorized: dict[str, str],
        query: str,
        expected: list[str],
    ) -> None:
        client.post("/v1/alarms/alarm-003/ack", json={}, headers=authorized)
        client.post("/v1/alarms/alarm-004/clear", json={}, headers=authorized)

        answer = client.get(f"/v1/alarms?{query}")

        assert expected == [alarm["alarm_id"] for alarm in answer.json()["alarms"]]

    @pytest.mark.parametrize(
        "query",
        [
            "min_probability=0.5",
            "limit=0",
            "limit=1001",
            "limit=many",
            "min_risk=nan",
            "min_risk=inf",
            "min_risk=1.5",
            "status=gone",
            "level=panic",
            "failure_type=gremlins",
            "since=2026-11-29T12:00:00",
            "since=2026",  # a second of 1970 it would be, and widen the answer
            "since=1764417600.0",
            "since=0001-01-01T00:00:00%2B14:00",
            "device=",
            "device=a%00b",
            f"device={'x' * 256}",
            f"cursor={'x' * 1001}",
            "cursor=nonsense",
        ],
    )
    def test_what_it_cannot_take_is_refused_not_ignored(
        self, client: TestClient, raised: tuple[AlarmRecord, ...], query: str
    ) -> None:
        answer = client.get(f"/v1/alarms?{query}")

        assert 422 == answer.status_code
        assert "application/problem+json" == answer.headers["content-type"]
        assert {"type", "title", "status", "detail", "instance"} <= set(answer.json())


class TestStaleness:
    def test_no_scores_are_an_error_not_an_all_clear(self, client: TestClient) -> None:
        answer = client.get("/v1/alarms")

        assert 503 == answer.status_code
        assert "No scores yet" == answer.json()["title"]
        assert "60" == answer.headers["retry-after"]

    @pytest.mark.parametrize("path", ["/v1/alarms", "/v1/alarms/alarm-001", "/v1/transceivers/leaf01/Ethernet1"])
    def test_stale_scores_are_an_error_not_an_all_clear(
        self,
        client: TestClient,
        raised: tuple[AlarmRecord, ...],
        score: Score,
        advance: Callable[..., None],
        path: str,
    ) -> None:
        score()
        assert 200 == client.get(path).status_code
        advance(hours=2, seconds=1)

        answer = client.get(path)

        assert 503 == answer.status_code
        assert "urn:forelight:problem:stale-scores" == answer.json()["type"]
        assert "Scores are stale" == answer.json()["title"]
        assert "2026-11-29T12:00:00+00:00" == answer.json()["scored_at"]

    def test_an_empty_list_is_an_all_clear_while_scores_are_fresh(self, client: TestClient, score: Score) -> None:
        score()

        assert [] == client.get("/v1/alarms").json()["alarms"]

    def test_a_new_run_ends_it(
        self, client: TestClient, score: Score, advance: Callable[..., None], now: datetime
    ) -> None:
        score()
        advance(hours=3)
        assert 503 == client.get("/v1/alarms").status_code

        score(at=now + timedelta(hours=3))

        assert 200 == client.get("/v1/alarms").status_code


class TestOne:
    def test_it_has_its_life(
        self, client: TestClient, raised: tuple[AlarmRecord, ...], authorized: dict[str, str]
    ) -> None:
        client.post("/v1/alarms/alarm-001/ack", json={"reason": "looking"}, headers=authorized)

        answer = client.get("/v1/alarms/alarm-001").json()

        assert "acked" == answer["alarm"]["status"]
        assert ["open", "acked"] == [event["to_status"] for event in answer["events"]]
        assert {"at", "from_status", "to_status", "who", "why"} == set(answer["events"][0])
        assert "looking" == answer["events"][1]["why"]

    def test_an_unchanged_alarm_is_not_sent_again(self, client: TestClient, raised: tuple[AlarmRecord, ...]) -> None:
        tag = client.get("/v1/alarms/alarm-001").headers["etag"]

        again = client.get("/v1/alarms/alarm-001", headers={"If-None-Match": f'"other", {tag}'})

        assert 304 == again.status_code
        assert b"" == again.content
        assert tag == again.headers["etag"]

    def test_a_changed_alarm_has_another_tag(
        self, client: TestClient, raised: tuple[AlarmRecord, ...], authorized: dict[str, str]
    ) -> None:
        tag = client.get("/v1/alarms/alarm-001").headers["etag"]
        client.post("/v1/alarms/alarm-001/ack", json={}, headers=authorized)

        again = client.get("/v1/alarms/alarm-001", headers={"If-None-Match": tag})

        assert 200 == again.status_code
        assert tag != again.headers["etag"]

    def test_an_unknown_one_is_a_problem(self, client: TestClient, raised: tuple[AlarmRecord, ...]) -> None:
        answer = client.get("/v1/alarms/nobody")

        assert 404 == answer.status_code
        assert "urn:forelight:problem:alarm-not-found" == answer.json()["type"]

    def test_it_takes_no_parameters(self, client: TestClient, raised: tuple[AlarmRecord, ...]) -> None:
        assert 422 == client.get("/v1/alarms/alarm-001?fields=all").status_code


class TestNodes:
    def test_a_server_at_either_end_is_an_affected_node(
        self, client: TestClient, score: Score, make_alarm: MakeAlarm, lake: Lake, now: datetime
    ) -> None:
        nic = {"received_at": now, "site": "default", "interface": "eth0", "role": "nic"}
        lake.append(MODULES, pl.DataFrame([nic | {"device": "gpu07"}, nic | {"device": "leaf01", "role": "switch"}]))
        score(raised=(make_alarm(1, peer_device="gpu07"), make_alarm(2), make_alarm(3, device="gpu07")))

        alarms = client.get("/v1/alarms").json()["alarms"]

        assert [["gpu07"], [], ["gpu07"]] == [alarm["affected_nodes"] for alarm in alarms]

    @pytest.mark.parametrize("known", [True, False])
    def test_only_links_between_switches_are_left_alone_and_none_where_no_server_is_known(
        self,
        store: AlarmStore,
        settings: Settings,
        clock: Callable[[], datetime],
        score: Score,
        make_alarm: MakeAlarm,
        lake: Lake,
        known: bool,
    ) -> None:
        nic = {"received_at": clock(), "site": "default", "interface": "eth0", "role": "nic" if known else "switch"}
        lake.append(MODULES, pl.DataFrame([nic | {"device": "gpu07"}]))
        records = [make_alarm(i, **({"peer_device": "gpu07"} if i < 20 else {})) for i in range(40)]
        score(raised=tuple(records))

        with TestClient(create_app(replace(settings, no_act_share=0.5), store, token=None, clock=clock)) as client:
            alarms = client.get("/v1/alarms?limit=100").json()["alarms"]

        alone = {alarm["alarm_id"] for alarm in alarms if alarm["left_alone"]}
        assert alone == {r.alarm_id for r in records[20:] if known and left_alone(r.alarm_id, 0.5)}
        assert known == bool(alone)


class TestSteps:
    def test_acknowledging_and_clearing_twice_change_nothing_more(
        self, client: TestClient, raised: tuple[AlarmRecord, ...], authorized: dict[str, str], store: AlarmStore
    ) -> None:
        for step, status in (("ack", "acked"), ("ack", "acked"), ("clear", "cleared"), ("clear", "cleared")):
            answer = client.post(f"/v1/alarms/alarm-001/{step}", json={"reason": "seen"}, headers=authorized)

            assert 200 == answer.status_code
            assert status == answer.json()["status"]

        assert 3 == len(store.events("alarm-001"))

    def test_a_cleared_alarm_cannot_be_acknowledged(
        self, client: TestClient, raised: tuple[AlarmRecord, ...], authorized: dict[str, str]
    ) -> None:
        client.post("/v1/alarms/alarm-001/clear", json={}, headers=authorized)

        answer = client.post("/v1/alarms/alarm-001/ack", json={}, headers=authorized)

        assert 409 == answer.status_code
        assert "urn:forelight:problem:illegal-transition" == answer.json()["type"]
        assert "cleared" == answer.json()["current"]

    def test_stale_scores_do_not_keep_an_operator_from_clearing(
        self,
        client: TestClient,
        raised: tuple[AlarmRecord, ...],
        authorized: dict[str, str],
        advance: Callable[..., None],
    ) -> None:
        advance(days=3)

        assert 200 == client.post("/v1/alarms/alarm-001/clear", json={}, headers=authorized).status_code

    @pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}])
    def test_without_the_token_nothing_changes(
        self, client: TestClient, raised: tuple[AlarmRecord, ...], headers: dict[str, str], store: AlarmStore
    ) -> None:
        answer = client.post("/v1/alarms/alarm-001/clear", json={}, headers=headers)

        assert 401 == answer.status_code
        assert "Bearer" == answer.headers["www-authenticate"]
        assert raised[0] == store.alarm("alarm-001")

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"reason": "x" * 501}, 422),
            ({"reason": "a\x00b"}, 422),
            ({"because": "x"}, 422),
            ([], 422),
            ({"reason": "x" * 70_000}, 413),
        ],
    )
    def test_a_body_it_cannot_take_is_refused(
        self,
        client: TestClient,
        raised: tuple[AlarmRecord, ...],
        authorized: dict[str, str],
        body: object,
        status: int,
    ) -> None:
        answer = client.post("/v1/alarms/alarm-001/ack", json=body, headers=authorized)

        assert status == answer.status_code
        assert "application/problem+json" == answer.headers["content-type"]


class TestWithoutToken:
    def test_where_no_token_is_set_the_service_is_read_only(
        self, raised: tuple[AlarmRecord, ...], store: AlarmStore, settings: Settings, now: datetime
    ) -> None:
        with TestClient(create_app(settings, store, clock=lambda: now)) as client:
            assert 200 == client.get("/v1/alarms").status_code
            answer = client.post("/v1/alarms/alarm-001/ack", json={}, headers={"Authorization": "Bearer x"})

        assert 403 == answer.status_code
        assert "urn:forelight:problem:read-only" == answer.json()["type"]

    def test_beyond_loopback_reading_needs_the_token_too(
        self,
        raised: tuple[AlarmRecord, ...],
        store: AlarmStore,
        settings: Settings,
        now: datetime,
        score: Score,
        authorized: dict[str, str],
    ) -> None:
        score()
        token = OperatorToken.of(authorized["Authorization"].removeprefix("Bearer "))
        app = create_app(settings, store, token=token, open_reads=False, clock=lambda: now)
        with TestClient(app) as client:
            paths = ("/v1/alarms", "/v1/alarms/alarm-001", "/v1/transceivers/leaf01/Ethernet1")
            assert [401, 401, 401] == [client.get(path).status_code for path in paths]
            assert [200, 200, 200] == [client.get(path, headers=authorized).status_code for path in paths]
            assert 200 == client.get("/livez").status_code
