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
from ingest.agent.spool import Kept, Spool
from ingest.agent.sysfs import Nic, carrier, found

__all__ = ["Agent", "Options"]

_TICK_S: Final = 1.0
_BATCH_BYTES: Final = 64_000  # compressed: a megabyte of text
_BATCH_READINGS: Final = 1_500
_FIRST_WAIT_S, _LONGEST_WAIT_S = 2.0, 300.0
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
        self._options, self._service, self._say = options, service, say
        self._round = Round(options.sys, options.timeout_s)
        self._spool = Spool(options.spool, int(options.spool_max_mb * _MB), say)
        self._busy = threading.Lock()
        self._news = threading.Event()
        self._nics = found(options.sys, options.interfaces)
        self._carriers: dict[str, tuple[int, int]] = {}
        self._events: list[dict[str, Any]] = []
        self._said: set[str] = set()
        self._most_bytes = _BATCH_BYTES

    def once(self) -> bool:
        """One round, sent at once with all that waits; whether nothing waits any more."""
        self._read()
        while self._spool.files and self._send() is None:
            pass
        self._spool.close()
        return not self._spool.files

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set: rounds at the interval, give or take a tenth, the first at a moment of its own."""
        sender = threading.Thread(target=self._sender, args=(stop,), name="sender", daemon=True)
        sender.start()
        due = time.monotonic() + random.uniform(0.0, min(self._options.interval_s, 10.0))  # noqa: S311 - no secret
        self._news.set()
        while not stop.wait(min(_TICK_S, self._options.interval_s)):
            self._watch()
            if time.monotonic() >= due:
                self._read()
                self._news.set()
                due += self._options.interval_s * random.uniform(1.0 - _JITTER, 1.0 + _JITTER)  # noqa: S311 - no secret
                due = max(due, time.monotonic())  # rounds that took too long are not made up for
        self._keep([])
        self._news.set()
        sender.join(timeout=5.0)
        self._spool.close()

    def _read(self) -> None:
        """One round into the spool."""
        self._nics = nics = found(self._options.sys, self._options.interfaces)
        if not nics:
            self._tell({f"no port to read below {self._options.sys}"})
            return
        samples = [as_sample(reading) for reading in self._round.read(nics, datetime.now(UTC))]
        self._tell(set(self._round.errors))
        self._keep(samples)

    def _keep(self, samples: list[dict[str, Any]]) -> None:
        events, self._events = self._events, []
        said = {"readings": samples, "events": events}
        if not (samples or events):
            return
        try:
            with self._busy:
                self._spool.put({name: each for name, each in said.items() if each})
        except OSError as error:
            self._events = events
            self._tell({f"the spool cannot be written: {error.strerror or error}"})

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

    def _sender(self, stop: threading.Event) -> None:
        wait_s = _FIRST_WAIT_S
        while not stop.is_set():
            self._news.wait()
            self._news.clear()
            while self._spool.files and not stop.is_set():
                after_s = self._send()
                if after_s is None:
                    wait_s = _FIRST_WAIT_S
                    continue
                stop.wait(max(after_s, wait_s) * random.uniform(0.8, 1.2))  # noqa: S311 - so that hosts do not come at once
                wait_s = min(wait_s * 2.0, _LONGEST_WAIT_S)

    def _send(self) -> float | None:
        """Push the oldest rounds; None where that went well, else how long to wait at least."""
        with self._busy:
            batch = _bounded(self._spool.oldest(self._most_bytes))
        if not batch:
            return None
        body: dict[str, Any] = {"site": self._options.site, "device": self._options.device}
        for name in ("readings", "events"):
            if rows := [row for _, said in batch for row in said.get(name, [])]:
                body[name] = rows
        answer = self._service.push(body)
        if answer.taken:
            with self._busy:
                for kept, _ in batch:
                    self._spool.remove(kept)
            self._most_bytes = _BATCH_BYTES
            self._tell({f"{answer.refused} values or readings were not taken"} if answer.refused else set(), "service")
            return None
        self._tell(
            {f"the service does not take samples ({answer.status or 'not reached'}: {answer.detail})"}, "service"
        )
        if answer.hopeless:
            return self._split(batch)
        return answer.retry_after_s or 0.0

    def _split(self, batch: list[tuple[Kept, dict[str, Any]]]) -> float | None:
        """Find the round at fault: it is set aside, so that it does not hold up the others."""
        if len(batch) > 1:
            self._most_bytes = 1
            return None
        with self._busy:
            self._spool.set_aside(batch[0][0])
        self._say(f"{batch[0][0].path.name} is refused for good; set aside as refused.json.gz.bad")
        return None

    def _tell(self, lines: set[str], about: str = "host") -> None:
        """Say what is new of it, once."""
        named = {f"{about}: {line}" for line in lines}
        for line in sorted(named - self._said):
            self._say(line)
        self._said = {line for line in self._said if not line.startswith(f"{about}: ")} | named


def _bounded(batch: list[tuple[Kept, dict[str, Any]]]) -> list[tuple[Kept, dict[str, Any]]]:
    """As many rounds as one request may have readings and events, one at least."""
    taken: list[tuple[Kept, dict[str, Any]]] = []
    rows = 0
    for kept, said in batch:
        rows += max(len(said.get("readings", [])), len(said.get("events", [])))
        if taken and rows > _BATCH_READINGS:
            break
        taken.append((kept, said))
    return taken


def _changes(nic: Nic, before: tuple[int, int], now: tuple[int, int], at: str) -> list[dict[str, Any]]:
    """One event a kind: between two looks the port may have gone and come several times."""
    events = []
    for kind, was, is_ in (("down", before[1], now[1]), ("up", before[0], now[0])):
        if is_ > was:
            times = is_ - was
            cause = "carrier" if times == 1 else f"carrier, {times} times within a second"
            events.append({"interface": nic.name, "time": at, "kind": kind, "cause": cause})
    return events
