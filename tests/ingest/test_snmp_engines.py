"""Both engines against agents that misbehave: silent, deaf to large requests, lossy, and never ending."""

import asyncio
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from ingest.errors import TransportError
from ingest.snmp_guards import Repetitions, WalkGuard
from ingest.snmp_gufo import GufoTransport
from ingest.snmp_pysnmp import PysnmpTransport
from ingest.transport import Column, oid_key

ENGINES: dict[str, type[GufoTransport | PysnmpTransport]] = {"gufo": GufoTransport, "pysnmp": PysnmpTransport}
COLUMN = "1.3.6.1.2.1.99.1.1.1.4"
ROWS = [(f"{COLUMN}.{n}", n) for n in range(1, 101)]
BEHIND = [(f"{COLUMN[:-1]}5.1", 1)]  # the next column: a walk must stop before it
GET_NEXT, TOO_BIG, GEN_ERR = 0xA1, 1, 5


def _tlv(tag: int, body: bytes) -> bytes:
    head = bytes([len(body)]) if len(body) < 128 else b"\x82" + len(body).to_bytes(2, "big")
    return bytes([tag]) + head + body


def _int(value: int) -> bytes:
    return _tlv(2, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _oid(oid: str) -> bytes:
    first, second, *rest = oid_key(oid)
    body = bytearray([first * 40 + second])
    for arc in rest:
        groups = [arc & 0x7F]
        while arc := arc >> 7:
            groups.append(arc & 0x7F | 0x80)
        body += bytes(reversed(groups))
    return _tlv(6, bytes(body))


def _parts(data: bytes) -> list[tuple[int, bytes]]:
    """BER: tag and body of each element."""
    found = []
    while data:
        tag, size, data = data[0], data[1], data[2:]
        if size & 0x80:
            width = size & 0x7F
            size, data = int.from_bytes(data[:width], "big"), data[width:]
        found.append((tag, data[:size]))
        data = data[size:]
    return found


def _text(body: bytes) -> str:
    arcs, value = [body[0] // 40, body[0] % 40], 0
    for octet in body[1:]:
        value = value << 7 | octet & 0x7F
        if not octet & 0x80:
            arcs.append(value)
            value = 0
    return ".".join(map(str, arcs))


class Request:
    """What an agent is asked: the OID to go on from, and how many rows are wanted."""

    def __init__(self, packet: bytes) -> None:
        ((_, message),) = _parts(packet)
        (_, self.version), (_, self.community), (self.kind, pdu) = _parts(message)
        (_, self.id), _, (_, repetitions), (_, bindings) = _parts(pdu)
        self.rows = 1 if self.kind == GET_NEXT else int.from_bytes(repetitions, "big")
        self.oid = _text(_parts(_parts(bindings)[0][1])[0][1])

    def reply(self, rows: Iterable[tuple[str, int]], status: int = 0) -> bytes:
        bindings = b"".join(_tlv(0x30, _oid(oid) + _int(value)) for oid, value in rows)
        pdu = _tlv(2, self.id) + _int(status) + _int(0) + _tlv(0x30, bindings)
        return _tlv(0x30, _tlv(2, self.version) + _tlv(4, self.community) + _tlv(0xA2, pdu))

    def after(self, table: list[tuple[str, int]]) -> list[tuple[str, int]]:
        start = bisect_right([oid_key(oid) for oid, _ in table], oid_key(self.oid))
        return table[start : start + self.rows]


def _walk(engine: str, port: int, **options: Any) -> Column:
    async def go() -> Column:
        transport = ENGINES[engine]("127.0.0.1", port, "public", **{"timeout_s": 0.2} | options)
        try:
            return await transport.walk(COLUMN)
        finally:
            transport.close()

    return asyncio.run(go())


@pytest.fixture(name="whole")
def _whole() -> Column:
    return {str(n): n for n in range(1, 101)}


@pytest.mark.parametrize("engine", ENGINES)
class TestEveryEngine:
    def test_a_column_ends_where_the_next_begins(self, agent: Callable[..., Any], engine: str, whole: Column) -> None:
        def answer(packet: bytes) -> bytes:
            request = Request(packet)
            return request.reply(request.after(ROWS + BEHIND))

        assert whole == _walk(engine, agent(answer).port)

    @pytest.mark.parametrize("status", [TOO_BIG])
    def test_too_big_is_asked_again_for_less(
        self, agent: Callable[..., Any], engine: str, status: int, whole: Column
    ) -> None:
        """gufo-snmp ends its iterator at an error as if the table were empty."""

        def answer(packet: bytes) -> bytes:
            request = Request(packet)
            return request.reply([], status) if request.rows > 10 else request.reply(request.after(ROWS + BEHIND))

        assert whole == _walk(engine, agent(answer).port)

    def test_too_big_in_the_middle_loses_nothing(self, agent: Callable[..., Any], engine: str, whole: Column) -> None:
        def answer(packet: bytes) -> bytes:
            request = Request(packet)
            rows = request.after(ROWS + BEHIND)
            grown = request.rows > 10 and rows[0][1] > 50
            return request.reply([], TOO_BIG) if grown else request.reply(rows)

        assert whole == _walk(engine, agent(answer).port)

    def test_silence_at_large_requests_is_asked_again_for_less(
        self, agent: Callable[..., Any], engine: str, whole: Column
    ) -> None:
        """Huawei's agents at 50 rows: the answer would pass UDP's limit."""

        def answer(packet: bytes) -> bytes | None:
            request = Request(packet)
            return None if request.rows > 25 else request.reply(request.after(ROWS + BEHIND))

        assert whole == _walk(engine, agent(answer).port, max_repetitions=50)

    def test_lost_packets_are_sent_again(self, agent: Callable[..., Any], engine: str, whole: Column) -> None:
        seen = []

        def answer(packet: bytes) -> bytes | None:
            seen.append(packet)
            request = Request(packet)
            return None if len(seen) % 3 == 2 else request.reply(request.after(ROWS + BEHIND))

        assert whole == _walk(engine, agent(answer).port)

    def test_the_same_oid_for_ever_is_ended(self, agent: Callable[..., Any], engine: str) -> None:
        port = agent(lambda packet: Request(packet).reply([ROWS[0]])).port

        with pytest.raises(TransportError, match="do not increase"):
            _walk(engine, port)

    def test_oids_that_go_back_are_ended(self, agent: Callable[..., Any], engine: str) -> None:
        port = agent(lambda packet: Request(packet).reply([ROWS[5], ROWS[2]])).port

        with pytest.raises(TransportError, match="do not increase"):
            _walk(engine, port)

    def test_an_agent_that_never_answers_is_given_up(self, agent: Callable[..., Any], engine: str) -> None:
        silent = agent(lambda _: None)
        started = time.monotonic()

        with pytest.raises(TransportError, match="no answer"):
            _walk(engine, silent.port, retries=2)

        assert 3 == len(silent.heard)
        assert time.monotonic() - started < 5

    def test_the_community_is_not_shown(self, engine: str) -> None:
        assert "secret" not in repr(ENGINES[engine]("127.0.0.1", 161, "secret"))

    def test_version_1_walks_too(self, agent: Callable[..., Any], engine: str, whole: Column) -> None:
        def answer(packet: bytes) -> bytes:
            request = Request(packet)
            return request.reply(request.after(ROWS + BEHIND))

        assert whole == _walk(engine, agent(answer).port, version="1")


def test_pysnmp_names_an_agents_error(agent: Callable[..., Any]) -> None:
    port = agent(lambda packet: Request(packet).reply([], GEN_ERR)).port

    with pytest.raises(TransportError, match="genErr"):
        _walk("pysnmp", port)


def test_a_walk_longer_than_any_device_is_ended() -> None:
    guard = WalkGuard(COLUMN, max_cells=10)
    taken = [guard.take(oid, value) for oid, value in ROWS[:10]]

    with pytest.raises(TransportError, match="more than 10 rows"):
        guard.take(*ROWS[10])

    assert all(taken)


def test_one_lost_packet_does_not_make_walks_slow_for_ever() -> None:
    repetitions = Repetitions(50)

    repetitions.worked(25, failed=50)
    repetitions.worked(50)
    repetitions.worked(25, failed=50)
    assert 50 == repetitions.most

    repetitions.worked(25, failed=50)
    assert 25 == repetitions.most
