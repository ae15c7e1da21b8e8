"""``forelight agent``: reads the ports of this host and pushes samples to the service."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Final

from ingest.agent.loop import Agent, Options
from ingest.agent.pushing import Service
from ingest.errors import ConfigError, TransportError

__all__ = ["agent_token", "run"]

_TOKEN: Final = "FORELIGHT_AGENT_TOKEN"  # noqa: S105 - the variable's name
_TOKEN_FILE: Final = "FORELIGHT_AGENT_TOKEN_FILE"  # noqa: S105 - as above


def run(url: str, options: Options, ca_file: Path | None, *, once: bool) -> None:
    """Read and push until SIGTERM or Ctrl-C, or once.

    Raises:
        ConfigError: there is no token, or the address is wrong.
        BusyError: another agent runs over the same spool.
        TransportError: once only: what was read is kept, and not taken yet.
    """
    agent = Agent(options, Service(url, agent_token(), ca_file), _say)
    if once:
        if not agent.once():
            msg = f"{url} did not take all; what was read waits in {options.spool}"
            raise TransportError(msg)
        return
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    agent.run(stop)


def agent_token() -> str:
    """Of the environment, or of the file that it names.

    Raises:
        ConfigError: there is neither, or the file cannot be read.
    """
    if token := os.environ.get(_TOKEN, "").strip():
        return token
    path = os.environ.get(_TOKEN_FILE, "")
    if not path:
        msg = f"no token: `forelight token create HOST --scope ingest` makes one; set {_TOKEN} or {_TOKEN_FILE}"
        raise ConfigError(msg)
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{_TOKEN_FILE} names {path}, which cannot be read: {error}"
        raise ConfigError(msg) from None


def _say(line: str) -> None:
    sys.stderr.write(f"forelight agent: {line}\n")
    sys.stderr.flush()
