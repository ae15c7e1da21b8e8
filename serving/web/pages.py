"""Pages: templates filled and escaped, under a policy that lets no script or style in but our own files."""

from collections.abc import Callable, Coroutine, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from serving.errors import ProblemError, TokenError
from serving.web import words

__all__ = ["HEADERS", "STATIC", "PageRoute", "page"]

_HERE: Final = Path(__file__).parent
STATIC: Final = _HERE / "static"
_POLICY: Final = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'"),
        *("form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"),
    )
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "same-origin",  # with less, a browser says of a form that it comes from nowhere
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""What a page has instead of the API's headers; the others are the same."""


def page(name: str, status: int = 200, **values: object) -> HTMLResponse:
    """Fill a template.

    Args:
        name: of the file among the templates, without its ending.
        status: HTTP status.
        values: what stands in it, escaped; one that is missing is an error.
    """
    text = _environment().get_template(f"{name}.html").render(values)
    return HTMLResponse(text, status, dict(HEADERS))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    said = (words.percent, words.band, words.number, words.utc, words.ago, words.plain, words.duration)
    environment.filters |= {each.__name__: each for each in said} | {"time": _time}
    environment.globals |= {"link_path": words.link_path, "bare": False}
    return environment


def _time(time: Any) -> str:
    """A time that machines can read, too."""
    if time is None:
        return words.UNKNOWN
    return Markup('<time datetime="{}">{}</time>').format(time.isoformat(), words.utc(time))


class PageRoute(APIRoute):
    """A route that says in a page, not in JSON, why it cannot answer; whoever has to sign in is asked to."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The usual handler, its refusals turned into pages."""
        usual = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await usual(request)
            except TokenError:
                return _asked_to_sign_in(request)
            except ProblemError as error:
                return _refused(error.status, error.title, str(error), error.headers)
            except RequestValidationError as error:
                told = "; ".join(f"{each['loc'][-1]}: {each['msg']}" for each in error.errors()[:3])
                return _refused(422, "This cannot be asked for", told)

        return handler


def _asked_to_sign_in(request: Request) -> Response:
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return page("sign_in", 401, bare=True, next=asked if request.method == "GET" else "/", wrong="", empty=False)


def _refused(status: int, title: str, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    answer = page("problem", status, bare=True, title=title, detail=detail)
    answer.headers.update(headers or {})
    return answer
