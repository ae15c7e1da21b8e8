"""A fabric of network namespaces: leaves, spines, hosts, real ECMP by the kernel, and faults that are really made.

Needs root (or a user namespace) and `ip`, `nft`, `tc`. Nothing of it touches the machine's own interfaces.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["Cable", "Fabric", "missing"]

_SYSCTLS: Final = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/fib_multipath_hash_policy": "1",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv4/icmp_ratelimit": "0",
    "net/ipv4/icmp_msgs_per_sec": "1000000",  # 0 would end all ICMP
    "net/ipv4/icmp_errors_use_inbound_ifaddr": "1",  # a hop's address names the port that the packet came in by
    "net/ipv6/conf/all/disable_ipv6": "1",
}


def missing() -> str | None:
    """Why there can be no namespaces here; None where there can."""
    lacking = [name for name in ("ip", "nft", "tc", "chrt") if shutil.which(name) is None]
    if lacking:
        return f"network namespaces need {', '.join(lacking)}"
    name = f"flt{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"network namespaces are not permitted here: {made.stderr.strip()}"
    told = subprocess.run(
        ["ip", "netns", "exec", name, "nft", "add", "table", "inet", "t"], capture_output=True, text=True, check=False
    )
    subprocess.run(["ip", "netns", "del", name], check=True)
    return f"nftables cannot be used here: {told.stderr.strip()}" if told.returncode else None


@dataclass(frozen=True, slots=True)
class Cable:
    """Two ports; addresses of the ends are in `Fabric.addresses`."""

    a: tuple[str, str]
    b: tuple[str, str]


@dataclass
class Fabric:
    """Leaves, spines, and some hosts on each leaf.

    Attributes:
        cables: all of them, hosts' first.
        addresses: of each port.
    """

    leaves: int = 4
    spines: int = 4
    hosts: int = 2
    prefix: str = field(default_factory=lambda: f"fl{os.getpid()}")
    cables: list[Cable] = field(default_factory=list)
    addresses: dict[tuple[str, str], str] = field(default_factory=dict)
    _dropping: set[str] = field(default_factory=set)

    def host_names(self) -> list[str]:
        """In the order of leaves."""
        return [f"host{number}" for number in range(self.leaves * self.hosts)]

    def nodes(self) -> list[str]:
        """Hosts, leaves, spines."""
        tiers = (("leaf", self.leaves), ("spine", self.spines))
        return [*self.host_names(), *(f"{tier}{number}" for tier, count in tiers for number in range(count))]

    def leaf_of(self, host: str) -> str:
        """Its ToR."""
        return f"leaf{int(host.removeprefix('host')) // self.hosts}"

    def address(self, host: str) -> str:
        """Of its only NIC."""
        return self.addresses[host, "eth0"]

    def up(self) -> None:
        """Build it."""
        nodes = self.nodes()
        for node in nodes:
            self._run("ip", "netns", "add", self.ns(node))
        for number, host in enumerate(self.host_names()):
            self._wire(self.leaf_of(host), f"host{number % self.hosts}", host, "eth0", f"10.1.{number}")
        for leaf in range(self.leaves):
            for spine in range(self.spines):
                net = f"10.2.{leaf * self.spines + spine}"
                self._wire(f"leaf{leaf}", f"up{spine}", f"spine{spine}", f"down{leaf}", net)
        for node in nodes:
            writes = " && ".join(f"echo {value} > /proc/sys/{name}" for name, value in _SYSCTLS.items())
            self.sh(node, f"{writes} && ip link set lo up")
        self._routes()

    def down(self) -> None:
        """Take all of it away."""
        for node in {end[0] for cable in self.cables for end in (cable.a, cable.b)}:
            subprocess.run(["ip", "netns", "del", self.ns(node)], check=False)

    def ns(self, node: str) -> str:
        """Name of a node's namespace."""
        return f"{self.prefix}-{node}"

    def sh(self, node: str, script: str) -> None:
        """Run a script in a node's namespace."""
        self._run("ip", "netns", "exec", self.ns(node), "sh", "-ec", script)

    def lose(self, dlink: tuple[tuple[str, str], tuple[str, str]], share: float) -> None:
        """A directed link drops that share of its packets, at random; both its ends know nothing of it."""
        (device, interface), (far, far_interface) = dlink
        match = f'oifname "{interface}"' if not device.startswith("host") else f'iifname "{far_interface}"'
        self.rule(
            device if not device.startswith("host") else far, f"{match} numgen random mod 100000 < {int(share * 1e5)}"
        )

    def rule(self, node: str, match: str) -> None:
        """Drop what a node forwards and that matches."""
        self._dropping.add(node)
        self.sh(
            node,
            "nft add table inet bed; nft add chain inet bed f '{ type filter hook forward priority 0; }';"
            f"nft add rule inet bed f '{match} drop'",
        )

    def heal(self) -> None:
        """No node drops anything any more."""
        for node in self._dropping:
            self.sh(node, "nft delete table inet bed")
        self._dropping.clear()

    def python(self, node: str, *words: str) -> list[str]:
        """A command line that runs in a node's namespace."""
        return ["ip", "netns", "exec", self.ns(node), *words]

    def _wire(self, one: str, port: str, other: str, far: str, net: str) -> None:
        self._run(
            *("ip", "link", "add", "name", port, "netns", self.ns(one)),
            *("type", "veth", "peer", "name", far, "netns", self.ns(other)),
        )
        for node, interface, last in ((one, port, 1), (other, far, 2)):
            self.sh(node, f"ip addr add {net}.{last}/30 dev {interface}; ip link set {interface} up")
            self.addresses[node, interface] = f"{net}.{last}"
        self.cables.append(Cable((one, port), (other, far)))

    def _routes(self) -> None:
        for number, host in enumerate(self.host_names()):
            self.sh(host, f"ip route add default via 10.1.{number}.1")
        for leaf in range(self.leaves):
            self.sh(f"leaf{leaf}", self.ecmp(leaf, range(self.spines)).replace("replace", "add"))
        for spine in range(self.spines):
            ways = [
                f"ip route add 10.1.{number}.0/30 via 10.2.{number // self.hosts * self.spines + spine}.1"
                for number in range(len(self.host_names()))
            ]
            self.sh(f"spine{spine}", "; ".join(ways))

    def ecmp(self, leaf: int, spines: Iterable[int]) -> str:
        """The command that spreads a leaf's traffic over some spines."""
        hops = " ".join(f"nexthop via 10.2.{leaf * self.spines + spine}.2" for spine in spines)
        return f"ip route replace default {hops}"

    @staticmethod
    def _run(*words: str | Path) -> None:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        if done.returncode:
            msg = f"{' '.join(map(str, words))}: {done.stderr.strip()}"
            raise RuntimeError(msg)
