"""Writes a fleet's life as an operator would export it: telemetry parts and the tables beside them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from data_samples.counters import count
from data_samples.history import History
from data_samples.physics import State
from data_samples.ports import PortTime, port_time
from data_samples.readings import Readings, darken, read_link, spoil

__all__ = ["COLUMNS", "write_telemetry"]

_LINKS_PER_PART: Final = 32
_FLAPS_AT_LIMIT: Final = 0.02
"""Flaps a step at the FEC limit, none a decade below [judgement]."""
_CLOCK_LOST: Final = 0.5
"""Samples of a broken module that also lose the clock [judgement]."""
_LOS_DBM: Final = -30.0
"""Loss of signal is asserted at this power (SR4: assert -30, release -9 dBm)."""

COLUMNS: Final = pa.schema(
    [
        ("time", pa.timestamp("us", tz="UTC")),
        *((name, pa.string()) for name in ("device", "interface", "serial")),
        ("lane", pa.int8()),
        *(
            (name, pa.float32())
            for name in ("tx_power_dbm", "rx_power_dbm", "tx_bias_ma", "temperature_c", "voltage_v")
        ),
        ("pre_fec_ber", pa.float64()),
        *(
            (name, pa.int64())
            for name in ("fec_corrected", "fec_uncorrected", "crc_errors", "link_flaps", "read_errors")
        ),
        *((name, pa.bool_()) for name in ("rx_los", "tx_fault", "cdr_lol", "oper_up", "admin_up")),
    ]
)
"""The telemetry's columns: lane rows with the port's columns repeated on each."""

Column = NDArray[np.generic]


def write_telemetry(out: Path, history: History, progress: Callable[[float], None] | None = None) -> int:
    """Write ``telemetry/part-NNNN.parquet``; returns the number of rows. Holds one link's rows at a time."""
    folder = out / "telemetry"
    folder.mkdir(parents=True, exist_ok=True)
    rows, states = 0, history.states
    for part, first in enumerate(range(0, len(states), _LINKS_PER_PART)):
        path = folder / f"part-{part:04d}.parquet"
        # Strings go in as dictionaries and come out as plain strings: no Arrow schema is stored.
        with pq.ParquetWriter(
            path, _dictionaries(), compression="zstd", compression_level=1, store_schema=False
        ) as writer:
            for state in states[first : first + _LINKS_PER_PART]:
                for table in _tables(history, state):
                    writer.write_table(table)
                    rows += table.num_rows
                if progress:
                    progress((state.link.index + 1) / len(states))
    return rows


def _dictionaries() -> pa.Schema:
    encoded = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([pa.field(f.name, encoded if pa.types.is_string(f.type) else f.type) for f in COLUMNS])


def _tables(history: History, state: State) -> Iterator[pa.Table]:
    """One table for each end that has telemetry."""
    config = history.config
    times = (port_time(history, state, 0), port_time(history, state, 1))
    ends = read_link(history, state)
    _flap_at_the_limit(history, state, ends, times)
    for end, readings in enumerate(ends):
        if state.link.ends[end].silent:
            continue
        rng = np.random.default_rng([config.seed, 10, state.link.index, end])
        darken(readings, times[end], times[1 - end])
        counters = count(rng, state.link.media, readings["port_ber"][0], times[end], config.interval_minutes * 60.0)
        flags = _flags(rng, readings, times[end])
        spoil(rng, readings, config.glitch, config.stuck)
        yield _table(history, state, end, times[end], readings, counters | flags)


def _flap_at_the_limit(
    history: History, state: State, ends: tuple[Readings, Readings], times: tuple[PortTime, PortTime]
) -> None:
    """A link near its limit goes down and up between two polls; both ends count it."""
    rng = np.random.default_rng([history.config.seed, 12, state.link.index])
    for readings in ends:
        beyond = readings["port_ber"][0] - np.float32(np.log10(state.link.media.ber_limit))
        flaps = rng.poisson(_FLAPS_AT_LIMIT * np.clip(beyond + 1.0, 0.0, 2.0)) * times[0].up
        for time in times:
            time.flaps += flaps


def _flags(rng: np.random.Generator, readings: Readings, time: PortTime) -> dict[str, Column]:
    """What the module says of itself: light lost, transmitter broken, clock not recovered."""
    los: NDArray[np.bool_] = np.any(readings["rx_power_dbm"] < _LOS_DBM, axis=0)
    return {
        "rx_los": los,
        "tx_fault": time.fault,
        "cdr_lol": los | (time.fault & (rng.random(len(los)) < _CLOCK_LOST)),
    }


def _table(
    history: History, state: State, end: int, time: PortTime, readings: Readings, counters: dict[str, Column]
) -> pa.Table:
    """Rows in order of time and lane."""
    link, config = state.link, history.config
    place = link.ends[end]
    keep = np.flatnonzero(time.seen)
    lanes, rows = link.media.lanes, len(keep) * link.media.lanes
    columns: dict[str, pa.Array] = {
        "time": pa.array(np.repeat(_times(config.start.timestamp(), config.interval_minutes, keep), lanes)).cast(
            COLUMNS.field("time").type
        ),
        "device": _constant(place.device, rows),
        "interface": _constant(place.interface, rows),
        "serial": _serials(state, end, keep, lanes),
        "lane": pa.array(np.tile(np.arange(1, lanes + 1, dtype=np.int8), len(keep))),
    }
    mute = np.repeat(time.mute[keep], lanes) if time.mute.any() else None
    for name in ("tx_power_dbm", "rx_power_dbm", "tx_bias_ma", "temperature_c", "voltage_v"):
        columns[name] = (
            _grid(readings[name], keep, lanes, mute) if link.kind == "fiber" else pa.nulls(rows, pa.float32())
        )
    columns["pre_fec_ber"] = _ber(state, end, readings, time, keep)
    for name, values in counters.items():
        shown = place.flags or name not in ("rx_los", "tx_fault", "cdr_lol", "read_errors")
        columns[name] = pa.array(np.repeat(values[keep], lanes)) if shown else pa.nulls(rows, COLUMNS.field(name).type)
    for name, values in (("oper_up", time.up), ("admin_up", time.admin_up)):
        columns[name] = pa.array(np.repeat(values[keep], lanes))
    missing = {f.name: pa.nulls(rows, f.type) for f in COLUMNS if f.name not in columns}
    columns |= missing
    return pa.table([columns[f.name] for f in COLUMNS], schema=_dictionaries())


def _times(start_s: float, minutes: int, keep: NDArray[np.int64]) -> NDArray[np.datetime64]:
    us = int(start_s * 1_000_000) + keep * (minutes * 60_000_000)
    return us.astype("datetime64[us]")


def _constant(text: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


def _serials(state: State, end: int, keep: NDArray[np.int64], lanes: int) -> pa.DictionaryArray:
    """The serial in the cage at each row."""
    modules = state.modules[end]
    which = np.searchsorted([module.first for module in modules], keep, side="right") - 1
    return pa.DictionaryArray.from_arrays(
        pa.array(np.repeat(which.astype(np.int32), lanes)), pa.array([module.serial for module in modules])
    )


def _grid(values: NDArray[np.float32], keep: NDArray[np.int64], lanes: int, mute: NDArray[np.bool_] | None) -> pa.Array:
    """A reading as a column; a module's single value stands on each of its lanes."""
    kept = values[:, keep]
    flat = np.ascontiguousarray(kept.T).reshape(-1) if len(values) == lanes else np.repeat(kept[0], lanes)
    return pa.array(flat, mask=mute)


def _ber(state: State, end: int, readings: Readings, time: PortTime, keep: NDArray[np.int64]) -> pa.Array:
    """Pre-FEC BER where the port tells it: of the lane, or one value on each lane; null while it is down."""
    place, media = state.link.ends[end], state.link.media
    lanes = media.lanes
    if place.ber == "none" or media.fec == "none":
        return pa.nulls(len(keep) * lanes, pa.float64())
    log10 = readings["lane_ber" if place.ber == "lane" else "port_ber"][:, keep]
    flat = np.ascontiguousarray(log10.T).reshape(-1) if place.ber == "lane" else np.repeat(log10[0], lanes)
    digits = np.round(10.0 ** (flat.astype(np.float64) - np.floor(flat)), 3) * 10.0 ** np.floor(flat)
    return pa.array(digits, mask=np.repeat(~time.up[keep], lanes))
