"""What surrounds the modules: heat of room, load and fans, and what happens to whole devices."""

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data_samples.config import FleetConfig
from data_samples.layout import End

__all__ = ["Device", "Environment"]

_DAILY_C, _LOAD_C, _SLOT_C, _NOISE_C = 2.0, 2.0, 3.0, 0.3
"""Daily swing, load step (1 to 3 C), spread of airflow by slot, noise of the reading [judgement]."""

_HOTTEST_C = 18.0
"""Fans hold a device below this much above its usual, so that heat alone fails no link [judgement]."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device's history: degrees above its modules' usual case temperature, gaps and reboots as steps."""

    heat_c: NDArray[np.float32]
    gap: NDArray[np.bool_]
    reboots: NDArray[np.int64]


class Environment:
    """Heat, gaps and reboots, drawn once a device and the same for everyone who asks."""

    def __init__(self, config: FleetConfig) -> None:
        self.config = config
        self._devices: dict[str, Device] = {}
        self._waves = self._heat_waves()

    def device(self, end: End) -> Device:
        """The history of an end's device."""
        if end.device not in self._devices:
            self._devices[end.device] = self._draw(end)
        return self._devices[end.device]

    def temperature_c(self, end: End, usual_c: float) -> NDArray[np.float32]:
        """True case temperature of the module in a cage, shape (steps,); slot and noise are the cage's own."""
        config = self.config
        rng = np.random.default_rng([config.seed, 2, zlib.crc32(f"{end.device}|{end.interface}".encode())])
        knots = rng.normal(0.0, 0.5, config.steps // 24 + 2)
        slow = np.interp(np.arange(config.steps) / 24, np.arange(len(knots)), knots)
        own = (
            np.clip(rng.normal(0.0, _SLOT_C), -2 * _SLOT_C, 2 * _SLOT_C)
            + slow
            + rng.normal(0.0, _NOISE_C, config.steps)
        )
        usual: NDArray[np.float32] = (usual_c + own).astype(np.float32)
        return usual + self.device(end).heat_c * np.float32(rng.uniform(0.8, 1.2))

    def _heat_waves(self) -> list[tuple[int, int, int, float]]:
        """Room, first step, length and degrees of each wave; room -1 is the whole site."""
        config, rng = self.config, np.random.default_rng([self.config.seed, 3])
        count = rng.poisson(config.heat_waves_per_month * config.days / 30)
        day = config.steps_per_day
        return [
            (
                int(rng.integers(-1, 2)),
                int(rng.integers(config.steps)),
                int(rng.uniform(0.25, 1.5) * day),
                rng.uniform(6, 8),
            )
            for _ in range(count)
        ]

    def _draw(self, end: End) -> Device:
        config = self.config
        rng = np.random.default_rng([config.seed, 4, zlib.crc32(end.device.encode())])
        step, day, months = np.arange(config.steps), config.steps_per_day, config.days / 30
        heat = _DAILY_C * np.sin(2 * np.pi * (step / day - 0.4)) + _load_c(rng, config)
        for room, first, length, degrees in self._waves:
            if room in (-1, end.room):
                heat += degrees * _hump(step, first, length)
        for _ in range(rng.poisson(config.fan_events_per_device_month * months)):
            heat += rng.uniform(5, 12) * _hump(
                step, int(rng.integers(config.steps)), int(rng.uniform(1, 48) * day / 24)
            )
        gap = np.zeros(config.steps, bool)
        for _ in range(rng.poisson(config.gaps_per_device_month * months)):
            first = int(rng.integers(config.steps))
            gap[first : first + max(1, int(rng.exponential(2.0) * day / 24))] = True
        reboots = np.sort(rng.integers(0, config.steps, rng.poisson(config.reboots_per_device_month * months)))
        for reboot in reboots:
            gap[reboot : reboot + 1] = True
        return Device(np.minimum(heat, _HOTTEST_C).astype(np.float32), gap, reboots)


def _load_c(rng: np.random.Generator, config: FleetConfig) -> NDArray[np.float64]:
    """Heat of traffic: jobs that start and end at once, hours to days long."""
    heat, at = np.zeros(config.steps), 0
    while at < config.steps:
        length = max(1, int(rng.lognormal(np.log(10), 0.9) * config.steps_per_day / 24))
        heat[at : at + length] = _LOAD_C * rng.choice([0.0, 0.5, 1.0, 1.5], p=[0.25, 0.25, 0.4, 0.1])
        at += length
    return heat


def _hump(step: NDArray[np.int64], first: int, length: int) -> NDArray[np.float64]:
    """Rises within a tenth of its length, falls as fast, 1 in between."""
    edge = max(length / 10, 1.0)
    return np.clip(np.minimum((step - first) / edge, (first + length - step) / edge), 0.0, 1.0)
