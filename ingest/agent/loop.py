"""The agent itself: rounds at an interval, a look at the carriers each second, and a sender that catches up.

What a round read is in the spool before anything is sent, so a kill loses the running round at most, and a day without
the service nothing within the spool's bound.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ingest.agent.pushing import Service
from ingest.agent.reading import Round, as_sample
from ingest.agent.sending import Sender
from ingest.agent.spool import Spool
from ingest.agent.sysfs import Nic, carrier, found

__all__ = ["Agent", "Options"]

_TICK_S: Final = 1.0
_JITTER: Final = 0.1
_MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """How an agent goes about it.

    Attributes:
        device: this host as inventory and links call it.
        interfaces: to read; all physical ones where empty.
        sys: where sysfs is mounted.
        timeout_s: of one command.
    """

    device: str
    spool: Path
    site: str = "default"
    interval_s: float = 60.0
    spool_max_mb: float = 256.0
    interfaces: tuple[str, ...] = ()
    sys: Path = Path("/sys")
    timeout_s: float = 20.0


class Agent:
    """Reads and pushes.

    Args:
        options: what to read, and how often.
        service: where to push.
        say: told in one line what an operator should know.

    Raises:
        BusyError: another agent has the spool.
    """

    def __init__(self, options: Options, service: Service, say: Callable[[str], None]) -> None:
        self._options = options
        self._round = Round(options.sys, options.timeout_s)
        self._spool = Spool(options.spool, int(options.spool_max_mb * _MB), say)
        head = {"site": options.site, "device": options.device}
        self._sender = Sender(self._spool, service, head, ("readings", "events"), say)
        self._nics = found(options.sys, options.interfaces)
        self._carriers: dict[str, tuple[int, int]] = {}
        self._events: list[dict[str, Any]] = []

    def once(self) -> bool:
        """One round, sent at once with all that waits; whether nothing waits any more."""
        self._read()
        done = self._sender.all()
        self._spool.close()
        return done

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set: rounds at the interval, give or take a tenth, the first at a moment of its own."""
        sender = threading.Thread(target=self._sender.run, args=(stop,), name="sender", daemon=True)
        sender.start()
        due = time.monotonic() + random.uniform(0.0, min(self._options.interval_s, 10.0))  # noqa: S311 - no secret
        self._sender.wake()
        while not stop.wait(min(_TICK_S, self._options.interval_s)):
            self._watch()
            if time.monotonic() >= due:
                self._read()
                self._sender.wake()
                due += self._options.interval_s * random.uniform(1.0 - _JITTER, 1.0 + _JITTER)  # noqa: S311 - no secret
                due = max(due, time.monotonic())  # rounds that took too long are not made up for
        self._keep([])
        self._sender.wake()
        sender.join(timeout=5.0)
        self._spool.close()

    def _read(self) -> None:
        """One round into the spool."""
        self._nics = nics = found(self._options.sys, self._options.interfaces)
        if not nics:
            self._sender.tell({f"no port to read below {self._options.sys}"}, "host")
            return
        samples = [as_sample(reading) for reading in self._round.read(nics, datetime.now(UTC))]
        self._sender.tell(set(self._round.errors), "host")
        self._keep(samples)

    def _keep(self, samples: list[dict[str, Any]]) -> None:
        events, self._events = self._events, []
        said = {"readings": samples, "events": events}
        if not (samples or events):
            return
        try:
            self._sender.put(said)
        except OSError as error:
            self._events = events
            self._sender.tell({f"the spool cannot be written: {error.strerror or error}"}, "host")

    def _watch(self) -> None:
        """Carriers that went or came since the last look."""
        now = datetime.now(UTC).isoformat()
        for nic in self._nics:
            counts = carrier(self._options.sys, nic)
            before = self._carriers.get(nic.name)
            if counts is None:
                continue
            self._carriers[nic.name] = counts
            if before is not None and counts != before:
                self._events += _changes(nic, before, counts, now)


def _changes(nic: Nic, before: tuple[int, int], now: tuple[int, int], at: str) -> list[dict[str, Any]]:
    """One event a kind: between two looks the port may have gone and come several times."""
    events = []
    for kind, was, is_ in (("down", before[1], now[1]), ("up", before[0], now[0])):
        if is_ > was:
            times = is_ - was
            cause = "carrier" if times == 1 else f"carrier, {times} times within a second"
            events.append({"interface": nic.name, "time": at, "kind": kind, "cause": cause})
    return events
