"""Who asks, and how often that may be: by token, and by address where there is none.

A token bucket for each caller: it fills at a steady rate, each request takes one, and who finds it empty is told when
to come again. Whoever presents tokens that are none has a bucket of its own, which fills slowly.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from serving.access.auth import Caller, TokenBook, bearer
from serving.errors import ProblemError, RateLimitError
from serving.wire.problems import problem

__all__ = ["Buckets", "CallerMiddleware"]

_MOST_CALLERS: Final = 10_000
_WRONG_PER_S: Final = 1.0
_WRONG_BURST: Final = 20.0
_ALWAYS: Final = frozenset({"/livez"})
"""A liveness probe that is refused would have the service killed for being busy."""


class Buckets:
    """A bucket for each key; those that were not used for longest are forgotten.

    Args:
        per_s: how fast each fills.
        burst: how much each holds.
        monotonic: seconds that only grow; tests hand in their own.
    """

    def __init__(self, per_s: float, burst: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._burst = burst
        self._monotonic = monotonic
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Take one; the seconds to wait where there is none, else 0."""
        now = self._monotonic()
        level, at = self._levels.pop(key, (self._burst, now))
        level = min(self._burst, level + (now - at) * self._per_s)
        wait_s = max(0.0, (1.0 - level) / self._per_s)
        self._levels[key] = (level if wait_s else level - 1.0, now)
        if len(self._levels) > _MOST_CALLERS:
            self._levels.popitem(last=False)
        return wait_s


class CallerMiddleware:
    """Finds out who asks, for whatever comes after, and refuses who asks too often.

    Args:
        app: what answers.
        book: of the valid tokens.
        per_s: requests a second, each caller's; twice as many may come at once.
    """

    def __init__(self, app: ASGIApp, book: TokenBook, per_s: float) -> None:
        self.app = app
        self.book = book
        self._asking = Buckets(per_s, 2.0 * per_s)
        self._wrong = Buckets(_WRONG_PER_S, _WRONG_BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its caller in its state, or answer that it comes too soon."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        text = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"), None)
        state["presented"] = text is not None
        state["caller"] = caller = None if text is None else await self._caller(text)
        wait_s = self._wait_s(scope, caller, presented=text is not None)
        if wait_s:
            error = RateLimitError(f"that is too often; come again in {wait_s:.1f} s")
            answer = problem(Request(scope), error, {"Retry-After": str(math.ceil(wait_s))})
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)

    async def _caller(self, authorization: str) -> Caller | ProblemError | None:
        """Whoever it is, or why that is not known: a route that lets everybody in answers all the same."""
        text = bearer(authorization)
        try:
            return None if text is None else await self.book.caller(text)
        except ProblemError as error:
            return error

    def _wait_s(self, scope: Scope, caller: Caller | ProblemError | None, *, presented: bool) -> float:
        if scope["path"] in _ALWAYS:
            return 0.0
        if isinstance(caller, Caller):
            return self._asking.take(f"token {caller.token_id or caller.name}")
        address = (scope.get("client") or ("",))[0]
        if presented and caller is None and (wait_s := self._wrong.take(address)):
            return wait_s
        return self._asking.take(f"address {address}")
