"""An exclusive lease: whoever rewrites the lake's files holds one, or leaves them alone.

The lake's own rewrites cannot commit over one another (see `ingest.lake.compact`),
but two at once would do the same work, and deltalake's ``optimize`` doubles rows, so
whoever rewrites asks for the lease first. On one machine a locked file is enough, and
the kernel drops it when its process dies; where machines share the lake,
`serving.leases` has one in the database.
"""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from ingest.errors import BusyError

__all__ = ["FileLease", "Lease"]


class Lease(Protocol):
    """A context that at most one process is inside of at a time."""

    def __enter__(self) -> Self:
        """Take the lease.

        Raises:
            BusyError: someone else holds it.
        """

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the lease back."""

    def check(self) -> None:
        """Make sure, before what was made is committed, that the lease is still held.

        Raises:
            LakeError: it was lost meanwhile.
        """


class FileLease:
    """A lease by ``flock`` on one file, for processes of one machine.

    Args:
        path: the file; it is created, and stays.
        work: what its holder does, for whoever is refused.
    """

    def __init__(self, path: Path, work: str = "rewrite of the lake") -> None:
        self.path = path
        self._work = work
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        """Take the lock or fail at once; a waiting compaction would only pile up behind the running one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            msg = f"another {self._work} is running (it holds {self.path}); try again when it is done"
            raise BusyError(msg) from None
        self._descriptor = descriptor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Unlock by closing; the file stays, since removing it would let two holders in."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def check(self) -> None:
        """A lock cannot be lost while its process lives."""
