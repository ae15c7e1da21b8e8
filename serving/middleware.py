"""What stands around every request: headers on its answer, a limit on its body."""

from collections.abc import Mapping
from typing import Final

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["SECURITY_HEADERS", "BodyLimitMiddleware", "SecurityHeadersMiddleware"]

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
