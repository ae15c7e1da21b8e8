"""``ibnetdiscover``: a fabric's topology, as the tree of its nodes or (``-p``) as a list of ports; links by GUID."""

import re
from collections.abc import Iterator
from typing import Final

from ingest.dumps.format import Said, TextFormat
from ingest.dumps.ib_names import Node, guid
from ingest.dumps.ib_ports import IbPorts
from ingest.dumps.source import Dump
from ingest.quarantine import Kind

__all__ = ["TEXT"]

_NODE: Final = re.compile(r'(Switch|Ca|Rt)\s+\d+\s+"([SHR])-([0-9a-f]{1,16})"\s*(?:#\s*"(.*?)".*)?', re.IGNORECASE)
_LINK: Final = re.compile(
    r'\[(\d{1,3})\](?:\([0-9a-f]*\))?\s+"([SHR])-([0-9a-f]{1,16})"\[(\d{1,3})\](.*)', re.IGNORECASE
)
_COMMENT: Final = re.compile(r'"([^"]*)"\s+lid')
_PORTS: Final = re.compile(
    r"(CA|SW|RT)\s+\d+\s+(\d{1,3})\s+(0x[0-9a-f]+)\s+\S+\s+\S+\s+-\s+(CA|SW|RT)\s+\d+\s+(\d{1,3})\s+(0x[0-9a-f]+)"
    r"\s+\(\s+'([^']*)'\s+-\s+'([^']*)'\s+\)\s*"
)


def _knows(head: str) -> bool:
    return any(_NODE.fullmatch(line.strip()) or _PORTS.fullmatch(line.strip()) for line in head.splitlines())


def _read(dump: Dump) -> Iterator[Said]:
    ports = IbPorts()
    here: int | None = None
    for number, line in dump.lines():
        text = line.strip()
        if found := _NODE.fullmatch(text):
            here = guid(found[3])
            _name(ports, found[3], found[2].upper() == "S", found[4] or "")
        elif found := _LINK.fullmatch(text):
            _link(ports, here, number, found, dump)
        elif found := _PORTS.fullmatch(text):
            ends = [(found[3], found[1], found[7], found[2]), (found[6], found[4], found[8], found[5])]
            for node, kind, description, _ in ends:
                _name(ports, node, kind.upper() == "SW", description)
            a, z = ((guid(node) or 0, int(port)) for node, _, _, port in ends)
            ports.link(a, z, number)
        elif text.startswith("["):
            dump.doubt(Kind.ROW, number, "not a link: port, node, port of the node", line)
    yield from ports.cables()


def _name(ports: IbPorts, node: str, is_switch: bool, description: str) -> None:
    number = guid(node)
    if number is not None and (description or number not in ports.nodes):
        ports.nodes[number] = Node(is_switch, description)


def _link(ports: IbPorts, here: int | None, line: int, found: re.Match[str], dump: Dump) -> None:
    there = guid(found[3])
    if here is None or there is None:
        dump.doubt(Kind.ROW, line, "a link before any node", found[0])
        return
    comment = _COMMENT.search(found[5])
    if there not in ports.nodes:
        _name(ports, found[3], found[2].upper() == "S", comment[1] if comment else "")
    ports.link((here, int(found[1])), (there, int(found[4])), line)


TEXT: Final = TextFormat("ibnetdiscover", _knows, _read)
