"""TLS is verified unless the configuration says otherwise, and each refusal says what to do about it."""

import asyncio
import ipaddress
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest

from ingest.collect.poll import Poll
from ingest.collect.poller import Poller
from ingest.config import Collect, Config, GnmiOptions, Target

x509 = pytest.importorskip("cryptography.x509")
hashes = pytest.importorskip("cryptography.hazmat.primitives.hashes")
serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")

Ask = Callable[..., Poll]


class Signer:
    """A certificate authority."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._signed(self._key, name, None)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *names: str, days: int = 1) -> tuple[Path, Path]:
        """A certificate of a name and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(key, name, list(names), days)
        paths = self._folder / f"{self._name}-{name}.crt", self._folder / f"{self._name}-{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        paths[1].write_bytes(key.private_bytes(*form))
        return paths

    def _signed(self, key: Any, name: str, names: list[str] | None, days: int = 1) -> Any:
        now = datetime.now(UTC)
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, self._name)])
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
        made = made.serial_number(x509.random_serial_number())
        made = made.not_valid_before(now - timedelta(days=2)).not_valid_after(now + timedelta(days=days))
        made = made.add_extension(x509.BasicConstraints(ca=names is None, path_length=None), critical=True)
        if names:
            alternatives = [_name(each) for each in names]
            made = made.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return made.sign(self._key, hashes.SHA256())


def _name(text: str) -> Any:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


@pytest.fixture(name="signer")
def _signer(tmp_path: Path) -> Signer:
    return Signer(tmp_path, "authority")


@pytest.fixture(name="secure")
def _secure(tree: Any, faults: Any, signer: Signer) -> Iterator[Callable[..., int]]:
    """A server with a certificate of this name; the port where it listens."""
    from gnmi_server.server import Server

    servers = []

    def start(*names: str, mutual: bool = False, days: int = 1) -> int:
        certificate, key = signer.issue("device", *names, days=days)
        roots = signer.file.read_bytes() if mutual else None
        pair = key.read_bytes(), certificate.read_bytes()
        server = Server(tree, faults, grpc.ssl_server_credentials([pair], roots, mutual))
        server.start()
        servers.append(server)
        return int(server.port)

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(name="ask")
def _ask(kept: Any) -> Ask:
    def ask(port: int, **options: Any) -> Poll:
        gnmi = GnmiOptions(timeout_s=5, **options)
        target = Target(device="leaf1", address="localhost", port=port, protocol="gnmi", gnmi=gnmi)

        async def once() -> Poll:
            poller = Poller(Config(collect=Collect(interval_s=20), target=(target,)), kept)
            try:
                return (await poller.sweep()).polls[0]
            finally:
                poller.close()

        return asyncio.run(once())

    return ask


def test_a_certificate_that_the_named_authority_signed_is_trusted(
    secure: Callable[..., int], ask: Ask, signer: Signer
) -> None:
    poll = ask(secure("localhost"), ca_file=signer.file)

    assert (None, 8) == (poll.error, poll.lane_count)


def test_an_unknown_authority_is_refused_and_the_remedy_named(
    secure: Callable[..., int], ask: Ask, tmp_path: Path
) -> None:
    port, other = secure("localhost"), Signer(tmp_path, "another")

    by_default, by_another = ask(port), ask(port, ca_file=other.file)

    for poll in (by_default, by_another):
        assert "its certificate is not trusted" in str(poll.error)
        assert "ca_file" in str(poll.error)
        assert 0 == poll.lane_count


def test_another_name_is_refused_unless_server_name_says_it(
    secure: Callable[..., int], ask: Ask, signer: Signer
) -> None:
    port = secure("leaf1.example")

    refused, taken = ask(port, ca_file=signer.file), ask(port, ca_file=signer.file, server_name="leaf1.example")

    assert "server_name says which" in str(refused.error)
    assert (None, 8) == (taken.error, taken.lane_count)


@pytest.mark.parametrize("names", [("leaf1.example",), ("10.1.2.3",), ()])
def test_skip_verify_takes_whoever_answers_whatever_its_name(
    names: tuple[str, ...], secure: Callable[..., int], ask: Ask
) -> None:
    """Also a certificate without any SAN, which has its name in its subject alone."""
    poll = ask(secure(*names), skip_verify=True)

    assert (None, 8) == (poll.error, poll.lane_count)


def test_insecure_is_not_skip_verify(secure: Callable[..., int], ask: Ask, server: Any) -> None:
    """No TLS towards a server with TLS, and TLS towards one without, are both refused."""
    without, towards_none = ask(secure("localhost"), insecure=True), ask(server.port, skip_verify=True)

    assert "it may want TLS, and insecure = true is none" in str(without.error)
    assert "it speaks no TLS there" in str(towards_none.error)
    assert 0 == without.lane_count + towards_none.lane_count


def test_a_device_that_wants_our_certificate_gets_it_or_the_remedy_is_named(
    secure: Callable[..., int], ask: Ask, signer: Signer
) -> None:
    port = secure("localhost", mutual=True)
    certificate, key = signer.issue("collector")

    without = ask(port, ca_file=signer.file)
    given = ask(port, ca_file=signer.file, cert_file=certificate, key_file=key)

    assert "cert_file and key_file" in str(without.error)
    assert (None, 8) == (given.error, given.lane_count)


def test_an_expired_certificate_is_refused(secure: Callable[..., int], ask: Ask, signer: Signer) -> None:
    poll = ask(secure("localhost", days=-1), ca_file=signer.file)

    assert "not trusted" in str(poll.error)


def test_a_password_is_sent_as_metadata_and_a_wrong_one_is_told(
    secure: Callable[..., int], ask: Ask, signer: Signer, faults: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    faults.password = "Bearer s3cret"
    monkeypatch.setenv("LEAF_PASSWORD", "Bearer s3cret")
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    port = secure("localhost")

    by_password = ask(port, ca_file=signer.file, username="u", password_env="LEAF_PASSWORD")
    by_token = ask(port, ca_file=signer.file, token_file=token)
    monkeypatch.setenv("LEAF_PASSWORD", "wrong")
    refused = ask(port, ca_file=signer.file, username="u", password_env="LEAF_PASSWORD")

    assert (None, None) == (by_password.error, by_token.error)
    assert "refused the credentials" in str(refused.error)
    assert "wrong" not in str(refused.error)


def test_a_file_that_is_not_there_is_named(ask: Ask, tmp_path: Path) -> None:
    poll = ask(1, ca_file=tmp_path / "none.pem")

    assert f"ca_file {tmp_path / 'none.pem'}: No such file" in str(poll.error)
