"""Answers from memory, for what automation asks thousands of times a second.

What can be told from the snapshot in memory, which is a second old at most, is answered before a route is looked for:
bytes that are there already mostly, and neither the database nor the framework's machinery is asked. Whatever is not
plain (a parameter, a condition, a caller who is not known, an alarm that has ended) goes the usual way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from serving.access.auth import Caller
from serving.access.tokens import Scope as Access
from serving.alarms import ScoreRun
from serving.errors import ProblemError
from serving.snapshot import Snapshot

if TYPE_CHECKING:
    from serving.deps import Services

__all__ = ["Answers", "HotMiddleware", "Kept", "Lane", "Told", "telling"]

_MOST: Final = 150_000
"""Answers kept: a thousand bytes each."""
_OLDEST_S: Final = 5.0
"""A snapshot that could not be compared with the store for longer is not told as what is so now."""
_JSON: Final = (b"content-type", b"application/json")


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer, and what it was true of.

    Attributes:
        body: all of it, or what comes before the age of the data.
        age_then_s: of the data as of the run, where the answer tells it.
    """

    of: tuple[object, ...]
    body: bytes
    etag: str = ""
    age_then_s: float | None = None


class Answers:
    """Bodies by what was asked for; emptied when they are too many."""

    def __init__(self) -> None:
        self._kept: dict[object, Kept] = {}

    def get(self, key: object, of: tuple[object, ...]) -> Kept | None:
        """The answer, where it is still true."""
        found = self._kept.get(key)
        return found if found is not None and found.of == of else None

    def keep(self, key: object, answer: Kept) -> None:
        """For the next time."""
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[key] = answer


def telling(run: ScoreRun) -> tuple[object, ...]:
    """What every answer beside a run is true of."""
    return run.at, run.model_version


@dataclass(frozen=True, slots=True)
class Told:
    """An answer's body, and the headers that it has beside those of every answer."""

    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


Tell = Callable[["Services", Snapshot, ScoreRun, str], Told | None]
"""What the snapshot says under the end of a path; None where the route is to answer."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A route that may be answered from memory.

    Attributes:
        path: the route's; requests are counted under it.
        tell: given what its parameters stand for, as one text.
    """

    path: str
    tell: Tell

    @property
    def prefix(self) -> str:
        """What all its paths begin with."""
        return self.path[: self.path.index("{")]


class HotMiddleware:
    """Answers from memory what can be, before the framework looks for a route.

    Args:
        app: answers everything else.
        services: the application's.
        lanes: no prefix of one begins another's.
    """

    def __init__(self, app: ASGIApp, services: "Services", lanes: Sequence[Lane]) -> None:
        self.app = app
        self.services = services
        self.lanes = [(lane.prefix, len(lane.prefix), lane) for lane in lanes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        told = await self._told(scope) if scope["type"] == "http" and _is_plain(scope) else None
        if told is None:
            await self.app(scope, receive, send)
            return
        length = (b"content-length", b"%d" % len(told.body))
        headers = [length, _JSON, *told.headers, (b"age", b"%d" % self.services.scores.age_s)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": told.body})

    async def _told(self, scope: Scope) -> Told | None:
        path: str = scope["path"]
        for prefix, length, lane in self.lanes:
            if path.startswith(prefix):
                found = await self._from_memory(scope, lane, path[length:])
                if found is not None:
                    scope["route"] = lane
                return found
        return None

    async def _from_memory(self, scope: Scope, lane: Lane, asked: str) -> Told | None:
        services, caller = self.services, scope["state"].get("caller")
        if not (services.open_reads or (isinstance(caller, Caller) and caller.scope.allows(Access.READ))):
            return None
        try:
            snapshot = await services.scores.get()
            run = services.fresh(snapshot.run)
        except ProblemError:
            return None  # the usual way says why
        return None if services.scores.age_s > _OLDEST_S else lane.tell(services, snapshot, run, asked)


def _is_plain(scope: Scope) -> bool:
    """A read without parameters and conditions, of an application that is not mounted below another."""
    asks = scope["method"] == "GET" and not scope["query_string"] and not scope.get("root_path")
    return asks and all(name != b"if-none-match" for name, _ in scope["headers"])
