"""Tickets and repairs are posted into the lake, and readings come out of it thinned out."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest
from starlette.testclient import TestClient

from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, REPAIRS, TICKETS
from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.store import AlarmStore

TICKET = {
    "ticket_id": "T1",
    "device": "leaf01",
    "interface": "Ethernet1",
    "opened_at": "2026-11-29T11:30:00Z",
    "closed_at": "2026-11-29T12:00:00Z",
    "failure_type": "laser_degradation",
}
REPAIR = {"ticket_id": "T1", "seq": 1, "at": "2026-11-29T12:00:00Z", "action": "reseat", "outcome": "no better"}
SERIES = "/v1/transceivers/leaf01/Ethernet1/1/series"


class TestOutcomes:
    def test_a_ticket_is_in_the_lake_and_confirms_its_alarm(
        self,
        client: TestClient,
        authorized: dict[str, str],
        store: AlarmStore,
        lake: Lake,
        make_run: Callable[..., ScoreRun],
        make_alarm: Callable[..., AlarmRecord],
    ) -> None:
        store.apply(make_run(), [make_alarm(1)])

        answer = client.post("/v1/tickets", json=TICKET, headers=authorized).json()

        assert {"ticket_id": "T1", "new": True, "confirmed": 1} == {
            n: answer[n] for n in ("ticket_id", "new", "confirmed")
        }
        (row,) = lake.latest(TICKETS).collect().to_dicts()
        assert ("default", "leaf01", "laser_degradation") == (row["site"], row["device"], row["failure_type"])
        assert Status.CONFIRMED == store.alarm("alarm-001").status

    @pytest.mark.parametrize(("path", "body", "table"), [("tickets", TICKET, TICKETS), ("repairs", REPAIR, REPAIRS)])
    def test_the_same_twice_is_kept_once_and_a_later_version_counts(
        self, client: TestClient, authorized: dict[str, str], lake: Lake, path: str, body: dict[str, Any], table: Any
    ) -> None:
        sent = [body, body, body | {"action": "clean_connector"}]
        told = [client.post(f"/v1/{path}", json=one, headers=authorized).json()["new"] for one in sent]

        assert [True, False, True] == told
        assert 2 == lake.scan(table).collect().height
        assert ["clean_connector"] == lake.latest(table).collect()["action"].to_list()

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("tickets", TICKET | {"failure_type": "bad luck"}),
            ("tickets", TICKET | {"opened_at": "2026-11-29T11:30:00"}),
            ("tickets", TICKET | {"severity": 1}),
            ("tickets", {"ticket_id": "T1"}),
            ("repairs", REPAIR | {"seq": -1}),
            ("repairs", REPAIR | {"action": "hit it"}),
        ],
    )
    def test_what_the_table_does_not_take_is_refused(
        self, client: TestClient, authorized: dict[str, str], lake: Lake, path: str, body: dict[str, Any]
    ) -> None:
        assert 422 == client.post(f"/v1/{path}", json=body, headers=authorized).status_code
        assert not lake.exists(TICKETS)

    def test_without_a_token_nothing_is_taken(self, client: TestClient, lake: Lake) -> None:
        assert 401 == client.post("/v1/tickets", json=TICKET).status_code
        assert not lake.exists(TICKETS)


class TestSeries:
    @pytest.fixture(name="readings")
    def _readings(self, lake: Lake, now: datetime) -> None:
        """A week of two lanes a minute, with one spike each way."""
        times = [now - timedelta(minutes=k) for k in range(1, 7 * 1440)]
        lanes = pl.DataFrame({"time": times}).join(pl.DataFrame({"lane": [1, 2]}), how="cross")
        spike = pl.when(pl.col("time") == times[777]).then(-30.0).when(pl.col("time") == times[5000]).then(4.0)
        port = {"site": "default", "device": "leaf01", "interface": "Ethernet1/1", "quality": 0, "source": "file"}
        columns = [pl.lit(value).alias(name) for name, value in port.items()]
        rows = lanes.with_columns(spike.otherwise(-2.0).alias("rx_power_dbm"), pl.col("time").alias("received_at"))
        lake.append(LANE_SAMPLES, rows.with_columns(*columns))
        one = pl.DataFrame({"time": times[:60], "received_at": times[:60], "temperature_c": [45.0] * 60})
        lake.append(PORT_SAMPLES, one.with_columns(*columns))

    def test_it_is_thinned_out_and_no_extreme_is_lost(self, client: TestClient, readings: None) -> None:
        answer = client.get(SERIES, params={"columns": "rx_power_dbm", "points": 100}).json()

        assert [("rx_power_dbm", 1), ("rx_power_dbm", 2)] == [(s["column"], s["lane"]) for s in answer["series"]]
        for series in answer["series"]:
            points = series["points"]
            assert 100 == len(points)
            assert (-30.0, 4.0) == (min(p["low"] for p in points), max(p["high"] for p in points))
            assert 7 * 1440 - 1 == sum(p["readings"] for p in points)
            assert sorted(p["time"] for p in points) == [p["time"] for p in points]

    def test_ports_of_one_cage_are_series_of_their_own(self, client: TestClient, lake: Lake, now: datetime) -> None:
        """Two counters in one series would be one that jumps up and down."""
        port = {"site": "default", "device": "leaf01", "interface": "Ethernet1/1", "quality": 0, "source": "file"}
        rows = [
            {**port, "time": at, "received_at": at, "sub_interface": part, "link_flaps": flaps}
            for at in (now - timedelta(minutes=k) for k in range(1, 5))
            for part, flaps in (("Ethernet1/1", 3), ("Ethernet1/2", 900))
        ]
        lake.append(PORT_SAMPLES, PORT_SAMPLES.of(rows))

        answer = client.get(SERIES, params={"columns": "link_flaps", "points": 100}).json()

        assert [("Ethernet1/1", {3.0}), ("Ethernet1/2", {900.0})] == [
            (series["sub_interface"], {point["mean"] for point in series["points"]}) for series in answer["series"]
        ]

    def test_a_span_has_what_was_read_in_it(self, client: TestClient, readings: None) -> None:
        span: dict[str, Any] = {"from": "2026-11-29T11:00:00Z", "to": "2026-11-29T11:10:00Z", "points": 2000}
        answer = client.get(SERIES, params=span | {"columns": ["temperature_c", "rx_power_dbm"]}).json()

        assert ("2026-11-29T11:00:00Z", "2026-11-29T11:10:00Z") == (answer["from"], answer["to"])
        assert {("rx_power_dbm", 1), ("rx_power_dbm", 2), ("temperature_c", None)} == {
            (s["column"], s["lane"]) for s in answer["series"]
        }
        assert {10} == {len(s["points"]) for s in answer["series"]}
        assert all(math.isclose(45.0, p["mean"]) for s in answer["series"] if s["lane"] is None for p in s["points"])

    def test_where_nothing_was_read_there_is_no_series(self, client: TestClient) -> None:
        assert [] == client.get(SERIES).json()["series"]

    @pytest.mark.parametrize(
        "params",
        [
            {"points": 1},
            {"points": 2001},
            {"columns": "password"},
            {"from": "2026-11-29T11:00:00Z", "to": "2026-11-29T11:00:00Z"},
            {"from": "2025-11-29T11:00:00Z"},
            {"file": "/etc/passwd"},
        ],
    )
    def test_what_makes_no_sense_is_refused(self, client: TestClient, params: dict[str, Any]) -> None:
        assert 422 == client.get(SERIES, params=params).status_code
