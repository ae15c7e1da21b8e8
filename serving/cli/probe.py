"""``forelight probe agent``."""

import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from ingest.agent.pushing import Service
from ingest.errors import ConfigError
from ingest.probes.pinglist import Pinglist
from ingest.probes.running import Folder, Outlet, Pushed, run
from serving.cli.agent import agent_token

__all__ = ["Way", "run_agent"]


@dataclass(frozen=True, slots=True)
class Way:
    """Where rows go: into a folder, or to a service by way of a spool."""

    out: Path | None
    url: str | None
    spool: Path
    spool_max_mb: float
    ca_file: Path | None


def run_agent(head: dict[str, str], pinglist: Path, way: Way) -> None:
    """Probe until SIGTERM or Ctrl-C.

    Raises:
        ConfigError: there is no pinglist or no token, it is not for this host, or rows would go nowhere.
        BusyError: another agent has the spool.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    run(Pinglist.read(pinglist), _outlet(head, way), stop, _say)


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
