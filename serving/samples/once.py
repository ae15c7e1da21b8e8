"""What a host pushes is taken once, from whoever may speak for the host, and not too often."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from fastapi import Request

from serving.deps import Services
from serving.errors import IdempotencyError
from serving.wire.probes import ProbesTaken
from serving.wire.samples import SamplesTaken

__all__ = ["Push", "taken_once"]

Taken = TypeVar("Taken", SamplesTaken, ProbesTaken)


class Push(Protocol):
    """A body that a host pushes."""

    site: str
    device: str

    @property
    def digest(self) -> str:
        """Of all that it says."""


async def taken_once(
    request: Request,
    services: Services,
    body: Push,
    key: str | None,
    kind: type[Taken],
    take: Callable[[], Awaitable[Taken]],
) -> Taken:
    """What was answered to the very same, or the same `key`, before; else what `take` answers, which is kept.

    Raises:
        ScopeError: the token is another device's.
        HostRateError: the host sends too often.
        IdempotencyError: the key was given for something else.
    """
    caller = request.state.caller
    caller.speaks_for(body.site, body.device)
    services.hosts.check(body.site, body.device)
    name = (caller.name, key or body.digest)
    known = services.sent.get(name)
    if known is not None and known[0] != body.digest:
        msg = f"the key {key!r} was given for something else; each request has a key of its own"
        raise IdempotencyError(msg)
    if known is not None and isinstance(known[1], kind):
        return known[1].model_copy(update={"new": False})
    taken = await take()
    services.sent.keep(name, (body.digest, taken))
    return taken
