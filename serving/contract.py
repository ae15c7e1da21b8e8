"""The security of the OpenAPI: a bearer token, and at each route the scope that it needs."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts

from serving.access.tokens import Scope
from serving.deps import ingester, operator, reader

__all__ = ["install"]

_SCHEME: Final = "token"
_ASKED: Final = {Scope.OPERATE: operator, Scope.INGEST: ingester, Scope.READ: reader}
_SAID: Final = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "flt_…",
    "description": (
        "A token that `forelight token create NAME --scope read|operate|admin` printed. A scope allows what those "
        "before it do: `read` every GET, `operate` changes, too; `ingest` only pushes samples. Routes name the scope "
        "that they need."
    ),
}


def install(app: FastAPI, *, open_reads: bool) -> None:
    """Let the contract say which token each route wants.

    Args:
        app: with all its routes.
        open_reads: whether reading needs no token here; then a read names the token as one of two ways.
    """
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            contract = plain()
            contract.setdefault("components", {})["securitySchemes"] = {_SCHEME: _SAID}
            for path, method, scope in _needs(app):
                contract["paths"][path][method]["security"] = _security(scope, open_reads=open_reads)
            app.openapi_schema = contract
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's documentation has it


def _security(scope: Scope | None, *, open_reads: bool) -> list[Mapping[str, list[str]]]:
    if scope is None:
        return []
    needed: list[Mapping[str, list[str]]] = [{_SCHEME: [str(scope)]}]
    return [*needed, {}] if scope is Scope.READ and open_reads else needed


def _needs(app: FastAPI) -> Iterator[tuple[str, str, Scope | None]]:
    """Each route's path and method, and the scope that its dependencies ask for."""
    for route in iter_route_contexts(app.routes):
        if getattr(route, "include_in_schema", False) and route.dependant is not None and route.path_format is not None:
            asked = {dependant.call for dependant in _all(route.dependant)}
            scope = next((scope for scope, call in _ASKED.items() if call in asked), None)
            yield from ((route.path_format, method.lower(), scope) for method in sorted(route.methods or ()))


def _all(dependant: Dependant) -> Iterator[Dependant]:
    yield dependant
    for each in dependant.dependencies:
        yield from _all(each)
