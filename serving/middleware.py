"""What stands around every request: headers on its answer, a limit on its body."""

import zlib
from collections.abc import Mapping
from typing import Final

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["SECURITY_HEADERS", "BodyLimitMiddleware", "InflateMiddleware", "SecurityHeadersMiddleware"]

SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""OWASP's set for a REST service; an answer may set its own value of each."""

_RAW: Final = [(name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]


class SecurityHeadersMiddleware:
    """Adds what an answer does not have."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; its answer gets the headers."""

        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                more = [header for header in _RAW if header[0] not in own]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self.app(scope, receive, adding)


class BodyLimitMiddleware:
    """Refuses a longer body, by what it says of itself and by what comes; FastAPI's own answers in plain text."""

    def __init__(self, app: ASGIApp, limit_bytes: int, larger: Mapping[str, int]) -> None:
        self.app = app
        self.limit_bytes = limit_bytes
        self.larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a receiver that counts.

        Raises:
            HTTPException: 413, inside the application, which makes a problem of it.
        """
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        said = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        announced = int(said) if said.isdigit() else 0
        limit = self.larger.get(scope["path"], self.limit_bytes)
        received = 0

        def check(size: int) -> None:
            if size > limit:
                raise HTTPException(413, f"a body has {limit} bytes at most")

        async def counting() -> Message:
            nonlocal received
            check(announced)
            message = await receive()
            received += len(message.get("body", b""))
            check(received)
            return message

        await self.app(scope, counting, send)


_GZIP: Final = 31  # zlib's window bits for gzip with its header and check sum


class InflateMiddleware:
    """Inflates a body that comes as gzip, on some paths, up to a bound; other encodings are refused there.

    Args:
        app: what answers.
        limits: by path, what a body may be, inflated.
    """

    def __init__(self, app: ASGIApp, limits: Mapping[str, int]) -> None:
        self.app = app
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a receiver that inflates.

        Raises:
            HTTPException: 400, 413 or 415, inside the application, which makes a problem of it.
        """
        limit = self.limits.get(scope.get("path", "")) if scope["type"] == "http" else None
        encoding = b""
        if limit is not None:
            encoding = dict(scope["headers"]).get(b"content-encoding", b"").strip().lower()
        if limit is None or encoding in (b"", b"identity"):
            await self.app(scope, receive, send)
            return
        inflate = zlib.decompressobj(_GZIP)
        total = 0

        async def inflating() -> Message:
            nonlocal total
            if encoding != b"gzip":
                raise HTTPException(415, "a body is gzip or not encoded at all")
            message = await receive()
            if message["type"] != "http.request":
                return message
            data, more = _inflated(inflate, message.get("body", b""), limit - total), message.get("more_body", False)
            total += len(data)
            if not more and not inflate.eof:
                raise HTTPException(400, "the body is no whole gzip")
            return {"type": "http.request", "body": data, "more_body": more}

        await self.app(scope, inflating, send)


def _inflated(inflate: "zlib._Decompress", body: bytes, room: int) -> bytes:
    """The next part of a body, of which there is never more in memory than there may be."""
    try:
        data = inflate.decompress(body, room + 1)
    except zlib.error:
        raise HTTPException(400, "the body is no gzip") from None
    if len(data) > room:
        raise HTTPException(413, "an inflated body is too large")
    return data
