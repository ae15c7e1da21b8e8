"""kill -9 of the service, of PostgreSQL and of deliverers, under load: nothing acknowledged is lost or done twice.

Two deliverers share the work. One writer takes alarms through their lives over HTTP; what it was told is done must be
there in the end, each step once; every message must have arrived at least once, and of an alarm in order. Fifty kills
of the service or the database in all, at random moments, and as many of deliverers.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.client import Client, ServiceError
from serving.database import reading
from serving.deliveries.letters import Letters
from serving.errors import StoreError
from serving.store import AlarmStore
from serving.tables import alarm_events, outbox

ROOT = Path(__file__).parents[2]
SEED = 20261130
LIFE = (Status.ACKED, Status.SUPPRESSED, Status.OPEN, Status.CLEARED)
TOKEN = "correct horse battery staple"
KILLS = {"sqlite": 25, "postgresql": 25}
"""Of the service or the database, and as many of deliverers."""
AGAIN = {0, 503}
"""Nothing answered, or the database did not."""
CONFIG = """
[deliver]
poll_s = 0.05
lease_s = 8.0
tries = 10000
first_retry_s = 0.05
most_retry_s = 1.0
withdraw_after_s = 3e7

[[adapter]]
kind = "webhook"
name = "hook"
url = "{url}"
timeout_s = 0.5
"""


@dataclass
class Consumer:
    """What arrived: numbers of messages by alarm, in the order of their arrival.

    Attributes:
        arrived: all of them.
        awaited: those whose sender was still there; who has given up has it sent anew, and this one may be late.
    """

    url: str = ""
    arrived: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    awaited: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


@pytest.fixture(name="consumer")
def _consumer() -> Iterator[Consumer]:
    consumer, lock, chance = Consumer(), threading.Lock(), random.Random(SEED)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            time.sleep(chance.random() * 0.01)
            with lock:
                consumer.arrived[event["subject"]].append(int(event["sequence"]))
                if _is_there(self.connection):
                    consumer.awaited[event["subject"]].append(int(event["sequence"]))
            with contextlib.suppress(OSError):  # whoever asked may have been killed
                self.send_response(500 if chance.random() < 0.02 else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A connection that ends with its process is no error here."""

    with Server(("127.0.0.1", 0), Handler) as server:
        consumer.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield consumer
        server.shutdown()
        thread.join()


def _is_there(connection: socket.socket) -> bool:
    """Whether the other side has not closed; it has nothing to say before it is answered."""
    with contextlib.suppress(BlockingIOError):
        try:
            return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except ConnectionError:
            return False
    return True


class Postgres:
    """A server of our own that can be killed and comes again with what it had."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self._folder = folder
        self._binaries = binaries
        self._user: dict[str, Any] = (
            {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}
        )
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        initdb: list[str | Path] = [
            binaries / "initdb",
            "--no-sync",
            "--auth=trust",
            "--username=forelight",
            "--encoding=UTF8",
        ]
        subprocess.run([*initdb, "-D", folder / "data"], cwd=folder, check=True, capture_output=True, **self._user)
        self._process = self._start()

    def kill(self, chance: random.Random) -> None:
        """As the kernel does when memory runs out: sometimes the whole server, sometimes one of its processes."""
        children = _children(self._process.pid)
        if children and chance.random() < 0.5:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(children), signal.SIGKILL)
            return
        self._process.kill()
        self._process.wait()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process = self._start()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)  # fast: whoever is connected is sent away
        self._process.wait(30)

    def _start(self) -> "subprocess.Popen[bytes]":
        arguments: list[str | Path] = ["-D", self._folder / "data", "-p", str(self.port), "-k", self._folder]
        arguments += ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]  # the machine itself is not killed
        for _ in range(40):
            with (self._folder / "log").open("ab") as log:
                process: subprocess.Popen[bytes] = subprocess.Popen(
                    [self._binaries / "postgres", *arguments], cwd=self._folder, stdout=log, stderr=log, **self._user
                )
            for _ in range(100):
                ready: list[str | Path] = [self._binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
                if subprocess.run(ready, check=False).returncode == 0:
                    return process
                if process.poll() is not None:
                    break  # a process of the old server still holds its memory
                time.sleep(0.1)
            time.sleep(0.25)
        pytest.fail("PostgreSQL did not come again")


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in text.split()]


@pytest.fixture(name="database", params=list(KILLS))
def _database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str, Postgres | None]]:
    """Kind, URL, and the server where there is one."""
    if request.param == "sqlite":
        yield "sqlite", f"sqlite:///{tmp_path / 'forelight.db'}", None
        return
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        pytest.skip("PostgreSQL's binaries are not installed (Debian: postgresql)")
    pytest.importorskip("psycopg", reason="psycopg is not installed (extra: postgres)")
    folder = Path(tempfile.mkdtemp(prefix="forelight-pg-"))
    if os.getuid() == 0:
        shutil.chown(folder, "nobody", "nogroup")
    server = Postgres(folder, found[-1].parent)
    yield "postgresql", f"postgresql+psycopg://forelight@127.0.0.1:{server.port}/postgres", server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


SPAWNER = """
import os, signal, sys
from pathlib import Path
from serving.cli import deliver, serve
for line in sys.stdin:
    word, _, what = line.strip().partition(" ")
    if word in {"wait", "poll"}:
        pid, status = os.waitpid(int(what), os.WNOHANG if word == "poll" else 0)
        print(os.waitstatus_to_exitcode(status) if pid else "", flush=True)
        continue
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        continue
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # told to end before it began
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if what == "serve":
        serve.run(host="127.0.0.1", port=int(sys.argv[2]))
    else:
        deliver.run(Path(sys.argv[1]), once=False, dry_run=False, only=())
    os._exit(0)
"""


class Processes:
    """`forelight serve` and two of `forelight deliver`, replaced when they are killed; a fork takes no seconds."""

    ALL = ("serve", "deliver", "deliver")

    def __init__(self, config: Path, url: str) -> None:
        home = {"FORELIGHT_HOME": str(config.parent), "FORELIGHT_DATABASE_URL": url, "FORELIGHT_ALARM_TTL_S": "1e7"}
        home |= {"FORELIGHT_OPERATOR_TOKEN": TOKEN, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        env = os.environ | home
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._log = (config.parent / "processes.log").open("ab")
        self._spawner = subprocess.Popen(
            [sys.executable, "-c", SPAWNER, str(config), str(port)],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._all = [int(self._asked(f"start {what}")) for what in self.ALL]

    def kill_service(self) -> None:
        self._kill(0)

    def kill_deliverer(self, chance: random.Random) -> None:
        self._kill(chance.choice((1, 2)))

    def _kill(self, number: int) -> None:
        self.revive()
        self._end(self._all[number], signal.SIGKILL)
        self._all[number] = int(self._asked(f"start {self.ALL[number]}"))

    def revive(self) -> None:
        """As systemd does: one that was started while the database was away has ended."""
        for number, pid in enumerate(self._all):
            if self._asked(f"poll {pid}"):
                self._all[number] = int(self._asked(f"start {self.ALL[number]}"))

    def stop(self) -> list[int]:
        codes = [self._end(pid, signal.SIGTERM) for pid in self._all]
        self._spawner.communicate(timeout=60)
        self._log.close()
        return codes

    def _end(self, pid: int, number: signal.Signals) -> int:
        os.kill(pid, number)
        return int(self._asked(f"wait {pid}"))

    def _asked(self, line: str) -> str:
        assert self._spawner.stdin is not None
        assert self._spawner.stdout is not None
        self._spawner.stdin.write(f"{line}\n")
        self._spawner.stdin.flush()
        return self._spawner.stdout.readline().strip()


class Writer:
    """Takes alarms through their lives; what it was not told is done it asks for again, as any client would."""

    def __init__(self, store: AlarmStore, url: str, make_run: Any, make_alarm: Any) -> None:
        self._store = store
        self._client = Client(url, TOKEN, timeout_s=10.0)
        self._make_run = make_run
        self._make_alarm = make_alarm
        self._stop = threading.Event()
        self.done: dict[str, list[str]] = defaultdict(list)
        self.failures: Counter[str] = Counter()
        self.refusals: list[str] = []
        self._steps = 0
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._client.close()

    def wait_for_steps(self, count: int, meanwhile: Callable[[], None]) -> None:
        """Until so many more were done: whoever is killed next is killed at work."""
        goal = self._steps + count
        for _ in range(1_200):
            if self._steps >= goal:
                return
            meanwhile()
            time.sleep(0.1)
        pytest.fail(f"nothing can be written any more: {self.failures}, {self.refusals}")

    def _write(self) -> None:
        for number in range(10_000):
            records: list[AlarmRecord] = [self._make_alarm(4 * number + n) for n in range(4)]
            run: ScoreRun = self._make_run(datetime.now(UTC))
            if not self._until_done(partial(self._store.apply, run, records)):
                return
            for record in records:
                self.done[record.alarm_id].append("open")
            for status in LIFE:
                for record in records:
                    if not self._until_done(partial(self._step, record.alarm_id, status)):
                        return
                    self.done[record.alarm_id].append(str(status))

    def _step(self, alarm_id: str, to: Status) -> None:
        """Named by its key, so that it is done once however often it is asked for."""
        steps: dict[Status, Callable[..., object]] = {
            Status.ACKED: self._client.acknowledge,
            Status.SUPPRESSED: partial(self._client.suppress, ttl_s=86_400),
            Status.OPEN: self._client.reopen,
            Status.CLEARED: self._client.clear,
        }
        steps[to](alarm_id, key=f"{alarm_id}:{to}")

    def _until_done(self, step: Callable[[], object]) -> bool:
        while not self._stop.is_set():
            try:
                step()
            except StoreError:
                self.failures["store"] += 1
                self._stop.wait(0.1)
            except ServiceError as error:
                if error.status not in AGAIN:
                    self.refusals.append(f"{error.status} {error.kind}: {error}")
                self.failures[error.kind] += 1
                self._stop.wait(0.1)
            else:
                self._steps += 1
                self._stop.wait(0.02)
                return True
        return False


def _drained(url: str, processes: Processes, limit_s: float) -> bool:
    until = time.monotonic() + limit_s
    with Letters(url) as letters:
        while time.monotonic() < until:
            processes.revive()
            with contextlib.suppress(StoreError):
                if (count := letters.counts().get("hook")) and not count.waiting:
                    return not count.dead
            time.sleep(0.25)
    return False


@pytest.mark.slow
def test_nothing_is_lost_doubled_or_out_of_order_however_often_it_is_killed(
    database: tuple[str, str, Postgres | None], consumer: Consumer, tmp_path: Path, make_run: Any, make_alarm: Any
) -> None:
    kind, url, server = database
    config, chance = tmp_path / "deliver.toml", random.Random(SEED)
    config.write_text(CONFIG.format(url=consumer.url))
    with AlarmStore(url) as store:
        processes = Processes(config, url)
        _wait_until_known(url, tmp_path / "processes.log")
        writer = Writer(store, processes.url, make_run, make_alarm)
        try:
            for number in range(KILLS[kind]):
                writer.wait_for_steps(5, processes.revive)
                time.sleep(chance.uniform(0.0, 0.5))
                processes.kill_deliverer(chance)
                time.sleep(chance.uniform(0.0, 0.5))
                if server is not None and number % 2:
                    server.kill(chance)
                else:
                    processes.kill_service()
        finally:
            writer.stop()
            drained = _drained(url, processes, 240.0)
            codes = processes.stop()
        events, messages = _stored(store)

    assert drained
    assert [0, 0, 0] == codes
    assert [] == writer.refusals
    _check_lives(events, writer.done)
    assert [(event_id, alarm) for event_id, alarm, _ in events] == [
        (event_id, alarm) for _, event_id, alarm in messages
    ]
    _check_arrivals(messages, consumer)
    assert writer.failures["unreachable"], "the service was never missed: it was not killed at work"
    assert kind == "sqlite" or writer.failures["store-unavailable"], "the database was never missed"


def _wait_until_known(url: str, log: Path) -> None:
    """From then on every message is the consumer's; one that is new hears only of what stands."""
    with Letters(url) as letters:
        for _ in range(300):
            if "hook" in letters.counts():
                return
            time.sleep(0.1)
    pytest.fail(f"no deliverer began: {log.read_text(encoding='utf-8')[-2000:]}")


def _stored(store: AlarmStore) -> tuple[list[tuple[int, str, str]], list[tuple[int, int, str]]]:
    with reading(store.engine) as connection:
        columns = (alarm_events.c.event_id, alarm_events.c.alarm_id, alarm_events.c.to_status)
        events = [tuple(row) for row in connection.execute(select(*columns).order_by(alarm_events.c.event_id))]
        told = (outbox.c.message_id, outbox.c.event_id, outbox.c.subject)
        messages = [tuple(row) for row in connection.execute(select(*told).order_by(outbox.c.message_id))]
    return events, messages


def _check_lives(events: list[tuple[int, str, str]], done: dict[str, list[str]]) -> None:
    """Each step once and in order, and none missing of which the writer was told that it is done."""
    whole = ["open", *map(str, LIFE)]
    lives: dict[str, list[str]] = defaultdict(list)
    for _, alarm, status in events:
        lives[alarm].append(status)
    assert len(done) > 8
    for alarm, life in lives.items():
        assert life == whole[: len(life)], alarm
    assert {} == {alarm: steps for alarm, steps in done.items() if steps != lives[alarm][: len(steps)]}


def _check_arrivals(messages: list[tuple[int, int, str]], consumer: Consumer) -> None:
    """Each message at least once; of an alarm in order at first, and none that is awaited after a newer one."""
    sent: dict[str, set[int]] = defaultdict(set)
    for number, _, alarm in messages:
        sent[alarm].add(number)
    assert {} == {alarm: numbers for alarm, numbers in sent.items() if numbers != set(consumer.arrived[alarm])}
    firsts = {alarm: list(dict.fromkeys(numbers)) for alarm, numbers in consumer.arrived.items()}
    for told in (firsts, consumer.awaited):
        assert {} == {alarm: numbers for alarm, numbers in told.items() if numbers != sorted(numbers)}
