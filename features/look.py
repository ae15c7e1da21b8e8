"""A look at the fleet at some times: every window and baseline that features are made of, computed once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features import kernels
from features.baseline_kernels import baselines
from features.cube import Cube
from features.day_tables import LANE_DAY_GAUGES, PORT_DAY_GAUGES
from features.history import History
from features.physics import BIAS_PER_C, log_ber_from_counter

__all__ = ["DAYS", "DAY_H", "REACH", "Look", "Series", "series_of"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

DAY_H: Final = 24
_RECENT_H: Final = 72  # longer windows are of whole days and these hours
_GUARD_H: Final = 24  # the newest day is what is compared, so it is no part of the baseline
_BASE_DAYS: Final = 14
_ENOUGH_H: Final = 12
_BASELINE: Final = np.array([_GUARD_H, _BASE_DAYS, _ENOUGH_H, _RECENT_H])
_WEEK_DAYS: Final = 7
_NOW_H: Final = 3  # how a series stands now
_COMMON_PORTS: Final = 4  # fewer ports of a device do not make a common mode
REACH: Final = timedelta(hours=_RECENT_H)
"""How far back a look reads hours, and those of the same day."""
DAYS: Final = 1 + _BASE_DAYS + _WEEK_DAYS + 1
"""How many days before its own a look reads: what lies further back changes nothing."""
_WINDOWS: Final = {"mean": 0, "min": 1, "max": 2, "sum": 3, "last": 4}
_LINES: Final = ("slope", "scatter")
_OF_LANES: Final = {"mean": 0, "min": 1, "max": 2}


@dataclass(frozen=True)
class Series:
    """What every metric was; it hangs on no time.

    Attributes:
        hourly: by metric its hourly values, shape (series, hours).
        daily: by metric that has a baseline its days, shape (3, series, days), see `day_tables.DAY_STATS`.
        owner: by metric the port of each row.
    """

    hourly: Mapping[str, Floats]
    daily: Mapping[str, Floats]
    owner: Mapping[str, Ints]


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
        return self._hour - self.cube.start

    @cached_property
    def _hour(self) -> Ints:
        """Hour index of each time, since 1970."""
        return (self.history.at_s // 3600).astype(np.int64)

    def once(self, key: tuple[object, ...], make: Callable[[], Floats]) -> Floats:
        """What `make` gives, made at the first asking for this key."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    # ---- windows ------------------------------------------------------------------------------

    def _window(self, name: str, x: Floats, hours: int, kind: str) -> Floats:
        if hours > _RECENT_H:
            msg = f"{name}: windows longer than {_RECENT_H} h are of days, and there are sums of port states alone"
            raise ValueError(msg)
        if kind not in _LINES:
            return self.once((name, hours, kind), lambda: kernels.windows(x, self.at, hours, _WINDOWS[kind]))
        both = self.once((name, hours, "line"), lambda: kernels.lines(x, self.at, hours))
        line: Floats = both[_LINES.index(kind)]
        return line

    def window(self, metric: str, hours: int, kind: str, ago_h: int = 0) -> Floats:
        """Shape (series, times): a statistic of `hours`: mean, min, max, sum, last, slope (a day), scatter.

        They are the last ones, or those that ended `ago_h` hours ago.
        """
        if ago_h:
            return self._earlier(metric, hours, kind, ago_h)
        return self._window(metric, self.series.hourly[metric], hours, kind)

    def _earlier(self, metric: str, hours: int, kind: str, ago_h: int) -> Floats:
        if hours + ago_h > _RECENT_H:
            msg = f"{metric}: hours are read {_RECENT_H} h back, not {hours + ago_h}"
            raise ValueError(msg)
        x, before = self.series.hourly[metric], self.at - ago_h
        return self.once((metric, hours, kind, ago_h), lambda: kernels.windows(x, before, hours, _WINDOWS[kind]))

    def state(self, name: str, hours: int, kind: str = "sum") -> Floats:
        """Shape (ports, times): a statistic of a port state over the last `hours`.

        A window longer than 72 h begins at a midnight (UTC), see `span`; there is its sum.
        """
        if hours > _RECENT_H and kind == "sum" and name in self.cube.days.sums:
            return self.once((f"state {name}", hours, kind), lambda: self._long(name, hours))
        return self._window(f"state {name}", self.cube.states[name], hours, kind)

    def _long(self, name: str, hours: int) -> Floats:
        days, cube = self.cube.days, self.cube
        return kernels.long_sums(
            days.sums[name], days.start, cube.states[name], cube.start, self._hour, hours, _RECENT_H
        )

    def span(self, hours: int) -> Floats:
        """Shape (times,): how many hours `state` and `counted` really go back where `hours` are asked for."""
        exact = np.full(self._hour.shape, hours)
        whole = self._hour - (self._hour - hours) // DAY_H * DAY_H
        return (whole if hours > _RECENT_H else exact).astype(np.float32)

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
            series, days = self.series, self.cube.days
            epoch = self.history.epoch + self.cube.start
            hourly, daily, owner = series.hourly[metric], series.daily[metric], series.owner[metric]
            return baselines(daily, days.start, hourly, self.cube.start, self._hour, epoch, owner, _BASELINE)

        return self.once(("baseline", metric), make)

    def base(self, metric: str) -> Floats:
        """Shape (series, times): where the series stood before; see `baseline_kernels.baselines`."""
        median: Floats = self._baseline(metric)[0]
        return median

    def noise(self, metric: str) -> Floats:
        """Shape (series, times): the scale of the series' own hourly scatter."""
        sigma: Floats = self._baseline(metric)[1]
        return sigma

    def shift(self, metric: str, hours: int) -> Floats:
        """Shape (series, times): mean of the last `hours` less the baseline."""
        return self.once(("shift", metric, hours), lambda: self.window(metric, hours, "mean") - self.base(metric))

    def age(self, metric: str, share: float, towards: float, least: float) -> Floats:
        """Shape (series, times): hours since a series had gone no more than a share of its way from its baseline.

        Args:
            metric: of the series.
            share: of the way that it has gone in the last `_NOW_H` hours' mean.
            towards: 1 where it goes up, -1 down.
            least: less is no move: NaN.
        """
        sign = np.float32(towards)
        base, moved = sign * self.base(metric), sign * self.shift(metric, _NOW_H)
        now = np.stack([base, np.where(moved >= least, moved, np.float32(np.nan))])
        return kernels.ages(sign * self.series.hourly[metric], self.at, now, share, _RECENT_H)

    # ---- lanes to ports, ports to devices -----------------------------------------------------

    def owner(self, metric: str) -> Ints:
        """The port of each row of a metric's series."""
        return self.series.owner[metric]

    def worst(self, metric: str, values: Floats, side: str) -> Floats:
        """Shape (ports, times): the least ("min") or greatest ("max") of a port's lanes; NaN where it has none."""
        return kernels.of_lanes(values, self.owner(metric), self.cube.ports.height, _OF_LANES[side])

    def middle(self, metric: str, values: Floats) -> Floats:
        """Shape (ports, times): mean over a port's lanes."""
        return kernels.of_lanes(values, self.owner(metric), self.cube.ports.height, _OF_LANES["mean"])

    def common(self, values: Floats) -> Floats:
        """Shape (ports, times): the median over the ports of the same device; 0 where they are too few to tell."""
        return kernels.medians(values, self.cube.device, _COMMON_PORTS)


def series_of(cube: Cube, history: History) -> Series:
    """The hourly and daily series of every metric; looks at the same cube share them.

    Args:
        cube: tiles.
        history: of the cube's ports.
    """
    lanes, ports, every = cube.lanes, cube.lane_port, np.arange(cube.ports.height)
    temp, days = cube.states["temp_mean"], _day_gauges(cube)
    heated, hot_days = _recently(cube, ~np.isnan(temp), days["temp"][0] > 0)
    heat = np.where(heated, BIAS_PER_C * temp, 0.0)[ports]
    bias_raw = np.log(lanes["bias_mean"])
    told, told_days = ~np.isnan(cube.states["pber_mean"]), days["pber"][0] > 0
    np.logical_or.at(told, ports, ~np.isnan(lanes["ber_mean"]))
    np.logical_or.at(told_days, ports, days["ber"][0] > 0)
    said, said_days = _recently(cube, told, told_days)
    counted = log_ber_from_counter(cube.states["corrected"], cube.states["corrected_s"], history.speed_gbps)
    counted_days = days["cber"].copy()
    counted_days[1] -= np.log10(np.where(np.isnan(gbps := history.day_speed_gbps), np.float32(100), gbps))
    ber = np.vstack([lanes["ber_mean"], np.where(said, cube.states["pber_mean"], counted)])
    ber_days = np.concatenate([days["ber"], np.where(said_days, days["pber"], counted_days)], axis=1)
    owner = np.concatenate([ports, every])
    order = np.argsort(owner, kind="stable")
    hourly = {
        **{name: lanes[column] for name, column in (("tx", "tx_mean"), ("rx", "rx_mean"), ("rx_low", "rx_min"))},
        "bias": (bias_raw - heat).astype(np.float32),
        "bias_raw": bias_raw,
        "ber": np.ascontiguousarray(ber[order]),
        "temp": temp,
        "volt": cube.states["volt_mean"],
    }
    daily = {
        **{name: days[name] for name in ("tx", "rx", "bias_raw", "temp", "volt")},
        "bias": np.where(hot_days[ports], days["bias"], days["bias_raw"]),
        "ber": np.ascontiguousarray(ber_days[:, order]),
    }
    return Series(hourly, daily, dict.fromkeys(hourly, ports) | {"ber": owner[order], "temp": every, "volt": every})


def _day_gauges(cube: Cube) -> Mapping[str, Floats]:
    """As `Cube.days` has them; of no days where there are none."""
    if cube.days.gauges:
        return cube.days.gauges
    of_lanes, of_ports = (np.empty((3, n, 0), np.float32) for n in (cube.lane_port.size, cube.ports.height))
    return dict.fromkeys(LANE_DAY_GAUGES, of_lanes) | dict.fromkeys(PORT_DAY_GAUGES, of_ports)


def _recently(
    cube: Cube, hours: NDArray[np.bool_], days: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Of each hour and of each day whether it was so then, earlier on the day, or in the week before."""
    of_hours = kernels.recently(hours, cube.start, days, cube.days.start, _WEEK_DAYS)
    of_days = np.zeros(days.shape, np.bool_)
    for back in range(min(_WEEK_DAYS + 1, days.shape[1])):
        of_days[:, back:] |= days[:, : days.shape[1] - back]
    return of_hours, of_days
