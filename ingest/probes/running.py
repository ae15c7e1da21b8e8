"""A probe agent on a host: its pinglist comes from a file or a controller, its rows go to a service or a folder."""

import json
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote

from ingest.agent.pushing import Service
from ingest.agent.sending import Sender
from ingest.agent.spool import Spool
from ingest.durable import put_file
from ingest.errors import ConfigError, TransportError
from ingest.probes.agent import ProbeLoop
from ingest.probes.pinglist import Pinglist

__all__ = ["Folder", "Orders", "Outlet", "Pushed", "run"]

_REFRESH_S: Final = 300.0
_RETRY_S: Final = 15.0
_MB: Final = 1_000_000
Row = dict[str, Any]


class Outlet(Protocol):
    """Takes the rows of a closed round."""

    def put(self, probes: list[Row], paths: list[Row]) -> None:
        """Keep them."""

    def close(self) -> None:
        """No more will come."""


class Folder:
    """One file of JSON a round, which `forelight import` takes.

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


class Orders:
    """The pinglist of this host, fetched again each five minutes.

    Args:
        service: the controller.
        head: site and device.
        say: told in one line when it cannot be had.
    """

    def __init__(self, service: Service, head: dict[str, str], say: Callable[[str], None]) -> None:
        self._service, self._say = service, say
        self._path = f"/v1/pinglist?site={quote(head['site'])}&device={quote(head['device'])}"
        self._news: list[Pinglist] = []
        self._ended = threading.Event()

    def first(self) -> Pinglist:
        """Ask until there is one.

        Raises:
            TransportError: the controller refuses for good.
        """
        said = ""
        while True:
            answer = self._service.get(self._path)
            if answer.taken:
                return Pinglist.of(answer.body, "the controller")
            problem = f"no pinglist ({answer.status or 'not reached'}: {answer.detail})"
            if answer.status in (401, 403, 404):
                raise TransportError(problem)
            if problem != said:
                self._say(problem)
                said = problem
            time.sleep(_RETRY_S * random.uniform(0.5, 1.5))  # noqa: S311 - so that hosts do not come at once

    def watch(self) -> None:
        """Ask again and again, on a thread of its own."""
        threading.Thread(target=self._watch, name="orders", daemon=True).start()

    def take(self) -> Pinglist | None:
        """The newest, once."""
        return self._news.pop() if self._news else None

    def end(self) -> None:
        """Ask no more."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(_REFRESH_S * random.uniform(0.8, 1.2)):  # noqa: S311 - as above
            answer = self._service.get(self._path)
            if answer.taken:
                with suppress(ConfigError):  # a pinglist that cannot be read changes nothing
                    self._news = [Pinglist.of(answer.body, "the controller")]
            else:
                self._say(f"the old pinglist stays ({answer.status or 'not reached'}: {answer.detail})")


def run(
    todo: Pinglist, outlet: Outlet, stop: threading.Event, say: Callable[[str], None], orders: Orders | None = None
) -> None:
    """Probe until `stop` is set.

    Raises:
        ConfigError: an address of the first pinglist is not of this host, or a port is taken.
    """
    loop = ProbeLoop(todo, outlet.put)
    if not loop.stamped:
        say("this kernel tells no times of packets; they are this process's own")
    if orders is not None:
        orders.watch()
    try:
        while not stop.is_set():
            loop.step()
            if orders is not None and (news := orders.take()) is not None and news != todo:
                loop, todo = _changed(loop, news, outlet, say), news
    finally:
        if orders is not None:
            orders.end()
        loop.close()
        outlet.close()


def _changed(loop: ProbeLoop, news: Pinglist, outlet: Outlet, say: Callable[[str], None]) -> ProbeLoop:
    """The loop by the new pinglist; the running one where that cannot be."""
    try:
        if loop.change(news):
            return loop
        loop.close()
        return ProbeLoop(news, outlet.put)
    except ConfigError as error:
        say(str(error))
        return loop
