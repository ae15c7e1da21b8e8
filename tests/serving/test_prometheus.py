"""Metrics of single transceivers and alarms; the rules and the dashboard that rest on the service's metrics."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from starlette.testclient import TestClient

from serving.alarms import AlarmRecord, Level
from serving.app import create_app
from serving.deliveries.outbox import Outbox
from serving.settings import Settings
from serving.store import AlarmStore

FOLDER = Path(__file__).parents[2] / "docs" / "prometheus"
RULES = FOLDER / "rules.yml"
PANELS: list[dict[str, Any]] = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))["panels"]
MakeScore = Callable[..., pl.DataFrame]
MakeAlarm = Callable[..., AlarmRecord]
Score = Callable[..., None]


def _promtool(*arguments: str, cwd: Path = FOLDER) -> subprocess.CompletedProcess[str]:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    return subprocess.run(["promtool", *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def _values(client: TestClient, name: str) -> dict[str, float]:
    lines = client.get("/metrics").text.splitlines()
    found = [line.removeprefix(name).rsplit(" ", 1) for line in lines if re.match(rf"{name}[ {{]", line)]
    return {labels: float(value) for labels, value in found}


class TestOneByOne:
    def test_the_riskiest_are_told_and_the_rest_is_counted(
        self, store: AlarmStore, settings: Settings, clock: Any, score: Score, make_score: MakeScore
    ) -> None:
        risks = {"Ethernet1": 0.5, "Ethernet2": 0.75, "Ethernet3": 0.25, "Ethernet4": 0.001, "Ethernet5": float("nan")}
        rows = [make_score(interface, risk_24h=risk) for interface, risk in risks.items()]
        score(*rows, make_score("Ethernet6", status="unknown", risk_24h=None))
        limited = Settings.from_env({"FORELIGHT_HOME": str(settings.home), "FORELIGHT_METRICS_TOP": "2"})

        with TestClient(create_app(limited, store, clock=clock)) as client:
            told = _values(client, "forelight_transceiver_risk")
            left_out = _values(client, "forelight_transceiver_risk_left_out")

        assert [0.75, 0.5] == list(told.values())
        assert {"": 2.0} == left_out, "one over the limit, one below the floor; what is not known is not counted"

    def test_an_alarm_is_told_by_its_suspect_end(self, client: TestClient, score: Score, make_alarm: MakeAlarm) -> None:
        score(raised=(make_alarm(1), make_alarm(2, failure_type=None, level=Level.WATCH)))

        told = _values(client, "forelight_alarm_open")

        act = '{device="leaf01",failure_type="laser_degradation",interface="Ethernet1",level="act",site="default",'
        watch = '{device="leaf01",failure_type="unknown",interface="Ethernet2",level="watch",site="default",'
        assert {f'{act}status="open"}}': 1.0, f'{watch}status="open"}}': 1.0} == told
        assert {"": 0.0} == _values(client, "forelight_alarm_open_left_out")

    def test_of_many_alarms_those_to_act_on_come_first(
        self, store: AlarmStore, settings: Settings, clock: Any, score: Score, make_alarm: MakeAlarm
    ) -> None:
        risky = [make_alarm(number, level=Level.WATCH, risk_24h=0.9) for number in range(1, 6)]
        score(raised=(*risky, make_alarm(6, risk_24h=0.3)))
        limited = Settings.from_env({"FORELIGHT_HOME": str(settings.home), "FORELIGHT_METRICS_TOP": "2"})

        with TestClient(create_app(limited, store, clock=clock)) as client:
            told = _values(client, "forelight_alarm_open")

        assert ["act", "watch"] == sorted(re.findall(r'level="(\w+)"', " ".join(told)))

    def test_two_alarms_at_one_port_are_one_series(
        self, client: TestClient, score: Score, make_alarm: MakeAlarm
    ) -> None:
        """A twin-port module has several links; Prometheus refuses a scrape with the same series twice."""
        score(raised=(make_alarm(1), make_alarm(2, interface="Ethernet1")))

        assert [2.0] == list(_values(client, "forelight_alarm_open").values())

    def test_stale_scores_tell_nothing_of_anybody(
        self, client: TestClient, score: Score, make_alarm: MakeAlarm, advance: Callable[..., None]
    ) -> None:
        score(raised=(make_alarm(),))
        advance(hours=3)

        assert {} == _values(client, "forelight_transceiver_risk") | _values(client, "forelight_alarm_open")
        assert {"": 10_800.0} == _values(client, "forelight_score_age_seconds")

    def test_names_of_ports_are_escaped(self, client: TestClient, score: Score, make_score: MakeScore) -> None:
        score(make_score('Eth"1\\2', device="a{b}"))

        assert [0.5] == list(_values(client, "forelight_transceiver_risk").values())


def test_what_waits_for_consumers_is_told(
    client: TestClient, store: AlarmStore, database_url: str, score: Score, make_alarm: MakeAlarm, clock: Any
) -> None:
    with Outbox(database_url, owner="ann", clock=clock) as outbox:
        outbox.fan_out("itsm")
        score(raised=(make_alarm(),))

        assert {'{adapter="itsm"}': 1.0} == _values(client, "forelight_outbox_waiting")
        assert {'{adapter="itsm"}': 0.0} == _values(client, "forelight_outbox_dead")
        assert {'{adapter="itsm"}': 3_600.0} == _values(client, "forelight_outbox_oldest_seconds")


def _expressions() -> list[str]:
    rules = [rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    return rules + [target["expr"] for panel in PANELS for target in panel["targets"]]


def test_every_metric_that_rules_and_dashboard_use_is_exported(
    client: TestClient, database_url: str, score: Score, make_alarm: MakeAlarm, now: datetime, clock: Any
) -> None:
    with Outbox(database_url, owner="ann", clock=clock) as outbox:
        outbox.fan_out("itsm")
    score(raised=(make_alarm(),))
    client.get("/livez")
    exported = set(re.findall(r"^(forelight_\w+)", client.get("/metrics").text, re.MULTILINE))

    used = {name for expression in _expressions() for name in re.findall(r"forelight_\w+", expression)}

    assert len(used) > 10
    assert set() == used - exported


def test_the_rules_are_what_prometheus_takes() -> None:
    checked = _promtool("check", "rules", "rules.yml")

    assert (0, "") == (checked.returncode, checked.stderr)


def test_the_rules_fire_when_they_should_and_only_then() -> None:
    tested = _promtool("test", "rules", "rules_test.yml")

    assert 0 == tested.returncode, tested.stdout + tested.stderr


def test_every_rule_is_tested() -> None:
    rules = {rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}
    tests = yaml.safe_load((FOLDER / "rules_test.yml").read_text())["tests"]
    fired = {each["alertname"] for test in tests for each in test["alert_rule_test"] if each["exp_alerts"]}

    assert rules == fired


def test_what_rules_point_to_is_in_the_runbook() -> None:
    runbook = (FOLDER.parent / "operations.md").read_text(encoding="utf-8")

    named = re.findall(r'docs/operations\.md, "([^"]+)"', RULES.read_text())

    assert named
    assert [] == [title for title in named if not re.search(rf"^#+ {title}$", runbook, re.MULTILINE)]


def test_the_dashboard_asks_what_prometheus_understands(tmp_path: Path) -> None:
    """Each expression as a recording rule."""
    rules = [{"record": f"panel:{n}", "expr": expression} for n, expression in enumerate(_expressions())]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))

    checked = _promtool("check", "rules", "panels.yml", cwd=tmp_path)

    assert (0, "") == (checked.returncode, checked.stderr)


def test_no_panel_lies_on_another() -> None:
    def cells(panel: dict[str, Any]) -> set[tuple[int, int]]:
        at = panel["gridPos"]
        return {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}

    assert len(PANELS) == len({panel["id"] for panel in PANELS})
    assert not any(cells(one) & cells(other) for one, other in combinations(PANELS, 2))
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in PANELS)
