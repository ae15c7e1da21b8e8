"""A gNMI server for tests, over real gRPC: what it says is a tree of leaves, and it can be told to misbehave.

It serves the published protocol (pygnmi's stubs of gNMI 0.8): Capabilities, and Subscribe in ONCE and STREAM with
SAMPLE and ON_CHANGE, in PROTO, JSON_IETF and JSON. Faults are switches that may be turned while it runs.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

import grpc
from gnmi_server.wire import Key, Leaf, covers, key_of, overlap, parsed, path_of, shared, text_of, typed
from pygnmi.spec.v080.gnmi_pb2 import (
    CapabilityRequest,
    CapabilityResponse,
    Encoding,
    ModelData,
    Notification,
    SubscribeRequest,
    SubscribeResponse,
    Subscription,
    SubscriptionList,
    SubscriptionMode,
    TypedValue,
    Update,
)
from pygnmi.spec.v080.gnmi_pb2_grpc import add_gNMIServicer_to_server, gNMIServicer

_NS = 1_000_000_000
Leaves = dict[tuple[str, Key], Leaf]


@dataclass
class Faults:
    """Switches; all off at first.

    Attributes:
        encodings: that it has; others are refused.
        models: that Capabilities tells of.
        no_capabilities: Capabilities is unimplemented.
        refused_paths: names of which a subscription must have none.
        no_on_change: a subscription must not have ON_CHANGE.
        form: of fractions in PROTO: double, float, decimal, string, bytes, leaflist.
        stalled: says nothing, and keeps the stream open.
        no_sync: never says that it has told all.
        late_sync_s: waits so long before it does.
        drop_keys: leaves the keys of its paths out.
        as_tree: sends each sample of a path as one tree of JSON.
        one_a_message: sends each leaf by itself.
        offset_ns: of its clock.
        padding: bytes that each message carries more.
        password: that must come with each call.
        prefixed: puts the first names of a path into the prefix.
        letters: four bytes in the place of the vendor ACME, which need be no UTF-8.
    """

    encodings: tuple[int, ...] = (Encoding.PROTO, Encoding.JSON_IETF, Encoding.JSON)
    models: tuple[str, ...] = ("openconfig-platform-transceiver", "openconfig-interfaces")
    no_capabilities: bool = False
    refused_paths: tuple[str, ...] = ()
    no_on_change: bool = False
    form: str = "double"
    stalled: bool = False
    no_sync: bool = False
    late_sync_s: float = 0.0
    drop_keys: bool = False
    as_tree: bool = False
    one_a_message: bool = False
    offset_ns: int = 0
    padding: int = 0
    password: str = ""
    prefixed: bool = False
    letters: bytes = b"ACME"


@dataclass
class Tree:
    """What the device knows, by target (of SONiC's databases) and path.

    Attributes:
        now: its clock, in nanoseconds.
        sent: leaves of samples that went out after a sync, as (path, value, stamp).
        asked: subscriptions as they came.
    """

    leaves: Leaves = field(default_factory=dict)
    now: Callable[[], int] = time.time_ns
    sent: list[tuple[str, Leaf, int]] = field(default_factory=list)
    asked: list[SubscriptionList] = field(default_factory=list)
    streams: "list[queue.Queue[Any]]" = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, text: str, value: Leaf, target: str = "") -> None:
        """Set a leaf; who asked for changes is told."""
        with self.lock:
            self.leaves[target, parsed(text)] = value
            for stream in self.streams:
                stream.put(("change", target, (parsed(text), value)))

    def drop(self, text: str, target: str = "") -> None:
        """Delete what is at a path and below it; who asked for changes is told."""
        with self.lock:
            for place, leaf in [key for key in self.leaves if key[0] == target and covers(parsed(text), key[1])]:
                del self.leaves[place, leaf]
            for stream in self.streams:
                stream.put(("delete", target, parsed(text)))

    def sample(self, stamp: int | None = None) -> None:
        """Send a sample of everything that is sampled, now or at another time of the device's clock."""
        with self.lock:
            for stream in self.streams:
                stream.put(("sample", stamp, dict(self.leaves)))

    def below(self, target: str, asked: Key, leaves: Leaves | None = None) -> list[tuple[Key, Leaf]]:
        """Leaves at or below a path, now or as they were."""
        with self.lock:
            known = self.leaves if leaves is None else leaves
            return [(leaf, value) for (place, leaf), value in known.items() if place == target and covers(asked, leaf)]


class Servicer(gNMIServicer):  # type: ignore[misc]  # the stubs have no types
    """The two calls."""

    def __init__(self, tree: Tree, faults: Faults) -> None:
        self.tree, self.faults = tree, faults

    def Capabilities(self, request: CapabilityRequest, context: Any) -> CapabilityResponse:  # noqa: N802 - the protocol's
        self._admit(context)
        if self.faults.no_capabilities:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "no Capabilities")
        return CapabilityResponse(
            supported_models=[ModelData(name=name) for name in self.faults.models],
            supported_encodings=self.faults.encodings,
            gNMI_version="0.8.0",
        )

    def Subscribe(self, requests: Iterator[SubscribeRequest], context: Any) -> Iterator[SubscribeResponse]:  # noqa: N802 - the protocol's
        self._admit(context)
        asked = next(requests).subscribe
        self.tree.asked.append(asked)
        self._check(asked, context)
        changes: queue.Queue[Any] = queue.Queue()
        with self.tree.lock:
            self.tree.streams.append(changes)
        try:
            yield from self._answers(asked, context, changes)
        finally:
            with self.tree.lock:
                self.tree.streams.remove(changes)

    def _admit(self, context: Any) -> None:
        told = dict(context.invocation_metadata())
        if self.faults.password and self.faults.password not in (told.get("password"), told.get("authorization")):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you")

    def _check(self, asked: SubscriptionList, context: Any) -> None:
        if asked.encoding not in self.faults.encodings:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "unsupported encoding")
        for each in asked.subscription:
            text = "/".join(elem.name for elem in each.path.elem)
            if text in self.faults.refused_paths:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no such path: {text}")
            if self.faults.no_on_change and each.mode == SubscriptionMode.ON_CHANGE:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "ON_CHANGE is not supported")

    def _answers(
        self, asked: SubscriptionList, context: Any, changes: "queue.Queue[Any]"
    ) -> Iterator[SubscribeResponse]:
        stop = threading.Event()
        context.add_callback(stop.set)
        while self.faults.stalled and not stop.wait(0.05):
            pass
        for each in asked.subscription:
            yield from self._told(asked, each)
        stop.wait(self.faults.late_sync_s)
        if not self.faults.no_sync:
            yield SubscribeResponse(sync_response=True)
        due = time.monotonic()
        paces = [each.sample_interval / _NS for each in asked.subscription if each.mode == SubscriptionMode.SAMPLE]
        pace = min(paces, default=0.0) or 1e9
        while asked.mode == SubscriptionList.Mode.STREAM and not stop.is_set():
            try:
                kind, first, second = changes.get(timeout=max(0.0, min(0.05, due + pace - time.monotonic())))
            except queue.Empty:
                if time.monotonic() < due + pace:
                    continue
                due, kind, first, second = time.monotonic(), "sample", None, None
            if not self.faults.stalled:
                yield from self._more(asked, kind, first, second)

    def _more(self, asked: SubscriptionList, kind: str, first: Any, second: Any) -> Iterator[SubscribeResponse]:
        if kind == "sample":
            for each in asked.subscription:
                if each.mode == SubscriptionMode.SAMPLE:
                    yield from self._told(asked, each, stamp=first, was=second, after=True)
        elif first == asked.prefix.target:
            for each in asked.subscription:
                wanted = key_of(each.path)
                if kind == "delete" and (overlap(wanted, second)):
                    yield self._message(asked, deletes=[second])
                    return
                if kind == "change" and each.mode == SubscriptionMode.ON_CHANGE and covers(wanted, second[0]):
                    yield self._message(asked, [second])
                    return

    def _told(
        self,
        asked: SubscriptionList,
        each: Subscription,
        stamp: int | None = None,
        was: Leaves | None = None,
        *,
        after: bool = False,
    ) -> Iterator[SubscribeResponse]:
        leaves = self.tree.below(asked.prefix.target, key_of(each.path), was)
        taken = (stamp or self.tree.now()) + self.faults.offset_ns
        if after and not self.faults.no_sync and not self.faults.drop_keys:
            self.tree.sent += [(text_of(leaf), value, taken) for leaf, value in leaves]
        size = 1 if self.faults.one_a_message else 50
        if self.faults.as_tree and leaves:
            yield self._tree(asked, key_of(each.path), leaves, taken)
            return
        for start in range(0, len(leaves), size):
            yield self._message(asked, leaves[start : start + size], stamp=taken)

    def _message(
        self,
        asked: SubscriptionList,
        leaves: "list[tuple[Key, Leaf]] | tuple[()]" = (),
        deletes: "list[Key] | tuple[()]" = (),
        stamp: int | None = None,
    ) -> SubscribeResponse:
        taken = self.tree.now() + self.faults.offset_ns if stamp is None else stamp
        told = Notification(timestamp=taken, prefix=asked.prefix)
        head = shared([leaf for leaf, _ in leaves]) if self.faults.prefixed else ()
        told.prefix.elem.extend(path_of(head).elem)
        for leaf, value in leaves:
            path = path_of(leaf[len(head) :])
            if self.faults.drop_keys:
                for elem in path.elem:
                    elem.key.clear()
            told.update.append(Update(path=path, val=typed(value, asked.encoding, self.faults.form)))
        told.delete.extend(path_of(leaf) for leaf in deletes)
        if self.faults.padding:
            told.update.append(
                Update(path=path_of((("padding", ()),)), val=TypedValue(bytes_val=bytes(self.faults.padding)))
            )
        return SubscribeResponse(update=told)

    def _tree(self, asked: SubscriptionList, at: Key, leaves: list[tuple[Key, Leaf]], stamp: int) -> SubscribeResponse:
        """One update at the first name of the path that was asked for."""
        tree: dict[str, Any] = {}
        for leaf, value in leaves:
            node = tree
            for name, keys in leaf[1:-1]:
                if keys:
                    entries = node.setdefault(name, [])
                    node = next((e for e in entries if all(e.get(k) == v for k, v in keys)), {})
                    if not node:
                        node.update(dict(keys))
                        entries.append(node)
                else:
                    node = node.setdefault(name, {})
            node[leaf[-1][0]] = value
        path = path_of(at[:1])
        told = Update(path=path, val=typed(tree, asked.encoding))
        return SubscribeResponse(update=Notification(timestamp=stamp, prefix=asked.prefix, update=[told]))


class Server:
    """A server on a loopback port; it can be stopped, and started again at the same port.

    Attributes:
        tree: what it says.
        faults: how it misbehaves.
        port: where it listens.
    """

    def __init__(self, tree: Tree, faults: Faults, credentials: grpc.ServerCredentials | None = None) -> None:
        self.tree, self.faults, self._credentials = tree, faults, credentials
        self.port = 0
        self._server: grpc.Server | None = None

    def start(self) -> None:
        """Listen."""
        self._server = grpc.server(
            futures.ThreadPoolExecutor(16), options=[("grpc.so_reuseport", 0), ("grpc.max_send_message_length", -1)]
        )
        servicer = Servicer(self.tree, self.faults)
        subscribe = grpc.stream_stream_rpc_method_handler(servicer.Subscribe, SubscribeRequest.FromString, self._spelt)
        spelt = grpc.method_handlers_generic_handler("gnmi.gNMI", {"Subscribe": subscribe})
        self._server.add_generic_rpc_handlers((spelt,))  # the first that knows a call takes it
        add_gNMIServicer_to_server(servicer, self._server)
        where = f"localhost:{self.port}"
        if self._credentials is None:
            self.port = self._server.add_insecure_port(where)
        else:
            self.port = self._server.add_secure_port(where, self._credentials)
        self._server.start()

    def _spelt(self, message: SubscribeResponse) -> bytes:
        """A message as bytes: no library writes texts that are no UTF-8, and devices do."""
        raw: bytes = message.SerializeToString()
        return raw.replace(b"ACME", self.faults.letters)

    def stop(self) -> None:
        """Listen no more, and end all streams."""
        if self._server is not None:
            self._server.stop(0).wait()
            self._server = None
