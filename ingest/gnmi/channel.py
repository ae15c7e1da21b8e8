"""A gRPC channel to one device: TLS that is verified, unless the configuration says otherwise in so many words."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import grpc
from grpc import aio

from ingest.config import Target
from ingest.errors import AuthError, ConfigError, TransportError
from ingest.gnmi.options import GnmiOptions

__all__ = ["explained", "open_channel"]

_KEEPALIVE_MS: Final = 60_000
"""Servers in Go end a connection whose pings come more often than they allow (five minutes while nothing is sent, by
default); a stream that sends at every interval makes pings at its pace legal. The idle deadline needs none of them."""
_CREDENTIALS: Final = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


async def open_channel(target: Target) -> aio.Channel:
    """A channel that connects with its first call.

    Raises:
        ConfigError: a file of the configuration cannot be read.
        TransportError: with `skip_verify`, nobody answers with TLS.
    """
    options = target.gnmi or GnmiOptions()
    arguments: list[tuple[str, str | int]] = [
        ("grpc.max_receive_message_length", options.max_message_mb << 20),
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.enable_http_proxy", 0),
        ("grpc.enable_retries", 0),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    where = _where(target)
    if options.insecure:
        return aio.insecure_channel(where, arguments)
    roots = _read("ca_file", options.ca_file)
    name = options.server_name
    if options.skip_verify:
        roots, told = await asyncio.to_thread(_as_it_is, target, options)
        name = name or told
    if name is not None:
        arguments.append(("grpc.ssl_target_name_override", name))
    key, chain = _read("key_file", options.key_file), _read("cert_file", options.cert_file)
    return aio.secure_channel(where, grpc.ssl_channel_credentials(roots, key, chain), arguments)


def explained(error: grpc.RpcError, target: Target) -> TransportError:
    """What an operator can do about a call that failed."""
    code = error.code() if isinstance(error, aio.AioRpcError | grpc.Call) else None
    details = " ".join((getattr(error, "details", lambda: "")() or "").split())
    where = _where(target)
    if code in _CREDENTIALS:
        return AuthError(f"{where} refused the credentials: {details or code}")
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return TransportError(f"no answer from {where} in time")
    if code == grpc.StatusCode.UNAVAILABLE:
        return TransportError(f"no answer from {where}: {_of_tls(details, target.gnmi or GnmiOptions())}")
    return TransportError(
        f"{where} ended the call: {details or 'without a reason'} ({code.name if code else 'no status'})"
    )


def _of_tls(details: str, options: GnmiOptions) -> str:
    """What TLS has to say, with its remedy (field_faults.md, row 50)."""
    lower = details.casefold()
    if "certificate_verify_failed" in lower or "certificate verify failed" in lower:
        return f"its certificate is not trusted ({details}); ca_file names who signed it"
    if (
        "not in peer certificate" in lower
        or "hostname verification" in lower
        or "no match found for server name" in lower
    ):
        return f"its certificate is for another name ({details}); server_name says which"
    if "wrong_version_number" in lower or "wrong version number" in lower:
        return f"it speaks no TLS there ({details}); insecure = true, if that is meant"
    if "certificate_required" in lower or "certificate required" in lower or "bad_certificate" in lower:
        return f"it wants a certificate of ours ({details}); cert_file and key_file"
    if "socket closed" in lower or "connection reset" in lower:
        wanted = (
            "TLS, and insecure = true is none" if options.insecure else "a certificate of ours: cert_file and key_file"
        )
        hint = "" if options.cert_file else f"; it may want {wanted}"
        return f"it closed the connection ({details}){hint}"
    return details or "nothing listens there"


def _where(target: Target) -> str:
    return f"[{target.address}]:{target.port}" if ":" in target.address else f"{target.address}:{target.port}"


def _read(key: str, path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        msg = f"{key} {path}: {error.strerror}"
        raise ConfigError(msg) from None


def _as_it_is(target: Target, options: GnmiOptions) -> tuple[bytes, str | None]:
    """The certificate that a device shows, and a name in it: gRPC verifies always, so it is given what it will see."""
    try:
        blind = _context(options)
        blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
        with _connected(target, options, blind) as tls:
            pem = ssl.DER_cert_to_PEM_cert(tls.getpeercert(binary_form=True) or b"")
        seeing = _context(options)
        seeing.check_hostname = False
        seeing.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        seeing.load_verify_locations(cadata=pem)
        with _connected(target, options, seeing) as tls:  # the library reads a certificate only where it trusts it
            told: dict[str, Any] = dict(tls.getpeercert() or {})
    except (OSError, ValueError) as error:
        msg = f"no answer from {_where(target)}: {_of_tls(str(error), options)}"
        raise TransportError(msg) from None
    names = [value for kind, value in told.get("subjectAltName", ()) if kind in ("DNS", "IP Address")]
    common = [value for part in told.get("subject", ()) for key, value in part if key == "commonName"]
    return pem.encode(), next(iter([*names, *common]), None)


def _context(options: GnmiOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    if options.cert_file and options.key_file:
        context.load_cert_chain(options.cert_file, options.key_file)
    return context


@contextmanager
def _connected(target: Target, options: GnmiOptions, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    with (
        socket.create_connection((target.address, target.port), options.timeout_s) as plain,
        context.wrap_socket(plain, server_hostname=target.address) as tls,
    ):
        yield tls
