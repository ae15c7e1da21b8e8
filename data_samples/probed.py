"""A small synthetic fabric that servers probe: links, modules, probes and readings, as tables of the lake hold them.

Eight servers on four leaves below two spines. A directed link (`gpu3:eth0 → leaf1:h1`) may lose packets, a server be
down, a receiver see less light; everything else is as it should be.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from ingest.schema import LANE_SAMPLES, LINKS, MODULES, PROBES, Table

__all__ = ["SERVERS", "ProbedFabric"]

SERVERS: Final = tuple(f"gpu{number}" for number in range(8))
_LEAVES: Final = 4
_SPINES: Final = 2
_SITE: Final = "default"
_WINDOW: Final = timedelta(seconds=20)
_SOUND: Final = 2e-5
"""Loss of a sound directed link."""
_READ_H: Final = 100
_SOUND_READING: Final = {"tx_power_dbm": -1.0, "rx_power_dbm": -2.0, "tx_bias_ma": 70.0, "pre_fec_ber": 1e-9}
_DIM_BER: Final = 2e-4

_Row = dict[str, Any]
_LINKS: Final = (
    *((server, "eth0", f"leaf{n // 2}", f"h{n % 2}") for n, server in enumerate(SERVERS)),
    *((f"leaf{leaf}", f"u{spine}", f"spine{spine}", f"d{leaf}") for leaf in range(_LEAVES) for spine in range(_SPINES)),
)
_PORTS: Final = tuple(port for link in _LINKS for port in (link[:2], link[2:]))


@dataclass(frozen=True)
class ProbedFabric:
    """What happened, and what is seen of it.

    Attributes:
        at: now.
        lossy: loss of directed links, by name; those not named lose one packet in 50,000.
        down: servers that send nothing and answer nothing.
        dim_db: light lost in the last hour, by the receiving port's device and interface.
        sent: packets from each server to each other in a window of 20 seconds.
        windows: closed ones before now.
        seed: of all draws.
    """

    at: datetime
    lossy: Mapping[str, float] = field(default_factory=dict)
    down: Collection[str] = ()
    dim_db: Mapping[tuple[str, str], float] = field(default_factory=dict)
    sent: int = 2_000
    windows: int = 3
    seed: int = 5

    def tables(self) -> Iterator[tuple[Table, pa.Table]]:
        """Tables of the lake with their rows; those without a row are left out.

        Raises:
            ValueError: the fabric has no such directed link, server or port.
        """
        self._check()
        parts = {
            LINKS: [self._link(*link) for link in _LINKS],
            MODULES: [self._module(*port) for port in _PORTS],
            PROBES: list(self._probes()),
            LANE_SAMPLES: [row for port in self._read for row in self._readings(*port)],
        }
        yield from ((table, table.of(rows)) for table, rows in parts.items() if rows)

    def _check(self) -> None:
        links = {name for link in _LINKS for name in (_named(*link), _named(*link[2:], *link[:2]))}
        for what, asked, there in (
            ("directed link", set(self.lossy), links),
            ("server", set(self.down), set(SERVERS)),
            ("port", set(self.dim_db), set(_PORTS)),
        ):
            if unknown := asked - there:
                msg = f"the fabric has no {what} {', '.join(map(str, sorted(unknown)))}"
                raise ValueError(msg)

    def _link(self, device: str, interface: str, far: str, far_interface: str) -> _Row:
        ends = {"a_device": device, "a_interface": interface, "z_device": far, "z_interface": far_interface}
        return {**ends, "a_site": _SITE, "z_site": _SITE, "source": "file", "received_at": self.at}

    def _module(self, device: str, interface: str) -> _Row:
        role = "nic" if device in SERVERS else "switch"
        place = {"site": _SITE, "device": device, "interface": interface, "role": role}
        return {**place, "serial": f"{device}-{interface}", "received_at": self.at, "installed_at": self._long_ago}

    @property
    def _long_ago(self) -> datetime:
        return self.at - timedelta(days=99)

    def _probes(self) -> Iterator[_Row]:
        """A row for each pair of servers and window; any spine is as likely as any other."""
        rng = np.random.default_rng(self.seed)
        for number in range(1, self.windows + 1):
            for source in SERVERS:
                for target in SERVERS:
                    if source != target and source not in self.down:
                        lost = [self._lost(*ends, rng) for ends in ((source, target), (target, source))]
                        yield self._probe(source, target, lost, self.at - number * _WINDOW)

    def _lost(self, source: str, target: str, rng: np.random.Generator) -> int:
        rate = sum(share * self.lossy.get(link, _SOUND) for link, share in _crossed(source, target))
        return int(rng.binomial(self.sent, min(rate, 1.0)))

    def _probe(self, source: str, target: str, lost: list[int], time: datetime) -> _Row:
        ends = {
            f"{end}_{what}": value
            for end, name in (("source", source), ("target", target))
            for what, value in (("device", name), ("interface", "eth0"), ("address", f"10.0.0.{name[3:]}"))
        }
        silent = target in self.down
        counts = {"sent": self.sent, "lost": self.sent if silent else sum(lost), "kernel_answers": not silent}
        one_way = {} if silent else {"forward_lost": lost[0], "reverse_lost": lost[1]}
        times = {"rtt_p50_ns": 20_000, "rtt_p99_ns": 30_000, "target_p50_ns": 9_000, "target_p99_ns": 12_000}
        flow = {"site": _SITE, "source_port": 50_000, "target_port": 4791, "protocol": "udp", "kind": "inter_tor"}
        same = {"received_at": time, "time": time, "window_s": _WINDOW.total_seconds(), "source": "agent"}
        none = dict.fromkeys(("unsent", "refused", "late"), 0)
        epochs = {"source_epoch": 1, "target_epoch": 1, "epoch_changed": False, "limited": False}
        return {**ends, **counts, **one_way, **times, **flow, **same, **none, **epochs}

    @cached_property
    def _read(self) -> list[tuple[str, str]]:
        """Ports whose modules are read: both ends of the links that are dim."""
        return [port for link in _LINKS if {link[:2], link[2:]} & self.dim_db.keys() for port in (link[:2], link[2:])]

    def _readings(self, device: str, interface: str) -> Iterator[_Row]:
        """Of one lane, an hour apart; the newest shows what became dim."""
        place = {"site": _SITE, "device": device, "interface": interface, "lane": 1, "quality": 0, "source": "snmp"}
        for hours in range(_READ_H, -1, -1):
            time = self.at - timedelta(hours=hours, minutes=10)
            yield {**place, "time": time, "received_at": time, **self._reading((device, interface), now=hours == 0)}

    def _reading(self, port: tuple[str, str], *, now: bool) -> dict[str, float]:
        lost = self.dim_db.get(port, 0.0) if now else 0.0
        changed = {"rx_power_dbm": _SOUND_READING["rx_power_dbm"] - lost, "pre_fec_ber": _DIM_BER} if lost else {}
        return {**_SOUND_READING, **changed}


def _named(device: str, interface: str, far: str, far_interface: str) -> str:
    return f"{device}:{interface} → {far}:{far_interface}"


def _crossed(source: str, target: str) -> Iterator[tuple[str, float]]:
    """Directed links on the way, each with the share of the packets that cross it."""
    near, far = (divmod(SERVERS.index(server), 2) for server in (source, target))
    yield _named(source, "eth0", f"leaf{near[0]}", f"h{near[1]}"), 1.0
    for spine in range(_SPINES if near[0] != far[0] else 0):
        yield _named(f"leaf{near[0]}", f"u{spine}", f"spine{spine}", f"d{near[0]}"), 1.0 / _SPINES
        yield _named(f"spine{spine}", f"d{far[0]}", f"leaf{far[0]}", f"u{spine}"), 1.0 / _SPINES
    yield _named(f"leaf{far[0]}", f"h{far[1]}", target, "eth0"), 1.0
