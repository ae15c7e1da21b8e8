"""IPv6: the same packet, times and counts; only the kernel names things otherwise."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fabric_bed.net import missing

from ingest.errors import ConfigError
from ingest.probes.pinglist import Answered, Flow, Pinglist

Run = Callable[[Pinglist], Any]
KEY = "00" * 16
RULES = (
    "table inet t { chain f { type filter hook forward priority 0; "
    'oifname "tob" meta l4proto udp numgen random mod 100 < 30 drop; }; }'
)
START = "from serving.cli import main\nmain()"


def _flow(source: str, target: str, port: int = 50_100) -> Flow:
    return Flow("eth0", source, port, "far", "eth0", target, "tor_mesh", 20.0)


def test_an_agent_probes_itself_over_ipv6(run: Run) -> None:
    """Loopback has one address, so one agent is both ends."""
    flows = tuple(_flow("::1", "::1", port) for port in (50_100, 50_101))
    answered = tuple(Answered("near", "lo", "::1", flow.source_port, "lo", "::1") for flow in flows)
    near = run(Pinglist(flows, answered, bytes(16), window_s=1.0, timeout_s=0.2, trace_share=1.0))

    rows = near.windows(2)[2:]

    assert {("::1", "::1")} == {(row["source_address"], row["target_address"]) for row in rows}
    assert {(0, 0, "kernel")} == {(row["lost"], row["forward_lost"], row["stamps"]) for row in rows}
    assert {True} == {path["reached"] for path in near.paths}


def test_nobody_listens_is_told_by_icmp_of_ipv6_too(run: Run) -> None:
    near = run(Pinglist((_flow("::1", "::1"),), (), bytes(16), window_s=1.0, timeout_s=0.2))
    near.loop._responders.clear()
    number = next(fd for fd, socket in near.loop._by_fd.items() if socket.port == 4791)
    near.loop._by_fd[number].close()

    rows = [row for row in near.windows(3) if row["lost"]]

    assert rows
    assert all(row["refused"] for row in rows[1:])


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        (("10.0.0.1", "fc00::1"), "two versions of IP"),
        (("fc00::1", "fc00::0:2"), "as sockets write it: fc00::2"),
        (("fc00::1", "fe80::2"), "no host's address"),
        (("fc00::1", "::ffff:10.0.0.1"), "as sockets write it"),
        (("fc00::1", "ff02::1"), "no host's address"),
        (("fc00::1", "::"), "no host's address"),
    ],
)
def test_ends_that_cannot_be_are_refused(ends: tuple[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Pinglist.of(Pinglist((_flow(*ends),), (), bytes(16)).as_json(), "todo.json")


@pytest.fixture(name="line")
def _line() -> Iterator[Callable[[str, str], list[str]]]:
    """Two hosts and a router between them, over IPv6; gives the command line that runs something on one of them."""
    if reason := missing():
        pytest.skip(reason)
    name = f"six{os.getpid()}"
    script = f"""
        for node in a r b; do ip netns add {name}$node; ip netns exec {name}$node ip link set lo up; done
        for host in a b; do
            ip link add name to$host netns {name}r type veth peer name eth0 netns {name}$host
            net=fd00:$host
            ip netns exec {name}r sh -ec "ip link set to$host up; ip addr add $net::1/64 dev to$host nodad"
            ip netns exec {name}$host sh -ec "ip link set eth0 up; ip addr add $net::2/64 dev eth0 nodad"
            ip netns exec {name}$host ip route add default via $net::1
        done
        echo 1 | ip netns exec {name}r tee /proc/sys/net/ipv6/conf/all/forwarding
        echo '{RULES}' | ip netns exec {name}r nft -f -
    """
    made = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, check=False)
    try:
        assert 0 == made.returncode, made.stderr
        yield lambda node, words: ["ip", "netns", "exec", f"{name}{node}", *words]
    finally:
        for node in "arb":
            subprocess.run([shutil.which("ip") or "ip", "netns", "del", f"{name}{node}"], check=False)


@pytest.mark.fabric
def test_loss_has_a_direction_and_the_way_its_hop_over_a_router(
    line: Callable[[str, list[str]], list[str]], tmp_path: Path
) -> None:
    """Three in ten of what goes to b are dropped at the router, which no reply to b's own probes is told from."""
    lists = {
        "a": Pinglist((_flow("fd00:a::2", "fd00:b::2"),), (), bytes(16), window_s=1.0, timeout_s=0.2, trace_share=1.0),
        "b": Pinglist(
            (),
            (Answered("a", "eth0", "fd00:a::2", 50_100, "eth0", "fd00:b::2"),),
            bytes(16),
            window_s=1.0,
            timeout_s=0.2,
        ),
    }
    agents = []
    for node, todo in lists.items():
        (tmp_path / f"{node}.json").write_text(json.dumps(todo.as_json()))
        words = [sys.executable, "-c", START, "probe", "agent", "--pinglist", str(tmp_path / f"{node}.json")]
        words += ["--out", str(tmp_path / node), "--device", node]
        env = os.environ | {"FORELIGHT_HOME": str(tmp_path / "home")}
        agents.append(subprocess.Popen(line(node, words), env=env))
    until = time.monotonic() + 40.0
    rows: list[dict[str, Any]] = []
    hops: set[tuple[str, ...]] = set()
    while (len(rows) < 6 or not hops) and time.monotonic() < until:
        time.sleep(0.5)
        said = [json.loads(file.read_text()) for file in sorted((tmp_path / "a").glob("*.json"))]
        rows = [row for each in said for row in each["probes"] if row["forward_lost"] is not None]
        hops = {tuple(path["hops"]) for each in said for path in each["paths"] if path["reached"]}
    for agent in agents:
        agent.send_signal(signal.SIGTERM)
        agent.wait(10.0)

    assert {("fd00:a::1",)} == {way[:1] for way in hops}  # a trace that is dropped behind the router leaves a gap
    assert 0.1 < sum(row["forward_lost"] for row in rows) / sum(row["sent"] for row in rows) < 0.5
    assert 0 == sum(row["reverse_lost"] for row in rows)
