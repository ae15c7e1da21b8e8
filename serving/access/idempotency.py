"""Asking twice for the same change does it once: the answer is kept under the key that the caller gave it.

The key is kept in the transaction that makes the change, so neither exists without the other. Refusals are not kept:
they changed nothing, and may be no refusals any more the next time.
"""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Annotated, Final

from fastapi import Header
from sqlalchemy import delete, insert, select

from serving.access.tables import idempotency
from serving.changes import Change
from serving.errors import IdempotencyError

__all__ = ["KEPT_FOR", "Answer", "KeyHeader", "Request", "forget", "once"]

KEPT_FOR: Final = timedelta(hours=24)
KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Names this change: asked again within 24 h, the answer is the same and nothing more is done.",
    ),
]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a change is answered with."""

    body: str
    status: int = 200
    etag: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for, by whom, under which key."""

    who: str
    key: str | None
    path: str
    body: str

    @property
    def digest(self) -> str:
        """The same for the same path and body."""
        return hashlib.sha256(f"{self.path}\n{self.body}".encode()).hexdigest()


def once(change: Change, request: Request, answer: Callable[[], Answer]) -> tuple[Answer, bool]:
    """Make the change that `answer` makes, unless the key's was made before; the answer, and whether it was kept.

    Raises:
        IdempotencyError: the key was given for another request.
    """
    if request.key is None:
        return answer(), False
    ours = (idempotency.c.who == request.who) & (idempotency.c.key == request.key)
    query = select(idempotency).where(ours, idempotency.c.at > change.now - KEPT_FOR)
    found = change.connection.execute(query).mappings().one_or_none()
    if found is None:
        made = answer()
        change.connection.execute(delete(idempotency).where(ours))
        kept = {"who": request.who, "key": request.key, "request": request.digest, "at": change.now}
        change.connection.execute(insert(idempotency).values(kept | asdict(made)))
        return made, False
    if found["request"] != request.digest:
        msg = f"the key {request.key!r} was given for another request; each change has a key of its own"
        raise IdempotencyError(msg)
    return Answer(found["body"], found["status"], found["etag"]), True


def forget(change: Change) -> int:
    """Drop answers that are kept no longer; how many."""
    return change.connection.execute(delete(idempotency).where(idempotency.c.at <= change.now - KEPT_FOR)).rowcount
