"""Leaf updates a second that one core takes over gNMI into the lake, from a switch that streams without a pause.

The switch is a process of its own (32 ports of 8 lanes; each sample has its readings and counters, 50 updates a
message, doubles and integers in PROTO). What is measured is the collector's process alone: its stream, the decoding,
the rows and their Delta commits, in CPU seconds. Beside it, on the same messages in the same run: decoding alone, and
pygnmi's own parser alone, which makes dictionaries of them.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
from pygnmi.client import telemetryParser
from pygnmi.spec.v080 import gnmi_pb2 as pb

from ingest.collect.poller import Poller, Sweep
from ingest.config import Config
from ingest.errors import IngestError
from ingest.gnmi.family import load_family
from ingest.gnmi.mirror import Mirror
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

PORTS, LANES, AT_ONCE = 32, 8, 50
BAR = 50_000
DOUBLES = {"input-power": -2.0, "output-power": 1.0, "laser-bias-current": 40.0}
COUNTERS = ("in-unicast-pkts", "out-unicast-pkts", "in-fcs-errors", "carrier-transitions")


def path(*elements: str | tuple[str, str, str]) -> pb.Path:
    """Names, and names with a key and its value."""
    made = (
        pb.PathElem(name=each) if isinstance(each, str) else pb.PathElem(name=each[0], key={each[1]: each[2]})
        for each in elements
    )
    return pb.Path(elem=list(made))


def leaves(number: int) -> Iterator[pb.Update]:
    """One sample of the switch; its values move."""
    for port in range(1, PORTS + 1):
        component = ("component", "name", f"Ethernet{port} transceiver")
        interface = ("interface", "name", f"Ethernet{port}/1")
        for lane in range(LANES):
            channel = ("channel", "index", str(lane))
            for name, base in DOUBLES.items():
                names = "transceiver", "physical-channels", channel, "state", name, "instant"
                value = pb.TypedValue(double_val=base + (number + lane) % 7 / 10)
                yield pb.Update(path=path("components", component, *names), val=value)
        at = path("components", component, "state", "temperature", "instant")
        yield pb.Update(path=at, val=pb.TypedValue(double_val=40.0 + number % 5))
        for name in COUNTERS:
            at = path("interfaces", interface, "state", "counters", name)
            yield pb.Update(path=at, val=pb.TypedValue(uint_val=number * 1_000 + port))


def account() -> list[pb.SubscribeResponse]:
    """What the switch tells first: who is where."""
    facts = []
    for port in range(1, PORTS + 1):
        component, interface = f"Ethernet{port} transceiver", ("interface", "name", f"Ethernet{port}/1")
        at = path("components", ("component", "name", component), "transceiver", "state", "serial-no")
        facts.append(pb.Update(path=at, val=pb.TypedValue(string_val=f"SN{port:06d}")))
        for name, value in (("transceiver", component), ("oper-status", "UP"), ("admin-status", "UP")):
            facts.append(
                pb.Update(path=path("interfaces", interface, "state", name), val=pb.TypedValue(string_val=value))
            )
    return [
        pb.SubscribeResponse(update=pb.Notification(timestamp=time.time_ns(), update=facts)),
        pb.SubscribeResponse(sync_response=True),
    ]


def messages(samples: int) -> list[bytes]:
    """All samples as they go over the wire, a millisecond apart."""
    made, start = [], time.time_ns()
    for number in range(samples):
        updates = list(leaves(number))
        for first in range(0, len(updates), AT_ONCE):
            told = pb.Notification(timestamp=start + number * 1_000_000, update=updates[first : first + AT_ONCE])
            made.append(pb.SubscribeResponse(update=told).SerializeToString())
    return made


def serve(samples: int) -> None:
    """The switch: prints its port, and streams its samples to who subscribes."""
    ready = messages(samples)

    def subscribe(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        next(requests)
        yield from (told.SerializeToString() for told in account())
        yield from ready
        while context.is_active():
            time.sleep(0.1)

    handlers: dict[str, Any] = {
        "Capabilities": grpc.unary_unary_rpc_method_handler(
            lambda _request, _context: pb.CapabilityResponse(supported_encodings=[pb.PROTO]).SerializeToString()
        ),
        "Subscribe": grpc.stream_stream_rpc_method_handler(subscribe),
    }
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("gnmi.gNMI", handlers),))
    print(server.add_insecure_port("localhost:0"), flush=True)
    server.start()
    server.wait_for_termination()


@contextmanager
def switch(samples: int) -> Iterator[int]:
    """The switch in a process of its own; gives its port."""
    command = [sys.executable, __file__, "--serve", "--samples", str(samples)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


async def collected(port: int, wanted: int, lake: Lake) -> tuple[float, float]:
    """CPU and wall seconds from the subscription to the last commit."""
    target = {"device": "leaf1", "address": "localhost", "port": port, "protocol": "gnmi", "gnmi": {"insecure": True}}
    poller = Poller(Config.model_validate({"collect": {"interval_s": 1}, "target": [target]}), lake)
    stop, heard = asyncio.Event(), 0

    def report(outcome: Sweep | IngestError) -> None:
        nonlocal heard
        if isinstance(outcome, IngestError):
            sys.exit(str(outcome))
        heard += sum(poll.varbinds for poll in outcome.polls)
        if heard >= wanted:
            stop.set()

    cpu, wall = time.process_time(), time.perf_counter()
    await poller.run(stop, report)
    poller.close()
    return time.process_time() - cpu, time.perf_counter() - wall


def decoded(told: list[pb.SubscribeResponse]) -> None:
    """Messages into rounds, and no further."""
    mirror = Mirror(load_family("openconfig"), lambda _: None)
    mirror.sync(time.time_ns())
    for message in told:
        mirror.take(message.update, time.time_ns())


def parsed(told: list[pb.SubscribeResponse]) -> None:
    """Messages into pygnmi's dictionaries."""
    for message in told:
        telemetryParser(message)


def rate(work: Callable[[list[pb.SubscribeResponse]], None], wire: list[bytes]) -> float:
    """Updates a CPU second, parsing of the messages included; the best of three."""
    best = 0.0
    for _ in range(3):
        cpu = time.process_time()
        told = [pb.SubscribeResponse.FromString(each) for each in wire]
        work(told)
        count = sum(len(message.update.update) for message in told)
        best = max(best, count / (time.process_time() - cpu))
    return best


def main() -> None:
    """Measure, print, and fail below the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=800, help="of the switch")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.serve:
        serve(told.samples)
        return
    each = PORTS * (LANES * len(DOUBLES) + 1 + len(COUNTERS))
    with tempfile.TemporaryDirectory() as folder, switch(told.samples) as port:
        lake = Lake(folder)
        cpu, wall = asyncio.run(collected(port, each * told.samples, lake))
        rows = sum(lake.scan(table).select("time").collect().height for table in (LANE_SAMPLES, PORT_SAMPLES))
    wanted, updates = told.samples * PORTS * (LANES + 1), each * told.samples
    print(f"{updates:,} leaf updates in {wall:.1f} s, {cpu:.1f} CPU s: {rows:,} rows of {wanted:,} in the lake")
    print(f"gNMI into the lake: {updates / cpu:,.0f} leaf updates/s per core (bar {BAR:,})")
    wire = messages(min(told.samples, 40))
    print(f"decoding alone: {rate(decoded, wire):,.0f} updates/s; pygnmi's parser alone: {rate(parsed, wire):,.0f}")
    if rows != wanted or updates / cpu < BAR:
        sys.exit("below the bar")


if __name__ == "__main__":
    main()
