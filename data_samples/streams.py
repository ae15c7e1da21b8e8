"""Simulated SONiC switches that stream: a fleet's last readings over gNMI, as SONiC's databases have them.

A server on loopback for each switch, of the published protocol: Capabilities, and Subscribe in ONCE and STREAM. Values
are strings, trees of JSON by table, and move by a hundredth of a dB from sample to sample. Made, not recorded.
"""

import json
import random
import time
from collections.abc import Iterator, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import grpc
import polars as pl
from pygnmi.spec.v080 import gnmi_pb2 as pb
from pygnmi.spec.v080.gnmi_pb2_grpc import add_gNMIServicer_to_server, gNMIServicer

from data_samples.layout import system_of
from data_samples.snmprec import PortReading
from data_samples.switches import SimulatorError, last_readings

__all__ = ["SimulatedStreams", "StreamedSwitch", "streamed_switches"]

_SYSTEM: Final = "sonic"
_LIMITS: Final = {
    "rx_power": "rxpower",
    "tx_power": "txpower",
    "tx_bias": "txbias",
    "temperature": "temp",
    "voltage": "vcc",
}
_NS: Final = 1_000_000_000
_Table = dict[str, dict[str, str]]


@dataclass
class StreamedSwitch:
    """One switch; `port` is where it listens while the context is open."""

    device: str
    ports: Sequence[PortReading]
    port: int = 0
    _noise: random.Random = field(default_factory=lambda: random.Random(1))

    def table(self, name: str) -> _Table:
        """A table of its databases, as a sample of now; empty where it has none of this name."""
        rows = {"TRANSCEIVER_DOM_SENSOR": self._sensor, "TRANSCEIVER_INFO": _info}.get(name)
        rows = rows or {"TRANSCEIVER_DOM_THRESHOLD": _limits, "PORT_TABLE": _state}.get(name)
        return {port.interface: told for port in self.ports if (told := rows(port))} if rows else {}

    def _sensor(self, port: PortReading) -> dict[str, str]:
        told = {"temperature": _text(port.temperature_c), "voltage": _text(port.voltage_v)}
        for lane in port.lanes:
            told[f"rx{lane.lane}power"] = self._power(lane.rx_power_dbm)
            told[f"tx{lane.lane}power"] = self._power(lane.tx_power_dbm)
            told[f"tx{lane.lane}bias"] = _text(lane.tx_bias_ma)
        return told

    def _power(self, dbm: float | None) -> str:
        """A power; no light is minus infinity there."""
        floor = -40.0
        if dbm is not None and dbm <= floor:
            return "-inf"
        return _text(None if dbm is None else dbm + self._noise.uniform(-0.01, 0.01))


def streamed_switches(fleet: Path, devices: Sequence[str] | None = None) -> list[StreamedSwitch]:
    """Switches of a generated fleet, by default all of its SONiC leaves.

    Args:
        fleet: directory that `data_samples.generate` wrote.
        devices: their names.

    Raises:
        SimulatorError: a device is not in the fleet, or no SONiC switch.
    """
    if devices is None:
        known = pl.read_csv(fleet / "inventory.csv", infer_schema_length=None)["device"].unique().sort()
        devices = [name for name in known if name.startswith("leaf") and system_of(name) == _SYSTEM]
    wrong = [device for device in devices if system_of(device) != _SYSTEM]
    if wrong:
        msg = f"{wrong[0]}: not a switch that streams"
        raise SimulatorError(msg)
    return [StreamedSwitch(device, ports) for device, ports in last_readings(fleet, devices).items()]


class SimulatedStreams:
    """gNMI servers on free loopback ports while the context is open, a switch each.

    Attributes:
        host: where all of them listen, without TLS.
    """

    def __init__(self, switches: Sequence[StreamedSwitch]) -> None:
        self.host, self.switches = "127.0.0.1", list(switches)
        self._servers: list[grpc.Server] = []

    def __enter__(self) -> Self:
        """Listen.

        Raises:
            SimulatorError: no port can be had.
        """
        for switch in self.switches:
            server = grpc.server(futures.ThreadPoolExecutor(8))
            add_gNMIServicer_to_server(_Servicer(switch), server)
            try:
                switch.port = server.add_insecure_port(f"{self.host}:0")
            except RuntimeError as error:
                self.__exit__(None, None, None)
                msg = f"{switch.device}: {error}"
                raise SimulatorError(msg) from None
            server.start()
            self._servers.append(server)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Listen no more."""
        for server in self._servers:
            server.stop(0).wait()
        self._servers.clear()


class _Servicer(gNMIServicer):  # type: ignore[misc]  # the stubs have no types
    """The two calls of one switch."""

    def __init__(self, switch: StreamedSwitch) -> None:
        self._switch = switch

    def Capabilities(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002 - the protocol's
        """What a SONiC switch tells."""
        models = [pb.ModelData(name="sonic-db", organization="SONiC", version="0.1.0")]
        return pb.CapabilityResponse(supported_models=models, supported_encodings=[pb.JSON_IETF], gNMI_version="0.8.0")

    def Subscribe(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802 - the protocol's
        """All tables once, then those that are sampled, for as long as somebody listens."""
        asked = next(requests).subscribe
        if asked.encoding not in (pb.JSON, pb.JSON_IETF):
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "unsupported encoding")
        yield from (self._told(asked, each) for each in asked.subscription)
        yield pb.SubscribeResponse(sync_response=True)
        sampled = [each for each in asked.subscription if each.mode == pb.SAMPLE and each.sample_interval]
        pace_s = min((each.sample_interval / _NS for each in sampled), default=1.0)
        due = time.monotonic() + pace_s
        while asked.mode == pb.SubscriptionList.STREAM and context.is_active():
            time.sleep(max(0.0, min(0.1, due - time.monotonic())))
            if time.monotonic() >= due:
                due += pace_s
                yield from (self._told(asked, each) for each in sampled)

    def _told(self, asked: Any, each: Any) -> Any:
        raw = json.dumps(self._switch.table(each.path.elem[0].name)).encode()
        update = pb.Update(path=pb.Path(elem=each.path.elem[:1]), val=pb.TypedValue(json_ietf_val=raw))
        return pb.SubscribeResponse(
            update=pb.Notification(timestamp=time.time_ns(), prefix=asked.prefix, update=[update])
        )


def _info(port: PortReading) -> dict[str, str]:
    return {"serial": port.serial, "manufacturer": port.vendor, "model": port.part_number}


def _state(port: PortReading) -> dict[str, str]:
    oper, admin = ("up" if state else "down" for state in (port.oper_up, port.admin_up))
    return {"oper_status": oper, "admin_status": admin, "index": str(port.port)}


def _limits(port: PortReading) -> dict[str, str]:
    """The module's limits by SONiC's names.

    ``rx_power_low_warn_dbm`` is ``rxpowerlowwarning``.
    """
    told = {}
    for name, value in port.limits.items():
        stem = next(stem for stem in _LIMITS if name.startswith(f"{stem}_"))
        side, level, _ = name.removeprefix(f"{stem}_").split("_")
        told[f"{_LIMITS[stem]}{side}{'warning' if level == 'warn' else level}"] = _text(value)
    return told


def _text(value: float | None) -> str:
    return "N/A" if value is None else f"{value:.4f}"
