"""CPU time of collection, from the wire to a Delta commit, against a canned agent that answers at once.

A varbind is one cell that an agent sent. The first sweep discovers every switch; the others poll by its map. Prints
CPU seconds per million varbinds of the whole path, the share of a core that 2,000 switches need at a poll a minute,
and beside it what pysnmp alone takes to walk the same columns of the same agent.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingest.collect.poller import Poller, Sweep
from ingest.config import Config
from ingest.lake import Lake

AGENT = Path(__file__).with_name("snmp") / "agent.py"
FLEET, INTERVAL_S = 2_000, 60
SWITCH = "64 ports x 8 lanes"  # as the agent has them
KINDS = {"entity": "ENTITY-SENSOR-MIB", "junos": "JUNIPER-DOM-MIB"}


@contextmanager
def agent(kind: str) -> Iterator[int]:
    """A canned agent in a process of its own; gives its port."""
    process = subprocess.Popen([sys.executable, str(AGENT), kind, "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def fleet(port: int, switches: int) -> Config:
    """So many switches, each at an address of its own."""
    addresses = (f"127.{1 + i // 250 // 250}.{i // 250 % 250}.{1 + i % 250}" for i in range(switches))
    options = {"community": "bench", "timeout_s": 5.0, "max_repetitions": 50}
    targets = [
        {"device": f"leaf{i:05d}", "address": address, "port": port, "snmp": options}
        for i, address in enumerate(addresses)
    ]
    return Config.model_validate({"collect": {"interval_s": INTERVAL_S, "concurrency": 64}, "target": targets})


def varbinds(sweep: Sweep) -> int:
    """Cells that all agents sent."""
    if sweep.failed:
        sys.exit(f"{sweep.failed[0].target.device}: {sweep.failed[0].error}")
    return sum(poll.varbinds for poll in sweep.polls)


async def whole_path(port: int, kind: str, switches: int, sweeps: int) -> float:
    """CPU seconds per million varbinds, polls and commits together."""
    with tempfile.TemporaryDirectory() as folder:
        poller = Poller(fleet(port, switches), Lake(f"{folder}/lake"))
        first, start = await poller.sweep(), (time.process_time(), time.monotonic())
        polled = sum([varbinds(await poller.sweep()) for _ in range(sweeps)])
        cpu_s, wall_s = time.process_time() - start[0], time.monotonic() - start[1]
        poller.close()
    per_million = cpu_s / polled * 1e6
    each = polled / sweeps / switches
    core = cpu_s / sweeps / switches * FLEET / INTERVAL_S
    print(
        f"{KINDS[kind]:20s} {switches} switches of {SWITCH}: {each:,.0f} varbinds a poll "
        f"({varbinds(first) / switches:,.0f} a discovery)\n"
        f"  whole path        {per_million:6.2f} CPU s per million varbinds, "
        f"{polled / wall_s:,.0f} varbinds/s in one process\n"
        f"  {FLEET:,} switches each minute need {core:.3f} of a core"
    )
    return per_million


async def pysnmp_walk(port: int, column: str) -> float:
    """CPU seconds per million varbinds of pysnmp's own bulk walk, MIB lookup off: walking alone."""
    from pysnmp.hlapi.v3arch.asyncio import (
        CommunityData,
        ContextData,
        ObjectIdentity,
        ObjectType,
        SnmpEngine,
        UdpTransportTarget,
        bulk_walk_cmd,
    )

    target = await UdpTransportTarget.create(("127.0.0.1", port), timeout=5)
    start, count = time.process_time(), 0
    async for error, status, _, rows in bulk_walk_cmd(
        SnmpEngine(), CommunityData("bench"), target, ContextData(), 0, 50,
        ObjectType(ObjectIdentity(column)), lexicographicMode=False, lookupMib=False,
    ):  # fmt: skip
        if error or status:
            sys.exit(f"pysnmp: {error or status}")
        count += len(rows)
    return (time.process_time() - start) / count * 1e6


def main() -> None:
    """Run both shapes of agent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--switches", type=int, default=200)
    parser.add_argument("--sweeps", type=int, default=3)
    options = parser.parse_args()
    columns = {"entity": "1.3.6.1.2.1.99.1.1.1.4", "junos": "1.3.6.1.4.1.2636.3.60.1.2.1.1"}
    for kind, column in columns.items():
        with agent(kind) as port:
            ours = asyncio.run(whole_path(port, kind, options.switches, options.sweeps))
            theirs = asyncio.run(pysnmp_walk(port, column))
        print(f"  pysnmp, walk only {theirs:6.2f} CPU s per million varbinds: {theirs / ours:.0f} times the whole path")


if __name__ == "__main__":
    main()
