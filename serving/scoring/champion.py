"""The champion in memory, and whoever waits for it: loaded at the first need, replaced when its alias moves.

Requests that are being answered end with the model that they began with. Those that wait while something is scored are
then scored together, which takes hardly longer than one.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ingest.errors import ForelightError, ModelError
from models.artifact import Artifact
from models.kept import Kept
from models.registry import CHAMPION, Registry, Version
from serving.errors import ModelUnavailableError, OverloadedError
from serving.pauses import settle_again
from serving.scoring.adhoc import Module, Scored, score

__all__ = ["Champion", "ChampionState", "Scorer"]

_log: Final = logging.getLogger(__name__)
_CHECK_EVERY_S: Final = 15.0
_ANSWERS_WITHIN_S: Final = 2.0
_UNREAD: Final = "the registry of models has not answered yet"
_NONE: Final = "no model bears the alias champion: train one (forelight train), or promote one"
_MOST_AT_ONCE: Final = 1_000
_FEW: Final = 32
"""So many are scored within milliseconds: a thread would take longer to come by the interpreter, and hold up others."""
_MOST_WAITING: Final = 4_000


@dataclass(frozen=True, slots=True)
class _Loaded:
    number: str
    artifact: Artifact


@dataclass(frozen=True, slots=True)
class ChampionState:
    """Whether the model that bears the alias can be used.

    Attributes:
        number: of the version in memory; None where there is none.
        trouble: why the version that bears the alias is not in memory; empty where it is.
    """

    number: str | None
    trouble: str = ""


class Champion:
    """The model that bears the alias ``champion``.

    Args:
        registry: opens the registry; called off the event loop, for it takes seconds the first time.
        monotonic: seconds that only grow; tests hand in their own.
    """

    def __init__(self, registry: Callable[[], Registry], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._open = registry
        self._monotonic = monotonic
        self._registry: Registry | None = None
        self._loaded: _Loaded | None = None
        self._versions: tuple[Version, ...] = ()
        self._due_s = -math.inf
        self._lock = asyncio.Lock()
        self._trouble = _UNREAD
        self._looking: asyncio.Task[None] | None = None

    async def state(self, within_s: float = _ANSWERS_WITHIN_S) -> ChampionState:
        """Whether the champion is in memory, as of some seconds ago; it is loaded where it has not been tried yet.

        Args:
            within_s: a registry that takes longer is one that cannot be read, until it answers.
        """
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._renew())
        await asyncio.wait({self._looking}, timeout=within_s)
        return ChampionState(None if self._loaded is None else self._loaded.number, self._trouble)

    @property
    def loaded(self) -> Artifact | None:
        """What is in memory, if anything; nothing is looked for."""
        return None if self._loaded is None else self._loaded.artifact

    async def get(self) -> Artifact:
        """The champion of now, at most some seconds late; while another loads, the one before it.

        Raises:
            ModelUnavailableError: there is none, or none that this code can use.
        """
        await self._renew()
        if self._loaded is None:
            msg = f"no champion can be used: {self._trouble}"
            raise ModelUnavailableError(msg)
        return self._loaded.artifact

    async def versions(self) -> tuple[Version, ...]:
        """What is registered, the newest first."""
        await self._renew()
        return self._versions

    async def artifact(self, number: str) -> Artifact:
        """The artefact of a registered version.

        Raises:
            ModelUnavailableError: this code cannot use it.
        """
        registry = self._registry
        assert registry is not None  # noqa: S101 - whoever knows a number has asked for the versions before
        try:
            return await asyncio.to_thread(registry.load, number)
        except ModelError as error:
            raise ModelUnavailableError(str(error)) from error

    async def kept(self, kind: str) -> Kept | None:
        """What MLflow keeps last of a kind; None where nothing was.

        Raises:
            ModelUnavailableError: the registry cannot be read.
        """
        await self._renew()
        if self._registry is None:
            raise ModelUnavailableError(self._trouble)
        try:
            return await asyncio.to_thread(self._registry.last, kind)
        except Exception as error:
            msg = f"the registry of models cannot be read: {type(error).__name__}"
            raise ModelUnavailableError(msg) from error

    async def _renew(self) -> None:
        if self._monotonic() < self._due_s or (self._loaded is not None and self._lock.locked()):
            return
        async with self._lock:
            if self._monotonic() >= self._due_s:
                try:
                    await asyncio.to_thread(self._look)
                    self._trouble = ""
                except ForelightError as error:
                    self._trouble = str(error)
                    _log.warning("the model in memory stays: %s", error)
                except Exception as error:  # noqa: BLE001 - MLflow's, its database's or its server's
                    self._trouble = f"the registry of models cannot be read: {type(error).__name__}"
                    _log.warning("the model in memory stays", exc_info=error)
                self._due_s = self._monotonic() + _CHECK_EVERY_S

    def _look(self) -> None:
        if self._registry is None:
            self._registry = self._open()
        registry = self._registry
        self._versions = tuple(registry.versions())
        number = registry.alias(CHAMPION)
        if number is None:
            raise ModelError(_NONE)
        if self._loaded is None or self._loaded.number != number:
            self._loaded = _Loaded(number, registry.load(number))
            settle_again()


@dataclass(slots=True)
class _Asked:
    at: datetime
    modules: Sequence[Module]
    answer: asyncio.Future[tuple[Artifact, list[Scored]]]


class Scorer:
    """Scores what is asked for, all that waits at once; one batch at a time, for each takes all cores."""

    def __init__(self, champion: Champion) -> None:
        self._champion = champion
        self._waiting: list[_Asked] = []
        self._worker: asyncio.Task[None] | None = None

    async def score(self, modules: Sequence[Module], at: datetime) -> tuple[Artifact, list[Scored]]:
        """What the champion says of each module, and which that was.

        Raises:
            ModelUnavailableError: there is no champion.
            OverloadedError: too many wait already.
        """
        if sum(len(asked.modules) for asked in self._waiting) + len(modules) > _MOST_WAITING:
            msg = f"more than {_MOST_WAITING} modules wait to be scored already"
            raise OverloadedError(msg)
        asked = _Asked(at, modules, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await asked.answer

    async def _work(self) -> None:
        while self._waiting:
            batch = self._next()
            try:
                artifact = await self._champion.get()
                few = sum(len(asked.modules) for asked in batch) <= _FEW
                told = _score(artifact, batch) if few else await asyncio.to_thread(_score, artifact, batch)
            except Exception as error:  # noqa: BLE001 - each who waits is told, as if he had been alone
                for asked in batch:
                    if not asked.answer.done():
                        asked.answer.set_exception(error)
                continue
            for asked, scored in zip(batch, told, strict=True):
                if not asked.answer.done():
                    asked.answer.set_result((artifact, scored))

    def _next(self) -> list[_Asked]:
        """Those that are asked for as of the same time as the first, as many as go at once; they wait no longer."""
        batch: list[_Asked] = []
        count = 0
        for asked in self._waiting:
            if asked.at == self._waiting[0].at and (not batch or count + len(asked.modules) <= _MOST_AT_ONCE):
                batch.append(asked)
                count += len(asked.modules)
        taken = {id(asked) for asked in batch}
        self._waiting = [asked for asked in self._waiting if id(asked) not in taken]
        return batch


def _score(artifact: Artifact, batch: Sequence[_Asked]) -> list[list[Scored]]:
    """Each request is a site of its own, so that equal names of two are two modules."""
    modules = [_moved(module, str(k)) for k, asked in enumerate(batch) for module in asked.modules]
    told = iter(score(artifact, modules, batch[0].at))
    return [[next(told) for _ in asked.modules] for asked in batch]


def _moved(module: Module, site: str) -> Module:
    peer = None if module.peer is None else (site, *module.peer[1:])
    return replace(module, port=(site, *module.port[1:]), peer=peer)
