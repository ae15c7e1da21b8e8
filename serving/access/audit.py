"""The audit log: who did what, when, and how it ended.

A change over HTTP is answered only when its entry is in the database: entries of requests that wait at the same time
are written in one transaction. An entry holds a path and a name, never a body, a query or a token.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, delete, insert, select
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving.access.auth import Caller
from serving.access.tables import audit
from serving.database import reading, writing
from serving.errors import StoreError

__all__ = ["AuditLog", "AuditMiddleware", "Entry", "audited", "entries", "note", "prune"]

_log: Final = logging.getLogger(__name__)
_SUBJECT: Final = 500
_REFUSED: Final = 401


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the log.

    Attributes:
        who: name of the token, ``cli:`` and the user, or nobody's where it was refused.
        what: method and route, or the command.
        subject: what it was done to.
        outcome: HTTP status, or ``done``.
    """

    at: datetime
    who: str
    what: str
    subject: str
    outcome: str
    token_id: str | None = None
    address: str | None = None


def note(engine: Engine, *noted: Entry) -> None:
    """Write entries, all in one transaction.

    Raises:
        StoreError: the database does not take them.
    """
    with writing(engine) as connection:
        connection.execute(insert(audit), [asdict(entry) for entry in noted])


def entries(
    engine: Engine, *, who: str | None = None, since: datetime | None = None, limit: int = 100
) -> tuple[Entry, ...]:
    """The newest entries, the newest first."""
    query = select(*(audit.c[name] for name in Entry.__slots__)).order_by(audit.c.audit_id.desc()).limit(limit)
    if who is not None:
        query = query.where(audit.c.who == who)
    if since is not None:
        query = query.where(audit.c.at >= since)
    with reading(engine) as connection:
        return tuple(Entry(**row) for row in connection.execute(query).mappings())


def prune(engine: Engine, before: datetime) -> int:
    """Delete what is older; how many entries that were."""
    with writing(engine) as connection:
        return connection.execute(delete(audit).where(audit.c.at < before)).rowcount


class AuditLog:
    """Writes entries for many requests at once, off the event loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: list[tuple[Entry, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def note(self, entry: Entry) -> None:
        """Wait until the entry is written; where it cannot be, the service's own log has it."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((entry, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        await done

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            await asyncio.to_thread(self._keep, [entry for entry, _ in batch])
            for _, done in batch:
                if not done.done():
                    done.set_result(None)

    def _keep(self, batch: Sequence[Entry]) -> None:
        try:
            note(self._engine, *batch)
        except StoreError as error:
            for entry in batch:
                _log.error("not in the audit log (%s): %s", error, entry)


def audited(state: Any) -> None:
    """Have the audit log note this request; `state` is the request's."""
    state.audited = True


class AuditMiddleware:
    """Notes each request that a route marked, and each that came with a token that is none.

    Args:
        app: what answers.
        log: where it is noted.
        clock: what is now.
    """

    def __init__(self, app: ASGIApp, log: AuditLog, clock: Callable[[], datetime]) -> None:
        self.app = app
        self.log = log
        self.clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; hold its answer back until its entry is written."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_noted(scope, message["status"]):
                await self.log.note(self._entry(scope, message["status"]))
            await send(message)

        await self.app(scope, receive, noting)

    def _entry(self, scope: Scope, status: int) -> Entry:
        caller: Caller | None = scope["state"].get("caller")
        route = getattr(scope.get("route"), "path_format", "unmatched")
        return Entry(
            at=self.clock(),
            who="" if caller is None else caller.name,
            token_id=None if caller is None else caller.token_id,
            address=(scope.get("client") or (None,))[0],
            what=f"{scope['method']} {route}"[: audit.c.what.type.length],  # type: ignore[attr-defined]  # it is a String
            subject=scope["path"].replace("\x00", "")[:_SUBJECT],
            outcome=str(status),
        )


def _is_noted(scope: Scope, status: int) -> bool:
    state: Mapping[str, Any] = scope.get("state", {})
    return bool(state.get("audited")) or (status == _REFUSED and bool(state.get("presented")))
