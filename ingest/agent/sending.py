"""What waits in a spool goes to the service: the oldest first, again until it is taken, aside where it never will."""

import random
import threading
from collections.abc import Callable
from typing import Any, Final

from ingest.agent.pushing import Service
from ingest.agent.spool import Kept, Spool

__all__ = ["Sender"]

_BATCH_BYTES: Final = 64_000  # compressed: a megabyte of text
_BATCH_ROWS: Final = 1_500
_FIRST_WAIT_S, _LONGEST_WAIT_S = 2.0, 300.0


class Sender:
    """Sends the files of a spool.

    Args:
        spool: whose files are dictionaries of lists of rows.
        service: where to.
        head: what a request says besides.
        names: of the lists.
        say: told in one line what an operator should know.
    """

    def __init__(
        self,
        spool: Spool,
        service: Service,
        head: dict[str, Any],
        names: tuple[str, ...],
        say: Callable[[str], None],
    ) -> None:
        self._spool, self._service, self._head, self._names, self._say = spool, service, head, names, say
        self._busy = threading.Lock()
        self._news = threading.Event()
        self._said: set[str] = set()
        self._most_bytes = _BATCH_BYTES

    def put(self, rows: dict[str, list[dict[str, Any]]]) -> None:
        """Keep rows, to be sent.

        Raises:
            OSError: the spool cannot be written.
        """
        with self._busy:
            self._spool.put({name: each for name, each in rows.items() if each})

    def wake(self) -> None:
        """There may be something to send."""
        self._news.set()

    def all(self) -> bool:
        """Send all that waits while the service takes it; whether nothing waits any more."""
        while self._spool.files and self._send() is None:
            pass
        return not self._spool.files

    def run(self, stop: threading.Event) -> None:
        """Send whenever there is something, until `stop` is set."""
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

    def tell(self, lines: set[str], about: str) -> None:
        """Say what is new of it, once."""
        named = {f"{about}: {line}" for line in lines}
        for line in sorted(named - self._said):
            self._say(line)
        self._said = {line for line in self._said if not line.startswith(f"{about}: ")} | named

    def _send(self) -> float | None:
        """Push the oldest files; None where that went well, else how long to wait at least."""
        with self._busy:
            batch = self._bounded(self._spool.oldest(self._most_bytes))
        if not batch:
            return None
        body = dict(self._head)
        for name in self._names:
            if rows := [row for _, said in batch for row in said.get(name, [])]:
                body[name] = rows
        answer = self._service.push(body)
        if answer.taken:
            with self._busy:
                for kept, _ in batch:
                    self._spool.remove(kept)
            self._most_bytes = _BATCH_BYTES
            self.tell({f"{answer.refused} values or rows were not taken"} if answer.refused else set(), "service")
            return None
        why = f"{answer.status or 'not reached'}: {answer.detail}"
        self.tell({f"the service does not take what is sent ({why})"}, "service")
        if answer.hopeless:
            return self._split(batch)
        return answer.retry_after_s or 0.0

    def _split(self, batch: list[tuple[Kept, dict[str, Any]]]) -> float | None:
        """Find the file at fault: it is set aside, so that it does not hold up the others."""
        if len(batch) > 1:
            self._most_bytes = 1
            return None
        with self._busy:
            self._spool.set_aside(batch[0][0])
        self._say(f"{batch[0][0].path.name} is refused for good; set aside as refused.json.gz.bad")
        return None

    def _bounded(self, batch: list[tuple[Kept, dict[str, Any]]]) -> list[tuple[Kept, dict[str, Any]]]:
        """As many files as one request may have rows of each list, one at least."""
        taken: list[tuple[Kept, dict[str, Any]]] = []
        rows = 0
        for kept, said in batch:
            rows += max(len(said.get(name, [])) for name in self._names)
            if taken and rows > _BATCH_ROWS:
                break
            taken.append((kept, said))
        return taken
