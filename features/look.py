"""A look at the fleet at some times: every window and baseline that features are made of, computed once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features import kernels
from features.baseline_kernels import baselines
from features.cube import CARRY_H, Cube
from features.history import History
from features.physics import BIAS_PER_C, log_ber_from_counter

__all__ = ["DAY_H", "REACH", "Look", "Series", "series_of"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Series = Mapping[str, tuple[Floats, Ints]]
"""By metric its hourly values, shape (series, hours), and the port of each row."""

DAY_H: Final = 24
_GUARD_H: Final = 24  # the newest day is what is compared, so it is no part of the baseline
_REACH_H: Final = 14 * DAY_H
_ENOUGH_H: Final = 12
_ALIGN_H: Final = 12  # baselines move slowly: they are computed at noon and midnight UTC
_COMMON_PORTS: Final = 4  # fewer ports of a device do not make a common mode
_WEEK_H: Final = 7 * DAY_H
REACH: Final = timedelta(hours=_REACH_H + _GUARD_H + _ALIGN_H + _WEEK_H + CARRY_H)
"""How far back a look reads: what lies further back changes nothing."""
_WINDOWS: Final = {"mean": 0, "min": 1, "max": 2, "sum": 3, "last": 4}
_LINES: Final = ("slope", "scatter")
_OF_LANES: Final = {"mean": 0, "min": 1, "max": 2}


@dataclass(frozen=True)
class Look:
    """Windows over a cube at the times of a history, whose series are `series_of` that cube.

    Lane arrays have one row a lane, port arrays one row a port; the second axis is the times.
    """

    cube: Cube
    history: History
    series: Series
    _cache: dict[tuple[object, ...], Floats] = field(default_factory=dict, repr=False)

    @cached_property
    def at(self) -> Ints:
        """Hour index of each time, counted from the cube's start."""
        return (self.history.at_s // 3600).astype(np.int64) - self.cube.start

    def _once(self, key: tuple[object, ...], make: Callable[[], Floats]) -> Floats:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    # ---- windows ------------------------------------------------------------------------------

    def _window(self, name: str, x: Floats, hours: int, kind: str) -> Floats:
        if kind not in _LINES:
            return self._once((name, hours, kind), lambda: kernels.windows(x, self.at, hours, _WINDOWS[kind]))
        both = self._once((name, hours, "line"), lambda: kernels.lines(x, self.at, hours))
        line: Floats = both[_LINES.index(kind)]
        return line

    def window(self, metric: str, hours: int, kind: str) -> Floats:
        """Shape (series, times): a statistic of the last `hours`: mean, min, max, sum, last, slope (a day), scatter."""
        return self._window(metric, self.series[metric][0], hours, kind)

    def state(self, name: str, hours: int, kind: str = "sum") -> Floats:
        """Shape (ports, times): a statistic of a port state over the last `hours`."""
        return self._window(f"state {name}", self.cube.states[name], hours, kind)

    def counted(self, counter: str, hours: int) -> Floats:
        """Shape (ports, times): growth of a counter in the last `hours`."""
        return self.state(counter, hours)

    def lane_sum(self, column: str, hours: int) -> Floats:
        """Shape (lanes, times): sum of a count over the last `hours`."""
        return self._window(f"lane {column}", self.cube.lanes[column], hours, "sum")

    def lanes(self, hours: int) -> Floats:
        """Shape (ports, times): lanes that reported within the last `hours`."""
        out = np.zeros((self.cube.ports.height, len(self.at)), np.float32)
        np.add.at(out, self.cube.lane_port, self.lane_sum("rows", hours) > 0)
        return out

    def _baseline(self, metric: str) -> Floats:
        def make() -> Floats:
            x, owner = self.series[metric]
            aligned = (self.at + self.cube.start) // _ALIGN_H * _ALIGN_H - self.cube.start
            return baselines(x, aligned, self.history.epoch, owner, _GUARD_H, _REACH_H, _ENOUGH_H)

        return self._once(("baseline", metric), make)

    def base(self, metric: str) -> Floats:
        """Shape (series, times): where the series stood before; see `kernels.baselines`."""
        median: Floats = self._baseline(metric)[0]
        return median

    def noise(self, metric: str) -> Floats:
        """Shape (series, times): the scale of the series' own hourly scatter."""
        sigma: Floats = self._baseline(metric)[1]
        return sigma

    def shift(self, metric: str, hours: int) -> Floats:
        """Shape (series, times): mean of the last `hours` less the baseline."""
        return self._once(("shift", metric, hours), lambda: self.window(metric, hours, "mean") - self.base(metric))

    # ---- lanes to ports, ports to devices -----------------------------------------------------

    def owner(self, metric: str) -> Ints:
        """The port of each row of a metric's series."""
        return self.series[metric][1]

    def worst(self, metric: str, values: Floats, side: str) -> Floats:
        """Shape (ports, times): the least ("min") or greatest ("max") of a port's lanes; NaN where it has none."""
        return kernels.of_lanes(values, self.owner(metric), self.cube.ports.height, _OF_LANES[side])

    def middle(self, metric: str, values: Floats) -> Floats:
        """Shape (ports, times): mean over a port's lanes."""
        return kernels.of_lanes(values, self.owner(metric), self.cube.ports.height, _OF_LANES["mean"])

    def common(self, values: Floats) -> Floats:
        """Shape (ports, times): the median over the ports of the same device; 0 where they are too few to tell."""
        return kernels.medians(values, self._device, _COMMON_PORTS)

    @cached_property
    def _device(self) -> Ints:
        """Shape (ports,): number of each port's device, ascending as the ports are sorted."""
        return self.cube.ports.select("site", "device").to_struct().rank("dense").cast(pl.Int64).to_numpy()


def _recently(seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether it was so in this hour or any of the week before it."""
    count = np.cumsum(seen, axis=1)
    before = np.zeros_like(count)
    before[:, _WEEK_H:] = count[:, :-_WEEK_H]
    return count > before


def series_of(cube: Cube, speed_gbps: Floats) -> Series:
    """The hourly series of every metric; they hang on no time, so looks at the same cube share them.

    Args:
        cube: tiles.
        speed_gbps: shape (ports, hours), see `History.speed_gbps`.
    """
    lanes, ports = cube.lanes, cube.lane_port
    temp = cube.states["temp_mean"]
    heat = np.where(_recently(~np.isnan(temp)), BIAS_PER_C * temp, 0.0)[ports]
    bias_raw = np.log(lanes["bias_mean"])
    ber = np.vstack([lanes["ber_mean"], _port_ber(cube, speed_gbps)])
    owner = np.concatenate([ports, np.arange(cube.ports.height)])
    order = np.argsort(owner, kind="stable")
    every = np.arange(cube.ports.height)
    return {
        "tx": (lanes["tx_mean"], ports),
        "rx": (lanes["rx_mean"], ports),
        "rx_low": (lanes["rx_min"], ports),
        "bias": ((bias_raw - heat).astype(np.float32), ports),
        "bias_raw": (bias_raw, ports),
        "ber": (np.ascontiguousarray(ber[order]), owner[order]),
        "temp": (temp, every),
        "volt": (cube.states["volt_mean"], every),
    }


def _port_ber(cube: Cube, speed_gbps: Floats) -> Floats:
    """BER of ports that give one for all lanes, or, where none is given, what corrected codewords imply."""
    states = cube.states
    counted = log_ber_from_counter(states["corrected"], states["corrected_s"], speed_gbps)
    said = ~np.isnan(states["pber_mean"])
    np.logical_or.at(said, cube.lane_port, ~np.isnan(cube.lanes["ber_mean"]))
    return np.where(_recently(said), states["pber_mean"], counted)
