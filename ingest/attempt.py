"""Work that may hang, such as a request to an object store that is silent: waited for only so long."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Attempt"]

T = TypeVar("T")


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
        self._thread.start()
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
