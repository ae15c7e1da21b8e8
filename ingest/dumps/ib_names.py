"""InfiniBand ports by name: nodes are known by GUID, people know their descriptions.

A switch's description is ``MF0;leaf01:MQM9700/U1`` or its name, an adapter's ``gpu17 mlx5_0`` or ``gpu17 HCA-1``. A
switch's port is its number; an adapter's is the adapter, with its number where it has several. Descriptions that
several nodes share, such as a factory's, tell nothing: then the GUID is the name.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ingest.dumps.reading import NOTHING, Port

__all__ = ["Node", "guid", "port_names"]

_SWITCH: Final = re.compile(r"(?:[A-Z]{2}\d+;)?([^:;\s]+)(?::\S.*)?")
_ADAPTER: Final = re.compile(r"(\S+)\s+(\S+)")
_FACTORY: Final = re.compile(r"mellanox|nvidia|connect-?x|infiniscale|quantum|technologies|localhost", re.IGNORECASE)
_GUID: Final = re.compile(r"(?:0x|[SHR]-)?([0-9a-f]{1,16})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a fabric.

    Attributes:
        is_switch: or an adapter.
        description: as the subnet manager has it.
    """

    is_switch: bool
    description: str


def guid(text: str) -> int | None:
    """A GUID, whatever is written around it.

    >>> guid("0x2c903000e0b72") == guid("H-0002c903000e0b72")
    True
    >>> guid("N/A")
    """
    found = _GUID.fullmatch(text.strip().strip('"'))
    return int(found[1], 16) if found else None


def port_names(nodes: Mapping[int, Node]) -> Mapping[int, Port]:
    """Device of each node, and of adapters the interface; "" for switches, whose ports are numbers."""
    found = {number: _parts(node) for number, node in nodes.items()}
    shared = _shared(name for name in found.values() if name is not None)
    return {
        number: (f"0x{number:016x}", "") if name is None or name in shared else name for number, name in found.items()
    }


def _parts(node: Node) -> Port | None:
    text = " ".join(node.description.replace("\0", " ").split())
    if text.lower() in NOTHING or _FACTORY.search(text):
        return None
    if node.is_switch:
        found = _SWITCH.fullmatch(text)
        return (found[1] if found else text, "")
    found = _ADAPTER.fullmatch(text)
    return (found[1], found[2]) if found else (text, "")


def _shared(names: Iterable[Port]) -> set[Port]:
    seen: set[Port] = set()
    again: set[Port] = set()
    for name in names:
        (again if name in seen else seen).add(name)
    return again
