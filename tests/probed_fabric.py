"""A small fabric in a lake, with probes through it: for tests of verdicts in several folders."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from diagnosis.fabric import Fabric
from diagnosis.reading import fabric_of
from ingest.lake import Lake
from ingest.schema import LINKS, MODULES, PROBES

__all__ = ["AT", "NODES", "probed", "probes"]

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
_SITE = "default"
NODES = tuple((_SITE, f"gpu{number}") for number in range(8))


def _links() -> list[dict[str, Any]]:
    """Eight servers on four leaves, two spines above."""
    rows = [(f"gpu{number}", "eth0", f"leaf{number // 2}", f"h{number % 2}") for number in range(8)]
    rows += [(f"leaf{leaf}", f"u{spine}", f"spine{spine}", f"d{leaf}") for leaf in range(4) for spine in range(2)]
    ends = ("a_device", "a_interface", "z_device", "z_interface")
    same = {"received_at": AT, "a_site": _SITE, "z_site": _SITE, "source": "file"}
    return [{**dict(zip(ends, row, strict=True)), **same} for row in rows]


def _module(device: str, interface: str) -> dict[str, Any]:
    role = "nic" if device.startswith("gpu") else "switch"
    place = {"site": _SITE, "device": device, "interface": interface, "serial": f"{device}-{interface}", "role": role}
    return {**place, "received_at": AT, "installed_at": AT - timedelta(days=99)}


def probes(fabric: Fabric, lossy: dict[int, float], sent: int, windows: int) -> list[dict[str, Any]]:
    """One-way losses between all servers; each packet over any of its ways."""
    rng, rows = np.random.default_rng(5), []
    for number in range(windows):
        for source in NODES:
            for target in NODES:
                if source != target:
                    lost = [_lost(fabric, one, sent, lossy, rng) for one in ((source, target), (target, source))]
                    rows.append(_row(source[1], target[1], sent, lost, AT - timedelta(seconds=20 * (number + 1))))
    return rows


def _lost(fabric: Fabric, ends: tuple[Any, Any], sent: int, lossy: dict[int, float], rng: np.random.Generator) -> int:
    rate = sum(often * lossy.get(link, 2e-5) for link, often in fabric.spread(*ends).items())
    return int(rng.binomial(sent, min(rate, 1.0)))


def _row(source: str, target: str, sent: int, lost: list[int], time: datetime) -> dict[str, Any]:
    ends = {
        f"{end}_{what}": value
        for end, name in (("source", source), ("target", target))
        for what, value in (("device", name), ("interface", "eth0"), ("address", f"10.0.0.{name[3:]}"))
    }
    counts = {"sent": sent, "lost": sum(lost), "forward_lost": lost[0], "reverse_lost": lost[1], "unsent": 0}
    times = {"rtt_p50_ns": 20_000, "rtt_p99_ns": 30_000, "target_p50_ns": 9_000, "target_p99_ns": 12_000}
    flow = {"site": _SITE, "source_port": 50_000, "target_port": 4791, "protocol": "udp", "kind": "inter_tor"}
    same = {"received_at": time, "time": time, "window_s": 20.0, "source": "agent", "refused": 0, "late": 0}
    epochs = {"source_epoch": 1, "target_epoch": 1, "epoch_changed": False, "limited": False}
    return {**ends, **counts, **times, **flow, **same, **epochs}


def probed(folder: Path, lossy: dict[str, float] | None = None, *, sent: int = 2_000, windows: int = 3) -> Lake:
    """A lake with the fabric, some of whose links lose packets, and probes through it."""
    lake = Lake(str(folder))
    lake.append(LINKS, LINKS.of(_links()))
    ports = [(row[f"{end}_device"], row[f"{end}_interface"]) for row in _links() for end in "az"]
    lake.append(MODULES, MODULES.of([_module(*port) for port in ports]))
    fabric = fabric_of(lake, AT)
    number = {fabric.named(link): link for link in range(fabric.links)}
    losses = {number[name]: loss for name, loss in (lossy or {}).items()}
    if windows:
        lake.append(PROBES, PROBES.of(probes(fabric, losses, sent, windows)))
    return lake
