"""From truth to telemetry: what the sensors of both ends of a link say, with offsets, steps, glitches and gaps."""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from data_samples.history import History
from data_samples.layout import End
from data_samples.modules import Module
from data_samples.physics import Light, State, host_ber, light, port_ber
from data_samples.ports import PortTime

__all__ = ["NO_LIGHT_DBM", "Readings", "darken", "read_link", "spoil"]

NO_LIGHT_DBM: Final = np.float32(-40.0)
_REPEAT_RX_DB, _NOISE_V, _NOISE_BER = np.float32(0.06), np.float32(0.004), np.float32(0.06)
"""Repeatability of Rx, voltage and log10 BER; Tx and bias differ by module [judgement]."""

Grid: TypeAlias = NDArray[np.float32]
Readings: TypeAlias = dict[str, Grid]
"""By column: (lanes, steps), or (1, steps) for what the module has once; BER as log10."""


def read_link(history: History, state: State) -> tuple[Readings, Readings]:
    """The readings of both ends over all steps, before anything of the port is applied."""
    ends: tuple[list[Readings], list[Readings]] = ([], [])
    for first, last in state.segments(history.config.steps):
        lights = tuple(light(state, history.env, first, last, direction) for direction in (0, 1))
        for end in (0, 1):
            ends[end].append(_read(history, state, end, first, last, lights[end], lights[1 - end]))
    joined = [{name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]} for parts in ends]
    return joined[0], joined[1]


def _read(history: History, state: State, end: int, first: int, last: int, sent: Light, received: Light) -> Readings:
    """One end over a stretch with the same modules."""
    link, config = state.link, history.config
    module = state.module(end, first)
    rng = np.random.default_rng([config.seed, 9, link.index, end, first])
    shape = sent.tx_dbm.shape
    tx_noise, rx_noise, bias_noise = (
        np.float32(size) * rng.standard_normal(shape, np.float32)
        for size in (module.tx_noise_db, _REPEAT_RX_DB, module.bias_noise)
    )
    place = link.ends[end]
    heat = history.env.temperature_c(place, link.media.temperature_c)[None, first:last]
    ber = port_ber(received, host_ber(state, first, last, end))
    return {
        "tx_power_dbm": _power(sent.tx_dbm + module.tx_error_db[:, None] + tx_noise, place, module),
        "rx_power_dbm": _power(received.rx_dbm + module.rx_error_db[:, None] + rx_noise, place, module),
        "tx_bias_ma": _steps(
            module.bias_ma[:, None] * sent.bias_factor * (1 + bias_noise),
            module.vendor.bias_step_ma,
        ),
        "temperature_c": _steps(heat + np.float32(module.temperature_error_c), module.vendor.temperature_step_c),
        "voltage_v": np.float32(module.voltage_v) + _NOISE_V * rng.standard_normal(heat.shape, np.float32),
        "lane_ber": received.log10_ber + _NOISE_BER * rng.standard_normal(shape, np.float32),
        "port_ber": np.log10(np.maximum(ber, 1e-18)).astype(np.float32)[None],
    }


def _power(read: Grid, place: End, module: Module) -> Grid:
    """As the device exports it: no light below the floor, else in its steps (or the register's 0.1 uW)."""
    if module.vendor.microwatts and not place.coarse:
        tenths = np.round(np.float32(1e4) * np.float32(10) ** (read / np.float32(10)))
        read = np.float32(10) * np.log10(np.maximum(tenths, np.float32(1.0))) + NO_LIGHT_DBM
        return np.where(read <= np.float32(-33.0), NO_LIGHT_DBM, read)
    return np.where(read <= np.float32(-33.0), NO_LIGHT_DBM, _steps(read, 0.1 if place.coarse else 0.01))


def _steps(values: Grid, step: float) -> Grid:
    """Rounded to the sensor's resolution."""
    return np.round(values * np.float32(1 / step)) * np.float32(step)


def spoil(rng: np.random.Generator, readings: Readings, glitch: float, stuck: float) -> None:
    """Single absurd samples, and now and then a sensor that says the same for hours."""
    absurd = {
        "temperature_c": (-128.0, 127.99609),
        "tx_bias_ma": (0.0, 131.07),
        "rx_power_dbm": (-40.0, 8.1647),
        "tx_power_dbm": (-40.0,),
        "lane_ber": (-0.7, -1.2),
        "port_ber": (-0.6, -18.0),
    }
    for name, values in absurd.items():
        grid = readings[name]
        for _ in range(rng.poisson(glitch * grid.size)):
            grid[rng.integers(grid.shape[0]), rng.integers(grid.shape[1])] = rng.choice(values)
    if rng.random() < stuck:
        grid = readings[str(rng.choice(["tx_power_dbm", "rx_power_dbm", "tx_bias_ma", "temperature_c"]))]
        first = int(rng.integers(grid.shape[1]))
        grid[:, first : first + int(rng.uniform(20, 300))] = grid[:, first : first + 1]


def darken(readings: Readings, own: PortTime, far: PortTime) -> None:
    """A laser that is shut sends nothing, and the far end receives nothing."""
    readings["tx_power_dbm"][:, own.dark] = NO_LIGHT_DBM
    readings["tx_bias_ma"][:, own.dark] = 0.0
    readings["rx_power_dbm"][:, far.dark] = NO_LIGHT_DBM
    readings["voltage_v"] -= own.sag_v
