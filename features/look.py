"""A look at the fleet at some times: every window and baseline that features are made of, computed once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features import kernels
from features.cube import Cube
from features.history import History
from features.physics import BIAS_PER_C, log_ber_from_counter

__all__ = ["DAY_H", "REACH", "Look"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

DAY_H: Final = 24
_GUARD_H: Final = 24  # the newest day is what is compared, so it is no part of the baseline
_REACH_H: Final = 14 * DAY_H
_ENOUGH_H: Final = 12
_ALIGN_H: Final = 12  # baselines move slowly: they are computed at noon and midnight UTC
_COMMON_PORTS: Final = 4  # fewer ports of a device do not make a common mode
_CARRY_H: Final = 48  # a counter's last reading serves this long across a gap
_WEEK_H: Final = 7 * DAY_H
REACH: Final = timedelta(hours=_REACH_H + _GUARD_H + _ALIGN_H + _WEEK_H + _CARRY_H)
"""How far back a look reads: what lies further back changes nothing."""
_KINDS: Final = {"mean": 0, "slope": 1, "min": 2, "max": 3, "sum": 4, "scatter": 5, "last": 6}


@dataclass(frozen=True)
class Look:
    """Windows over a cube at the times of a history.

    Lane arrays have one row a lane, port arrays one row a port; the second axis is the times.
    """

    cube: Cube
    history: History
    _cache: dict[tuple[object, ...], Floats] = field(default_factory=dict, repr=False)

    @cached_property
    def at(self) -> Ints:
        """Hour index of each time, counted from the cube's start."""
        return (self.history.at_s // 3600).astype(np.int64) - self.cube.start

    def _once(self, key: tuple[object, ...], make: Callable[[], Floats]) -> Floats:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    # ---- series -------------------------------------------------------------------------------

    @cached_property
    def _series(self) -> dict[str, tuple[Floats, Ints]]:
        lanes, ports = self.cube.lanes, self.cube.lane_port
        temp = self.cube.states["temp_mean"]
        silent = np.isnan(temp) & ~_recently(~np.isnan(temp))
        heat = np.where(silent, 0.0, BIAS_PER_C * temp)[ports]
        bias_raw = np.log(lanes["bias_mean"])
        ber = np.vstack([lanes["ber_mean"], self._port_ber])
        owner = np.concatenate([ports, np.arange(self.cube.ports.height)])
        order = np.argsort(owner, kind="stable")
        every = np.arange(self.cube.ports.height)
        return {
            "tx": (lanes["tx_mean"], ports),
            "rx": (lanes["rx_mean"], ports),
            "rx_low": (lanes["rx_min"], ports),
            "bias": ((bias_raw - heat).astype(np.float32), ports),
            "bias_raw": (bias_raw, ports),
            "ber": (np.ascontiguousarray(ber[order]), owner[order]),
            "temp": (temp, every),
            "volt": (self.cube.states["volt_mean"], every),
        }

    @cached_property
    def _port_ber(self) -> Floats:
        """BER of ports that give one for all lanes, or, where none is given, what corrected codewords imply."""
        counted = log_ber_from_counter(self.grown("corrected"), self._elapsed_s, self.history.speed_gbps[:, None])
        said = ~np.isnan(self.cube.states["pber_mean"])
        np.logical_or.at(said, self.cube.lane_port, ~np.isnan(self.cube.lanes["ber_mean"]))
        return np.where(_recently(said), self.cube.states["pber_mean"], counted)

    @cached_property
    def _elapsed_s(self) -> Floats:
        """Shape (ports, hours): seconds from the newest reading of an earlier hour to this hour's newest."""
        last = self.cube.states["last_s"]
        stamp = np.arange(last.shape[1]) * 3600.0 + last
        before = _carried(stamp)
        return (stamp - before).astype(np.float32)

    def grown(self, counter: str) -> Floats:
        """Shape (ports, hours): growth of a counter in each hour, from the last reading before it; resets are seen."""

        def make() -> Floats:
            first, last = self.cube.states[f"{counter}_first"], self.cube.states[f"{counter}_last"]
            before = _carried(last)
            edge = np.where(first >= before, first - before, first)
            edge = np.where(np.isnan(before), 0.0, edge)
            return (self.cube.states[f"{counter}_grown"] + edge).astype(np.float32)

        return self._once(("grown", counter), make)

    # ---- windows ------------------------------------------------------------------------------

    def window(self, metric: str, hours: int, kind: str) -> Floats:
        """Shape (series, times): a statistic of the last `hours`; see `kernels.windows`."""
        x = self._series[metric][0]
        return self._once((metric, hours, kind), lambda: kernels.windows(x, self.at, hours, _KINDS[kind]))

    def counted(self, counter: str, hours: int) -> Floats:
        """Shape (ports, times): growth of a counter in the last `hours`."""
        return self._once(
            ("counted", counter, hours), lambda: kernels.windows(self.grown(counter), self.at, hours, _KINDS["sum"])
        )

    def state(self, name: str, hours: int, kind: str = "sum") -> Floats:
        """Shape (ports, times): a statistic of a port state over the last `hours`."""
        x = self.cube.states[name]
        return self._once(("state", name, hours, kind), lambda: kernels.windows(x, self.at, hours, _KINDS[kind]))

    def lane_sum(self, column: str, hours: int) -> Floats:
        """Shape (lanes, times): sum of a count over the last `hours`."""
        x = self.cube.lanes[column]
        return self._once(("lanes", column, hours), lambda: kernels.windows(x, self.at, hours, _KINDS["sum"]))

    def lanes(self, hours: int) -> Floats:
        """Shape (ports, times): lanes that reported within the last `hours`."""
        out = np.zeros((self.cube.ports.height, len(self.at)), np.float32)
        np.add.at(out, self.cube.lane_port, self.lane_sum("rows", hours) > 0)
        return out

    def _baseline(self, metric: str) -> Floats:
        def make() -> Floats:
            x, owner = self._series[metric]
            aligned = (self.at + self.cube.start) // _ALIGN_H * _ALIGN_H - self.cube.start
            at, back = np.unique(aligned, return_inverse=True)
            first_use = np.searchsorted(back, np.arange(at.shape[0]))
            epoch = np.minimum(self.history.epoch[:, first_use], at[None, :])[owner]
            return kernels.baselines(x, at, epoch, _GUARD_H, _REACH_H, _ENOUGH_H)[:, back]

        return self._once(("baseline", metric), make)

    def base(self, metric: str) -> Floats:
        """Shape (series, times): where the series stood before; see `kernels.baselines`."""
        return self._baseline(metric)[..., 0]

    def noise(self, metric: str) -> Floats:
        """Shape (series, times): the scale of the series' own hourly scatter."""
        return self._baseline(metric)[..., 1]

    def shift(self, metric: str, hours: int) -> Floats:
        """Shape (series, times): mean of the last `hours` less the baseline."""
        return self._once(("shift", metric, hours), lambda: self.window(metric, hours, "mean") - self.base(metric))

    # ---- lanes to ports, ports to devices -----------------------------------------------------

    def owner(self, metric: str) -> Ints:
        """The port of each row of a metric's series."""
        return self._series[metric][1]

    def worst(self, metric: str, values: Floats, side: str) -> Floats:
        """Shape (ports, times): the least or greatest of a port's lanes; NaN where it has none."""
        owner = self._series[metric][1]
        out = np.full((self.cube.ports.height, values.shape[1]), np.nan, np.float32)
        if owner.size:
            starts = np.flatnonzero(np.diff(owner, prepend=-1))
            reduce = np.fmin if side == "min" else np.fmax
            out[owner[starts]] = reduce.reduceat(values, starts, axis=0)
        return out

    def middle(self, metric: str, values: Floats) -> Floats:
        """Shape (ports, times): mean over a port's lanes."""
        owner = self._series[metric][1]
        out = np.full((self.cube.ports.height, values.shape[1]), np.nan, np.float32)
        if owner.size:
            starts = np.flatnonzero(np.diff(owner, prepend=-1))
            seen = np.add.reduceat((~np.isnan(values)).astype(np.float32), starts, axis=0)
            total = np.add.reduceat(np.nan_to_num(values), starts, axis=0)
            with np.errstate(invalid="ignore"):
                out[owner[starts]] = total / seen
        return out

    def common(self, values: Floats) -> Floats:
        """Shape (ports, times): the median over the ports of the same device; 0 where they are too few to tell."""
        device = self.cube.ports.select("site", "device").to_struct().rank("dense").to_numpy()
        out = np.zeros_like(values)
        for d in np.unique(device):
            rows = np.flatnonzero(device == d)
            seen = (~np.isnan(values[rows])).sum(axis=0)
            with np.errstate(all="ignore"):
                median = np.nanmedian(np.where(seen >= _COMMON_PORTS, values[rows], 0.0), axis=0)
            out[rows] = median
        return out


def _carried(values: Floats) -> Floats:
    """Of each hour the newest value of the 48 hours before it; NaN where there is none."""
    hours = np.arange(values.shape[1])
    newest = np.maximum.accumulate(np.where(np.isnan(values), -1, hours), axis=1)
    before = np.concatenate([np.full((values.shape[0], 1), -1), newest[:, :-1]], axis=1)
    taken = np.take_along_axis(values, np.maximum(before, 0), axis=1)
    known = (before >= 0) & (hours - before <= _CARRY_H)
    return np.where(known, taken, np.nan).astype(values.dtype)


def _recently(seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether it was so in this hour or any of the week before it."""
    count = np.cumsum(seen, axis=1)
    count[:, _WEEK_H:] -= count[:, :-_WEEK_H].copy()
    return count > 0
