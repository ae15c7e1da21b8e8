"""What the kernel says of a host's ports, below ``/sys``: which there are, their state, their counters.

Linux's ``carrier_down_count`` counts downs only, debounced by nothing; `link_flaps` is that. Counters of InfiniBand
ports (``counters/``) are taken where the link is InfiniBand; those of ``hw_counters/`` are about RDMA and tell nothing
of the optics.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ingest.dumps.reading import Reading

__all__ = ["Nic", "carrier", "found", "read_state"]

_ETHERNET, _INFINIBAND = "1", "32"
_UP_FLAG: Final = 0x1
_STATISTICS: Final = {"rx_packets": "in_packets", "tx_packets": "out_packets", "rx_crc_errors": "crc_errors"}
_IB: Final = {
    "symbol_error": "symbol_errors",
    "link_downed": "link_flaps",
    "port_rcv_packets": "in_packets",
    "port_xmit_packets": "out_packets",
}


@dataclass(frozen=True, slots=True)
class Nic:
    """A physical port of this host.

    Attributes:
        name: of the interface; of the InfiniBand device where it has none.
        rdma: its InfiniBand (or RoCE) device; None where it has none.
        port: of that device.
    """

    name: str
    rdma: str | None = None
    port: int = 1


def found(sys: Path, only: Iterable[str] = ()) -> list[Nic]:
    """The physical ports, or those that are named."""
    named = set(only)
    nics = []
    for folder in sorted((sys / "class" / "net").glob("*")):
        if not (folder / "device").exists() or _text(folder / "type") not in (_ETHERNET, _INFINIBAND):
            continue
        rdma = next((each.name for each in sorted((folder / "device" / "infiniband").glob("*"))), None)
        nics.append(Nic(folder.name, rdma, int(_number(folder / "dev_port") or 0) + 1 if rdma else 1))
    with_names = {nic.rdma for nic in nics}
    devices = sorted(folder.name for folder in (sys / "class" / "infiniband").glob("*"))
    nics += [Nic(name, name) for name in devices if name not in with_names]
    return [nic for nic in nics if not named or nic.name in named]


def read_state(sys: Path, nic: Nic) -> Reading:
    """State and counters as the kernel has them."""
    reading = Reading(0)
    net = sys / "class" / "net" / nic.name
    flags = _text(net / "flags")
    if flags:
        reading.flag("admin_up", value=bool(int(flags, 16) & _UP_FLAG))
    state = _text(net / "operstate")
    if state in ("up", "down"):
        reading.flag("oper_up", value=state == "up")
    reading.count("link_flaps", _number(net / "carrier_down_count"))
    for name, column in _STATISTICS.items():
        reading.count(column, _number(net / "statistics" / name))
    speed = _number(net / "speed")
    if speed is not None and speed > 0:
        reading.say("speed_gbps", speed / 1000)
    if nic.rdma is not None:
        _read_infiniband(sys / "class" / "infiniband" / nic.rdma / "ports" / str(nic.port), reading)
    return reading


def _read_infiniband(port: Path, reading: Reading) -> None:
    if _text(port / "link_layer") != "InfiniBand":
        return
    state = _text(port / "state")
    if state:
        reading.states["oper_up"] = state.endswith("ACTIVE")
    for name, column in _IB.items():
        value = _number(port / "counters" / name)
        if value is not None:
            reading.count(column, value)


def carrier(sys: Path, nic: Nic) -> tuple[int, int] | None:
    """How often the carrier came and went; None where the kernel does not say."""
    net = sys / "class" / "net" / nic.name
    ups, downs = _number(net / "carrier_up_count"), _number(net / "carrier_down_count")
    return None if ups is None or downs is None else (ups, downs)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # not there, or not told while the port is down
        return ""


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.lstrip("-").isdigit() else None
