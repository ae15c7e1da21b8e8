"""Recordings of real devices, a responder that serves them, agents that misbehave, and devices made of entities."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ingest.collect.device import SYS_UP_TIME
from ingest.decode.discover import Decoded, decode
from ingest.decode.profile import load_profile
from ingest.errors import TransportError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES
from ingest.snmp.gufo import GufoTransport
from ingest.snmp.transport import Cell, Column, ReplayTransport

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


Answers = Callable[[bytes], bytes | list[bytes] | None]
"""What an agent makes of a request: one answer or several; None is silence."""

AgentMaker = Callable[[Answers], Agent]


@pytest.fixture(name="agent")
def _agent() -> Iterator[AgentMaker]:
    """Starts agents that answer a request with whatever a function makes of it."""
    with ExitStack() as stack:

        def start(answer: Answers) -> Agent:
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


def _serve(sock: socket.socket, agent: Agent, answer: Answers, over: threading.Event) -> None:
    while not over.is_set():
        try:
            request, sender = sock.recvfrom(65_535)
        except TimeoutError:
            continue
        agent.heard.append(request)
        reply = answer(request)
        for part in [reply] if isinstance(reply, bytes) else reply or []:
            sock.sendto(part, sender)


_MAIN = "from serving.cli import main; main()"


class Site:
    """A folder with a configuration and a lake, and `forelight collect` on them."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "forelight.toml"
        self.home = folder / "home"
        self.collect()
        self.lake = Lake(str(self.home / "lake"))
        self.env = os.environ | {"FORELIGHT_HOME": str(self.home), "COMMUNITY_OF_NOBODY": "nobody"}

    def collect(self, interval_s: float = 1, more: str = "") -> None:
        """Begin the configuration, without a target yet."""
        self.config.write_text(f"[collect]\ninterval_s = {interval_s}\ndeadline_s = 30\n{more}\n")

    def target(self, device: str, port: int, community: str, timeout_s: float = 5.0) -> None:
        variable = f"COMMUNITY_OF_{community}".upper().replace("-", "_")
        self.env[variable] = community
        with self.config.open("a") as file:
            file.write(f'[[target]]\ndevice = "{device}"\naddress = "localhost"\nport = {port}\n')
            file.write(f'[target.snmp]\ncommunity_env = "{variable}"\ntimeout_s = {timeout_s}\nretries = 1\n')

    def command(self, *more: str) -> list[str]:
        return [sys.executable, "-c", _MAIN, "collect", "-c", str(self.config), *more]

    def run(self, *more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*more), env=self.env, capture_output=True, text=True, timeout=120, check=False
        )

    def devices(self) -> set[str]:
        if not self.lake.exists(LANE_SAMPLES):
            return set()
        return set(self.lake.scan(LANE_SAMPLES).collect()["device"])


@pytest.fixture(name="site")
def _site(tmp_path: Path) -> Site:
    return Site(tmp_path)


_IF, _IFX, _ENT = "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1.1", "1.3.6.1.2.1.47.1.1.1.1"
_ALIAS = "1.3.6.1.2.1.47.1.3.2.1.2"
_SENSOR = {"entity_sensor": "1.3.6.1.2.1.99.1.1.1", "cisco_entity_sensor": "1.3.6.1.4.1.9.9.91.1.1.1.1"}
_AMPERES, _WATTS, _DBM = 5, 6, 14
_CHASSIS, _SENSOR_CLASS, _MODULE = 3, 8, 9


class EntityDevice:
    """Tables of an agent, filled entity by entity."""

    def __init__(self, *ports: str, oper: int = 1) -> None:
        self.cells: dict[str, Column] = {}
        for index, name in enumerate(ports, 1):
            self._put(_IFX, index, name.encode())
            self._put(f"{_IF}.8", index, oper)
        self._put(f"{_ENT}.5", 1, _CHASSIS)
        self._put(f"{_ENT}.7", 1, b"chassis")
        self._next = 100

    def _put(self, column: str, index: object, cell: Cell) -> None:
        self.cells.setdefault(column, {})[str(index)] = cell

    def entity(self, name: str, parent: int = 1, kind: int = _MODULE, port: int | None = None, **texts: str) -> int:
        self._next = int(texts.get("index", self._next + 1))
        for column, cell in ((7, name.encode()), (2, texts.get("descr", name).encode()), (4, parent), (5, kind)):
            self._put(f"{_ENT}.{column}", self._next, cell)
        if "serial" in texts:
            self._put(f"{_ENT}.11", self._next, texts["serial"].encode())
        if port is not None:
            self._put(_ALIAS, f"{self._next}.0", f"1.3.6.1.2.1.2.2.1.1.{port}")
        return self._next

    def sensor(self, name: str, parent: int, kind: int, value: int, **more: Any) -> None:
        entity = self.entity(name, parent, _SENSOR_CLASS, descr=more.get("descr", name))
        scale = {_AMPERES: 8, _WATTS: 8}.get(kind, 9)
        precision = more.get("precision", {_WATTS: 4, _AMPERES: 2, _DBM: 1}.get(kind, 1))
        for profile in _SENSOR.values():
            columns = {1: kind, 2: scale, 3: precision, 4: value, 5: more.get("status", 1)}
            for column, cell in columns.items():
                self._put(f"{profile}.{column}", entity, cell)

    def decode(self, profile: str = "entity_sensor") -> Decoded:
        return decode(self.cells, load_profile(profile))

    def values(self, profile: str = "entity_sensor") -> dict[tuple[str, int, str], float | None]:
        return {(r.interface, r.lane, r.quantity): r.value for r in self.decode(profile).readings}


@pytest.fixture(name="device_of")
def _device_of() -> type[EntityDevice]:
    """Makes a device of the names of its ports; its entities and sensors are added one by one."""
    return EntityDevice


@pytest.fixture(name="small_disk")
def _small_disk(disk_of: Callable[[str], Path]) -> Path:
    """A file system of 256 kB."""
    return disk_of("256k")


_PHY_SENSOR, _IF_X = "1.3.6.1.2.1.99.1.1.1", "1.3.6.1.2.1.31.1.1.1"
_AS_DBM, _AS_C, _AS_MA = (14, 9, 2), (8, 9, 1), (5, 8, 2)  # type, scale, precision


class Switch(ReplayTransport):
    """Two ports with a module of two lanes each; counts what it is asked."""

    def __init__(self) -> None:
        super().__init__({})
        self.asked: Counter[str] = Counter()
        self.put("1.3.6.1.2.1.1.2.0", "1.3.6.1.4.1.30065.1")
        self.put(SYS_UP_TIME, 100_000)
        for port in (1, 2):
            for column, cell in (("7", 1), ("8", 1)):
                self.put(f"{_IF}.{column}.{port}", cell)
            self.put(f"{_IF_X}.1.{port}", f"Ethernet{port}".encode())
            self.put(f"{_IF_X}.7.{port}", 1_000 * port)
            self.plug(port, f"SN{port}")

    def put(self, oid: str, cell: Cell) -> None:
        self._cells[oid] = cell
        self._order = sorted((tuple(map(int, known.split("."))), known) for known in self._cells)

    def plug(self, port: int, serial: str) -> None:
        """Put a module in."""
        module = 100 * port
        self._physical(module, 0, 9, f"Xcvr for Ethernet{port}", serial)
        self._sensor(module + 1, module, "Temperature", _AS_C, 400)
        for lane in (1, 2):
            self._sensor(module + 10 * lane, module, f"Lane {lane} Rx Power", _AS_DBM, -200)
            self._sensor(module + 10 * lane + 1, module, f"Lane {lane} Tx Bias", _AS_MA, 650)

    def unplug(self, port: int) -> None:
        """Take a port's module and its sensors out of all tables."""
        gone = range(100 * port, 100 * port + 100)
        tables = (f"{_PHY_SENSOR}.", f"{_ENT}.")
        for oid in [o for o in self._cells if o.startswith(tables) and int(o.rpartition(".")[2]) in gone]:
            del self._cells[oid]
        self.put(SYS_UP_TIME, self._cells[SYS_UP_TIME])

    def _physical(self, entity: int, parent: int, kind: int, name: str, serial: str = "") -> None:
        for column, cell in ((4, parent), (5, kind), (7, name.encode()), (11, serial.encode())):
            self.put(f"{_ENT}.{column}.{entity}", cell)

    def _sensor(self, entity: int, module: int, name: str, kind: tuple[int, int, int], value: int) -> None:
        self._physical(entity, module, 8, name)
        for column, cell in enumerate((*kind, value, 1), 1):
            self.put(f"{_PHY_SENSOR}.{column}.{entity}", cell)

    async def walk(self, oid: str, expect: int = 0) -> Column:
        self.asked[oid] += 1
        return await super().walk(oid, expect)


@pytest.fixture(name="switch_of")
def _switch_of() -> type[Switch]:
    """Makes switches of two ports in memory."""
    return Switch
