"""Alerts in the real Alertmanager of Debian's package: they fire, end when the alarm does, and expire by themselves."""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from serving.adapters.alertmanager import Alertmanager
from serving.adapters.base import Telling
from serving.adapters.config import AlertmanagerConfig
from serving.alarms import Level
from serving.deliveries.errors import RefusedError
from serving.notices import Kind

MakeTelling = Callable[..., Telling]
RAISED = datetime.now(UTC) - timedelta(hours=1)


@pytest.fixture(name="url", scope="module")
def _url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Alertmanager that sends nothing to anybody."""
    binary = shutil.which("prometheus-alertmanager")
    if binary is None:
        pytest.skip("Alertmanager is not installed (Debian: prometheus-alertmanager)")
    folder: Path = tmp_path_factory.mktemp("alertmanager")
    (folder / "alertmanager.yml").write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = [f"--config.file={folder}/alertmanager.yml", f"--storage.path={folder}/data"]
    arguments += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([binary, *arguments], stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(url)
        yield url
    finally:
        server.terminate()
        server.wait(20)


def _wait_until_ready(url: str) -> None:
    for _ in range(150):
        try:
            if httpx2.get(f"{url}/-/ready", trust_env=False).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.1)
    pytest.fail("Alertmanager did not start")


@pytest.fixture(name="adapter")
def _adapter(url: str) -> Iterator[Alertmanager]:
    config = AlertmanagerConfig(
        name="oncall",
        kind="alertmanager",
        url=url,
        ttl_s=900,
        labels={"fabric": "east"},
        external_url="https://f.example",
    )
    adapter = Alertmanager(config)
    yield adapter
    adapter.close()


@pytest.fixture(name="firing")
def _firing(url: str) -> Callable[[str], list[dict[str, Any]]]:
    """Alerts of an alarm that fire now."""

    def firing(alarm_id: str) -> list[dict[str, Any]]:
        params = {"filter": f'alarm_id="{alarm_id}"', "active": "true"}
        found: list[dict[str, Any]] = httpx2.get(f"{url}/api/v2/alerts", params=params, trust_env=False).json()
        return found

    return firing


def _ends_in_s(alert: dict[str, Any]) -> float:
    return (datetime.fromisoformat(alert["endsAt"]) - datetime.now(UTC)).total_seconds()


def test_an_alarm_fires_under_labels_that_do_not_change_and_ends_by_itself(
    adapter: Alertmanager, make_telling: MakeTelling, firing: Callable[[str], list[dict[str, Any]]]
) -> None:
    adapter.send(make_telling(number=1, raised_at=RAISED, at=datetime.now(UTC)))

    (alert,) = firing("alarm-001")
    assert {
        "alertname": "ForelightTransceiverAtRisk",
        "severity": "warning",
        "alarm_id": "alarm-001",
        "site": "default",
        "device": "leaf01",
        "interface": "Ethernet1",
        "fabric": "east",
    } == alert["labels"]
    assert abs((datetime.fromisoformat(alert["startsAt"]) - RAISED).total_seconds()) < 0.01
    assert 890 < _ends_in_s(alert) <= 900
    assert "https://f.example/v1/alarms/alarm-001" == alert["generatorURL"]
    assert "risk 50% within 24 h" in alert["annotations"]["description"]


def test_what_is_told_again_ends_later_and_is_the_same_alert(
    adapter: Alertmanager, make_telling: MakeTelling, firing: Callable[[str], list[dict[str, Any]]]
) -> None:
    adapter.send(make_telling(number=2, raised_at=RAISED, at=datetime.now(UTC) - timedelta(seconds=600)))
    before = _ends_in_s(firing("alarm-002")[0])
    adapter.send(make_telling(number=2, raised_at=RAISED, at=datetime.now(UTC), risk_24h=0.875, failure_type=None))

    (alert,) = firing("alarm-002")
    assert before < 301
    assert _ends_in_s(alert) > 890
    assert "risk 88% within 24 h" in alert["annotations"]["description"]


def test_a_predictor_that_is_dead_holds_nothing(
    adapter: Alertmanager, make_telling: MakeTelling, firing: Callable[[str], list[dict[str, Any]]]
) -> None:
    """Nobody told it again: the time it was to end at has come."""
    almost = datetime.now(UTC) - timedelta(seconds=898.5)
    adapter.send(make_telling(number=3, raised_at=RAISED, at=almost))
    assert 1 == len(firing("alarm-003"))

    time.sleep(2.0)

    assert [] == firing("alarm-003")


def test_a_clear_ends_it(
    adapter: Alertmanager, make_telling: MakeTelling, firing: Callable[[str], list[dict[str, Any]]]
) -> None:
    adapter.send(make_telling(number=4, raised_at=RAISED, at=datetime.now(UTC)))
    adapter.send(make_telling(Kind.CLEARED, number=4, active=False, raised_at=RAISED, at=datetime.now(UTC)))

    assert [] == firing("alarm-004")


def test_another_level_is_another_severity_and_the_old_one_ends(
    adapter: Alertmanager, make_telling: MakeTelling, firing: Callable[[str], list[dict[str, Any]]]
) -> None:
    adapter.send(make_telling(number=5, raised_at=RAISED, at=datetime.now(UTC), level=Level.WATCH))
    assert ["info"] == [alert["labels"]["severity"] for alert in firing("alarm-005")]

    adapter.send(make_telling(Kind.CHANGED, number=5, raised_at=RAISED, at=datetime.now(UTC)))

    assert ["warning"] == [alert["labels"]["severity"] for alert in firing("alarm-005")]


def test_a_storm_is_one_alert(adapter: Alertmanager, url: str, make_telling: MakeTelling) -> None:
    telling = make_telling(Kind.STORM, at=datetime.now(UTC))
    adapter.send(telling)

    assert "leaf01" == adapter.render(telling)[0]["annotations"]["devices"]  # type: ignore[index]  # a dictionary
    found = httpx2.get(f"{url}/api/v2/alerts", params={"filter": 'alertname="ForelightStorm"'}, trust_env=False)
    assert 200 == found.status_code


def test_what_alertmanager_refuses_is_refused(
    adapter: Alertmanager, make_telling: MakeTelling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A label without a name: the real thing answers 400."""
    monkeypatch.setattr(adapter, "_config", adapter._config.model_copy(update={"labels": {"": "x"}}))

    with pytest.raises(RefusedError, match="answered 400"):
        adapter.send(make_telling(number=6, raised_at=RAISED, at=datetime.now(UTC)))
