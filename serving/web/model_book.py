"""What MLflow keeps of models, read off the event loop and kept for a while: a page never waits long for it."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ingest.errors import ModelError
from models.card import told
from models.kept import BACKTEST, DRIFT, SHADOW, Kept
from models.registry import CHALLENGER, CHAMPION, Registry, Version

__all__ = ["ModelBook", "Models"]

_log: Final = logging.getLogger(__name__)
_EVERY_S: Final = 30.0
_WITHIN_S: Final = 2.0
_UNREAD: Final = "the registry of models has not answered yet: open the page again in a moment"


@dataclass(frozen=True, slots=True)
class Models:
    """What is kept.

    Attributes:
        versions: registered, the newest first.
        facts: of the versions that are called champion and challenger, by that name.
        backtest, drift, shadow: the last of each; None where none was kept.
        trouble: why it could not be read just now; empty where it could.
    """

    versions: tuple[Version, ...] = ()
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    backtest: Kept | None = None
    drift: Kept | None = None
    shadow: Kept | None = None
    trouble: str = ""


class ModelBook:
    """The registry as pages see it, half a minute late at most.

    Args:
        registry: opens it; called off the event loop, for it takes seconds the first time.
    """

    def __init__(self, registry: Callable[[], Registry]) -> None:
        self._open = registry
        self._registry: Registry | None = None
        self._known = Models(trouble=_UNREAD)
        self._facts: dict[str, Mapping[str, Any]] = {}
        self._due_s = -math.inf
        self._reading: asyncio.Task[None] | None = None

    async def get(self) -> Models:
        """What is known; what was known before while it is read anew, or cannot be."""
        if time.monotonic() >= self._due_s and (self._reading is None or self._reading.done()):
            self._reading = asyncio.create_task(self._renew())
        if self._reading is not None:
            await asyncio.wait({self._reading}, timeout=_WITHIN_S)
        return self._known

    async def _renew(self) -> None:
        try:
            self._known = await asyncio.to_thread(self._read)
        except Exception as error:  # noqa: BLE001 - MLflow's, its database's or its server's
            _log.warning("what MLflow keeps cannot be read", exc_info=error)
            trouble = f"the registry of models cannot be read: {type(error).__name__}"
            self._known = replace(self._known, trouble=trouble)
        self._due_s = time.monotonic() + _EVERY_S

    def _read(self) -> Models:
        if self._registry is None:
            self._registry = self._open()
        registry = self._registry
        versions = tuple(registry.versions())
        numbers = {alias: v.version for v in versions for alias in v.aliases if alias in {CHAMPION, CHALLENGER}}
        self._facts = {number: self._facts.get(number) or _facts(registry, number) for number in numbers.values()}
        facts = {alias: self._facts[number] for alias, number in numbers.items()}
        return Models(versions, facts, registry.last(BACKTEST), registry.last(DRIFT), registry.last(SHADOW))


def _facts(registry: Registry, number: str) -> Mapping[str, Any]:
    """Of one version; what this code cannot load says why."""
    try:
        artifact = registry.load(number)
    except ModelError as error:
        return {"trouble": str(error)}
    policy = artifact.policy.to_dict()
    return {**told(artifact), "version": artifact.version, "policy": policy, "act_reason": artifact.policy.act_reason}
