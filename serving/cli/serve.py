"""``forelight serve``: binds, says where, and answers until it is told to stop."""

import signal
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import token_bytes
from typing import Final

import uvicorn
from fastapi import FastAPI
from rich.console import Console

from serving.access.auth import OperatorToken, check_bind, is_loopback
from serving.access.tokens import TokenStore
from serving.app import create_app
from serving.drains.config import load_drain_config
from serving.errors import ServingError
from serving.pauses import settle
from serving.settings import Settings
from serving.store import AlarmStore
from serving.workers import counting_together, supervise

__all__ = ["Tls", "run", "tls_files"]

_LAST_PORT: Final = 65_535
_GRACE_S: Final = 10
"""Seconds that requests in flight get to end; they take milliseconds."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Files of the server's certificate and of its key."""

    certificate: Path
    key: Path


def tls_files(certificate: Path | None, key: Path | None) -> Tls | None:
    """Both files, checked to belong together; None where none is given.

    Raises:
        ServingError: one is missing, or they cannot be used.
    """
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        msg = "--tls-cert and --tls-key go together"
        raise ServingError(msg)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
    except OSError as error:
        msg = f"{certificate} and {key} cannot be used for TLS: {error.strerror or error}"
        raise ServingError(msg) from error
    return Tls(certificate, key)


def run(*, host: str, port: int, tls: Tls | None = None, closed: bool = False, workers: int = 1) -> None:
    """Serve alarms and risks until Ctrl-C or SIGTERM.

    Args:
        host: address to bind; others than loopback need a token.
        port: port to bind; 0 lets the system choose.
        tls: serves HTTPS, and nothing else.
        closed: whether reading needs a token on loopback, too.
        workers: processes that answer at the one port.

    Raises:
        ServingError: the address is taken or not allowed, or the store cannot be opened.
    """
    settings = Settings.from_env()
    load_drain_config(settings.drains_config)  # a mistake in it ends here, not in each worker
    token = OperatorToken.from_env()
    with AlarmStore(settings.database_url) as store:
        check_bind(host, has_token=token is not None or TokenStore(store.engine).any_valid())
        with _bind(host, port) as bound:
            open_reads = is_loopback(bound.getsockname()[0]) and not closed
            app = partial(_application, settings, token, open_reads=open_reads, session_key=token_bytes(32))
            _say(f"forelight serves at {_address(bound, tls)}/ (Ctrl-C ends)")
            if workers > 1:
                with counting_together() as counts:
                    supervise(_config(partial(app, counts=counts), tls, workers), bound, counts)
                _say("forelight has stopped")
            else:
                _until_told(uvicorn.Server(_config(app, tls, workers)), bound)


def _application(
    settings: Settings,
    token: OperatorToken | None,
    *,
    open_reads: bool,
    session_key: bytes,
    counts: Path | None = None,
) -> FastAPI:
    """What each process serves."""
    app = create_app(settings, None, token=token, open_reads=open_reads, session_key=session_key, counts=counts)
    settle()
    return app


def _config(app: Callable[[], FastAPI], tls: Tls | None, workers: int) -> uvicorn.Config:
    """Each process makes the application for itself: it has a store of its own, and shares the port."""
    return uvicorn.Config(
        app,
        factory=True,
        workers=workers,
        timeout_worker_healthcheck=120,  # a worker that starts is busy importing for seconds
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_S,
        ssl_certfile=None if tls is None else str(tls.certificate),
        ssl_keyfile=None if tls is None else str(tls.key),
    )


def _no_password() -> str:
    msg = "the key has a password, which nobody is here to give"
    raise ServingError(msg)


def _until_told(server: uvicorn.Server, bound: socket.socket) -> None:
    """Run until a signal; uvicorn raises it again once it has ended, which is no failure."""
    told: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _frame: told.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        server.run(sockets=[bound])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGINT in told:
        _say("forelight has stopped")


def _bind(host: str, port: int) -> socket.socket:
    """A listening socket, so that the printed address is one that answers."""
    if not 0 <= port <= _LAST_PORT:  # the resolver would take it modulo 65536
        msg = f"there is no port {port}"
        raise ServingError(msg)
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        msg = f"cannot bind {host} port {port}: {error.strerror}"
        raise ServingError(msg) from error


def _address(bound: socket.socket, tls: Tls | None) -> str:
    host, port = bound.getsockname()[:2]
    scheme = "http" if tls is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _say(line: str) -> None:
    Console(soft_wrap=True, highlight=False).print(line, markup=False)
