"""How one device is read over gNMI, and what of it is not: what it can do, and all that it tells once."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import grpc
from grpc import aio
from pygnmi.spec.v080.gnmi_pb2 import CapabilityRequest, CapabilityResponse, Encoding
from pygnmi.spec.v080.gnmi_pb2_grpc import gNMIStub

from ingest.collect.installed import Installations
from ingest.config import Target
from ingest.decode.discover import Decoded
from ingest.decode.lldp import Lldp
from ingest.errors import TransportError
from ingest.gnmi.channel import explained, open_channel
from ingest.gnmi.family import Family
from ingest.gnmi.layout import Layout
from ingest.gnmi.mirror import Mirror
from ingest.gnmi.options import GnmiOptions
from ingest.gnmi.target import GnmiDevice

__all__ = ["Asked", "ask"]

_PATIENCE_S: Final = 120.0


@dataclass
class Asked:
    """What a device said.

    Attributes:
        description: its version of the protocol, its encodings and how many models it has.
        family: which paths it was asked for.
        why: these.
        counts: by what was told how many there were; 0 where nothing was.
        decoded: what was read of ports with a transceiver.
        unread: what was told and is not read, each with the reason.
    """

    description: str
    family: str = ""
    why: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    decoded: Decoded | None = None
    unread: list[str] = field(default_factory=list)
    lldp: Lldp = field(default_factory=Lldp)


async def ask(target: Target) -> Asked:
    """Ask one device what it can do, and then for everything once.

    Raises:
        TransportError: it does not answer, or not in a way that can be used.
        ConfigError: it cannot be asked as configured.
    """
    told = await _capabilities(target)
    models = {model.name for model in told.supported_models}
    encodings = ", ".join(Encoding.Name(each) for each in told.supported_encodings) or "no encodings"
    found = Asked(f"gNMI {told.gNMI_version or 'of no version'}, {encodings}, {len(models)} models")
    device = GnmiDevice(target, _PATIENCE_S)
    try:
        poll = await device.poll(Installations(), deadline_s=_PATIENCE_S, stream=False)
    except TimeoutError:
        msg = f"it has not told all within {_PATIENCE_S:g} s"
        raise TransportError(msg) from None
    finally:
        device.close()
    heard = device.heard_of
    if heard is None:
        raise TransportError(poll.error or "it has told nothing")
    mirror, layout = heard
    found.family, found.why = mirror.family.name, _why(target, mirror.family, models)
    found.counts = _counts(mirror)
    found.decoded, found.lldp = poll.decoded, poll.lldp or Lldp()
    found.unread = [*_unread(mirror, layout), *([poll.error] if poll.error else [])]
    return found


async def _capabilities(target: Target) -> CapabilityResponse:
    options = target.gnmi or GnmiOptions()
    channel = await open_channel(target)
    try:
        call = gNMIStub(channel).Capabilities(
            CapabilityRequest(), metadata=options.metadata(), timeout=options.timeout_s
        )
        return await asyncio.wait_for(call, options.timeout_s + 1)
    except aio.AioRpcError as error:
        if error.code() == grpc.StatusCode.UNIMPLEMENTED:
            return CapabilityResponse()
        raise explained(error, target) from None
    finally:
        await channel.close(None)


def _why(target: Target, family: Family, models: set[str]) -> str:
    if target.gnmi is not None and target.gnmi.paths:
        return "named in the configuration"
    fitting = sorted(models & set(family.models))
    return f"it has {fitting[0]}" if fitting else "nothing that is known fits; tried at last"


def _counts(mirror: Mirror) -> dict[str, int]:
    told = Counter(f"{leaf.of} {leaf.column}" for leaf in mirror.leaves)
    return {f"{of} {column}": told[f"{of} {column}"] for of, column in sorted(mirror.family.all_columns())}


def _unread(mirror: Mirror, layout: Layout | None) -> Iterator[str]:
    for name, times in mirror.refused.items():
        yield f"{name}: without its keys it is nobody's ({times} times)"
    if layout is not None:
        for component in layout.places.unplaced:
            yield f"component {component}: has a transceiver, and is at no port"
