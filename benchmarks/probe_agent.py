"""What the probe agent costs its host: share of a processor, memory and bytes at so many probes a second.

Two agents, each a process of `forelight probe agent`, probe each other over loopback, and each answers as many probes
as it sends. What is measured is from a window after the start on, of the first of them. Needs Linux, no privilege.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ingest.probes.pinglist import Answered, Flow, Pinglist
from ingest.probes.wire import SIZE

ENDS = ("127.79.0.1", "127.79.0.2")
FIRST_PORT = 61_000
HEADERS_BYTES = 42
"""Ethernet, IPv4 and UDP."""
START = "from serving.cli import main\nmain()"
WINDOW_S = 20.0


def pinglist(source: str, target: str, per_s: float, flows: int) -> Pinglist:
    """So many 5-tuples that share the rate, as a plan of the controller has them; and the other end's."""
    ports = range(FIRST_PORT, FIRST_PORT + flows)
    return Pinglist(
        tuple(Flow("lo", source, port, "far", "lo", target, "inter_tor", per_s / flows) for port in ports),
        tuple(Answered("far", "lo", target, port, "lo", source) for port in ports),
        bytes(16),
        window_s=WINDOW_S,
    )


def started(folder: Path, name: str, todo: Pinglist, per_s: float) -> "subprocess.Popen[bytes]":
    """An agent."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps(todo.as_json()), encoding="utf-8")
    words = ["probe", "agent", "--pinglist", str(path), "--out", str(folder / name), "--device", name]
    words += ["--max-per-s", str(max(200.0, 2.0 * per_s))]
    return subprocess.Popen([sys.executable, "-c", START, *words], env=os.environ | {"FORELIGHT_HOME": str(folder)})


def processor_s(pid: int) -> float:
    """Of a process so far."""
    cells = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Of a process now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def measured(per_s: float, flows: int, windows: int) -> str:
    """One line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ends = [(ENDS[0], ENDS[1]), (ENDS[1], ENDS[0])]
        agents = [started(folder, f"agent{n}", pinglist(*end, per_s, flows), per_s) for n, end in enumerate(ends)]
        time.sleep(1.2 * WINDOW_S)
        pid, before, since = agents[0].pid, processor_s(agents[0].pid), time.monotonic()
        time.sleep(windows * WINDOW_S)
        share, memory = (processor_s(pid) - before) / (time.monotonic() - since), resident_mb(pid)
        for agent in agents:
            agent.send_signal(signal.SIGTERM)
            agent.wait(30.0)
        said = [json.loads(file.read_text(encoding="utf-8")) for file in (folder / "agent0").glob("*.json")]
    rows = [row for each in said for row in each["probes"]]
    lost = sum(row["lost"] for row in rows) / max(sum(row["sent"] for row in rows), 1)
    kbit = 2.0 * per_s * (SIZE + HEADERS_BYTES) * 8.0 / 1e3
    return (
        f"{per_s:5.0f} probes/s sent and answered on {flows} 5-tuples: {share:.2%} of a processor, {memory:.1f} MB, "
        f"{kbit:.0f} kbit/s each way; {lost:.3%} lost, stamps {rows[0]['stamps'] if rows else None}"
    )


def main() -> None:
    """Print a line for each rate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-s", type=float, nargs="*", default=[25.0, 100.0], help="probes a second")
    parser.add_argument("--flows", type=int, default=50, help="5-tuples that share them")
    parser.add_argument("--windows", type=int, default=3, help="of 20 s, that are measured")
    told = parser.parse_args()
    for per_s in told.per_s:
        print(measured(per_s, told.flows, told.windows), flush=True)


if __name__ == "__main__":
    main()
