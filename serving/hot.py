"""Answers from memory, for what automation asks thousands of times a second.

A hot route looks first whether the answer can be told from the snapshot in memory, which is a second old at most; then
it is bytes that are there already, and neither the database nor the framework's machinery is asked. Whatever is not
plain (a parameter, a condition, a caller who is not known, an alarm that has ended) goes the usual way.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute

from serving.access.auth import Caller
from serving.alarms import ScoreRun
from serving.errors import ProblemError
from serving.snapshot import Snapshot

if TYPE_CHECKING:
    from serving.deps import Services

__all__ = ["Answers", "Kept", "hot_route", "telling"]

_MOST: Final = 150_000
"""Answers kept: a thousand bytes each."""
_OLDEST_S: Final = 5.0
"""A snapshot that could not be compared with the store for longer is not told as what is so now."""

Tell = Callable[["Services", Snapshot, ScoreRun, Request], Response | None]
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


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


def hot_route(tell: Tell) -> type[APIRoute]:
    """A class of routes that ask `tell` first; where it says nothing, the route itself answers."""

    class HotRoute(APIRoute):
        def get_route_handler(self) -> Handler:
            usual = super().get_route_handler()

            async def handler(request: Request) -> Response:
                return await _told(tell, request) or await usual(request)

            return handler

    return HotRoute


async def _told(tell: Tell, request: Request) -> Response | None:
    scope = request.scope
    services: Services = scope["app"].state.services
    if scope["query_string"] or not (services.open_reads or isinstance(scope["state"].get("caller"), Caller)):
        return None
    try:
        snapshot = await services.scores.get()
        run = services.fresh(snapshot.run)
    except ProblemError:
        return None  # the usual way says why
    age_s = services.scores.age_s
    if age_s > _OLDEST_S:
        return None
    answer = tell(services, snapshot, run, request)
    if answer is not None:
        answer.raw_headers.append((b"age", b"%d" % age_s))
    return answer
