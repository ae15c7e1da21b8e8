"""One round over a host's ports: the kernel's files, ``ethtool`` and ``mlxlink``, joined to a reading a port."""

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ingest.agent.running import Ran, run
from ingest.agent.sysfs import Nic, read_state
from ingest.dumps.names import Given
from ingest.dumps.reading import Reading
from ingest.dumps.text import read_text
from ingest.errors import IngestError
from ingest.quarantine import Quarantine
from ingest.units import NO_LIGHT_DBM

__all__ = ["Round", "as_sample"]

_AT_ONCE: Final = 4
_POWERS: Final = ("rx_power_dbm", "tx_power_dbm")
_TEXTS: Final = ("serial", "vendor", "part_number", "firmware", "media", "form_factor", "speed_gbps", "fec_mode")
_LONGEST: Final = 255
_OF_LANE: Final = ("tx_power_dbm", "rx_power_dbm", "tx_bias_ma", "pre_fec_ber", "snr_db", "laser_temperature_c")
_OF_PORT: Final = ("temperature_c", "voltage_v", "host_snr_db", "pre_fec_ber")


class Round:
    """Reads ports, and remembers what this host's tools can do.

    Args:
        sys: where sysfs is mounted.
        timeout_s: of one command.
    """

    def __init__(self, sys: Path, timeout_s: float) -> None:
        self._sys, self._timeout_s = sys, timeout_s
        self._plain: set[tuple[str, ...]] = set()
        self._missing: set[str] = set()
        self.errors: list[str] = []
        """Of the last round: what could not be read, in words."""

    def read(self, nics: list[Nic], at: datetime) -> list[Reading]:
        """A reading of each port of which something is known."""
        self.errors, self._missing = [], set()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            readings = list(pool.map(lambda nic: self._read(nic, at), nics))
        self.errors += sorted(f"{tool}: not on this host" for tool in self._missing)
        return [reading for reading in readings if not reading.empty]

    def _read(self, nic: Nic, at: datetime) -> Reading:
        reading = Reading(0, None, nic.name, at)
        commands: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        if nic.name != nic.rdma:  # ethtool knows interfaces only
            commands += [(("ethtool",), ("-m", nic.name)), (("ethtool",), ("-S", nic.name))]
        if nic.rdma is not None:
            commands.append((("mlxlink",), ("-d", nic.rdma, "-p", str(nic.port), "-m", "-c", "-e", "--json")))
        for tool, words in commands:
            for said in self._ask(tool, words, nic, at):
                reading.merge(said)
        # the kernel's flap counter is the host's own; what a tool tells of the same comes first
        reading.merge(read_state(self._sys, nic))
        return reading

    def _ask(self, tool: tuple[str, ...], words: tuple[str, ...], nic: Nic, at: datetime) -> list[Reading]:
        """Readings of one command: JSON where the tool offers it, else text."""
        kind = (*tool, words[0])
        ways = [(*tool, *words)]
        if tool[0] == "ethtool" and kind not in self._plain:
            ways.insert(0, (*tool, "--json", *words))
        ran = Ran("")
        for way in ways:
            ran = run(way, self._timeout_s)
            if ran.missing:
                self._missing.add(tool[0])
                return []
            if ran.error is None and (found := self._parsed(ran.text, nic, at)) is not None:
                if way is ways[-1] and len(ways) > 1:
                    self._plain.add(kind)  # this host's ethtool knows no JSON of it
                return found
        if ran.error is not None and words[0] != "-m":  # a port without a module has none to read
            self.errors.append(ran.error)
        return []

    def _parsed(self, text: str, nic: Nic, at: datetime) -> list[Reading] | None:
        given = Given(device="-", interface=nic.name, at=at)
        doubts = Quarantine(Path(os.devnull))
        try:
            found = read_text(text, given=given, quarantine=doubts)
        except IngestError:
            return None
        finally:
            doubts.close()
        for reading in found:
            reading.interface = nic.name
        return found


def as_sample(reading: Reading) -> dict[str, Any]:
    """A reading as ``POST /v1/samples`` takes it; no light is -40 dBm there."""
    assert reading.time is not None  # noqa: S101 - a round gives it
    lanes = {lane: {"lane": lane} for lane, name in sorted(reading.values) if lane and name in _OF_LANE}
    sample: dict[str, Any] = {"interface": reading.interface, "time": reading.time.isoformat()}
    for (lane, name), value in reading.values.items():
        told = max(value, NO_LIGHT_DBM) if name in _POWERS else value
        if lane in lanes and name in _OF_LANE:
            lanes[lane][name] = told  # type: ignore[assignment]  # a number of either kind
        elif name in _OF_PORT:
            sample.setdefault(name, told)
    sample |= {"lanes": list(lanes.values())} if lanes else {}
    sample |= reading.states | reading.counters
    if reading.fec_bins:
        sample["fec_bins"] = reading.fec_bins[:16]
    module = {name: _short(value) for name, value in reading.module.items() if name in _TEXTS}
    limits = _limits(reading)
    if module or limits:
        sample["module"] = module | ({"limits": limits} if limits else {})
    return sample


def _short(value: str | float) -> str | float:
    return value[:_LONGEST] if isinstance(value, str) else value


def _limits(reading: Reading) -> dict[str, float]:
    """``rx_power_dbm`` and low_warn are rx_power_low_warn_dbm."""
    found: dict[str, float] = {}
    for quantity, limits in reading.limits.items():
        stem, _, unit = quantity.rpartition("_")
        if stem in ("tx_power", "rx_power", "tx_bias", "temperature", "voltage"):
            found |= {f"{stem}_{name}_{unit}": value for name, value in limits.items()}
    return found
