"""``POST /v1/samples``: what hosts push is in the lake, or durably before it, when it is acknowledged."""

import gzip
import json
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake
import pytest
from starlette.testclient import TestClient

from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, MODULES, PORT_EVENTS, PORT_SAMPLES
from serving.access.auth import OperatorToken
from serving.access.limits import Buckets
from serving.access.tokens import Scope, TokenStore
from serving.app import create_app
from serving.client import Client
from serving.errors import ServingError
from serving.samples.sent import Sent
from serving.settings import Settings
from serving.store import AlarmStore
from serving.wire.samples import SampleRequest, SamplesTaken

PATH = "/v1/samples"
TOKEN = "correct horse battery staple"
Post = Callable[..., Any]


def reading(at: datetime, interface: str = "eth0", **more: Any) -> dict[str, Any]:
    lanes = [{"lane": lane, "rx_power_dbm": -2.0 - lane, "tx_bias_ma": 7.0} for lane in (1, 2)]
    return {
        "interface": interface,
        "time": at.isoformat(),
        "lanes": lanes,
        "temperature_c": 45.0,
        "oper_up": True,
        **more,
    }


@pytest.fixture(name="post")
def _post(client: TestClient, authorized: dict[str, str], now: datetime) -> Post:
    """Posts readings of gpu0001, one where none are given."""
    client.app.state.services.intake.window_s = 0.01  # type: ignore[attr-defined]

    def post(*readings: dict[str, Any], headers: dict[str, str] | None = None, **more: Any) -> Any:
        body = {"device": "gpu0001", "readings": list(readings or [reading(now)]), **more}
        return client.post(PATH, json=body, headers=authorized | (headers or {}))

    return post


class TestKept:
    def test_ports_of_one_cage_count_for_themselves(self, post: Post, lake: Lake, now: datetime) -> None:
        """The module is the cage's; what a breakout's port counts lies under its own name."""
        parts = [
            reading(now, "swp1", sub_interface=f"swp1s{n}", crc_errors=n, pre_fec_ber=n / 1e9, module={"serial": "SN1"})
            for n in (1, 2)
        ]

        answer = post(*parts)

        assert 0 == answer.json()["refused_count"], answer.text
        rows = lake.latest(PORT_SAMPLES).sort("interface").collect().to_dicts()
        assert [("swp1", None, 45.0), ("swp1s1", 1, None), ("swp1s2", 2, None)] == [
            (row["interface"], row["crc_errors"], row["temperature_c"]) for row in rows
        ]
        assert ["SN1", None, None] == [row["serial"] for row in rows]
        assert ["swp1"] == lake.latest(MODULES).collect()["interface"].to_list()
        assert {"swp1"} == set(lake.latest(LANE_SAMPLES).collect()["interface"])

    def test_readings_events_and_modules_are_in_the_lake_when_it_is_answered(
        self, post: Post, lake: Lake, now: datetime
    ) -> None:
        module = {"serial": "SN1", "vendor": "Acme", "limits": {"rx_power_low_warn_dbm": -9.0}}
        down = {"interface": "eth0", "time": now.isoformat(), "kind": "down", "cause": "carrier lost"}

        answer = post(reading(now, module=module, crc_errors=7), events=[down])

        assert 200 == answer.status_code, answer.text
        told = answer.json()
        assert (True, 2, 1, 1, 0) == (
            told["new"],
            told["lane_samples"],
            told["port_samples"],
            told["events"],
            told["refused_count"],
        )
        lanes = lake.latest(LANE_SAMPLES).sort("lane").collect().to_dicts()
        assert [(1, -3.0, "agent", now), (2, -4.0, "agent", now)] == [
            (row["lane"], row["rx_power_dbm"], row["source"], row["received_at"]) for row in lanes
        ]
        (port,) = lake.latest(PORT_SAMPLES).collect().to_dicts()
        assert (45.0, True, 7, "SN1") == (port["temperature_c"], port["oper_up"], port["crc_errors"], port["serial"])
        (event,) = lake.latest(PORT_EVENTS).collect().to_dicts()
        assert ("down", "carrier lost") == (event["kind"], event["cause"])
        (row,) = lake.latest(MODULES).collect().to_dicts()
        assert ("nic", "SN1", -9.0) == (row["role"], row["serial"], row["rx_power_low_warn_dbm"])

    def test_zero_is_a_milliwatt_and_minus_forty_no_light(self, post: Post, lake: Lake, now: datetime) -> None:
        lanes = [{"lane": 1, "rx_power_dbm": 0.0}, {"lane": 2, "rx_power_dbm": -40.0}, {"lane": 3}]

        post(reading(now) | {"lanes": lanes})

        assert [(1, 0.0), (2, -40.0)] == [
            (row["lane"], row["rx_power_dbm"]) for row in lake.latest(LANE_SAMPLES).sort("lane").collect().to_dicts()
        ]

    def test_the_very_same_is_taken_once(self, post: Post, lake: Lake) -> None:
        told = [post().json()["new"] for _ in range(3)]

        assert [True, False, False] == told
        assert 2 == lake.scan(LANE_SAMPLES).collect().height

    def test_what_was_taken_before_a_restart_is_taken_once(
        self, post: Post, authorized: dict[str, str], store: AlarmStore, settings: Settings, lake: Lake, now: datetime
    ) -> None:
        """A kill loses no answer; a line that it cut off is none."""
        first = post(reading(now), headers={"Idempotency-Key": "k1"}).json()
        before = lake.latest(LANE_SAMPLES).collect().height
        kept = settings.home / "sent-samples.jsonl"
        kept.write_text(kept.read_text() + '["who", "cut of')
        again = TestClient(create_app(settings, store, token=OperatorToken.of(TOKEN), clock=lambda: now))
        body = {"device": "gpu0001", "readings": [reading(now)]}

        answer = again.post(PATH, json=body, headers=authorized | {"Idempotency-Key": "k1"}).json()

        assert first | {"new": False} == answer
        assert before == lake.latest(LANE_SAMPLES).collect().height

    def test_what_was_sent_is_kept_in_bounds(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two files of as many lines as answers are remembered; the oldest are forgotten."""
        monkeypatch.setattr("serving.samples.sent._MOST_KEPT", 10)
        sent = Sent(tmp_path / "sent.jsonl")
        taken = SamplesTaken(
            received_at=datetime.now(UTC),
            new=True,
            lane_samples=1,
            port_samples=1,
            events=0,
            refused=[],
            refused_count=0,
        )
        for n in range(35):
            sent.keep(("host", str(n)), ("digest", taken))

        again = Sent(tmp_path / "sent.jsonl")

        assert [None, *[("digest", taken)] * 2] == [again.get(("host", str(n))) for n in (20, 30, 34)]
        assert 20 >= sum(len(path.read_text().splitlines()) for path in tmp_path.iterdir())

    def test_metrics_tell_how_much_came(self, post: Post, client: TestClient, now: datetime) -> None:
        post(reading(now), reading(now, "eth1", temperature_c=900.0))

        told = client.get("/metrics").text

        assert 'forelight_samples_rows_total{table="lane_samples"} 4.0' in told
        assert "forelight_samples_refused_total 1.0" in told
        assert "forelight_samples_last_timestamp_seconds 1" in told

    def test_a_key_stands_for_one_request(self, post: Post, now: datetime) -> None:
        key = {"Idempotency-Key": "k1"}

        first, again, other = post(headers=key), post(headers=key), post(reading(now, "eth1"), headers=key)

        assert (200, True) == (first.status_code, first.json()["new"])
        assert (200, False) == (again.status_code, again.json()["new"])
        assert (422, "idempotency-key-reused") == (other.status_code, other.json()["type"].rpartition(":")[2])

    def test_many_hosts_at_once_cost_few_commits(
        self, client: TestClient, authorized: dict[str, str], lake: Lake, now: datetime
    ) -> None:
        client.app.state.services.intake.window_s = 0.3  # type: ignore[attr-defined]

        def push(host: int) -> int:
            body = {"device": f"gpu{host}", "readings": [reading(now)]}
            return client.post(PATH, json=body, headers=authorized).status_code

        with ThreadPoolExecutor(16) as pool:
            codes = list(pool.map(push, range(32)))

        assert [200] * 32 == codes
        assert 64 == lake.latest(LANE_SAMPLES).collect().height
        assert 8 > deltalake.DeltaTable(f"{lake.uri}/lane_samples").version()

    def test_the_client_pushes(self, live: Callable[..., str], settings: Settings, store: AlarmStore) -> None:
        body = SampleRequest.model_validate({"device": "gpu0001", "readings": [reading(datetime.now().astimezone())]})

        with Client(live(settings, store, OperatorToken.of(TOKEN)), TOKEN) as client:
            told = client.push(body, key="k1"), client.push(body, key="k1")

        assert [True, False] == [each.new for each in told]


class TestRefused:
    def test_what_no_module_can_give_is_null_and_told_and_quarantined(
        self, post: Post, lake: Lake, now: datetime, settings: Settings
    ) -> None:
        bad = reading(now) | {"lanes": [{"lane": 1, "rx_power_dbm": 55.0, "tx_bias_ma": 7.0}]}

        told = post(bad).json()

        assert [("eth0", "rx_power_dbm of lane 1", "no module can give 55")] == [
            (each["interface"], each["column"], each["reason"]) for each in told["refused"]
        ]
        assert [(None, 7.0)] == [
            (row["rx_power_dbm"], row["tx_bias_ma"]) for row in lake.latest(LANE_SAMPLES).collect().to_dicts()
        ]
        (file,) = (settings.home / "quarantine").glob("samples-*.jsonl")
        assert "no module can give 55" in json.loads(file.read_text())["reason"]

    @pytest.mark.parametrize(
        ("by", "told"), [({"minutes": 6}, "in the future"), ({"days": -32}, "31 days in the past")]
    )
    def test_a_time_that_cannot_be_leaves_the_reading_out_and_keeps_the_others(
        self, post: Post, lake: Lake, now: datetime, by: dict[str, float], told: str
    ) -> None:
        answer = post(reading(now), reading(now + timedelta(**by), "eth1")).json()

        assert [("eth1", None)] == [(each["interface"], each["column"]) for each in answer["refused"]]
        assert told in answer["refused"][0]["reason"]
        assert ["eth0"] == lake.latest(PORT_SAMPLES).collect()["interface"].to_list()

    @pytest.mark.parametrize(
        "change",
        [
            {"rx_power": -2.0},
            {"lanes": [{"lane": 1}, {"lane": 1}]},
            {"lanes": [{"lane": 17}]},
            {"time": "2026-11-29T12:00:00"},
            {"crc_errors": -1},
            {"module": {"limits": {"rx_low": 1.0}}},
            {"temperature_c": "hot"},
        ],
    )
    def test_what_the_contract_does_not_know_is_refused_whole(
        self, post: Post, lake: Lake, now: datetime, change: dict[str, Any]
    ) -> None:
        answer = post(reading(now) | change)

        assert 422 == answer.status_code
        assert not lake.exists(PORT_SAMPLES)

    def test_a_host_that_sends_too_often_is_told_when_to_come_again(self, client: TestClient, post: Post) -> None:
        client.app.state.services.hosts._buckets = Buckets(0.001, 1.0)  # type: ignore[attr-defined]

        codes = [post(device=device) for device in ("a", "a", "b")]

        assert [200, 429, 200] == [each.status_code for each in codes]
        assert "Retry-After" in codes[1].headers

    def test_a_token_of_a_host_may_push_and_nothing_else(
        self, client: TestClient, post: Post, store: AlarmStore, now: datetime, clock: Any
    ) -> None:
        tokens = TokenStore(store.engine, clock=clock)
        made = {scope: tokens.create(scope, scope, who="test", expires_at=None)[1] for scope in Scope}
        headers = {scope: {"Authorization": f"Bearer {text}"} for scope, text in made.items()}

        pushed = {scope: post(headers=each, site=str(scope)).status_code for scope, each in headers.items()}

        assert {"read": 403, "operate": 200, "admin": 200, "ingest": 200} == pushed
        assert 403 == client.post("/v1/alarms/x/ack", json={}, headers=headers[Scope.INGEST]).status_code
        assert 401 == client.post(PATH, json={"device": "a"}).status_code

    def test_a_token_that_is_bound_to_a_host_speaks_for_it_alone(self, post: Post, store: AlarmStore) -> None:
        """Whoever takes it from a server can make up that server's optics, and nobody else's."""
        tokens = TokenStore(store.engine)
        _, text = tokens.create("gpu0001", Scope.INGEST, who="test", expires_at=None, device=("default", "gpu0001"))
        own = {"Authorization": f"Bearer {text}"}

        answers = [post(headers=own), post(headers=own, device="gpu0002"), post(headers=own, site="ams2")]

        assert [200, 403, 403] == [answer.status_code for answer in answers]
        assert "speaks for gpu0001 of site default alone, not for gpu0002 of default" in answers[1].json()["detail"]

    def test_only_a_token_that_pushes_samples_is_bound(self, store: AlarmStore) -> None:
        with pytest.raises(ServingError, match="bound to a device with the scope ingest"):
            TokenStore(store.engine).create("x", Scope.OPERATE, who="t", expires_at=None, device=("default", "gpu0001"))


class TestGzip:
    def test_a_body_may_be_gzip(
        self, client: TestClient, post: Post, authorized: dict[str, str], now: datetime
    ) -> None:
        body = gzip.compress(json.dumps({"device": "gpu0001", "readings": [reading(now)]}).encode())
        headers = authorized | {"Content-Encoding": "gzip", "Content-Type": "application/json"}

        answer = client.post(PATH, content=body, headers=headers)

        assert (200, 2) == (answer.status_code, answer.json().get("lane_samples")), answer.text

    @pytest.mark.parametrize(
        ("body", "encoding", "status"),
        [
            (gzip.compress(b" " * 50_000_000), "gzip", 413),
            (b"no gzip", "gzip", 400),
            (gzip.compress(b"{}" * 1000)[:-9], "gzip", 400),
            (b"{}", "br", 415),
        ],
        ids=["bomb", "none", "cut", "other"],
    )
    def test_what_cannot_be_inflated_in_bounds_is_a_problem(
        self, client: TestClient, authorized: dict[str, str], body: bytes, encoding: str, status: int
    ) -> None:
        headers = authorized | {"Content-Encoding": encoding, "Content-Type": "application/json"}

        answer = client.post(PATH, content=body, headers=headers)

        assert status == answer.status_code, answer.text
        assert "application/problem+json" == answer.headers["content-type"]


class TestOutages:
    def test_while_the_lake_is_away_samples_wait_in_the_spool_and_are_acknowledged(
        self, client: TestClient, post: Post, lake: Lake, settings: Settings, now: datetime
    ) -> None:
        Path(lake.uri).parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(lake.uri, ignore_errors=True)
        Path(lake.uri).write_text("no folder")

        answer = post()

        assert 200 == answer.status_code, answer.text
        assert list((settings.home / "spool-samples").glob("*-lane_samples-2.arrow"))
        Path(lake.uri).unlink()
        intake = client.app.state.services.intake  # type: ignore[attr-defined]
        deadline = time.monotonic() + 20
        while intake._spool.state.rows and time.monotonic() < deadline:
            intake._spool._waits.clear()
            post(reading(now, "eth1"), device="other")
            time.sleep(0.2)
        assert {"gpu0001", "other"} == set(lake.latest(LANE_SAMPLES).collect()["device"])

    def test_what_can_be_kept_nowhere_is_not_acknowledged(self, post: Post, lake: Lake, settings: Settings) -> None:
        Path(lake.uri).parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(lake.uri, ignore_errors=True)
        Path(lake.uri).write_text("no folder")
        (settings.home / "spool-samples").write_text("no folder")

        answer = post()

        assert (503, "samples-unavailable") == (answer.status_code, answer.json()["type"].rpartition(":")[2])
        assert "Retry-After" in answer.headers
