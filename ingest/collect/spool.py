"""The spool: a bounded buffer on disk in front of the lake, so that an outage of the lake costs no rows.

While the lake takes rows, the spool only passes them on. When it does not (a full disk, an object store
that is away, a surprise in its library), rows go to files here, in order, and from there into the lake when
it answers again. Each append carries its writer's running number, which the lake commits with the rows: what
was committed before a process was killed, or by an attempt that nobody waited for, is not appended again.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

from ingest.collect.attempt import Attempt
from ingest.collect.spool_files import Entry
from ingest.collect.spool_queue import Queue
from ingest.collect.status import SpoolState
from ingest.errors import LakeError
from ingest.lake.delta import canonical
from ingest.schema import Table

__all__ = ["MarkedSink", "Spool"]

_MB: Final = 1_000_000
_MEMORY_BYTES: Final = 64 * _MB
_REPLAY_S: Final = 10.0  # of a sweep's time for what waits, each append
_FIRST_WAIT_S: Final = 2.0
_LONGEST_WAIT_S: Final = 120.0


class MarkedSink(Protocol):
    """Where rows are kept for good; `ingest.lake.Lake` is one."""

    def append(self, table: Table, rows: pa.Table, *, mark: tuple[str, int] | None = None) -> object:
        """Keep rows, and with them the writer's name and number."""
        ...

    def mark(self, table: Table, writer: str) -> int:
        """The highest number kept of a writer."""
        ...


@dataclass(frozen=True, slots=True)
class _Wait:
    """How a table's appends failed last, and when (monotonic) to try again."""

    failures: int
    until: float
    error: str


class Spool:
    """A sink that keeps what the lake does not take.

    One process at a time has a folder. Another one's appends go straight to the lake and fail with it, until the first
    has ended.

    Args:
        lake: where rows belong.
        folder: for the files; made when needed.
        max_mb: what the files may take (10^6 bytes each); then the oldest are dropped.
        memory_bytes: of the newest rows kept in memory where the folder cannot be written either.
        patience_s: for one append of the lake, which may end later and is not repeated then.
        say: told in one line what an operator should know.
    """

    def __init__(
        self,
        lake: MarkedSink,
        folder: Path,
        *,
        max_mb: float = 2_048,
        memory_bytes: int = _MEMORY_BYTES,
        patience_s: float = 15.0,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._lake = lake
        self._patience_s = patience_s
        self._say = say
        self._busy = threading.Lock()
        self._queue = Queue(folder, int(max_mb * _MB), memory_bytes, say)
        self._waits: dict[str, _Wait] = {}
        self._running: Attempt[object] | None = None
        self._append_s = 0.0
        self.state = self._now()
        """As of the last append: replaced whole, so that other threads may read it."""

    @property
    def owned(self) -> bool:
        """Whether this process has the folder."""
        return self._queue.owned

    def append(self, table: Table, rows: pa.Table) -> int:
        """Keep rows: in the lake, or until it takes them.

        Returns:
            Rows kept.

        Raises:
            LakeError: the rows are not of the table's shape; or, without the folder, what the lake raises.
        """
        with self._busy:
            if not self._queue.own():
                return self._pass_on(table, rows)
            entry = self._queue.entry(table, rows)
            if not self._direct(entry):
                self._queue.put(entry, canonical(table, rows).select(table.schema.names))
                self._replay(_REPLAY_S)
            self.state = self._now()
        return int(rows.num_rows)

    def replay(self, limit_s: float = _REPLAY_S) -> bool:
        """Move what waits into the lake, the oldest first, for some time; whether nothing waits any more."""
        with self._busy:
            if self.owned:
                self._replay(limit_s)
            self.state = self._now()
        return not self.state.rows

    def pending(self, table: Table) -> list[pa.Table]:
        """Rows of a table that wait, the oldest first."""
        with self._busy:
            return self._queue.pending(table)

    def close(self) -> None:
        """Let another process have the folder; rows in memory are lost, and that is told."""
        if self.state.memory_rows:
            self._say(f"{self.state.memory_rows} rows that could not be written anywhere are lost")
        self._queue.close()

    def _pass_on(self, table: Table, rows: pa.Table) -> int:
        try:
            self._lake.append(table, rows)
        except LakeError:
            raise
        except Exception as error:
            msg = f"{table.name}: {' '.join(str(error).split())[:200]}"
            raise LakeError(msg) from error
        return int(rows.num_rows)

    def _direct(self, entry: Entry) -> bool:
        """Append without a detour, where nothing of the table waits and the lake may be tried."""
        table, rows = entry.table, entry.data
        if not self._may_try(table) or self._queue.has(table):
            return False
        error = self._attempt(partial(self._lake.append, table, rows, mark=entry.mark))
        if error is None:
            self._succeeded(table)
            return True
        canonical(table, rows)  # raises where the rows are at fault and not the lake
        self._failed(table, error)
        return False

    def _replay(self, limit_s: float) -> None:
        until = time.monotonic() + limit_s
        rows = 0
        for table in self._queue.tables():
            while self._may_try(table) and time.monotonic() < until:
                batch = self._queue.batch(table)
                if not batch:
                    break
                error = self._attempt(partial(self._deliver, table, batch))
                if error is not None:
                    self._failed(table, error)
                    break
                self._queue.remove(entry for entry, _ in batch)
                rows += sum(entry.rows for entry, _ in batch)
                self._succeeded(table)
        if rows:
            left = f"; {self._queue.rows} wait" if self._queue.rows else ""
            self._say(f"{rows} rows went from the spool into the lake{left}")

    def _deliver(self, table: Table, batch: list[tuple[Entry, pa.Table]]) -> None:
        """One commit of what the lake does not have yet."""
        writer, last = batch[-1][0].mark
        done = self._lake.mark(table, writer)
        rows = [rows for entry, rows in batch if entry.number > done]
        if rows:
            self._lake.append(table, pa.concat_tables(rows), mark=(writer, last))

    def _may_try(self, table: Table) -> bool:
        if self._running is not None and self._running.running:
            return False
        wait = self._waits.get(table.name)
        return wait is None or time.monotonic() >= wait.until

    def _attempt(self, work: Callable[[], object]) -> str | None:
        """What went wrong, in one line. Work that takes too long goes on, and nothing else is tried meanwhile."""
        began = time.monotonic()
        attempt = self._running = Attempt(work, self._patience_s)
        self._append_s = time.monotonic() - began
        if attempt.running:
            return f"no end of the append within {self._patience_s:g} s"
        self._running = None
        return attempt.reason

    def _succeeded(self, table: Table) -> None:
        """Where that is news, the other tables are tried again at once."""
        if self._waits.pop(table.name, None):
            self._waits = {name: replace(wait, until=0.0) for name, wait in self._waits.items()}

    def _failed(self, table: Table, error: str) -> None:
        """Say so once an outage, and wait longer each time; other tables that failed wait as well."""
        if not self._waits:
            self._say(f"the lake cannot be written ({error}): rows wait in the spool")
        before = self._waits.get(table.name)
        failures = before.failures + 1 if before else 1
        until = time.monotonic() + min(_FIRST_WAIT_S * 2.0 ** min(failures - 1, 16), _LONGEST_WAIT_S)
        self._waits = {name: replace(wait, until=max(wait.until, until)) for name, wait in self._waits.items()}
        self._waits[table.name] = _Wait(failures, until, error)

    def _now(self) -> SpoolState:
        queue = self._queue
        waits = sorted(self._waits.values(), key=lambda wait: wait.until)
        return SpoolState(
            files=queue.files,
            size_bytes=queue.size_bytes,
            rows=queue.rows,
            memory_rows=queue.memory_rows,
            dropped_rows=queue.dropped_rows,
            bad_files=queue.bad_files,
            error=waits[-1].error if waits else None,
            append_s=self._append_s,
        )
