"""Errors as ``application/problem+json`` (RFC 9457), each and every one."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from ingest.errors import ForelightError
from serving.errors import ProblemError
from serving.middleware import SECURITY_HEADERS

__all__ = ["Problem", "install", "problem", "problem_responses"]

MEDIA_TYPE: Final = "application/problem+json"
_URN: Final = "urn:forelight:problem:"


class Problem(BaseModel):
    """RFC 9457's members; a kind of problem may add its own."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    instance: str


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These statuses for a route's OpenAPI, as problems."""
    content = {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def install(app: FastAPI) -> None:
    """Let each error of the application end as a problem."""
    app.add_exception_handler(ProblemError, _refused)
    app.add_exception_handler(ForelightError, _failed)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _failed)


def _answer(
    request: Request,
    *,
    status: int,
    kind: str,
    title: str,
    detail: str,
    headers: Mapping[str, str] | None = None,
    **more: object,
) -> JSONResponse:
    body = {"type": kind if kind == "about:blank" else _URN + kind, "title": title, "status": status}
    body |= {"detail": detail, "instance": request.url.path}
    return JSONResponse(body | more, status_code=status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def problem(request: Request, error: ProblemError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer that an error of ours becomes, for whoever stands outside the application."""
    return _answer(
        request,
        status=error.status,
        kind=error.kind,
        title=error.title,
        detail=str(error),
        headers={**error.headers, **(headers or {})},
        **error.more,
    )


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ProblemError)  # noqa: S101 - it is registered for no other
    return problem(request, error)


async def _failed(request: Request, _error: Exception) -> JSONResponse:
    """Say nothing of the inside; the log has it."""
    detail = "the service failed; its log says why"
    title = "Internal error"  # sent from outside the middleware, so with its headers
    return _answer(request, status=500, kind="internal", title=title, detail=detail, headers=SECURITY_HEADERS)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    """Name each place and what is wrong there; what was sent is not repeated."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - it is registered for no other
    errors = [{"where": ".".join(str(part) for part in e["loc"]), "what": e["msg"]} for e in error.errors()]
    detail = "; ".join(f"{e['where']}: {e['what']}" for e in errors[:3])
    title = "The request is not valid"
    return _answer(request, status=422, kind="invalid-request", title=title, detail=detail, errors=errors)


async def _http(request: Request, error: Exception) -> JSONResponse:
    """What the router and the framework refuse: no such path, wrong method, too large."""
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for no other
    title = HTTPStatus(error.status_code).phrase
    return _answer(
        request,
        status=error.status_code,
        kind="about:blank",
        title=title,
        detail=error.detail,
        headers=error.headers,
    )
