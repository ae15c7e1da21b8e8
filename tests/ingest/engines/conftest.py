"""Both engines behind one face, SNMP packets taken apart and made, and a real agent with users of every kind."""

import asyncio
import shutil
import socket
import subprocess
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ingest.snmp.ber import engine_id_in
from ingest.snmp.gufo import GufoTransport
from ingest.snmp.pysnmp_engine import PysnmpTransport
from ingest.snmp.transport import Cell, Column, oid_key

GET, GET_NEXT, GET_BULK, RESPONSE = 0xA0, 0xA1, 0xA5, 0xA2
ENGINES: dict[str, type[GufoTransport | PysnmpTransport]] = {"gufo": GufoTransport, "pysnmp": PysnmpTransport}
AUTH = {"md5": "MD5", "sha1": "SHA", "sha224": "SHA-224", "sha256": "SHA-256", "sha384": "SHA-384", "sha512": "SHA-512"}
PRIV = {"des": "DES", "aes128": "AES", "aes192": "AES-192", "aes256": "AES-256"}

Row = tuple[str, int | bytes]
"""OID and value: a number, or a whole BER element."""


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
    """What an agent is asked.

    Attributes:
        oids: to get, or to go on from.
        rows: how many are wanted behind each.
    """

    def __init__(self, packet: bytes) -> None:
        ((_, message),) = _parts(packet)
        (_, self.version), (_, self.community), (self.kind, pdu) = _parts(message)
        (_, self.id), _, (_, repetitions), (_, bindings) = _parts(pdu)
        self.rows = int.from_bytes(repetitions, "big") if self.kind == GET_BULK else 1
        self.oids = [_text(_parts(binding)[0][1]) for _, binding in _parts(bindings)]

    def reply(
        self, rows: Iterable[Row], status: int = 0, *, kind: int = RESPONSE, request_id: bytes | None = None
    ) -> bytes:
        """A packet that answers, or pretends to."""
        bindings = b"".join(
            _tlv(0x30, _oid(oid) + (value if isinstance(value, bytes) else _int(value))) for oid, value in rows
        )
        pdu = _tlv(2, request_id or self.id) + _int(status) + _int(0) + _tlv(0x30, bindings)
        return _tlv(0x30, _tlv(2, self.version) + _tlv(4, self.community) + _tlv(kind, pdu))

    def echo(self, status: int) -> bytes:
        """An error as agents send it: the request's own OIDs without values."""
        return self.reply([(oid, b"\x05\x00") for oid in self.oids], status)

    def after(self, table: list[Row]) -> list[Row]:
        """The rows of a table that are asked for."""
        start = bisect_right([oid_key(oid) for oid, _ in table], oid_key(self.oids[0]))
        return table[start : start + self.rows]


@dataclass(frozen=True)
class Asker:
    """One of the two engines, opened for one question."""

    engine: str

    def open(self, port: int, **options: Any) -> GufoTransport | PysnmpTransport:
        return ENGINES[self.engine]("127.0.0.1", port, "public", **{"timeout_s": 0.2} | options)

    def walk(self, port: int, oid: str, *, expect: int = 0, deadline_s: float = 20.0, **options: Any) -> Column:
        async def go() -> Column:
            transport = self.open(port, **options)
            try:
                async with asyncio.timeout(deadline_s):
                    return await transport.walk(oid, expect)
            finally:
                transport.close()

        return asyncio.run(go())

    def get(self, port: int, oids: list[str], **options: Any) -> dict[str, Cell]:
        async def go() -> dict[str, Cell]:
            transport = self.open(port, **options)
            try:
                return await transport.get(oids)
            finally:
                transport.close()

        return asyncio.run(go())


@pytest.fixture(name="ask", params=ENGINES)
def _ask(request: pytest.FixtureRequest) -> Asker:
    """Each engine in turn."""
    return Asker(request.param)


@pytest.fixture(name="heard", scope="session")
def _heard() -> type[Request]:
    """Takes a request apart, and answers it."""
    return Request


@dataclass
class Snmpd:
    """A net-snmp agent: user "nobody" without authentication, "sha1" with, "sha1-des" with encryption, and so on.

    User and community "blind" may see nothing that is there.

    Attributes:
        port: where it listens, after restarts, too.
    """

    folder: Path
    port: int
    auth_password: str = "auth-password-1"
    priv_password: str = "priv-password-1"
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    def start(self, engine: str) -> None:
        """Run with an engine identifier that ends in these characters."""
        config, state = self.folder / "snmpd.conf", self.folder / engine
        state.mkdir(exist_ok=True)
        config.write_text("\n".join([f"agentaddress udp:127.0.0.1:{self.port}", f"engineID {engine}", *self._users()]))
        log = (self.folder / "log").open("wb")
        with log:
            self._process = subprocess.Popen(
                [
                    _SNMPD or "snmpd",
                    "-C",
                    "-c",
                    str(config),
                    "-f",
                    "-Le",
                    "-I",
                    "-hrSWRunTable,hrSWInstalledTable,smux",
                ],
                env={"SNMP_PERSISTENT_DIR": str(state), "MIBS": ""},
                stderr=log,
                stdout=log,
            )
        self._wait()

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _users(self) -> Iterator[str]:
        yield from ("rocommunity public 127.0.0.1", "rocommunity blind 127.0.0.1 .1.3.6.1.4.1.99999")
        yield from ("createUser nobody", "rouser nobody noauth")
        yield from ("createUser blind", "rouser blind noauth .1.3.6.1.4.1.99999")
        for auth, auth_name in AUTH.items():
            with_auth = f'{auth_name} "{self.auth_password}"'
            yield from (f"createUser {auth} {with_auth}", f"rouser {auth} auth")
            for priv, priv_name in PRIV.items():
                user = f"{auth}-{priv}"
                yield from (f'createUser {user} {with_auth} {priv_name} "{self.priv_password}"', f"rouser {user} priv")

    def _wait(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.settimeout(0.1)
            for _ in range(100):
                try:
                    probe.connect(("127.0.0.1", self.port))
                    probe.send(_WHO_ARE_YOU)
                    if engine_id_in(probe.recv(2_000)):
                        return
                except OSError:
                    time.sleep(0.05)
        pytest.fail(f"snmpd did not start: {(self.folder / 'log').read_text()[-500:]}")


_SNMPD = shutil.which("snmpd", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/sbin")
_WHO_ARE_YOU = bytes.fromhex(
    "303e 020103 3011 0204 464c0001 0203 00ffe3 040104 020103 0410 300e 0400 020100 020100 0400 0400 0400"
    "3014 0400 0400 a00e 0204 464c0001 020100 020100 3000"
)

SnmpdMaker = Callable[[str], Snmpd]


@pytest.fixture(name="start_snmpd", scope="session")
def _start_snmpd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnmpdMaker]:
    """Starts real agents by the end of their engine identifier."""
    if _SNMPD is None:
        pytest.skip("net-snmp's snmpd is not installed (Debian: apt-get install snmpd)")
    with ExitStack() as stack:

        def start(engine: str) -> Snmpd:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind(("127.0.0.1", 0))
                agent = Snmpd(tmp_path_factory.mktemp("snmpd"), probe.getsockname()[1])
            stack.callback(agent.stop)
            agent.start(engine)
            return agent

        yield start


@pytest.fixture(name="snmpd", scope="session")
def _snmpd(start_snmpd: SnmpdMaker) -> Snmpd:
    """One that is not restarted."""
    return start_snmpd("forelight1")
