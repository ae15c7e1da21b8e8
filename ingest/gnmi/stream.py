"""The life of a subscription: opened, watched for silence, ended, and opened again, with what was missed noted.

Streams die without a word (field_faults.md, row 49): what tells of it is that nothing has come for too long.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Final, Protocol

import grpc
from grpc import aio
from pygnmi.spec.v080.gnmi_pb2 import Notification, SubscribeRequest, SubscribeResponse
from pygnmi.spec.v080.gnmi_pb2_grpc import gNMIStub

from ingest.config import Target
from ingest.errors import AuthError, IngestError, TransportError
from ingest.gnmi.channel import explained, open_channel
from ingest.gnmi.family import Family
from ingest.gnmi.options import GnmiOptions
from ingest.gnmi.response import response_of
from ingest.gnmi.subscribe import CANNOT, Asked, Device, capabilities, requests

__all__ = ["Listener", "Subscriber"]

_FIRST_WAIT_S: Final = 1.0
_LONGEST_WAIT_S: Final = 120.0
_RESCHEDULE_S: Final = 0.25


class Listener(Protocol):
    """What becomes of a subscription; `ingest.gnmi.target.Stream` is one."""

    def began(self, family: Family) -> None:
        """A subscription begins."""

    async def heard(self, message: Notification) -> None:
        """A notification; the stream waits until it is taken."""

    def synced(self) -> None:
        """All streams of the device have told all there is."""

    def ended(self, error: IngestError) -> None:
        """The subscription has ended, and will be begun again."""


class Subscriber:
    """Asks one device, once or for ever.

    Args:
        target: the device.
        listener: is told everything.
        sample_s: interval of the sweeps.
    """

    def __init__(self, target: Target, listener: Listener, sample_s: float) -> None:
        self._target, self._listener = target, listener
        self._options = target.gnmi or GnmiOptions()
        self._sample_s = self._options.sample_s or sample_s
        self._idle_s = self._options.idle_after_s(self._sample_s)
        self._unsynced, self._heard = 0, False

    async def once(self) -> None:
        """Everything once.

        Raises:
            TransportError: it does not answer, or not in a way that can be used.
            ConfigError: it cannot be asked as configured.
        """
        await self._through(once=True)

    async def for_ever(self) -> None:
        """Stream, and begin again whenever the stream ends, until cancelled."""
        failures = 0
        while True:
            begun = time.monotonic()
            try:
                await self._through(once=False)
                error: IngestError = TransportError(f"{self._target.address}:{self._target.port} ended the stream")
            except IngestError as known:
                error = known
            except Exception as surprise:  # noqa: BLE001 - one device's nonsense must not end its collection
                error = TransportError(f"unexpected answer: {type(surprise).__name__}: {surprise}")
            failures = 1 if time.monotonic() - begun > self._idle_s else failures + 1
            self._listener.ended(error)
            await asyncio.sleep(_wait_s(failures, refused=isinstance(error, AuthError)))

    async def _through(self, *, once: bool) -> None:
        metadata = self._options.metadata()
        channel = await open_channel(self._target)
        try:
            device = await capabilities(gNMIStub(channel), self._options, metadata)
            await self._encoded(_Calls(channel, metadata, self._options.timeout_s), device, once=once)
        except grpc.RpcError as error:
            raise explained(error, self._target) from None
        finally:
            await channel.close(None)

    async def _encoded(self, calls: "_Calls", device: Device, *, once: bool) -> None:
        """With the best encoding that is not refused, for what is not refused of paths and modes."""
        refused: aio.AioRpcError | None = None
        for encoding in device.encodings:
            asked = requests(device, encoding, once=once, sample_s=self._sample_s, options=self._options)
            for attempt in range(3):
                try:
                    return await self._listen(calls, device.family, asked)
                except aio.AioRpcError as error:
                    if error.code() not in CANNOT or self._heard:
                        raise
                    refused = error
                if "encoding" in (refused.details() or "").casefold():
                    break
                asked = [replace(each, all_sampled=True) for each in asked] if attempt else await calls.usable(asked)
        assert refused is not None  # noqa: S101 - there is an encoding, and none returned
        raise refused

    async def _listen(self, calls: "_Calls", family: Family, asked: list[Asked]) -> None:
        """Hear all streams until one of them ends."""
        if not asked:
            msg = f"it has none of the paths of {family.name}"
            raise TransportError(msg)
        self._listener.began(family)
        self._unsynced, self._heard = len(asked), False
        try:
            async with asyncio.TaskGroup() as group:
                for each in asked:
                    group.create_task(self._one(calls, each))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _one(self, calls: "_Calls", asked: Asked) -> None:
        idle_s = self._idle_s if asked.once or asked.all_sampled or asked.stream.sample else None
        synced = paced = False  # until it has told a reading nothing is known of its pace: it may have none to tell
        try:
            async with asyncio.timeout(idle_s) as deadline, aclosing(calls.stream(asked)) as messages:
                async for message in messages:
                    self._heard = True
                    if message.HasField("update"):
                        paced = paced or asked.samples(message.update)
                        await self._listener.heard(message.update)
                    elif message.sync_response and not synced:
                        synced = True
                        self._synced()
                        if asked.once:
                            return
                    if idle_s is not None and (paced or not synced):
                        _extend(deadline, idle_s)
                    elif synced:
                        deadline.reschedule(None)
        except TimeoutError:
            msg = f"nothing has come for {idle_s:g} s: the stream is dead"
            raise TransportError(msg) from None
        if not asked.once:
            msg = f"{self._target.address}:{self._target.port} ended the stream"
            raise TransportError(msg)
        self._synced()  # a device that ends the call without a word has told all, too

    def _synced(self) -> None:
        self._unsynced -= 1
        if self._unsynced == 0:
            self._listener.synced()


class _Calls:
    """Subscribe, with what each call carries."""

    def __init__(self, channel: aio.Channel, metadata: list[tuple[str, str]], timeout_s: float) -> None:
        self._metadata, self._timeout_s = metadata, timeout_s
        self._subscribe = channel.stream_stream(
            "/gnmi.gNMI/Subscribe",
            request_serializer=SubscribeRequest.SerializeToString,
            response_deserializer=response_of,
        )

    async def stream(self, asked: Asked) -> AsyncGenerator[SubscribeResponse, None]:
        """Answers to one subscription; the request stays open, for devices take its end for the stream's."""
        closed = asyncio.Event()

        async def request() -> AsyncIterator[SubscribeRequest]:
            yield asked.request()
            await closed.wait()

        call = self._subscribe(request(), metadata=self._metadata)
        try:
            async for message in call:
                yield message
        finally:
            closed.set()
            call.cancel()

    async def usable(self, asked: list[Asked]) -> list[Asked]:
        """What is left of subscriptions where each path is asked for alone, once."""
        left = []
        for each in asked:
            sample = tuple([path for path in each.stream.sample if await self._has(each, path)])
            on_change = tuple([path for path in each.stream.on_change if await self._has(each, path)])
            if sample or on_change:
                stream = each.stream.model_copy(update={"sample": sample, "on_change": on_change})
                left.append(replace(each, stream=stream))
        return left

    async def _has(self, asked: Asked, path: str) -> bool:
        stream = asked.stream.model_copy(update={"sample": (path,), "on_change": ()})
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                aclosing(self.stream(replace(asked, stream=stream, once=True))) as told,
            ):
                async for message in told:
                    if message.sync_response:
                        break
        except aio.AioRpcError as error:
            if error.code() not in CANNOT:
                raise
            return False
        except TimeoutError:
            pass  # slow is not refused
        return True


def _extend(deadline: asyncio.Timeout, idle_s: float) -> None:
    """Move the deadline, but not for every message of a burst."""
    due, now = deadline.when() or 0.0, asyncio.get_running_loop().time()
    if now + idle_s - due > min(_RESCHEDULE_S, idle_s / 8):
        deadline.reschedule(now + idle_s)


def _wait_s(failures: int, *, refused: bool) -> float:
    """How long to leave a device alone: longer each time, and at once as long as may be where it refused us."""
    longest = _LONGEST_WAIT_S if refused else min(_FIRST_WAIT_S * 2 ** min(failures - 1, 16), _LONGEST_WAIT_S)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
