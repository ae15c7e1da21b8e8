"""The little of BER that is read beside the engines: an error status, and an SNMPv3 engine's identifier."""

__all__ = ["engine_id_in", "error_status"]


def error_status(packet: bytes) -> int:
    """The error status of a version 1 or 2c response; 0 for none, and for what cannot be read or is encrypted.

    >>> error_status(bytes.fromhex("301a 020101 0400 a213 020105 020105 020101 3008 3006 0602 2b06 0500"))
    5
    """
    try:
        at = _inside(packet, 0)
        if packet[at : at + 2] != b"\x02\x01" or packet[at + 2] > 1:
            return 0
        at = _behind(packet, _behind(packet, at))  # version, community
        at = _behind(packet, _inside(packet, at))  # the response's request number
        return int.from_bytes(packet[_inside(packet, at) : _behind(packet, at)], "big", signed=True)
    except IndexError:
        return 0


def engine_id_in(packet: bytes) -> bytes | None:
    """The identifier that a version 3 message names as its authoritative engine; None where there is none.

    >>> engine_id_in(bytes.fromhex("301d 020103 3009 020101 020105 040100 040d 300b 0403 80001f 020100 020100")).hex()
    '80001f'
    """
    try:
        at = _inside(packet, 0)
        if packet[at : at + 3] != b"\x02\x01\x03":
            return None
        at = _behind(packet, _behind(packet, at))  # version, header
        at = _inside(packet, _inside(packet, at))  # a sequence in an octet string
        return packet[_inside(packet, at) : _behind(packet, at)] or None
    except IndexError:
        return None


def _inside(packet: bytes, at: int) -> int:
    """Where the contents of an element begin."""
    octet = packet[at + 1]
    return at + 2 + (octet & 0x7F if octet & 0x80 else 0)


def _behind(packet: bytes, at: int) -> int:
    """Where the element behind an element begins."""
    start = _inside(packet, at)
    size = int.from_bytes(packet[at + 2 : start], "big") if packet[at + 1] & 0x80 else packet[at + 1]
    return start + size
