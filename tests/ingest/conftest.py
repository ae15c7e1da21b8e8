"""Recordings of real devices, a responder that serves them, and small agents that misbehave."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ingest.errors import TransportError
from ingest.snmp_gufo import GufoTransport

RECORDINGS = Path(__file__).parents[3] / "shared" / "recordings" / "snmp"

# snmpsim imports pysmi for its version alone, and pysnmp warns at import where pysmi 2 is installed: so it is not.
_LAUNCH = """
import sys, types
sys.modules["pysmi"] = types.ModuleType("pysmi")
sys.modules["pysmi"].__version__ = "none"
from snmpsim.commands.responder import main
sys.exit(main())
"""


@pytest.fixture(name="recordings", scope="session")
def _recordings() -> Path:
    if not RECORDINGS.is_dir():
        pytest.skip("the recordings of real devices are not beside the project (../shared/recordings/snmp)")
    return RECORDINGS


@dataclass(frozen=True)
class Responder:
    """A simulated agent: its community is the name of the recording that it answers from."""

    address: str
    port: int


@pytest.fixture(name="responder", scope="session")
def _responder(
    recordings: Path, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Responder]:
    """One snmpsim for the whole run; its first start indexes the recordings, which pytest's cache keeps."""
    pytest.importorskip("snmpsim", reason="snmpsim is not installed")
    port = _free_port()
    log = tmp_path_factory.mktemp("snmpsim") / "log"
    command = [
        *(sys.executable, "-c", _LAUNCH, f"--data-dir={recordings}"),
        f"--cache-dir={_cache(pytestconfig, tmp_path_factory)}",
        f"--agent-udpv4-endpoint=127.0.0.1:{port}",
        "--log-level=error",
        *(["--process-user=root", "--process-group=root"] if os.geteuid() == 0 else []),
    ]
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as process:
        try:
            _wait_until_it_answers(process, port, log)
            yield Responder("127.0.0.1", port)
        finally:
            process.terminate()


def _cache(config: pytest.Config, scratch: pytest.TempPathFactory) -> Path:
    return config.cache.mkdir("snmpsim") if config.cache else scratch.mktemp("snmpsim_cache")


def _wait_until_it_answers(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    probe = GufoTransport("127.0.0.1", port, "mikrotik-crs317", timeout_s=1.0, retries=0)
    for _ in range(120):
        if process.poll() is not None:
            break
        with suppress(TransportError):
            asyncio.run(probe.walk("1.3.6.1.2.1.1.2"))
            return
        time.sleep(0.1)
    pytest.fail(f"snmpsim did not start: {log.read_text()[-500:]}")


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Agent:
    """A UDP socket with a mind of its own.

    Attributes:
        port: where it listens.
        heard: requests as they came.
    """

    port: int
    heard: list[bytes] = field(default_factory=list)


AgentMaker = Callable[[Callable[[bytes], bytes | None]], Agent]


@pytest.fixture(name="agent")
def _agent() -> Iterator[AgentMaker]:
    """Starts agents that answer a request with whatever a function makes of it; None is silence."""
    with ExitStack() as stack:

        def start(answer: Callable[[bytes], bytes | None]) -> Agent:
            sock = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            sock.bind(("127.0.0.1", 0))
            sock.settimeout(0.05)
            agent = Agent(sock.getsockname()[1])
            over = threading.Event()
            thread = threading.Thread(target=_serve, args=(sock, agent, answer, over))
            thread.start()
            stack.callback(thread.join)
            stack.callback(over.set)
            return agent

        yield start


def _serve(sock: socket.socket, agent: Agent, answer: Callable[[bytes], bytes | None], over: threading.Event) -> None:
    while not over.is_set():
        try:
            request, sender = sock.recvfrom(65_535)
        except TimeoutError:
            continue
        agent.heard.append(request)
        reply = answer(request)
        if reply is not None:
            sock.sendto(reply, sender)
