"""Readings into rows of the canonical tables, judged by the same rules as what is polled."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from ingest.decode.quality import Floats, Rows, judge, plausible_limits
from ingest.decode.slots import QUANTITIES
from ingest.dumps.reading import Reading
from ingest.schema import LANE_SAMPLES, LIMITS, PORT_SAMPLES, Quality

__all__ = ["Judged", "Refused", "limits_of", "rows_of", "tables_of"]

_OF_LANE: Final = ("tx_power_dbm", "rx_power_dbm", "tx_bias_ma", "pre_fec_ber", "snr_db", "laser_temperature_c")
_OF_PORT: Final = ("temperature_c", "voltage_v", "host_snr_db")
_PLACE: Final[dict[str, int]] = {name: place for place, name in enumerate(QUANTITIES)}
_UP: Final = {True: 1, False: 0, None: -1}


@dataclass(frozen=True, slots=True)
class Refused:
    """A value that no module can give."""

    reading: Reading
    lane: int
    quantity: str
    value: float


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of readings.

    Attributes:
        lanes: rows of `lane_samples`, as dictionaries.
        ports: rows of `port_samples`, likewise.
        refused: values that are null in them, since no module can give them.
    """

    lanes: list[dict[str, Any]]
    ports: list[dict[str, Any]]
    refused: list[Refused]


def rows_of(readings: Sequence[Reading], *, site: str = "default", source: str = "file") -> Judged:
    """Rows of readings that all have device, interface and time.

    Args:
        readings: each of another port or time.
        site: of all of them.
        source: who said it: file, agent.
    """
    ports, lanes = _grid(readings)
    rows = Rows.of(ports, lanes)
    said = _values(readings, ports, lanes)
    zero = np.array(
        [
            [(lane, name) in readings[port].zeros for name in QUANTITIES]
            for port, lane in zip(ports, lanes, strict=True)
        ],
        dtype=np.bool_,
    ).reshape(said.shape)
    up = np.array([_UP[reading.states.get("oper_up")] for reading in readings], np.int8)
    values, echoes = judge(said, zero, rows, up)
    _restore(values, said, readings, ports, lanes)
    wrong = ~np.isnan(said) & np.isnan(values) & ~zero & ~echoes & (said != 0.0)
    judged = Judged([], [], [])
    for port, first, end in _spans(ports):
        _add(judged, readings[port], lanes[first:end], values[first:end], wrong[first:end], said[first:end])
    for rows_ in (judged.lanes, judged.ports):
        for row in rows_:
            row.update(site=site, source=source)
    return judged


def tables_of(judged: Judged) -> tuple[pa.Table, pa.Table]:
    """The rows as tables in the schemas of `lane_samples` and `port_samples`."""
    return (
        pa.Table.from_pylist(judged.lanes, schema=LANE_SAMPLES.schema),
        pa.Table.from_pylist(judged.ports, schema=PORT_SAMPLES.schema),
    )


def limits_of(reading: Reading) -> dict[str, float]:
    """The module's own limits as columns of `modules`, without what contradicts itself."""
    found = {}
    for quantity, limits in reading.limits.items():
        stem, _, unit = quantity.rpartition("_")
        for name, value in plausible_limits(limits, quantity).items():
            side, _, level = name.partition("_")
            if (column := f"{stem}_{side}_{level}_{unit}") in LIMITS:
                found[column] = value
    return found


def _doubts(reading: Reading) -> int:
    """What is to be doubted of all of a reading: limits that contradict each other (field_faults.md, row 30)."""
    for quantity, limits in reading.limits.items():
        if any(limits.values()) and not plausible_limits(limits, quantity):
            return reading.quality | int(Quality.LIMITS_IMPLAUSIBLE)
    return reading.quality


def _grid(readings: Iterable[Reading]) -> tuple[list[int], list[int]]:
    """Port and lane of each row; each port has lane 0."""
    ports, lanes = [], []
    for port, reading in enumerate(readings):
        found = sorted({0, *(lane for lane, _ in reading.values)})
        ports += [port] * len(found)
        lanes += found
    return ports, lanes


def _values(readings: Sequence[Reading], ports: Sequence[int], lanes: Sequence[int]) -> Floats:
    values = np.full((len(ports), len(QUANTITIES)), np.nan)
    for row, (port, lane) in enumerate(zip(ports, lanes, strict=True)):
        said = readings[port].values
        values[row] = [said.get((lane, name), np.nan) for name in QUANTITIES]
    return values


def _restore(
    values: Floats, said: Floats, readings: Sequence[Reading], ports: Sequence[int], lanes: Sequence[int]
) -> None:
    """What is known better here than by the rules of polls.

    0 dBm of a power that was told in watts is a milliwatt, whatever the port's state. The port's own BER beside that
    of one lane is another thing: the ASIC counts the one, the module the other.
    """
    ber = _PLACE["pre_fec_ber"]
    for row, (port, lane) in enumerate(zip(ports, lanes, strict=True)):
        for name in ("rx_power_dbm", "tx_power_dbm"):
            place = _PLACE[name]
            if (lane, name) in readings[port].watts and said[row, place] == 0.0:
                values[row, place] = 0.0
        if lane == 0 and 0.0 <= said[row, ber] <= 1.0:
            values[row, ber] = said[row, ber]


def _spans(ports: Sequence[int]) -> Iterable[tuple[int, int, int]]:
    first = 0
    for end in range(1, len(ports) + 1):
        if end == len(ports) or ports[end] != ports[first]:
            yield ports[first], first, end
            first = end


def _add(
    judged: Judged, reading: Reading, lanes: Sequence[int], values: Floats, wrong: np.ndarray[Any, Any], said: Floats
) -> None:
    """One reading's rows; a lane of which nothing is known has none, and neither has such a port.

    What a breakout's port counts is in a row under its own name: cages with several have several counters.
    """
    head = {
        "time": reading.time,
        "received_at": reading.time,
        "device": reading.device,
        "interface": reading.interface,
        "serial": reading.module.get("serial"),
    }
    doubts = _doubts(reading)
    for row, lane in enumerate(lanes):
        judged.refused.extend(
            Refused(reading, lane, QUANTITIES[place], float(said[row, place])) for place in np.flatnonzero(wrong[row])
        )
        told = _told(values[row], _OF_LANE[:3] + _OF_LANE[4:] if lane == 0 else _OF_LANE)
        bad = _glitch(wrong[row], _OF_LANE)
        if told or (bad and lane):
            judged.lanes.append(head | {"lane": lane, "quality": bad | doubts} | told)
    told = _told(values[0], (*_OF_PORT, "pre_fec_ber")) | _first(values, _OF_PORT)
    if told or reading.states or reading.counters or reading.fec_bins:
        bins = {"fec_bins": reading.fec_bins, "sub_interface": reading.sub_interface}
        quality = _glitch(wrong[0], (*_OF_PORT, "pre_fec_ber"))
        port = reading.states | reading.counters | bins | {"quality": quality | doubts}
        if reading.sub_interface in (None, reading.interface):
            judged.ports.append(head | told | port)
            return
        of_port = {name: told.pop(name) for name in ("pre_fec_ber",) if name in told}
        if told:
            judged.ports.append(head | told | {"quality": quality | doubts})
        judged.ports.append(head | port | of_port | {"interface": reading.sub_interface, "serial": None})


def _told(values: Floats, names: Iterable[str]) -> dict[str, float]:
    return {name: float(values[_PLACE[name]]) for name in names if not np.isnan(values[_PLACE[name]])}


def _first(values: Floats, names: Iterable[str]) -> dict[str, float]:
    """What only lanes tell of the module: the first that does."""
    found = {}
    for name in names:
        column = values[:, _PLACE[name]]
        known = np.flatnonzero(~np.isnan(column))
        if len(known):
            found[name] = float(column[known[0]])
    return found


def _glitch(wrong: np.ndarray[Any, Any], names: Iterable[str]) -> int:
    return int(Quality.GLITCH) if any(wrong[_PLACE[name]] for name in names) else 0
