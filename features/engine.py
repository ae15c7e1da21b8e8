"""Where pure functions over parts of the lake run: here, in a pool of processes, or on a Dask cluster.

A job is a small picklable value that says what to read; the function reads it from the lake itself and returns a
table. Jobs are handed out a few at a time, so that neither jobs nor results pile up, and results come as they are
done. A worker that dies takes nothing along: its jobs are done again by another.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, Final, Protocol, Self, TypeVar

from ingest.errors import FeatureError

__all__ = [
    "AHEAD",
    "LEAST_MEMORY",
    "OWN_BYTES",
    "WORKER_BYTES",
    "BaseEngine",
    "Engine",
    "Here",
    "Pool",
    "engine_for",
    "in_order",
    "machine_memory",
]

Job = TypeVar("Job")
Result = TypeVar("Result")

OWN_BYTES: Final = 580 << 20
"""What the process that gives out the jobs holds: libraries, MLflow among them, records, the lake's log; measured."""
WORKER_BYTES: Final = 450 << 20
"""What a worker needs beside its jobs: the libraries, and row groups being read; measured."""
_LEAST_JOB_BYTES: Final = 96 << 20
LEAST_MEMORY: Final = OWN_BYTES + _LEAST_JOB_BYTES
"""With less there is nothing that a job could be given."""
_DEFAULT_SHARE: Final = 0.5  # of the machine's memory, where no limit is given
AHEAD: Final = 2
"""Jobs in flight for each worker: one that runs, one that waits."""
_DEATHS: Final = 5
"""Workers may die so often in one run; after that something is wrong with the work or the memory."""


class Engine(Protocol):
    """Runs jobs; use it as a context manager."""

    @property
    def workers(self) -> int:
        """Jobs that run at the same time."""

    @property
    def job_bytes(self) -> int:
        """Memory that one job may take beyond the process itself."""

    def run(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
        """Each job with its result, in the order in which they are done.

        Raises:
            FeatureError: workers kept dying.
        """

    def __enter__(self) -> Self:
        """Start."""

    def __exit__(self, *error: object) -> None:
        """Stop; jobs that have not begun are dropped."""


class BaseEngine:
    """What all engines share: a number of workers and the memory that each job may take.

    Args:
        workers: jobs at the same time.
        memory: bytes for all of it; half of the machine's where not given.
        held: bytes that are not for jobs.
    """

    def __init__(self, workers: int, memory: int | None, held: int) -> None:
        self.workers = workers
        total = int(machine_memory() * _DEFAULT_SHARE) if memory is None else memory
        self.job_bytes = max((total - held) // workers, _LEAST_JOB_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Here(BaseEngine):
    """Runs jobs in this process, one after the other."""

    def __init__(self, memory: int | None = None) -> None:
        super().__init__(1, memory, OWN_BYTES)

    def run(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
        """Each job with its result; see `Engine`."""
        return ((job, work(job)) for job in jobs)


class Pool(BaseEngine):
    """Runs jobs in processes of this machine.

    They are spawned, never forked: polars hangs in a forked process.

    Args:
        workers: processes; as many as the machine has cores where not given, fewer where the memory is small.
        memory: bytes for all of them and this process together; half of the machine's where not given.
    """

    def __init__(self, workers: int | None = None, memory: int | None = None) -> None:
        wanted = workers or len(os.sched_getaffinity(0))
        if memory is not None:
            wanted = max(1, min(wanted, (memory - OWN_BYTES) // (WORKER_BYTES + _LEAST_JOB_BYTES)))
        super().__init__(wanted, memory, OWN_BYTES + wanted * WORKER_BYTES)
        self._executor: ProcessPoolExecutor | None = None

    def run(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
        """Each job with its result, in the order in which they are done; see `Engine`."""
        source, deaths = iter(jobs), 0
        waiting: dict[Future[Result], Job] = {}
        again: list[Job] = []
        while True:
            for job in [*again, *islice(source, max(self.workers * AHEAD - len(waiting) - len(again), 0))]:
                waiting[self._submit(work, job)] = job
            again = []
            if not waiting:
                return
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                job = waiting.pop(future)
                try:
                    yield job, future.result()
                except BrokenProcessPool:
                    again.append(job)
            if again:
                deaths += 1
                again += self._bury(waiting, deaths)

    def _submit(self, work: Callable[[Job], Result], job: Job) -> "Future[Result]":
        if self._executor is None:
            threads = max(1, len(os.sched_getaffinity(0)) // self.workers)
            self._executor = ProcessPoolExecutor(
                self.workers, get_context("spawn"), initializer=_share_cores, initargs=(threads,)
            )
        try:
            return self._executor.submit(work, job)
        except BrokenProcessPool as error:
            lost: Future[Result] = Future()
            lost.set_exception(error)
            return lost

    def _bury(self, waiting: "dict[Future[Any], Job]", deaths: int) -> "list[Job]":
        """Gives up a pool one of whose processes has died; the jobs that it did not finish."""
        lost = {future: job for future, job in waiting.items() if not future.done() or future.exception() is not None}
        self._stop()
        if deaths > _DEATHS:
            msg = f"{deaths} worker processes died, likely of too little memory: give more, or less work at once"
            raise FeatureError(msg)
        for future in lost:
            del waiting[future]
        return list(lost.values())

    def _stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None

    def __exit__(self, *error: object) -> None:
        if isinstance(error[0], type) and issubclass(error[0], (SystemExit, KeyboardInterrupt)):
            for worker in active_children():  # told to end by hand: what they are at is nobody's any more
                worker.terminate()
        self._stop()


def _share_cores(threads: int) -> None:
    """In a new worker, before polars is imported: its threads and those of its siblings share the cores.

    Ctrl-C reaches workers, too: they end without a word, for the process that gave out the jobs speaks.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.setdefault("POLARS_MAX_THREADS", str(threads))


def in_order(engine: Engine, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
    """Each job with its result, in the order of the jobs; so many are given out at once that results never pile up."""
    source = iter(jobs)
    while batch := list(enumerate(islice(source, engine.workers * AHEAD))):
        found = {i: (job, result) for (i, job), result in engine.run(partial(_numbered, work), batch)}
        for i in range(len(batch)):
            yield found.pop(i)


def _numbered(work: Callable[[Job], Result], job: tuple[int, Job]) -> Result:
    return work(job[1])


def engine_for(*, dask: str | None = None, memory: int | None = None, workers: int | None = None) -> Engine:
    """A Dask cluster where an address is given, else a pool of this machine, or this process where one is enough.

    Args:
        dask: address of a scheduler.
        memory: bytes for all processes of this machine together, or for each worker of the cluster.
        workers: processes; as many as there are cores where not given.
    """
    if dask:
        from features.dask_engine import DaskEngine

        return DaskEngine(dask, memory)
    pool = Pool(workers, memory)
    return pool if pool.workers > 1 else Here(memory)


def machine_memory() -> int:
    """Bytes of memory that this machine or container has."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):
        return total
