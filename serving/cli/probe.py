"""``forelight probe agent``: the standard library alone, as on every host."""

import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ingest.agent.pushing import Service
from ingest.errors import ConfigError
from ingest.probes.following import Follower
from ingest.probes.limits import Limits
from ingest.probes.pinglist import Pinglist
from ingest.probes.running import Folder, Outlet, Pushed, run
from serving.cli.agent import agent_token

__all__ = ["Way", "run_agent"]

_KEPT: Final = "pinglist.json"


@dataclass(frozen=True, slots=True)
class Way:
    """Where rows go, into a folder or to a service by way of a spool; and what this host allows."""

    out: Path | None
    url: str | None
    spool: Path
    spool_max_mb: float
    ca_file: Path | None
    limits: Limits


def run_agent(head: dict[str, str], pinglist: Path | None, way: Way) -> None:
    """Probe until SIGTERM or Ctrl-C, by a file or by what the service plans.

    Raises:
        ConfigError: there is no pinglist or no token, it is not for this host, or rows would go nowhere.
        BusyError: another agent has the spool.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    run(_wanted(head, pinglist, way, stop), _outlet(head, way), way.limits, stop, _say)


def _wanted(
    head: dict[str, str], pinglist: Path | None, way: Way, stop: threading.Event
) -> Callable[[], Pinglist | None]:
    if pinglist is not None:
        todo = Pinglist.read(pinglist)
        return lambda: todo
    if way.url is None:
        msg = "give --pinglist, or --url of a service that plans"
        raise ConfigError(msg)
    way.spool.mkdir(parents=True, exist_ok=True)
    service = Service(way.url, agent_token(), way.ca_file)
    follower = Follower(service, head, way.spool / _KEPT, _say)
    threading.Thread(target=follower.run, args=(stop,), name="pinglist", daemon=True).start()
    return follower.newest


def _outlet(head: dict[str, str], way: Way) -> Outlet:
    if (way.out is None) == (way.url is None):
        msg = "give --out or --url, and not both"
        raise ConfigError(msg)
    if way.out is not None:
        return Folder(way.out, head)
    service = Service(str(way.url), agent_token(), way.ca_file, path="/v1/probes")
    return Pushed(service, way.spool, way.spool_max_mb, head, _say)


def _say(line: str) -> None:
    sys.stderr.write(f"forelight probe agent: {line}\n")
    sys.stderr.flush()
