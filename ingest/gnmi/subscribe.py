"""What a device can do, and what it is asked for: Capabilities first, then one request a stream.

Encodings fall back from PROTO to JSON_IETF to JSON (field_faults.md, row 40); DOM and counters are sampled, state,
serial numbers and flags come on change, with a heartbeat (row 42).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import grpc
from grpc import aio
from pygnmi.spec.v080.gnmi_pb2 import (
    CapabilityRequest,
    CapabilityResponse,
    Encoding,
    Notification,
    Path,
    PathElem,
    SubscribeRequest,
    Subscription,
    SubscriptionList,
    SubscriptionMode,
)

from ingest.errors import TransportError
from ingest.gnmi.family import Family, Stream, families, load_family
from ingest.gnmi.leaves import elements_of
from ingest.gnmi.options import GnmiOptions

__all__ = ["CANNOT", "Asked", "Device", "capabilities", "path_of", "requests"]

_ENCODINGS: Final = {"proto": Encoding.PROTO, "json_ietf": Encoding.JSON_IETF, "json": Encoding.JSON}
_DEFAULT: Final = "openconfig"
CANNOT: Final = (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)
"""What devices say to a path, a mode or an encoding that they do not have."""
_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Device:
    """What is known of a device before it is asked.

    Attributes:
        family: whose paths it has.
        encodings: to try, the best first.
        models: that it says it has.
    """

    family: Family
    encodings: tuple[int, ...]
    models: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Asked:
    """One subscription of a stream.

    Attributes:
        once: everything once, instead of a stream.
        sample_s, heartbeat_s: the pace.
        all_sampled: also state is sampled, where a device cannot tell of changes.
    """

    stream: Stream
    encoding: int
    once: bool = False
    sample_s: float = 60.0
    heartbeat_s: float = 300.0
    all_sampled: bool = False

    def request(self) -> SubscribeRequest:
        """As the protocol has it."""
        return SubscribeRequest(
            subscribe=SubscriptionList(
                prefix=Path(target=self.stream.target) if self.stream.target else None,
                subscription=[*self._sampled(self.stream.sample), *self._changing()],
                mode=SubscriptionList.Mode.ONCE if self.once else SubscriptionList.Mode.STREAM,
                encoding=self.encoding,
            )
        )

    def samples(self, message: Notification) -> bool:
        """Whether a message tells something that is sent at every interval."""
        paths = self.stream.sample + (self.stream.on_change if self.all_sampled else ())
        wanted = [{name for name in path.split("/") if not name.endswith("*")} for path in paths]
        for update in message.update:
            told = {name.rpartition(":")[2] for name, _ in elements_of(message.prefix, update.path)}
            if any(names <= told or told <= names for names in wanted):
                return True
        return False

    def _sampled(self, paths: Iterable[str]) -> list[Subscription]:
        every = 0 if self.once else int(self.sample_s * _NS)
        return [Subscription(path=path_of(path), mode=SubscriptionMode.SAMPLE, sample_interval=every) for path in paths]

    def _changing(self) -> list[Subscription]:
        if self.once or self.all_sampled:
            return self._sampled(self.stream.on_change)
        beat = int(self.heartbeat_s * _NS)
        return [
            Subscription(path=path_of(path), mode=SubscriptionMode.ON_CHANGE, heartbeat_interval=beat)
            for path in self.stream.on_change
        ]


async def capabilities(stub: Any, options: GnmiOptions, metadata: Sequence[tuple[str, str]]) -> Device:
    """Ask a device what it can do; one that cannot tell is asked for everything in turn.

    Raises:
        grpc.RpcError: it did not answer.
        TransportError: it has none of the encodings that are known here.
        ProfileError: the configuration names a family that there is not.
    """
    try:
        told = await stub.Capabilities(CapabilityRequest(), metadata=list(metadata), timeout=options.timeout_s)
    except aio.AioRpcError as error:
        if error.code() != grpc.StatusCode.UNIMPLEMENTED:
            raise
        told = CapabilityResponse()
    family = load_family(options.paths or _family_of(told))
    return Device(family, _encodings(told, options), frozenset(model.name for model in told.supported_models))


def requests(device: Device, encoding: int, *, once: bool, sample_s: float, options: GnmiOptions) -> list[Asked]:
    """One subscription for each stream of a family; of its parts for those whose models the device has."""
    asked = [each for each in device.family.streams if not each.models or device.models & set(each.models)]
    return [Asked(stream, encoding, once, sample_s, options.heartbeat_s) for stream in asked]


def path_of(text: str) -> Path:
    """A path without keys: all entries of its lists.

    >>> [elem.name for elem in path_of("interfaces/interface/state").elem]
    ['interfaces', 'interface', 'state']
    """
    return Path(elem=[PathElem(name=name) for name in text.split("/")])


def _family_of(told: CapabilityResponse) -> str:
    models = {model.name for model in told.supported_models}
    fitting = [name for name in families() if models & set(load_family(name).models)]
    fitting.sort(key=lambda name: name == _DEFAULT)  # SONiC has OpenConfig's names, too, but not all of its leaves
    return next(iter(fitting), _DEFAULT)


def _encodings(told: CapabilityResponse, options: GnmiOptions) -> tuple[int, ...]:
    if options.encoding is not None:
        return (_ENCODINGS[options.encoding],)
    known = list(_ENCODINGS.values())
    offered = set(told.supported_encodings)
    usable = tuple(encoding for encoding in known if encoding in offered) if offered else tuple(known)
    if not usable:
        names = ", ".join(sorted(Encoding.Name(each) for each in offered))
        msg = f"it offers {names} alone; known here are PROTO, JSON_IETF and JSON"
        raise TransportError(msg)
    return usable
