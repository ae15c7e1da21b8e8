"""Simulated switches: a fleet's last readings as SNMP recordings, and snmpsim on loopback to serve them.

The switches keep the fleet's device and interface names, so that live polls join its history.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import polars as pl
from gufo.snmp import NoSuchInstance, SnmpVersion
from gufo.snmp.sync import SnmpSession

from data_samples.layout import port_number, system_of
from data_samples.snmprec import SHAPES, LaneReading, PortReading, recording
from ingest.schema import LIMITS

__all__ = ["SimulatedSwitches", "SimulatorError", "SwitchRecording", "last_readings", "write_recordings"]

_SYS_OBJECT_ID: Final = "1.3.6.1.2.1.1.2.0"
_LAUNCH: Final = """
import importlib.util, sys, types
if importlib.util.find_spec("pysmi") is None:  # snmpsim asks for its version and nothing else
    sys.modules["pysmi"] = types.ModuleType("pysmi")
    sys.modules["pysmi"].__version__ = "none"
from snmpsim.commands.responder import main
sys.exit(main())
"""


class SimulatorError(RuntimeError):
    """The simulated switches cannot be made or started; the text says why in a line."""


@dataclass(frozen=True, slots=True)
class SwitchRecording:
    """One made recording; snmpsim takes the file's name for the community."""

    device: str
    system: str
    path: Path
    ports: int

    @property
    def community(self) -> str:
        """SNMP community that names this switch to the simulator."""
        return self.path.stem


def write_recordings(out: Path, fleet: Path, devices: Sequence[str] | None = None) -> list[SwitchRecording]:
    """Write ``DEVICE.snmprec`` for switches of a generated fleet, from its last readings.

    Args:
        out: directory of the recordings; made where missing.
        fleet: directory that `data_samples.generate` wrote.
        devices: their names; by default the first leaf of each system that can be simulated (EOS, NX-OS, Junos).

    Raises:
        SimulatorError: a device is not in the fleet, or of a system that cannot be simulated.
    """
    inventory = pl.read_csv(fleet / "inventory.csv", infer_schema_length=None)
    chosen = list(devices or _first_of_each(inventory["device"].unique().sort()))
    for device in chosen:
        if system_of(device) not in SHAPES:
            msg = f"{device}: not a switch of this fleet that can be simulated"
            raise SimulatorError(msg)
    out.mkdir(parents=True, exist_ok=True)
    found = []
    for device, ports in last_readings(fleet, chosen).items():
        system, path = system_of(device), out / f"{device}.snmprec"
        path.write_text(recording(system, device, ports), encoding="utf-8")
        found.append(SwitchRecording(device, system, path, len(ports)))
    return found


def last_readings(fleet: Path, devices: Sequence[str]) -> dict[str, list[PortReading]]:
    """Ports of switches of a generated fleet, as they last were.

    Args:
        fleet: directory that `data_samples.generate` wrote.
        devices: their names.

    Raises:
        SimulatorError: a device is not in the fleet.
    """
    inventory = pl.read_csv(fleet / "inventory.csv", infer_schema_length=None)
    known = inventory.filter(pl.col("device").is_in(list(devices)) & pl.col("removed_at").is_null())
    latest = _latest(fleet, devices)
    found = {}
    for device in devices:
        modules = known.filter(pl.col("device") == device)
        if modules.is_empty():
            msg = f"{device}: not a switch of this fleet that can be simulated"
            raise SimulatorError(msg)
        found[device] = [_port(row, system_of(device), latest) for row in modules.to_dicts()]
    return found


def _first_of_each(devices: Iterable[str]) -> Iterable[str]:
    seen: dict[str, str] = {}
    for device in devices:
        if device.startswith("leaf") and system_of(device) in SHAPES:
            seen.setdefault(system_of(device), device)
    return seen.values()


def _latest(fleet: Path, devices: Sequence[str]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The lane rows of each port's last sample, of the fleet's last day."""
    rows = pl.scan_parquet(fleet / "telemetry" / "*.parquet")
    end = rows.select(pl.col("time").max()).collect().item()
    recent = rows.filter(pl.col("device").is_in(devices), pl.col("time") > end - timedelta(days=1))
    last = recent.filter(pl.col("time") == pl.col("time").max().over("device", "interface")).collect()
    ports: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in last.sort("lane").to_dicts():
        ports.setdefault((row["device"], row["interface"]), []).append(row)
    return ports


def _port(module: dict[str, Any], system: str, latest: dict[tuple[str, str], list[dict[str, Any]]]) -> PortReading:
    rows = latest.get((module["device"], module["interface"]), [])
    first: dict[str, Any] = rows[0] if rows else {}
    dom = first.get("temperature_c") is not None
    return PortReading(
        interface=module["interface"],
        port=port_number(system, module["interface"]),
        serial=first.get("serial") or module["serial"],
        vendor=module["vendor"],
        part_number=module["part_number"],
        speed_gbps=module["speed_gbps"],
        oper_up=bool(first.get("oper_up")),
        admin_up=bool(first.get("admin_up", True)),
        temperature_c=first.get("temperature_c"),
        voltage_v=first.get("voltage_v"),
        lanes=[LaneReading(*(row[k] for k in LaneReading.__slots__)) for row in rows] if dom else [],
        limits={name: value for name in LIMITS if (value := module.get(_in_export(name))) is not None},
    )


def _in_export(limit: str) -> str:
    """A limit's name as the inventory's column.

    >>> _in_export("rx_power_low_warn_dbm")
    'rx_low_warn_dbm'
    """
    return limit.replace("_power_", "_")


class SimulatedSwitches:
    """snmpsim on a free loopback port, serving recordings while the context is open.

    Attributes:
        host, port: where all of them answer; a switch is told by its community.
        start_s: how long each may take to answer first.
    """

    def __init__(self, recordings: Sequence[SwitchRecording], start_s: float = 30.0) -> None:
        self.recordings, self.start_s = list(recordings), start_s
        self.host, self.port = "127.0.0.1", 0
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch = Path()

    def __enter__(self) -> Self:
        """Start, and wait until each switch answers.

        Raises:
            SimulatorError: snmpsim is not installed, or does not start.
        """
        self._scratch = Path(tempfile.mkdtemp(prefix="forelight-switches-"))
        self.port = _free_port(self.host)
        data = self._scratch / "data"
        data.mkdir()
        for each in self.recordings:
            shutil.copy(each.path, data)
        command = _command(data, self._scratch, self.host, self.port)
        with (self._scratch / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603 (our own arguments)
        try:
            for each in self.recordings:
                self._await(each.community)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the simulator and remove its scratch files."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _await(self, community: str) -> None:
        give_up = time.monotonic() + self.start_s
        while time.monotonic() < give_up and self._process is not None and self._process.poll() is None:
            session = SnmpSession(
                addr=self.host, port=self.port, community=community, version=SnmpVersion.v2c, timeout=0.5
            )
            with suppress(TimeoutError, OSError, NoSuchInstance), session:
                session.get(_SYS_OBJECT_ID)
                return
            time.sleep(0.1)
        said = (self._scratch / "log").read_text(errors="replace").strip().splitlines()
        msg = f"the simulated switch {community} does not answer: {said[-1] if said else 'snmpsim said nothing'}"
        raise SimulatorError(msg)


def _command(data: Path, scratch: Path, host: str, port: int) -> list[str]:
    as_root = ["--process-user=root", "--process-group=root"] if os.geteuid() == 0 else []
    return [
        *(sys.executable, "-c", _LAUNCH),
        f"--data-dir={data}",
        f"--cache-dir={scratch / 'cache'}",
        f"--agent-udpv4-endpoint={host}:{port}",
        "--log-level=error",
        *as_root,
    ]


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
