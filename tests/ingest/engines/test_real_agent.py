"""SNMPv3 against net-snmp's snmpd: each kind of user, each kind of mistake, and agents that come back as others."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, get_args

import pytest

from ingest.config import SnmpOptions, Target
from ingest.errors import AuthError, TransportError
from ingest.snmp.connect import connect
from ingest.snmp.doctor import explain_silence
from ingest.snmp.gufo import GufoTransport
from ingest.snmp.pysnmp_engine import PysnmpTransport
from ingest.snmp.users import AuthProtocol, PrivProtocol, SnmpUser

pytestmark = pytest.mark.snmpd

SYSTEM = "1.3.6.1.2.1.1"
SYS_UP_TIME, SYS_OBJECT_ID, NOTHING = f"{SYSTEM}.3.0", f"{SYSTEM}.2.0", f"{SYSTEM}.4711.0"
NET_SNMP = "1.3.6.1.4.1.8072.3.2"
AUTH, PRIV = "auth-password-1", "priv-password-1"
USERS = [
    SnmpUser("nobody"),
    *[SnmpUser(auth, auth, AUTH) for auth in get_args(AuthProtocol)],
    *[
        SnmpUser(f"{auth}-{priv}", auth, AUTH, priv, PRIV)
        for auth in get_args(AuthProtocol)
        for priv in get_args(PrivProtocol)
    ],
]
ENCRYPTED = SnmpUser("sha256-aes128", "sha256", AUTH, "aes128", PRIV)


@contextmanager
def _opened(ask: Any, port: int, user: SnmpUser, **options: Any) -> Iterator[GufoTransport | PysnmpTransport]:
    transport = ask.open(port, version="3", user=user, **options)
    try:
        yield transport
    finally:
        transport.close()


def _walk(ask: Any, port: int, user: SnmpUser, **options: Any) -> int:
    async def go() -> int:
        with _opened(ask, port, user, **options) as transport:
            return len(await transport.walk(SYSTEM))

    return asyncio.run(go())


class TestUsers:
    @pytest.mark.parametrize("user", USERS, ids=lambda user: user.name)
    def test_a_user_of_each_kind_walks_and_gets(self, snmpd: Any, ask: Any, user: SnmpUser) -> None:
        async def go() -> tuple[int, dict[str, Any], bytes | None]:
            with _opened(ask, snmpd.port, user, timeout_s=1.0) as transport:
                column = await transport.walk(SYSTEM, expect=5)
                return len(column), await transport.get([SYS_OBJECT_ID, NOTHING]), transport.engine_id()

        rows, got, engine = asyncio.run(go())

        assert rows > 5
        assert got.items() >= {SYS_OBJECT_ID: f"{NET_SNMP}.10"}.items()
        assert NOTHING not in got
        assert engine is not None
        assert engine.endswith(b"forelight1")

    def test_a_name_that_is_not_known_is_refused(self, snmpd: Any, ask: Any) -> None:
        with pytest.raises(AuthError, match="user 'stranger'"):
            _walk(ask, snmpd.port, SnmpUser("stranger", "sha1", AUTH))

    @pytest.mark.parametrize(
        "user", [SnmpUser("sha1", "sha1", "another-password"), SnmpUser("sha1", "md5", AUTH)], ids=["password", "hash"]
    )
    def test_a_wrong_authentication_is_refused(self, snmpd: Any, ask: Any, user: SnmpUser) -> None:
        with pytest.raises(AuthError, match="refuses user 'sha1'") as error:
            _walk(ask, snmpd.port, user)

        assert user.auth_password not in str(error.value)

    def test_a_level_that_is_too_low_is_refused(self, snmpd: Any, ask: Any) -> None:
        with pytest.raises(AuthError, match="level"):
            _walk(ask, snmpd.port, SnmpUser("sha1-aes128", "sha1", AUTH))

    def test_a_level_that_is_too_high_is_refused(self, snmpd: Any, ask: Any) -> None:
        with pytest.raises(AuthError, match="level"):
            _walk(ask, snmpd.port, SnmpUser("sha1", "sha1", AUTH, "aes128", PRIV))

    @pytest.mark.parametrize(
        "user",
        [
            SnmpUser("sha1-aes128", "sha1", AUTH, "aes128", "another-password"),
            SnmpUser("sha1-aes256", "sha1", AUTH, "aes256", PRIV, "cisco"),
        ],
        ids=["password", "key expansion"],
    )
    def test_a_wrong_encryption_is_a_silence_that_says_so(self, snmpd: Any, ask: Any, user: SnmpUser) -> None:
        with pytest.raises(TransportError, match="an engine ID but no more for user 'sha1-aes"):
            _walk(ask, snmpd.port, user, retries=0)

    def test_secrets_are_not_shown(self, ask: Any) -> None:
        with _opened(ask, 161, ENCRYPTED) as transport:
            assert "password" not in repr(transport).replace("auth_password", "").replace("priv_password", "")


class TestRestarts:
    @pytest.mark.parametrize("user", [SnmpUser("sha1", "sha1", AUTH), ENCRYPTED], ids=["authNoPriv", "authPriv"])
    @pytest.mark.parametrize("engine", ["forelight2", "forelight3"], ids=["the same engine", "another engine"])
    def test_an_agent_that_comes_back_is_known_again(
        self, start_snmpd: Callable[[str], Any], ask: Any, user: SnmpUser, engine: str
    ) -> None:
        """Row 54 of the faults of the field: the old session hears a new engine's silence for ever."""
        agent = start_snmpd("forelight2")

        async def go() -> tuple[int, int, bytes | None]:
            with _opened(ask, agent.port, user, timeout_s=1.0, retries=0) as transport:
                before = len(await transport.walk(SYSTEM))
                agent.stop()
                await asyncio.to_thread(agent.start, engine)
                return before, len(await transport.walk(SYSTEM)), transport.engine_id()

        before, after, known_as = asyncio.run(go())

        assert 0 < before == after
        assert known_as is not None
        assert known_as.endswith(engine.encode())

    def test_a_single_get_finds_the_new_engine_too(self, start_snmpd: Callable[[str], Any], ask: Any) -> None:
        agent = start_snmpd("forelight2")

        async def go() -> dict[str, Any]:
            with _opened(ask, agent.port, ENCRYPTED, timeout_s=1.0, retries=0) as transport:
                await transport.get([SYS_UP_TIME])
                agent.stop()
                await asyncio.to_thread(agent.start, "forelight3")
                return await transport.get([SYS_UP_TIME])

        assert [SYS_UP_TIME] == list(asyncio.run(go()))


def _target(port: int, **options: Any) -> Target:
    options = {"version": "3", "timeout_s": 0.5} | options
    return Target(device="leaf01", address="127.0.0.1", port=port, snmp=SnmpOptions.model_validate(options))


@pytest.fixture(name="secrets")
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "A": AUTH,
        "P": PRIV,
        "X": "another-password",
        "B": "blind",
        "C": "public",
        "D": "private",
    }.items():
        monkeypatch.setenv(name, value)


SHA1: dict[str, Any] = {"user": "sha1", "auth_protocol": "sha1", "auth_env": "A"}
AES128 = SHA1 | {"user": "sha1-aes128", "priv_protocol": "aes128", "priv_env": "P"}
AES256 = AES128 | {"user": "sha1-aes256", "priv_protocol": "aes256"}


@pytest.mark.usefixtures("secrets")
class TestDoctor:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (AES256, "it answers now"),
            (SHA1 | {"user": "stranger"}, "user 'stranger' is unknown to the agent"),
            (SHA1 | {"auth_env": "X"}, "the authentication password is wrong"),
            (SHA1 | {"auth_protocol": "sha512"}, 'has the right password, but auth_protocol is "sha1" there'),
            (AES128 | {"user": "sha1"}, "is known to the agent, but not for authPriv"),
            (SHA1 | {"user": "sha1-aes128"}, "may see nothing at level authNoPriv"),
            (AES128 | {"priv_env": "X"}, "is believed, but not understood: the privacy password, protocol or"),
            (AES128 | {"priv_protocol": "des"}, 'the agent wants priv_protocol = "aes128"'),
            (AES256 | {"key_expansion": "cisco"}, 'the agent wants key_expansion = "blumenthal"'),
            (AES128 | {"context": "vlan-1"}, "the agent has no context 'vlan-1'"),
            ({"user": "blind"}, "the view that the agent has for it shows nothing"),
            ({"version": "2c", "community_env": "B"}, "its view shows it nothing"),
            ({"version": "2c", "community_env": "C"}, "it answers now"),
            ({"version": "2c", "community_env": "D"}, "SNMP runs there, but the community is wrong"),
        ],
    )
    def test_each_reason_is_told_by_its_name(self, snmpd: Any, options: dict[str, Any], said: str) -> None:
        told = asyncio.run(explain_silence(_target(snmpd.port, **options)))

        assert said in told
        assert not any(secret in told for secret in (AUTH, PRIV, "another-password"))
        assert "\n" not in told

    def test_a_port_where_nobody_listens_is_told(self) -> None:
        assert "nothing listens on that UDP port" in asyncio.run(explain_silence(_target(9, **SHA1)))

    @pytest.mark.parametrize(
        ("options", "said"),
        [(SHA1, "no SNMPv3 engine answers"), ({"version": "2c", "community_env": "C"}, "silence: the address or port")],
    )
    def test_silence_is_told_with_what_it_may_be(
        self, agent: Callable[..., Any], options: dict[str, Any], said: str
    ) -> None:
        assert said in asyncio.run(explain_silence(_target(agent(lambda _: None).port, **options)))

    def test_a_version_that_is_not_spoken_is_told(self, agent: Callable[..., Any], heard: Any) -> None:
        def answer(packet: bytes) -> Any:
            old = packet[2:5] == b"\x02\x01\x00"
            return heard(packet).reply([(SYS_UP_TIME, 1)]) if old else None

        told = asyncio.run(explain_silence(_target(agent(answer).port, version="2c", community_env="C")))

        assert 'it answers version "1" only' in told

    def test_a_name_that_nobody_knows_is_told(self) -> None:
        target = _target(161, **SHA1).model_copy(update={"address": "leaf01.invalid"})

        assert "cannot resolve 'leaf01.invalid'" in asyncio.run(explain_silence(target))


@pytest.mark.usefixtures("secrets")
class TestConnection:
    @pytest.mark.parametrize(
        ("options", "engine"),
        [({}, GufoTransport), ({"context": "vlan-1"}, PysnmpTransport), ({"engine": "pysnmp"}, PysnmpTransport)],
    )
    def test_the_engine_that_can_is_taken(self, options: dict[str, Any], engine: type[Any]) -> None:
        connection = asyncio.run(connect(_target(161, **AES128, **options)))

        assert isinstance(connection.engine, engine)

    def test_a_connection_asks_as_configured(self, snmpd: Any) -> None:
        async def go() -> tuple[int, dict[str, Any], bytes | None]:
            connection = await connect(_target(snmpd.port, **AES256))
            assert not connection.answered
            rows = len(await connection.walk(SYSTEM))
            got = await connection.get([SYS_UP_TIME])
            connection.close()
            assert connection.answered
            return rows, got, connection.engine_id()

        rows, got, engine = asyncio.run(go())

        assert rows > 0
        assert [SYS_UP_TIME] == list(got)
        assert engine is not None
