"""Work that may hang, such as a request to an object store that is silent: waited for only so long."""

import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

__all__ = ["Attempt", "leave"]

T = TypeVar("T")

_ALL: "Final[weakref.WeakSet[Attempt[Any]]]" = weakref.WeakSet()


class Attempt(Generic[T]):
    """Work in a thread of its own, which does not keep the process from its end.

    Attributes:
        error: what it raised, a panic of a Rust library (no Exception) included; None while it runs.
        result: what it gave, where it raised nothing.
    """

    def __init__(self, work: Callable[[], T], patience_s: float) -> None:
        """Start the work, and wait for its end for some time."""
        self._work = work
        self.error: BaseException | None = None
        self.result: T | None = None
        self._thread = threading.Thread(target=self._run, name="attempt", daemon=True)
        _ALL.add(self)
        self._thread.start()
        self.wait(patience_s)

    def wait(self, patience_s: float) -> None:
        """Wait for its end for some more time."""
        self._thread.join(patience_s)

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._thread.is_alive()

    @property
    def reason(self) -> str | None:
        """What it raised, in one line: libraries write several, and colour them."""
        if self.error is None:
            return None
        words = [line.strip(" \x1b[031m↳") for line in str(self.error).splitlines()]
        return " ".join(word for word in words if word)[:200] or type(self.error).__name__

    def _run(self) -> None:
        try:
            self.result = self._work()
        except BaseException as error:  # noqa: BLE001 - see `error`
            self.error = error


def leave(code: int) -> None:
    """End the process with this exit code, where work still runs; return where none does.

    A thread that comes back from a Rust library while the interpreter is taken down crashes the process (seen with
    deltalake 1.6 on Python 3.11: SIGSEGV one time in ten), so it is not taken down then.
    """
    if any(attempt.running for attempt in _ALL):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
