"""The engine past one machine: the same jobs as futures on a Dask cluster."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from features.engine import AHEAD, WORKER_BYTES, BaseEngine, machine_memory
from ingest.errors import FeatureError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["DaskEngine"]

Job = TypeVar("Job")
Result = TypeVar("Result")


class DaskEngine(BaseEngine):
    """Runs jobs on a Dask cluster, whose workers have forelight installed and reach the lake by the same address.

    Jobs name files and times, and results are small tables; no Dask collection is made. The scheduler gives the jobs
    of a worker that dies to another.

    Args:
        scheduler: its address, ``tcp://host:port``.
        memory: bytes for each thread of a worker; what the smallest of them has where not given.

    Raises:
        FeatureError: no scheduler, no workers, or the extra `dask` is not installed.
    """

    def __init__(self, scheduler: str, memory: int | None = None) -> None:
        self._client = _connect(scheduler)
        workers = list(self._client.scheduler_info(n_workers=-1)["workers"].values())
        if not workers:
            self._client.close()
            msg = f"the Dask cluster at {scheduler} has no workers"
            raise FeatureError(msg)
        limits = [worker["memory_limit"] // worker["nthreads"] for worker in workers if worker["memory_limit"]]
        super().__init__(1, memory or min(limits, default=machine_memory() // 4), WORKER_BYTES)
        self.workers = sum(worker["nthreads"] for worker in workers)

    def run(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
        """Each job with its result, in the order in which they are done; see `Engine`."""
        from distributed import as_completed

        source = iter(jobs)
        waiting = {self._submit(work, job): job for job in islice(source, self.workers * AHEAD)}
        done = as_completed(list(waiting), loop=self._client.loop)
        for future in done:
            job = waiting.pop(future)
            result = _result_of(future, job)
            future.release()
            for following in islice(source, 1):
                submitted = self._submit(work, following)
                waiting[submitted] = following
                done.add(submitted)
            yield job, result

    def _submit(self, work: Callable[[Job], Result], job: Job) -> Any:
        return self._client.submit(work, job, pure=False)

    def __exit__(self, *error: object) -> None:
        self._client.close()


def _result_of(future: Any, job: object) -> Any:
    from distributed.scheduler import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        msg = f"workers of the Dask cluster died of the same job again and again: {job}"
        raise FeatureError(msg) from error


def _connect(scheduler: str) -> "Client":
    try:
        from distributed import Client
    except ImportError as error:
        msg = "a Dask cluster needs the extra `dask`: pip install 'forelight[dask]'"
        raise FeatureError(msg) from error
    try:
        return Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        msg = f"no Dask scheduler answers at {scheduler}"
        raise FeatureError(msg) from error
