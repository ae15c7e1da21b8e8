"""``forelight serve``: binds, says where, and answers until it is told to stop."""

import signal
import socket
from typing import Final

import uvicorn
from rich.console import Console

from serving.app import create_app
from serving.auth import OperatorToken, check_bind, is_loopback
from serving.errors import ServingError
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["run"]

_LAST_PORT: Final = 65_535
_GRACE_S: Final = 10
"""Seconds that requests in flight get to end; they take milliseconds."""


def run(*, host: str, port: int) -> None:
    """Serve alarms and risks until Ctrl-C or SIGTERM.

    Args:
        host: address to bind; others than loopback need the operator token.
        port: port to bind; 0 lets the system choose.

    Raises:
        ServingError: the address is taken or not allowed, or the store cannot be opened.
    """
    settings = Settings.from_env()
    token = OperatorToken.from_env()
    check_bind(host, token)
    with AlarmStore(settings.database_url) as store, _bind(host, port) as bound:
        app = create_app(settings, store, token=token, open_reads=is_loopback(bound.getsockname()[0]))
        _say(f"forelight serves at {_address(bound)}/v1/alarms (Ctrl-C ends)")
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        _until_told(uvicorn.Server(config), bound)


def _until_told(server: uvicorn.Server, bound: socket.socket) -> None:
    """Run until a signal; uvicorn raises it again once it has ended, which is no failure."""
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    try:
        server.run(sockets=[bound])
    except KeyboardInterrupt:
        _say("forelight has stopped")
    finally:
        signal.signal(signal.SIGTERM, before)


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


def _address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _say(line: str) -> None:
    Console(soft_wrap=True, highlight=False).print(line, markup=False)
