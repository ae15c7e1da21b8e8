"""The latest score of one transceiver over HTTP."""

import json
import math
from collections.abc import Callable
from datetime import datetime, timedelta

import polars as pl
import pytest
from starlette.testclient import TestClient

from ingest.lake import Lake
from ingest.schema import SCORES
from serving.alarms import AlarmRecord, ScoreRun
from serving.store import AlarmStore

MakeAlarm = Callable[..., AlarmRecord]
MakeScore = Callable[..., pl.DataFrame]
Score = Callable[..., None]

_TO_DO = ("actions", "expected_cost_h")


def test_a_score_has_risks_type_suspect_and_reasons(
    client: TestClient, score: Score, advance: Callable[..., None]
) -> None:
    score()
    advance(minutes=10)

    answer = client.get("/v1/transceivers/leaf01/Ethernet1").json()

    assert {
        "scored_at": "2026-11-29T12:00:00Z",
        "model_version": "3",
        "site": "default",
        "device": "leaf01",
        "interface": "Ethernet1",
        "serial": "SN0001",
        "status": "scored",
        "risks": {"6h": 0.25, "12h": None, "24h": 0.5, "48h": None, "96h": None, "168h": 0.75},
        "failure_type": "laser_degradation",
        "suspect": "module",
        "suspect_device": "leaf01",
        "suspect_interface": "Ethernet1",
        "suspect_probability": 0.875,
        "action": "replace_transceiver",
        "reasons": ["bias 38 % above its baseline"],
        "evidence": [],
        "peer_device": "spine01",
        "peer_interface": "Ethernet1",
        "alarm": None,
        "data_age_s": 660.0,
    } == {name: value for name, value in answer.items() if name not in {"type_probabilities", *_TO_DO}}
    assert 0.75 == answer["type_probabilities"]["laser_degradation"]


def test_the_features_behind_a_reason_are_said_with_their_units(
    client: TestClient, score: Score, make_score: MakeScore
) -> None:
    cause = "laser bias is rising at equal temperature"
    bias = {"cause": cause, "feature": "bias_max_shift_6h", "end": "near", "value": 0.3221, "odds": 4.5}
    score(make_score(reasons=[cause], evidence=[bias, bias | {"feature": "bias_spent_24h", "value": None}]))

    first, missing = client.get("/v1/transceivers/leaf01/Ethernet1").json()["evidence"]

    what = "laser current at equal temperature, 6 h against the baseline"
    assert bias | {"value": pytest.approx(0.3221), "what": what, "said": "+38.0 %"} == first
    assert (None, "not known") == (missing["value"], missing["said"])


def test_what_to_try_is_ranked_by_what_it_costs_until_it_cures(client: TestClient, score: Score) -> None:
    """Laser 0.75, contamination 0.25: replacing cures 0.97 of the one and 0.3 of the other, then comes cleaning."""
    score()

    answer = client.get("/v1/transceivers/leaf01/Ethernet1").json()

    first, second, *_ = answer["actions"]
    assert {"action": "replace_transceiver", "cures": pytest.approx(0.8025), "cost_h": 3.5} == first
    assert ("clean_connector", answer["action"]) == (second["action"], first["action"])
    assert 3.5 < answer["expected_cost_h"] < 3.5 + 0.1975 * 14


@pytest.mark.parametrize("written", ["HundredGigE0/0/0/1", "HundredGigE0%2F0%2F0%2F1"])
def test_interfaces_hold_slashes(client: TestClient, score: Score, make_score: MakeScore, written: str) -> None:
    score(make_score("HundredGigE0/0/0/1"))

    answer = client.get(f"/v1/transceivers/leaf01/{written}")

    assert "HundredGigE0/0/0/1" == answer.json()["interface"]


def test_a_device_of_the_same_name_at_another_site_is_another(
    client: TestClient, score: Score, make_score: MakeScore
) -> None:
    score(make_score(), make_score(site="north", risk_24h=0.125))

    assert 0.5 == client.get("/v1/transceivers/leaf01/Ethernet1").json()["risks"]["24h"]
    assert 0.125 == client.get("/v1/transceivers/leaf01/Ethernet1?site=north").json()["risks"]["24h"]


def test_what_cannot_be_scored_is_unknown_and_says_why(client: TestClient, score: Score, make_score: MakeScore) -> None:
    nothing = dict.fromkeys(("risk_6h", "risk_24h", "risk_168h", "failure_type", "suspect", "data_age_s"))
    score(make_score(status="unknown", reasons=["no reading for 26 h"], type_probabilities=None, **nothing))

    answer = client.get("/v1/transceivers/leaf01/Ethernet1").json()

    assert "unknown" == answer["status"]
    assert ["no reading for 26 h"] == answer["reasons"]
    assert {None} == set(answer["risks"].values())
    assert answer["data_age_s"] is None


def test_an_unknown_one_is_a_problem(client: TestClient, score: Score) -> None:
    score()

    answer = client.get("/v1/transceivers/leaf01/Ethernet99")

    assert 404 == answer.status_code
    assert "urn:forelight:problem:transceiver-not-found" == answer.json()["type"]


def test_before_the_first_run_nothing_is_known(client: TestClient) -> None:
    answer = client.get("/v1/transceivers/leaf01/Ethernet1")

    assert 503 == answer.status_code
    assert "No scores yet" == answer.json()["title"]


@pytest.mark.parametrize("query", ["at=now", "site=", "site=a%0Ab"])
def test_what_it_cannot_take_is_refused(client: TestClient, score: Score, query: str) -> None:
    score()

    assert 422 == client.get(f"/v1/transceivers/leaf01/Ethernet1?{query}").status_code


def test_numbers_that_are_none_never_reach_the_wire(client: TestClient, score: Score, make_score: MakeScore) -> None:
    bad = {"risk_24h": math.nan, "data_age_s": math.inf, "type_probabilities": {"other": math.nan}}
    score(make_score(**bad))

    answer = client.get("/v1/transceivers/leaf01/Ethernet1")

    def refuse(name: str) -> None:
        pytest.fail(f"{name} in JSON")

    body = json.loads(answer.text, parse_constant=refuse)
    assert body["risks"]["24h"] is None
    assert body["data_age_s"] is None


def test_the_standing_alarm_of_its_link_is_named_at_both_ends(
    client: TestClient, score: Score, make_score: MakeScore, make_alarm: MakeAlarm
) -> None:
    score(make_score(), make_score(device="spine01"), raised=(make_alarm(),))

    ends = [client.get(f"/v1/transceivers/{device}/Ethernet1").json() for device in ("leaf01", "spine01")]

    assert ["alarm-001", "alarm-001"] == [end["alarm"]["alarm_id"] for end in ends]
    assert ["leaf01", "leaf01"] == [end["alarm"]["device"] for end in ends]


def test_clearing_over_http_shows_at_once(
    client: TestClient, score: Score, make_alarm: MakeAlarm, authorized: dict[str, str]
) -> None:
    score(raised=(make_alarm(),))
    assert client.get("/v1/transceivers/leaf01/Ethernet1").json()["alarm"] is not None

    client.post("/v1/alarms/alarm-001/clear", json={}, headers=authorized)

    assert client.get("/v1/transceivers/leaf01/Ethernet1").json()["alarm"] is None


def test_a_run_whose_scores_are_missing_is_an_error(
    client: TestClient, store: AlarmStore, make_run: Callable[..., ScoreRun]
) -> None:
    store.apply(make_run())

    answer = client.get("/v1/transceivers/leaf01/Ethernet1")

    assert 503 == answer.status_code
    assert "urn:forelight:problem:scores-unavailable" == answer.json()["type"]


def test_of_a_score_written_twice_the_later_counts(
    client: TestClient, score: Score, make_score: MakeScore, now: datetime, lake: Lake
) -> None:
    lake.append(SCORES, make_score(received_at=now + timedelta(minutes=1), risk_24h=0.125))
    score()

    assert 0.125 == client.get("/v1/transceivers/leaf01/Ethernet1").json()["risks"]["24h"]
