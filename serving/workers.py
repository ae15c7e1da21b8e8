"""Several processes that answer at one port, and what they count together.

Each worker writes its counts into files of a folder that all share, as prometheus_client has it, so that a scrape of
any of them tells of all. What a worker that is gone has counted still counts; what it was just doing does not.
"""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.supervisors import Multiprocess

__all__ = ["counting_together", "supervise"]

_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""prometheus_client reads it when it is imported, so that it must be there before a worker starts."""


@contextmanager
def counting_together() -> Iterator[Path]:
    """A new folder for the counts of processes that start within; it is gone with them.

    It lies where temporary files do, since the files are mapped into memory: a home on a network's file system bears
    that badly.
    """
    with TemporaryDirectory(prefix="forelight-metrics-") as folder:
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = folder
        try:
            yield Path(folder)
        finally:
            os.environ.pop(_VARIABLE)
            if before is not None:
                os.environ[_VARIABLE] = before


def supervise(config: uvicorn.Config, bound: socket.socket, counts: Path) -> None:
    """Keep `config.workers` processes answering at the socket until SIGTERM or SIGINT.

    Args:
        config: of each process.
        bound: they share it.
        counts: folder of `counting_together`.
    """
    _Workers(config, bound, lambda pid: mark_process_dead(pid, str(counts))).run()  # type: ignore[no-untyped-call]


class _Workers(Multiprocess):
    """Tells of each process that was replaced or is gone."""

    def __init__(self, config: uvicorn.Config, bound: socket.socket, gone: Callable[[int], None]) -> None:
        super().__init__(config, [bound])
        self._gone = gone
        self._known: set[int] = set()

    def keep_subprocess_alive(self) -> None:
        """Start another for each that has died."""
        super().keep_subprocess_alive()
        now = {process.pid for process in self.processes if process.pid is not None}
        for pid in self._known - now:
            self._gone(pid)
        self._known = now
