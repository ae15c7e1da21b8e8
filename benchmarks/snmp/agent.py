"""A canned SNMP v2c agent for benchmarks: a switch of 64 ports and 512 lanes, each answer encoded once.

It answers on every address of 127/8 at once, so that one process stands for a whole fleet.
"""

import socket
import sys
from bisect import bisect_right
from collections.abc import Iterator

PORTS, LANES = 64, 8
_ENTITY, _SENSOR = "1.3.6.1.2.1.47.1.1.1.1", "1.3.6.1.2.1.99.1.1.1"
_IF, _IFX, _DOT3 = "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1", "1.3.6.1.2.1.10.7.2.1"
_DOM, _DOM_LANE = "1.3.6.1.4.1.2636.3.60.1.1.1.1", "1.3.6.1.4.1.2636.3.60.1.2.1.1"
_OBJECT_IDS = {"entity": "1.3.6.1.4.1.30065.1.1", "junos": "1.3.6.1.4.1.2636.1.1"}
_END_OF_MIB = b"\x82\x00"
_NO_OBJECT = b"\x80\x00"
_GET, _GETBULK = 0xA0, 0xA5
_IP_PKTINFO = 8  # Linux; the socket module does not name it

Value = tuple[int, int | str]
"""BER tag and value."""
INTEGER, OCTETS, OID, COUNTER, TICKS, COUNTER64 = 2, 4, 6, 65, 67, 70


def cells(kind: str) -> Iterator[tuple[str, Value]]:
    """All objects of a switch whose readings are in ENTITY-SENSOR-MIB ("entity") or JUNIPER-DOM-MIB ("junos")."""
    yield "1.3.6.1.2.1.1.2.0", (OID, _OBJECT_IDS[kind])
    yield "1.3.6.1.2.1.1.3.0", (TICKS, 123_456)
    for port in range(1, PORTS + 1):
        yield f"{_IF}.2.{port}", (OCTETS, f"Ethernet{port}")
        yield f"{_IF}.3.{port}", (INTEGER, 6)
        yield f"{_IF}.7.{port}", (INTEGER, 1)
        yield f"{_IF}.8.{port}", (INTEGER, 1)
        yield f"{_IFX}.1.{port}", (OCTETS, f"Ethernet{port}")
        yield f"{_IFX}.7.{port}", (COUNTER64, 10**12 + port)
        yield f"{_IFX}.11.{port}", (COUNTER64, 10**12 + port)
        yield f"{_DOT3}.3.{port}", (COUNTER, port)
        yield f"{_DOT3}.18.{port}", (COUNTER, port)
        yield from _entity(port) if kind == "entity" else _junos(port)


def _entity(port: int) -> Iterator[tuple[str, Value]]:
    module = 1000 * port
    yield from _physical(module, 0, 9, f"Transceiver in Ethernet{port}", f"SN{port:06d}")
    yield from _sensor(module + 1, module, "Temperature", 8, 1, 405)
    yield from _sensor(module + 2, module, "Voltage", 4, 2, 331)
    for lane in range(1, LANES + 1):
        at = module + 10 * lane
        yield from _sensor(at + 1, module, f"Lane {lane} Rx Power", 14, 2, -213)
        yield from _sensor(at + 2, module, f"Lane {lane} Tx Power", 14, 2, 45)
        yield from _sensor(at + 3, module, f"Lane {lane} Tx Bias", 5, 3, 65_310, scale=8)


def _physical(entity: int, parent: int, kind: int, name: str, serial: str = "") -> Iterator[tuple[str, Value]]:
    for column, value in ((2, name), (7, name), (11, serial), (12, "ACME" if serial else ""), (13, "QDD-DR8")):
        yield f"{_ENTITY}.{column}.{entity}", (OCTETS, value)
    yield f"{_ENTITY}.4.{entity}", (INTEGER, parent)
    yield f"{_ENTITY}.5.{entity}", (INTEGER, kind)


def _sensor(
    entity: int, module: int, name: str, kind: int, precision: int, value: int, *, scale: int = 9
) -> Iterator[tuple[str, Value]]:
    yield from _physical(entity, module, 8, name)
    for column, number in enumerate((kind, scale, precision, value, 1), 1):
        yield f"{_SENSOR}.{column}.{entity}", (INTEGER, number)
    yield f"{_SENSOR}.6.{entity}", (OCTETS, "dBm" if kind == 14 else "")  # noqa: PLR2004 - EntitySensorDataType


def _junos(port: int) -> Iterator[tuple[str, Value]]:
    for column, value in ((8, 40), (25, 3_310)):
        yield f"{_DOM}.{column}.{port}", (INTEGER, value)
    for lane in range(LANES):
        for column, value in ((6, -213), (7, 65_310), (8, 45)):
            yield f"{_DOM_LANE}.{column}.{port}.{lane}", (INTEGER, value)


class Agent:
    """Answers GET, GETNEXT and GETBULK; what it answered once it knows by heart."""

    def __init__(self, kind: str) -> None:
        found = {tuple(map(int, oid.split("."))): value for oid, value in cells(kind)}
        self._order = sorted(found)
        self._encoded = {key: _tlv(OID, _oid(key)) + _value(*found[key]) for key in self._order}
        self._known: dict[bytes, bytes] = {}

    def serve(self, port: int) -> None:
        """Answer until killed; the port is printed first."""
        line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        line.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)  # an answer leaves from the address that was asked
        line.bind(("0.0.0.0", port))  # all of 127/8 is the fleet
        print(line.getsockname()[1], flush=True)
        while True:
            request, asked, _, peer = line.recvmsg(4096, 64)
            line.sendmsg([self.answer(request)], [(socket.IPPROTO_IP, _IP_PKTINFO, asked[0][2])], 0, peer)

    def answer(self, request: bytes) -> bytes:
        """The response to one message."""
        _, start, _ = _element(request, 0)
        _, _, version_end = _element(request, start)
        _, _, community_end = _element(request, version_end)
        pdu, number_start, _ = _element(request, community_end)
        _, _, number_end = _element(request, number_start)
        key = request[community_end : community_end + 1] + request[number_end:]
        body = self._known.get(key)
        if body is None:
            body = self._known[key] = self._body(pdu, request[number_end:])
        return _tlv(0x30, request[start:community_end] + _tlv(0xA2, request[number_start:number_end] + body))

    def _body(self, pdu: int, rest: bytes) -> bytes:
        """Everything behind the request's number."""
        _, _, first_end = _element(rest, 0)
        _, second, second_end = _element(rest, first_end)
        names = list(_names(rest, second_end))
        if pdu == _GET:
            rows = [self._encoded.get(name, _tlv(OID, _oid(name)) + _NO_OBJECT) for name in names]
        else:
            count = int.from_bytes(rest[second:second_end]) if pdu == _GETBULK else 1
            rows = [row for name in names for row in self._after(name, count)]
        return b"\x02\x01\x00\x02\x01\x00" + _tlv(0x30, b"".join(_tlv(0x30, row) for row in rows))

    def _after(self, name: tuple[int, ...], count: int) -> list[bytes]:
        start = bisect_right(self._order, name)
        found = [self._encoded[key] for key in self._order[start : start + count]]
        return found if len(found) == count else [*found, _tlv(OID, _oid(name)) + _END_OF_MIB]


def _element(data: bytes, at: int) -> tuple[int, int, int]:
    """Tag, start and end of the value of one BER element."""
    length, start = data[at + 1], at + 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[at + 2 : start])
    return data[at], start, start + length


def _names(data: bytes, at: int) -> Iterator[tuple[int, ...]]:
    """OIDs of a list of variable bindings."""
    _, at, end = _element(data, at)
    while at < end:
        _, start, at = _element(data, at)
        _, first, last = _element(data, start)
        yield tuple(_arcs(data[first:last]))


def _arcs(data: bytes) -> Iterator[int]:
    yield from divmod(data[0], 40)
    arc = 0
    for byte in data[1:]:
        arc = arc << 7 | byte & 0x7F
        if not byte & 0x80:
            yield arc
            arc = 0


def _oid(arcs: tuple[int, ...]) -> bytes:
    out = bytearray([40 * arcs[0] + arcs[1]])
    for arc in arcs[2:]:
        groups = [arc & 0x7F]
        while arc := arc >> 7:
            groups.append(arc & 0x7F | 0x80)
        out += bytes(reversed(groups))
    return bytes(out)


def _value(tag: int, value: int | str) -> bytes:
    if tag == OID:
        return _tlv(OID, _oid(tuple(map(int, str(value).split(".")))))
    if isinstance(value, str):
        return _tlv(tag, value.encode())
    return _tlv(tag, value.to_bytes(value.bit_length() // 8 + 1, signed=True))


def _tlv(tag: int, value: bytes) -> bytes:
    if len(value) < 0x80:  # noqa: PLR2004 - BER's short form
        return bytes((tag, len(value))) + value
    size = len(value).to_bytes((len(value).bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(size))) + size + value


if __name__ == "__main__":
    Agent(sys.argv[1]).serve(int(sys.argv[2]))
