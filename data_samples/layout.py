"""The fabric without its history: devices, interfaces as their systems name them, links and their ends."""

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from data_samples.config import FleetConfig
from data_samples.media import COPPER, MEDIA, Media

__all__ = ["End", "Link", "build_links", "copper_media", "port_number", "system_of"]

_PORTS_PER_LEAF: Final = 32
_NICS_PER_HOST: Final = 8
_LISTED: Final = 0.5
"""Silent ends whose module the inventory knows all the same [judgement]."""
_SYSTEMS: Final = ("eos", "nxos", "junos", "sonic")


@dataclass(frozen=True, slots=True)
class End:
    """One end of a link, and what its telemetry tells.

    Attributes:
        system: eos, nxos, junos, sonic or linux; it decides how interfaces are named.
        ber: where the pre-FEC BER appears: lane, port (one value on each lane's row) or none.
        flags: whether LOS, fault, CDR flags and read errors are collected.
        listed: whether the inventory knows the module.
        coarse: whether the device tells power in steps of 0.1 dB; else of 0.01.
    """

    device: str
    interface: str
    role: str
    system: str
    room: int
    silent: bool
    listed: bool
    ber: str
    flags: bool
    coarse: bool


@dataclass(frozen=True, slots=True)
class Link:
    """Two ends and what lies between them."""

    index: int
    ends: tuple[End, End]
    cable_id: str
    kind: str
    media: Media


def copper_media(name: str) -> Media:
    """A copper cable in the shape of a medium; its optical fields are never shown.

    >>> copper_media("400GBASE-CR8").lanes
    8
    """
    model = MEDIA["400GBASE-SR8" if name == COPPER[1] else "100GBASE-SR4"]
    return Media(**{field: getattr(model, field) for field in model.__dataclass_fields__} | {"name": name})


def _interface(system: str, port: int, host_port: int) -> str:
    """A port's name as the system writes it; ports count from 0.

    >>> _interface("junos", 3, 0), _interface("nxos", 3, 0), _interface("sonic", 3, 0)
    ('et-0/0/3', 'Ethernet1/4', 'Ethernet24')
    """
    names = {
        "eos": f"Ethernet{port + 1}/1",
        "nxos": f"Ethernet1/{port + 1}",
        "junos": f"et-0/0/{port}",
        "sonic": f"Ethernet{8 * port}",
        "linux": f"eth{host_port}",
    }
    return names[system]


def system_of(device: str) -> str:
    """The system that a device of the fleet runs, from its name.

    >>> system_of("leaf002"), system_of("spine01"), system_of("gpu0007")
    ('junos', 'nxos', 'linux')
    """
    kind, number = device.rstrip("0123456789"), int(device[len(device.rstrip("0123456789")) :])
    return "linux" if kind == "gpu" else _SYSTEMS[number % (4 if kind == "leaf" else 2)]


def port_number(system: str, interface: str) -> int:
    """The port behind a name, from 0: the inverse of how names are given.

    >>> port_number("junos", "et-0/0/3"), port_number("nxos", "Ethernet1/4"), port_number("eos", "Ethernet4/1")
    (3, 3, 3)
    """
    numbers = [int(text) for text in re.findall(r"\d+", interface)]
    if system == "eos":
        return numbers[0] - 1
    return numbers[-1] // 8 if system == "sonic" else numbers[-1] - (system == "nxos")


def build_links(config: FleetConfig) -> list[Link]:
    """Every link of the fleet: half of them leaf to spine, half leaf to server, by the seed alone."""
    rng = np.random.default_rng([config.seed, 1])
    leaves = max(4, -(-config.links // _PORTS_PER_LEAF))
    spines = max(4, leaves // 2)
    used: dict[str, int] = {}
    return [_link(config, rng, index, leaves, spines, used) for index in range(config.links)]


def _link(
    config: FleetConfig, rng: np.random.Generator, index: int, leaves: int, spines: int, used: dict[str, int]
) -> Link:
    copper = bool(rng.random() < config.copper)
    to_spine = index % 2 == 1 and not copper
    name = str(rng.choice(COPPER)) if copper else str(rng.choice(list(config.media), p=list(config.media.values())))
    leaf, upper = index % leaves, (index // leaves) % spines
    host = used.setdefault("hosts", 0)
    far = f"spine{upper:02d}" if to_spine else f"gpu{host // _NICS_PER_HOST:04d}"
    if not to_spine:
        used["hosts"] = host + 1
    near = f"leaf{leaf:03d}"
    ends = tuple(
        _end(config, rng, device, system, used.setdefault(device, 0), host % _NICS_PER_HOST)
        for device, system in ((near, system_of(near)), (far, system_of(far)))
    )
    for device in (near, far):
        used[device] += 1
    media = copper_media(name) if copper else MEDIA[name]
    return Link(index, (ends[0], ends[1]), f"C{index:05d}", "dac" if copper else "fiber", media)


def _end(config: FleetConfig, rng: np.random.Generator, device: str, system: str, port: int, host_port: int) -> End:
    nic = system == "linux"
    silent = bool(nic and rng.random() < config.silent_nic)
    return End(
        device=device,
        interface=_interface(system, port, host_port),
        role="nic" if nic else "switch",
        system=system,
        room=sum(map(ord, device)) % 2,
        silent=silent,
        listed=not silent or bool(rng.random() < _LISTED),
        ber=str(rng.choice(list(config.ber_exposure), p=list(config.ber_exposure.values()))),
        flags=bool(rng.random() < config.flag_exposure),
        coarse=sum(map(ord, device)) % 5 == 0,
    )
