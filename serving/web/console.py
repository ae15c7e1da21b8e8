"""The console as part of the service: its pages, its files, and what they share."""

from collections.abc import Callable
from datetime import datetime

from fastapi import FastAPI
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from models.registry import Registry
from serving.access.auth import TokenBook
from serving.web import fleet, link, model, signing, steps, tonight
from serving.web.fleet import Fleets
from serving.web.model_book import ModelBook
from serving.web.pages import HEADERS, STATIC
from serving.web.session import Sessions

__all__ = ["install"]


def install(
    app: FastAPI,
    book: TokenBook,
    clock: Callable[[], datetime],
    registry: Callable[[], Registry],
    session_key: bytes | None = None,
) -> None:
    """Add the pages.

    Args:
        app: the service, its own routes there already.
        book: of the valid tokens.
        clock: what is now.
        registry: opens the registry of models.
        session_key: the same in all processes of a service.
    """
    app.state.sessions = Sessions(book, clock, session_key)
    app.state.model_book = ModelBook(registry)
    app.state.fleets = Fleets()
    for routes in (tonight, link, fleet, model, steps, signing):
        app.include_router(routes.router)
    app.mount("/static", _Files(directory=STATIC), name="static")


class _Files(StaticFiles):
    """Our own files, which a browser asks about again each time: a new version shows at once."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers.update(HEADERS)
        answer.headers["Cache-Control"] = "no-cache"
        return answer
