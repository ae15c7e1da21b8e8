"""The agents of a fabric: one real `forelight probe agent` in each host's namespace, and what they said by window."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fabric_bed.net import Fabric

__all__ = ["KEY", "Agents", "Rates"]

KEY: Final = "00112233445566778899aabbccddeeff"
_START: Final = "import os\nfrom serving.cli import main\nmain()"
_FIRST: Final = ("chrt", "-r", "1")
"""A fabric's hosts have a processor each; here they share the machine with whatever else runs."""
_FIRST_PORT: Final = 49_152
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rates:
    """How hard to probe: a window of the field in two seconds.

    Attributes:
        ports: source ports of each ordered pair of hosts.
        per_s: probes of each 5-tuple.
    """

    window_s: float = 2.0
    timeout_s: float = 0.25
    ports: int = 3
    per_s: float = 6.0
    trace_share: float = 0.5

    @property
    def grace_s(self) -> float:
        """A window's rows are there so long after its end."""
        return self.timeout_s - 0.1 * self.window_s + 0.7 + 0.6


@dataclass
class Agents:
    """Starts and ends agents, and reads their rows."""

    fabric: Fabric
    folder: Path
    rates: Rates = field(default_factory=Rates)
    running: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    _given: int = 0
    _read: dict[str, tuple[list[Row], list[Row]]] = field(default_factory=dict)

    def start(self, *hosts: str) -> None:
        """Start those of some hosts, of all where none is named."""
        (self.folder / "rows").mkdir(parents=True, exist_ok=True)
        for host in hosts or self.fabric.host_names():
            todo = self.folder / f"{host}.json"
            todo.write_text(json.dumps(self.pinglist(host)))
            words = [sys.executable, "-c", _START, "probe", "agent", "--device", host]
            words += ["--pinglist", str(todo), "--out", str(self.folder / "rows"), "--max-per-s", "20000"]
            env = os.environ | {"FORELIGHT_HOME": str(self.folder / "home"), "PYTHONPATH": os.pathsep.join(sys.path)}
            with (self.folder / f"{host}.log").open("ab") as log:
                self.running[host] = subprocess.Popen(self.fabric.python(host, *_FIRST, *words), stderr=log, env=env)

    def ready(self, wait_s: float = 90.0) -> None:
        """Until each has told a window in which all were heard for the second time at least.

        Raises:
            RuntimeError: an agent did not come up, with what it said.
        """
        until, whole = time.time() + wait_s, 0
        while whole < 2:
            if time.time() > until:
                said = "; ".join(f"{host}: {(self.folder / f'{host}.log').read_text()}" for host in self.running)
                msg = f"no whole window in {wait_s:g} s: {said}"
                raise RuntimeError(msg)
            start = self.window()
            self.wait(start)
            rows = self.rows(start)
            told = {row["source_device"] for row in rows if row["sent"] and not row["epoch_changed"]}
            whole = whole + 1 if len(told) == len(self.running) else 0

    def new_paths(self) -> list[Row]:
        """Ways found since the last call, in order of time."""
        self._look()
        files = list(self._read)[self._given :]
        self._given = len(self._read)
        return sorted((path for name in files for path in self._read[name][1]), key=lambda path: path["time"])

    def told_by(self, host: str) -> list[Row]:
        """The ways that one traced."""
        own = {"forward": "source_device", "reverse": "target_device"}
        return [path for path in self.paths() if path[own[path["direction"]]] == host]

    def end(self, *hosts: str) -> None:
        """Kill them, without a word."""
        for host in hosts or list(self.running):
            process = self.running.pop(host)
            self.signal(host, signal.SIGKILL, process)
            process.wait(10.0)

    def signal(self, host: str, number: int, process: "subprocess.Popen[bytes] | None" = None) -> None:
        """Send one; `ip netns exec` becomes the agent, so its process is the agent's."""
        (process or self.running[host]).send_signal(number)

    def window(self, after: float | None = None) -> float:
        """Start of the next window."""
        length = self.rates.window_s
        return ((after or time.time()) // length + 1.0) * length

    def wait(self, start: float) -> None:
        """Until a window is closed and told."""
        time.sleep(max(start + self.rates.window_s + self.rates.grace_s - time.time(), 0.0))

    def rows(self, start: float) -> list[Row]:
        """Of the window that began then."""
        self._look()
        stamp = _iso(start)
        return [row for probes, _ in self._read.values() for row in probes if row["time"] == stamp]

    def paths(self) -> list[Row]:
        """All ways found so far, in order of time."""
        self._look()
        return sorted((path for _, paths in self._read.values() for path in paths), key=lambda path: path["time"])

    def pinglist(self, host: str) -> dict[str, Any]:
        """Every other host, by each source port; ports differ between pairs, so that 5-tuples do."""
        names = self.fabric.host_names()
        flows, answered = [], []
        for other in names:
            if other == host:
                continue
            for port in range(self.rates.ports):
                flows.append(self._flow(host, other, _FIRST_PORT + port))
                back = self._flow(other, host, _FIRST_PORT + port)
                about = {"source_device": other, **back}
                wanted = ("source_device", "source_interface", "source_address", "source_port")
                answered.append({name: about[name] for name in (*wanted, "target_interface", "target_address")})
        rates = self.rates
        return {
            "flows": flows,
            "answered": answered,
            "key": KEY,
            "window_s": rates.window_s,
            "timeout_s": rates.timeout_s,
            "trace_share": rates.trace_share,
            "trace_per_s": 4_000.0,
        }

    def _flow(self, source: str, target: str, port: int) -> dict[str, Any]:
        fabric = self.fabric
        near = fabric.leaf_of(source) == fabric.leaf_of(target)
        return {
            "source_interface": "eth0",
            "source_address": fabric.address(source),
            "source_port": port,
            "target_device": target,
            "target_interface": "eth0",
            "target_address": fabric.address(target),
            "kind": "tor_mesh" if near else "inter_tor",
            "per_s": self.rates.per_s,
        }

    def _look(self) -> None:
        for file in (self.folder / "rows").glob("probes-*.json"):
            if file.name not in self._read:
                said = json.loads(file.read_text())
                probes = [row | {"source_device": said["device"]} for row in said["probes"]]
                paths = [_own(path, said["device"]) for path in said["paths"]]
                self._read[file.name] = probes, paths


def _own(path: Row, device: str) -> Row:
    return path | ({"source_device": device} if path["direction"] == "forward" else {"target_device": device})


def _iso(start: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(start, UTC).isoformat()
