"""A probe agent on a host: its pinglist comes from a file, its rows go to a service or a folder."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

from ingest.agent.pushing import Service
from ingest.agent.sending import Sender
from ingest.agent.spool import Spool
from ingest.durable import put_file
from ingest.probes.agent import ProbeLoop
from ingest.probes.pinglist import Pinglist

__all__ = ["Folder", "Outlet", "Pushed", "run"]

_MB: Final = 1_000_000
Row = dict[str, Any]


class Outlet(Protocol):
    """Takes the rows of a closed round."""

    def put(self, probes: list[Row], paths: list[Row]) -> None:
        """Keep them."""

    def close(self) -> None:
        """No more will come."""


class Folder:
    """One file of JSON a round.

    Args:
        folder: made here.
        head: site and device.
    """

    def __init__(self, folder: Path, head: dict[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._head = folder, head

    def put(self, probes: list[Row], paths: list[Row]) -> None:
        """Write one file, whole."""
        if probes or paths:
            said = json.dumps(self._head | {"probes": probes, "paths": paths}).encode()
            name = f"probes-{self._head['device']}-{time.time_ns()}.json"
            put_file(self._folder / name, lambda file: file.write(said))

    def close(self) -> None:
        """Each file is closed already."""


class Pushed:
    """To the service, by way of a spool.

    Raises:
        BusyError: another agent has the spool.
    """

    def __init__(
        self, service: Service, spool: Path, max_mb: float, head: dict[str, str], say: Callable[[str], None]
    ) -> None:
        self._spool = Spool(spool, int(max_mb * _MB), say)
        self._sender = Sender(self._spool, service, head, ("probes", "paths"), say)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sender.run, args=(self._stop,), name="sender", daemon=True)
        self._thread.start()

    def put(self, probes: list[Row], paths: list[Row]) -> None:
        """Into the spool; the sender is told."""
        if not (probes or paths):
            return
        try:
            self._sender.put({"probes": probes, "paths": paths})
        except OSError as error:
            self._sender.tell({f"the spool cannot be written: {error.strerror or error}"}, "host")
        self._sender.wake()

    def close(self) -> None:
        """What is not sent waits in the spool for the next start."""
        self._stop.set()
        self._sender.wake()
        self._thread.join(timeout=5.0)
        self._spool.close()


def run(todo: Pinglist, outlet: Outlet, stop: threading.Event, say: Callable[[str], None]) -> None:
    """Probe until `stop` is set.

    Raises:
        ConfigError: an address of the pinglist is not of this host, or a port is taken.
    """
    loop = ProbeLoop(todo, outlet.put)
    if not loop.stamped:
        say("this kernel tells no times of packets; they are this process's own")
    try:
        while not stop.is_set():
            loop.step()
    finally:
        loop.close()
        outlet.close()
