"""A free port, for servers whose configuration names one."""

import socket
from collections.abc import Callable

import pytest


@pytest.fixture(name="free_port")
def _free_port() -> Callable[[], int]:
    def free() -> int:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return int(one.getsockname()[1])

    return free
