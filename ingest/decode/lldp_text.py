"""How LLDP's ids read: MAC and network addresses, and texts that look like the name of a port."""

import ipaddress
import re
from typing import Final

from ingest.decode.interfaces import text_of
from ingest.snmp.transport import Cell

__all__ = ["id_text", "is_mac", "looks_like_port", "plain", "same_port"]

_MAC_BYTES: Final = 6
_MAC: Final = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}")
_PATH: Final = r"\d+(?:[/:.]\d+)*"
_LINUX: Final = r"(?:eth|en|ens|enp|eno|enx|ib|swp|bond|mlx|rdma|p\d+p|ether|sfp|qsfp)[\w-]*\d\w*"
_PORT: Final = re.compile(
    # Ethernet1/1, ge-0/1/2, hundredGigE 1/9, Eth49(Port49), sfp-sfpplus14, enp59s0f0np0, Port 3
    r"(?i)(?:(?:[a-z]{1,3}-|[a-z-]*(?:eth|ethernet|gige|gig|xge|ge|te|xe|et|hu|fo|po|port|gbe) ?)"
    rf"{_PATH}(?:\(port\d+\))?|{_LINUX})"
)
_SPLIT: Final = re.compile(rf"([a-z][a-z -]*?)[ -]?({_PATH})")


def plain(text: str) -> str:
    """A name as it compares: case and doubled blanks do not count."""
    return " ".join(text.split()).casefold()


def is_mac(text: str) -> bool:
    """Whether a text is a MAC address in this module's form."""
    return bool(_MAC.fullmatch(text))


def id_text(cell: Cell | None, *, mac: bool = False, address: bool = False) -> str:
    r"""A chassis or port id as text: a MAC address as aa:bb:cc:dd:ee:ff, however the agent wrote it.

    >>> id_text(b"\x3c\x2c\x30\x16\x74\x80", mac=True), id_text(b"3C 2C 30 16 74 80", mac=True)
    ('3c:2c:30:16:74:80', '3c:2c:30:16:74:80')
    >>> id_text(b"\x01\x0a\x00\x00\x07", address=True)
    '10.0.0.7'

    Args:
        cell: as the agent gave it.
        mac: its subtype is macAddress.
        address: its subtype is networkAddress: a family, then the address.
    """
    if isinstance(cell, bytes) and mac and len(cell) == _MAC_BYTES:
        return cell.hex(":")
    if isinstance(cell, bytes) and address and len(cell) - 1 in {4, 16}:
        return str(ipaddress.ip_address(cell[1:]))
    text = text_of(cell)
    digits = re.sub(r"[ :.-]", "", text)
    if mac and re.fullmatch(r"[0-9A-Fa-f]{12}", digits):
        return bytes.fromhex(digits).hex(":")
    if isinstance(cell, bytes) and (not text.isprintable() or "\ufffd" in text):
        return cell.hex(":")
    return text


def looks_like_port(text: str) -> bool:
    """Whether a description is a port's name and not what somebody wrote about the port.

    >>> [looks_like_port(text) for text in ("ge-0/1/2", "hundredGigE 1/9", "enp5s0", "to lab-er1", "Slot 3")]
    [True, True, True, False, False]
    """
    return bool(_PORT.fullmatch(text))


def same_port(one: str, other: str) -> bool:
    """Whether two names of ports of one device differ only in how far the words are written out.

    >>> same_port("Te1/3", "TenGigabitEthernet1/3"), same_port("Te1/3", "TenGigabitEthernet1/30")
    (True, False)
    """
    one, other = plain(one), plain(other)
    if one == other:
        return True
    first, second = _SPLIT.fullmatch(one), _SPLIT.fullmatch(other)
    if first is None or second is None or first[2] != second[2]:
        return False
    return first[1].startswith(second[1]) or second[1].startswith(first[1])
