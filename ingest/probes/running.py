"""A probe agent on a host: its pinglist comes from a file or the service, its rows go to the service or a folder."""

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
from ingest.errors import ConfigError
from ingest.probes.agent import ProbeLoop
from ingest.probes.limits import Limits
from ingest.probes.pinglist import Pinglist

__all__ = ["Folder", "Outlet", "Pushed", "run"]

_MB: Final = 1_000_000
_IDLE_S: Final = 0.5
Row = dict[str, Any]
Say = Callable[[str], None]


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

    def __init__(self, service: Service, spool: Path, max_mb: float, head: dict[str, str], say: Say) -> None:
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


def run(wanted: Callable[[], Pinglist | None], outlet: Outlet, limits: Limits, stop: threading.Event, say: Say) -> None:
    """Probe by the newest pinglist until `stop` is set; where there is none, send nothing and answer nothing.

    Args:
        wanted: the newest pinglist, the same object until there is another.
        outlet: where rows go; closed at the end.
        limits: what this host allows.
        stop: ends it.
        say: told in one line what an operator should know.

    Raises:
        ConfigError: an address of the first pinglist is not of this host, or a port is taken. Of a later one that is
            said, and the last goes on.
    """
    following = _Following(outlet, limits, say)
    try:
        while not stop.is_set():
            following.follow(wanted())
            if following.loop is None:
                stop.wait(_IDLE_S)
            else:
                following.loop.step()
    finally:
        following.follow(None)
        outlet.close()


class _Following:
    """The loop that runs, and the pinglist that it was made for."""

    def __init__(self, outlet: Outlet, limits: Limits, say: Say) -> None:
        self.loop: ProbeLoop | None = None
        self._outlet, self._limits, self._say = outlet, limits, say
        self._last: Pinglist | None = None

    def follow(self, wanted: Pinglist | None) -> None:
        """Go over to another pinglist, if it is one."""
        if wanted is self._last:
            return
        first, self._last = self._last is None, wanted
        if wanted is None:
            self._end()
            return
        todo, told = self._limits.applied(wanted)
        for line in told:
            self._say(line)
        try:
            if self.loop is None or not self.loop.change(todo):
                self._end()
                self.loop = ProbeLoop(todo, self._outlet.put, self._limits.per_s)
        except ConfigError as error:
            if first:
                raise
            self._say(str(error))
            return
        if first and not self.loop.stamped:
            self._say("this kernel tells no times of packets; they are this process's own")

    def _end(self) -> None:
        if self.loop is not None:
            self.loop.close()
            self.loop = None
