"""`forelight deliver` and `forelight outbox`, as an operator uses them."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from serving.adapters.config import AdapterConfig, AlertmanagerConfig, Deliver, KubernetesConfig, NvsentinelConfig
from serving.adapters.config import WebhookConfig as Webhook
from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.settings import Settings
from serving.store import AlarmStore

ROOT = Path(__file__).parents[2]
Console = Callable[..., Any]


@pytest.fixture(name="consumer")
def _consumer() -> Iterator[tuple[str, list[dict[str, Any]], list[int]]]:
    """Address, events received, and statuses of the next answers."""
    events: list[dict[str, Any]] = []
    answers: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(answers.pop(0) if answers else 200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", events, answers
        server.shutdown()
        thread.join()


@pytest.fixture(name="home")
def _home(tmp_path: Path, consumer: Any, make_run: Callable[..., ScoreRun], make_alarm: Any) -> Path:
    """A home with one alarm that stands, and a configuration of the consumer; it was seen before the alarm."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "deliver.toml").write_text(f'[[adapter]]\nkind = "webhook"\nname = "itsm"\nurl = "{consumer[0]}"\n')
    _apply(home, make_run(datetime.now(UTC) - timedelta(minutes=1)), [make_alarm()])
    return home


def _apply(home: Path, run: ScoreRun, raised: list[AlarmRecord]) -> None:
    with AlarmStore(Settings.from_env({"FORELIGHT_HOME": str(home)}).database_url) as store:
        store.apply(run, raised)


def _deliver(console: Console, home: Path, *arguments: str) -> Any:
    return console(home, "deliver", "-c", str(home / "deliver.toml"), *arguments)


def test_once_delivers_what_is_due_and_ends(console: Console, home: Path, consumer: Any) -> None:
    first, second = _deliver(console, home, "--once"), _deliver(console, home, "--once")

    assert (0, "itsm: 0 waiting, 0 dead\n") == (first.code, first.out)
    assert 0 == second.code
    assert ["alarm-001"] == [event["subject"] for event in consumer[1]]


def test_a_dry_run_prints_what_would_be_sent_and_sends_nothing(console: Console, home: Path, consumer: Any) -> None:
    shown = [_deliver(console, home, "--dry-run").out for _ in range(2)]

    line = json.loads(shown[0])
    assert ("itsm/1", "raised", "alarm-001") == (line["delivery"], line["kind"], line["would_send"][0]["subject"])
    assert shown[0] == shown[1]
    assert [] == consumer[1]


def test_an_adapter_that_does_not_exist_is_named(console: Console, home: Path) -> None:
    ran = _deliver(console, home, "--once", "--adapter", "oncall")

    assert 1 == ran.code
    assert "there is no adapter 'oncall'; there are itsm" in ran.err


def test_a_configuration_that_is_not_there_is_one_line(console: Console, tmp_path: Path) -> None:
    ran = console(tmp_path, "deliver", "-c", str(tmp_path / "nowhere.toml"))

    assert (1, 1) == (ran.code, len(ran.err.splitlines()))


class TestDeadLetters:
    @pytest.fixture(autouse=True)
    def _dead(self, console: Console, home: Path, consumer: Any) -> None:
        consumer[2].append(400)
        assert "itsm: 0 waiting, 1 dead\n" == _deliver(console, home, "--once").out

    def test_one_is_listed_with_its_reason(self, console: Console, home: Path) -> None:
        listed = json.loads(console(home, "outbox", "list", "--json").out)

        assert {"itsm": {"waiting": 0, "dead": 1}} == {
            name: {key: value for key, value in count.items() if key != "oldest_s"}
            for name, count in listed["adapters"].items()
        }
        (letter,) = listed["deliveries"]
        assert ("itsm/1", "dead", "answered 400") == (letter["delivery"], letter["state"], letter["error"])
        assert "answered 400" in console(home, "outbox", "list").out

    @pytest.mark.parametrize("which", ["itsm/1", "--all"])
    def test_one_is_retried(self, console: Console, home: Path, consumer: Any, which: str) -> None:
        assert "itsm/1 will be tried again\n" == console(home, "outbox", "retry", which).out
        _deliver(console, home, "--once")

        assert ["alarm-001", "alarm-001"] == [event["subject"] for event in consumer[1]]

    def test_one_is_dropped(self, console: Console, home: Path) -> None:
        assert "itsm/1 is dropped\n" == console(home, "outbox", "drop", "itsm/1").out

        assert [] == json.loads(console(home, "outbox", "list", "--json").out)["deliveries"]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("retry", "itsm/9"), "itsm/9 is no dead delivery: there is none"),
            (("retry", "nonsense"), "'nonsense' is no delivery"),
            (("forget", "oncall"), "the outbox knows no adapter 'oncall'; it knows itsm"),
        ],
    )
    def test_what_cannot_be_is_one_line(
        self, console: Console, home: Path, arguments: tuple[str, ...], said: str
    ) -> None:
        ran = console(home, "outbox", *arguments)

        assert 1 == ran.code
        assert said in ran.err

    @pytest.mark.parametrize("arguments", [("drop",), ("drop", "itsm/1", "--all"), ("retry",)])
    def test_no_name_or_one_beside_all_is_wrong_usage(
        self, console: Console, home: Path, arguments: tuple[str, ...]
    ) -> None:
        ran = console(home, "outbox", *arguments)

        assert 2 == ran.code
        assert "name deliveries" in ran.err

    def test_a_consumer_that_is_gone_is_forgotten(self, console: Console, home: Path) -> None:
        assert "itsm is forgotten, with 1 deliveries\n" == console(home, "outbox", "forget", "itsm").out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_runs_until_it_is_told_to_stop_and_tells_what_comes_meanwhile(
    home: Path, consumer: Any, make_run: Callable[..., ScoreRun], make_alarm: Any, number: signal.Signals
) -> None:
    command = [
        sys.executable,
        "-c",
        "from serving.cli import main; main()",
        "deliver",
        "-c",
        str(home / "deliver.toml"),
    ]
    env = os.environ | {"FORELIGHT_HOME": str(home), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "forelight delivers to itsm (Ctrl-C ends)\n" == process.stdout.readline()
        _wait_for(consumer[1], 1)
        with AlarmStore(Settings.from_env({"FORELIGHT_HOME": str(home)}).database_url) as store:
            store.transition("alarm-001", Status.CLEARED, "ann", "cleaned")
        _wait_for(consumer[1], 2)
        process.send_signal(number)
        _, said = process.communicate(timeout=20)

    assert (0, "") == (process.returncode, said)
    assert ["raised", "cleared"] == [event["data"]["kind"] for event in consumer[1]]


def _wait_for(events: list[dict[str, Any]], count: int) -> None:
    for _ in range(300):
        if len(events) >= count:
            return
        threading.Event().wait(0.1)
    pytest.fail(f"{len(events)} of {count} events came")


@pytest.mark.parametrize(
    ("section", "setting"),
    [
        (kind.__name__, setting)
        for kind in (Deliver, AdapterConfig, AlertmanagerConfig, Webhook, NvsentinelConfig, KubernetesConfig)
        for setting in kind.model_fields
    ],
)
def test_every_setting_is_documented(section: str, setting: str) -> None:
    text = (ROOT / "docs" / "deliveries.md").read_text(encoding="utf-8")

    assert f"\n{setting} = " in text or f"or {setting}:" in text, section
