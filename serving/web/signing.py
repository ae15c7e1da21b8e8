"""Signing in with a token, and out again."""

from typing import Annotated, Final

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from serving.access.audit import audited
from serving.deps import ServicesDep
from serving.web.pages import HEADERS, PageRoute, page
from serving.web.session import COOKIE, LASTS, FormError, same_origin
from serving.web.visit import SessionsDep

__all__ = ["back", "router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_SEE_OTHER: Final = 303
_Text = Annotated[str, Form(max_length=1000)]


@router.get("/sign-in")
async def ask(services: ServicesDep, next: str = "/") -> Response:  # noqa: A002 - the name in the address
    """The form; where there is no token at all it says how to make one."""
    return page("sign_in", bare=True, next=back(next), wrong="", empty=await services.book.is_empty())


@router.post("/sign-in")
async def sign_in(
    request: Request,
    sessions: SessionsDep,
    token: _Text = "",
    next: _Text = "/",  # noqa: A002 - the form's name of it
) -> Response:
    """A session for a token; each try is in the audit log."""
    if not same_origin(request):
        msg = "sign in on the page of this service"
        raise FormError(msg)
    audited(request.state)
    address = "" if request.client is None else request.client.host
    begun = await sessions.begin(token.strip(), address) if token.strip() else None
    if begun is None:
        return page("sign_in", 401, bare=True, next=back(next), wrong="That is no valid token.", empty=False)
    request.state.caller, cookie = begun
    answer = RedirectResponse(back(next), _SEE_OTHER, dict(HEADERS))
    secure = request.url.scheme == "https"
    lasts = int(LASTS.total_seconds())
    answer.set_cookie(COOKIE, cookie, max_age=lasts, httponly=True, samesite="strict", secure=secure)
    return answer


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """The browser forgets the session."""
    if not same_origin(request):
        msg = "sign out on a page of this service"
        raise FormError(msg)
    answer = RedirectResponse("/", _SEE_OTHER, dict(HEADERS))
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def back(path: str) -> str:
    r"""Where to go on, on this service only.

    >>> back("/link/a/b?days=7"), back("//elsewhere.example/"), back("https://elsewhere.example/"), back("/\\elsewhere")
    ('/link/a/b?days=7', '/', '/', '/')
    """
    own = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if own else "/"
