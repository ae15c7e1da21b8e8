"""Who has signed in: a cookie that holds no token, made with a key that lives as long as the service.

The cookie says until when, and of which token by its hash; a revoked token ends its sessions within seconds. The API
takes no cookie, so no page of another site can have a browser call it.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

from serving.access.auth import Caller, TokenBook
from serving.access.limits import Buckets
from serving.access.tokens import digest
from serving.errors import ProblemError, RateLimitError

__all__ = ["COOKIE", "LASTS", "FormError", "Sessions", "same_origin"]

COOKIE: Final = "forelight_session"
LASTS: Final = timedelta(hours=12)
_PARTS: Final = 3


class FormError(ProblemError):
    """Another site may have had the browser send it."""

    status, kind, title = 403, "foreign-form", "The form is not from here"


class Sessions:
    """Sessions of one service; all its processes have the same key.

    Args:
        book: of the valid tokens.
        clock: what is now.
        key: random bytes; made where not given.
    """

    def __init__(self, book: TokenBook, clock: Callable[[], datetime], key: bytes | None = None) -> None:
        self._book = book
        self._clock = clock
        self._key = key or secrets.token_bytes(32)
        self._tries = Buckets(1.0, 20.0)

    async def begin(self, token: str, address: str) -> tuple[Caller, str] | None:
        """Whose token it is, and the cookie of the new session; None where it is none of ours.

        Raises:
            RateLimitError: too many were tried from this address.
            StoreError: the tokens cannot be read.
        """
        if wait_s := self._tries.take(address):
            msg = f"too many tries from here; come again in {wait_s:.0f} s"
            raise RateLimitError(msg)
        caller = await self._book.caller(token)
        if caller is None:
            return None
        said = f"{int((self._clock() + LASTS).timestamp())}.{digest(token)}"
        return caller, f"{said}.{self._mac('session', said)}"

    async def caller(self, cookie: str) -> Caller | None:
        """Who has signed in with it; None where it is none of ours, or its session or token has ended.

        Raises:
            StoreError: the tokens cannot be read.
        """
        parts = cookie.split(".")
        if len(parts) != _PARTS or not cookie.isascii():
            return None
        until, hashed, mac = parts
        if not hmac.compare_digest(mac, self._mac("session", f"{until}.{hashed}")):
            return None
        return await self._book.caller_of(hashed) if self._clock().timestamp() < int(until) else None

    def form_key(self, cookie: str) -> str:
        """What every form of this session holds, and no other site can know."""
        return self._mac("form", cookie)

    def is_form_of(self, cookie: str, key: str) -> bool:
        """Whether a form came from a page of this session."""
        return hmac.compare_digest(self.form_key(cookie).encode(), key.encode())

    def _mac(self, use: str, text: str) -> str:
        return hmac.new(self._key, f"{use} {text}".encode(), hashlib.sha256).hexdigest()


def same_origin(request: Request) -> bool:
    """Whether a page of this very service sent the form, as far as the browser tells."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")
