"""Requests gathered for a moment and written together: one commit a table for all hosts, not one for each.

Who sent a request waits until its rows are in the lake or durably in the spool before it; only then is it answered.
A spool that is nearly full, or that cannot be written, takes nothing more: what was acknowledged is never dropped.
"""

import json
import logging
import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from ingest.collect.spool import Spool
from ingest.dumps.modules import module_rows
from ingest.dumps.reading import Reading
from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, MODULES, PORT_EVENTS, PORT_SAMPLES, PROBE_PATHS, PROBES, Table
from serving.errors import SamplesUnavailableError
from serving.samples.judging import Batch

__all__ = ["Intake"]

_log: Final = logging.getLogger(__name__)
_MOST_WAITING: Final = 500_000
_IDLE_S: Final = 10.0
_FULL: Final = 0.9
_MB: Final = 1_000_000
_QUARANTINE_BYTES: Final = 16 << 20
"""A day's file takes no more: a host that lies at every minute must not fill the disk."""


class Intake:
    """Takes batches and keeps them.

    Args:
        lake: where rows belong.
        spool: folder of the spool; made when the first batch comes.
        quarantine: folder for what was refused.
        clock: what is now.
        window_s: for so long a batch waits for others.
        max_mb: what the spool may take of the disk.
    """

    def __init__(
        self,
        lake: Lake,
        spool: Path,
        quarantine: Path,
        clock: Callable[[], datetime],
        *,
        window_s: float = 2.0,
        max_mb: float = 2_048.0,
    ) -> None:
        self._lake, self._folder, self._quarantine, self._clock = lake, spool, quarantine, clock
        self.window_s, self._max_mb = window_s, max_mb
        self._queue: queue.SimpleQueue[tuple[Batch, Future[None]] | None] = queue.SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._spool: Spool | None = None
        self._told: dict[tuple[str, str, str], Mapping[str, object]] = {}
        self._closed = threading.Event()

    def put(self, batch: Batch) -> Future[None]:
        """Take a batch; the future is done when it is durably kept.

        Raises:
            SamplesUnavailableError: too much waits already.
        """
        with self._lock:
            if self._closed.is_set() or self._waiting + batch.rows > _MOST_WAITING:
                msg = "too much waits to be written; send it again later"
                raise SamplesUnavailableError(msg)
            self._waiting += batch.rows
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="samples", daemon=True)
                self._thread.start()
        done: Future[None] = Future()
        self._queue.put((batch, done))
        return done

    def close(self) -> None:
        """Write what waits, and let another process have the spool."""
        self._closed.set()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        if self._spool is not None:
            self._spool.close()

    def _run(self) -> None:
        while True:
            taken = self._gathered()
            if taken:
                self._keep(taken)
            elif self._closed.is_set():
                return
            elif self._spool is not None and self._spool.state.rows:
                self._spool.replay()

    def _gathered(self) -> list[tuple[Batch, Future[None]]]:
        """What came within the window after the first."""
        found: list[tuple[Batch, Future[None]]] = []
        with suppress(queue.Empty):
            first = self._queue.get(timeout=_IDLE_S)
            if first is not None:
                found.append(first)
                self._closed.wait(self.window_s)
            while True:
                each = self._queue.get_nowait()
                if each is not None:
                    found.append(each)
        return found

    def _keep(self, taken: list[tuple[Batch, Future[None]]]) -> None:
        batches = [batch for batch, _ in taken]
        error: Exception | None = None
        try:
            self._write(batches)
        except SamplesUnavailableError as refused:
            error = refused
        except (LakeError, OSError) as failed:
            _log.warning("samples are not taken: %s", failed)
            error = SamplesUnavailableError("neither the lake nor the spool can be written; send it again later")
        except Exception:  # noqa: BLE001 - the thread must live, and whoever waits must hear
            _log.exception("samples are not taken")
            error = SamplesUnavailableError("the samples could not be written; the service's log says why")
        with self._lock:
            self._waiting -= sum(batch.rows for batch in batches)
        for _, done in taken:
            if not done.cancelled():
                done.set_exception(error) if error else done.set_result(None)

    def _write(self, batches: list[Batch]) -> None:
        """All rows of a table at once.

        Raises:
            SamplesUnavailableError: the spool is full, or keeps rows in memory only.
        """
        if self._spool is None:
            self._spool = Spool(self._lake, self._folder, max_mb=self._max_mb, say=_log.warning)
        if self._spool.state.size_bytes > _FULL * self._max_mb * _MB:
            self._spool.replay()
            if self._spool.state.size_bytes > _FULL * self._max_mb * _MB:
                msg = "the spool is full, since the lake cannot be written; send it again later"
                raise SamplesUnavailableError(msg)
        for table, rows in self._tables(batches):
            if rows:
                self._spool.append(table, table.of(rows))
        if self._spool.state.memory_rows:
            msg = "neither the lake nor the spool's disk can be written; send it again later"
            raise SamplesUnavailableError(msg)
        self._note(batches)

    def _tables(self, batches: list[Batch]) -> Iterable[tuple[Table, list[dict[str, Any]]]]:
        yield LANE_SAMPLES, [row for batch in batches for row in batch.lanes]
        yield PORT_SAMPLES, [row for batch in batches for row in batch.ports]
        yield PORT_EVENTS, [row for batch in batches for row in batch.events]
        yield PROBES, [row for batch in batches for row in batch.probes]
        yield PROBE_PATHS, [row for batch in batches for row in batch.paths]
        yield MODULES, self._modules(batches)

    def _modules(self, batches: list[Batch]) -> list[dict[str, Any]]:
        """What is new of modules; the lake is asked only where a host says what it did not say before."""
        rows: list[dict[str, Any]] = []
        for batch in batches:
            said = {(batch.site, str(each.device), str(each.interface)): _said(each) for each in batch.readings}
            news = {port: told for port, told in said.items() if told and self._told.get(port) != told}
            if news:
                of_news = [each for each in batch.readings if (batch.site, each.device, each.interface) in news]
                try:
                    rows += module_rows(of_news, self._known({device for _, device, _ in news}), batch.site)
                except Exception as error:  # noqa: BLE001 - whatever the lake's library raises: the next reading tells it again
                    _log.warning("modules are not told yet: %s", error)
                else:
                    self._told |= news
        now = self._clock()
        return [row | {"received_at": now} for row in rows]

    def _known(self, devices: set[str]) -> list[dict[str, Any]]:
        """Rows of modules of some devices."""
        found = self._lake.latest(MODULES).filter(pl.col("device").is_in(sorted(devices))).collect()
        return found.drop("received_at").to_dicts()

    def _note(self, batches: list[Batch]) -> None:
        """Refusals into the day's file of the quarantine."""
        lines = [
            json.dumps(refused.model_dump(mode="json") | {"site": batch.site})
            for batch in batches
            for refused in batch.refused
        ]
        if not lines:
            return
        path = self._quarantine / f"samples-{self._clock():%Y%m%d}.jsonl"
        with suppress(OSError):  # it is told in the answer all the same
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.stat().st_size < _QUARANTINE_BYTES:
                with path.open("a", encoding="utf-8") as file:
                    file.write("\n".join(lines) + "\n")


def _said(reading: Reading) -> dict[str, object]:
    """What a reading says of its module; nothing where it names none."""
    return {**reading.module, **reading.limits} if reading.module else {}
