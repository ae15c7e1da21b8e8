"""From what a device said to rows of the canonical tables."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.decode.devicemap import DeviceMap, Snapshot, Told
from ingest.decode.quality import Flags, across
from ingest.decode.slots import COUNTERS, QUANTITIES
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

__all__ = ["Bits", "Origin", "lane_rows", "port_rows"]

Bits = npt.NDArray[np.int16]
"""Bits of `Quality`."""

_OF_LANE: Final = ("tx_power_dbm", "rx_power_dbm", "tx_bias_ma", "pre_fec_ber", "snr_db", "laser_temperature_c")
_OF_PORT: Final = ("temperature_c", "voltage_v", "host_snr_db")
_LANE_COLUMNS: Final = [QUANTITIES.index(name) for name in _OF_LANE]
_BER: Final = QUANTITIES.index("pre_fec_ber")


@dataclass(frozen=True, slots=True)
class Origin:
    """Who said something, when, over what, and what is to be doubted of all of it.

    Attributes:
        time: when it was received, UTC; an SNMP agent does not say when it read its module.
        received_at: `time`, or later where a reading is judged again.
    """

    site: str
    device: str
    time: datetime
    received_at: datetime
    source: str = "snmp"
    quality: int = 0  # bits of `Quality`


def lane_rows(device: DeviceMap, snapshot: Snapshot, origin: Origin, bits: Bits, only: Flags | None = None) -> pa.Table:
    """Rows of `lane_samples`: a lane of which nothing is known has none.

    Args:
        device: the map.
        snapshot: readings.
        origin: of all of them.
        bits: by row of the grid, shape (rows,).
        only: rows of the grid to take; all by default.
    """
    values = snapshot.values[:, _LANE_COLUMNS]
    known = ~np.isnan(values)
    of_module = device.rows.lane == 0
    known[of_module, _OF_LANE.index("pre_fec_ber")] = False  # the port's own, in `port_samples`
    kept = across(known) if only is None else across(known) & only
    rows = kept.nonzero()[0]
    port = device.rows.port[rows]
    columns = _head(device, origin, port, bits[rows])
    if snapshot.told is not None:
        columns |= _own(snapshot.told.row_times[rows], snapshot.told.row_doubts[rows], columns["quality"])
    columns["lane"] = pa.array(device.rows.lane[rows])
    for i, name in enumerate(_OF_LANE):
        columns[name] = _floats(values[rows, i], known[rows, i], LANE_SAMPLES.schema.field(name).type)
    return _table(LANE_SAMPLES.schema, columns, len(rows))


def port_rows(device: DeviceMap, snapshot: Snapshot, origin: Origin, bits: Bits, only: Flags | None = None) -> pa.Table:
    """Rows of `port_samples`: one a port with a transceiver, with its state, counters and its module's own readings.

    Args:
        device: the map.
        snapshot: readings.
        origin: of all of them.
        bits: by port, shape (ports,).
        only: ports to take; all by default.
    """
    kept = snapshot.alive if snapshot.told is None else snapshot.alive | snapshot.told.beside
    kept = kept if only is None else kept & only
    ports = kept.nonzero()[0]
    columns = _head(device, origin, ports, bits[ports])
    for name in _OF_PORT:
        own = _first(device, snapshot.values[:, QUANTITIES.index(name)])[ports]
        columns[name] = _floats(own, ~np.isnan(own), pa.float32())
    ber = snapshot.values[device.rows.first, _BER][ports]
    columns["pre_fec_ber"] = _floats(ber, ~np.isnan(ber), pa.float64())
    for name, states in (("oper_up", snapshot.up[ports]), ("admin_up", snapshot.admin[ports])):
        columns[name] = pa.array(states == 1, pa.bool_(), mask=states < 0)
    for i, name in enumerate(COUNTERS):
        counted = snapshot.counters[ports, i]
        columns[name] = pa.array(counted, pa.int64(), mask=counted < 0)
    if snapshot.told is not None:
        told = snapshot.told
        columns |= _own(told.port_times[ports], told.port_doubts[ports], columns["quality"])
        columns |= _told(told, ports)
    return _table(PORT_SAMPLES.schema, columns, len(ports))


def _own(times: npt.NDArray[np.datetime64], doubts: Bits, quality: pa.Array) -> dict[str, pa.Array]:
    """Times and doubts of each row's own."""
    return {
        "time": pa.array(times, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
        "quality": pa.array(quality.to_numpy() | doubts),
    }


def _told(told: Told, ports: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
    columns = {}
    for i, name in enumerate(("rx_los", "tx_fault", "cdr_lol")):
        flags = told.flags[ports, i]
        columns[name] = pa.array(flags == 1, pa.bool_(), mask=flags < 0)
    bins = told.bins[ports]
    listed = [[None if n < 0 else n for n in row] if max(row) >= 0 else None for row in bins.tolist()]
    columns["fec_bins"] = pa.array(listed, pa.list_(pa.int64()))
    return columns


def _first(device: DeviceMap, column: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """By port its first value: the module's own, or that of its first lane that has one."""
    if not device.rows.ports:
        return column
    at = np.where(np.isnan(column), len(column) - 1, np.arange(len(column)))
    first = np.minimum.reduceat(at, device.rows.first)
    return np.where(device.rows.port[first] == np.arange(device.rows.ports), column[first], np.nan)


def _head(device: DeviceMap, origin: Origin, port: npt.NDArray[np.int64], bits: Bits) -> dict[str, pa.Array]:
    count, at = len(port), pa.array(port)
    return {
        "time": pa.repeat(pa.scalar(origin.time, pa.timestamp("us", "UTC")), count),
        "received_at": pa.repeat(pa.scalar(origin.received_at, pa.timestamp("us", "UTC")), count),
        "site": pa.repeat(pa.scalar(origin.site, pa.string()), count),
        "device": pa.repeat(pa.scalar(origin.device, pa.string()), count),
        "interface": device.port_names.take(at),
        "serial": device.port_serials.take(at),
        "quality": pa.array(bits | device.doubts[port] | np.int16(origin.quality)),
        "source": pa.repeat(pa.scalar(origin.source, pa.string()), count),
    }


def _floats(values: npt.NDArray[np.float64], known: Flags, kind: pa.DataType) -> pa.Array:
    return pa.array(values.astype(kind.to_pandas_dtype()), kind, mask=~known)


def _table(schema: pa.Schema, columns: dict[str, Any], count: int) -> pa.Table:
    arrays = [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
