"""Group commit: pieces of work that wait at the same time share one transaction, and so one write to the disk.

Each is done after the other, sees what those before it did, and is answered only when all of them are on disk. One
that fails is undone alone; where the transaction itself fails, none was done.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

__all__ = ["Piece", "Together"]

_MOST: Final = 64
"""Pieces of one transaction: whoever writes something else waits no longer than they take."""

_T = TypeVar("_T")


class Piece(Generic[_T]):
    """Something to be done, and what came of it.

    Attributes:
        work: does it.
        answer: what it gave; it holds once the transaction has ended well.
        error: why it was not done.
        ended: whether it is known what came of it.
        turn: set when it has ended, or when it is for whoever waits for it to do the work of all.
    """

    def __init__(self, work: Callable[[Any], _T]) -> None:
        self.work = work
        self.answer: _T
        self.error: BaseException | None = None
        self.ended = False
        self.turn = threading.Event()


class Together:
    """Lets one of those who wait do the work of all; those who come meanwhile are the next group.

    Args:
        commit: does pieces in one transaction, which is on disk when it returns; keeps the answer or the error of each.
    """

    def __init__(self, commit: Callable[[Sequence[Piece[Any]]], None]) -> None:
        self._commit = commit
        self._lock = threading.Lock()
        self._waiting: list[Piece[Any]] = []
        self._busy = False

    @property
    def waiting(self) -> int:
        """How many pieces the next transaction would have."""
        return len(self._waiting)

    def do(self, work: Callable[[Any], _T]) -> _T:
        """Do a piece of work with whatever else waits.

        Raises:
            Exception: whatever the work raised, or why the transaction failed.
        """
        piece = Piece(work)
        with self._lock:
            self._waiting.append(piece)
            leads, self._busy = not self._busy, True
        if not leads:
            piece.turn.wait()
        if not piece.ended:
            self._lead()
        if piece.error is not None:
            raise piece.error
        return piece.answer

    def _lead(self) -> None:
        with self._lock:
            group, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
        try:
            self._commit(group)
        except BaseException as error:  # noqa: BLE001 - each who waits is told, as if he had been alone
            for piece in group:
                piece.error = error
        for piece in group:
            piece.ended = True
            piece.turn.set()
        with self._lock:
            self._busy = bool(self._waiting)
            if self._waiting:
                self._waiting[0].turn.set()
