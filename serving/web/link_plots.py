"""Readings of an end over a window, as plots and as tables: lanes, the module's own limits, the baseline, marks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import log10
from typing import Any, Final

import polars as pl

from features.tile_tables import LANE_TILES
from ingest.lake import Lake
from serving.drains.fabric import Port
from serving.series import Column, Point, Series, read_series
from serving.web.link_history import Mark
from serving.web.words import number, utc

__all__ = ["Line", "Plot", "end_plots", "stretches"]

Span = tuple[datetime, datetime]

_POINTS: Final = 160
_ROWS: Final = 12
_BEFORE: Final = timedelta(days=14)
_LEAST_BER: Final = 1e-18
"""Smaller ones are reported as 0."""


@dataclass(frozen=True, slots=True)
class _Quantity:
    """What is plotted: title with its unit, the stems of the tiles and of the module's limits where there are any."""

    title: str
    column: Column
    tile: str = ""
    limit: str = ""
    unit: str = ""
    counter: bool = False


_QUANTITIES: Final = (
    _Quantity("Received light, dBm", Column.RX_POWER_DBM, "rx", "rx_power", "dbm"),
    _Quantity("Launched light, dBm", Column.TX_POWER_DBM, "tx", "tx_power", "dbm"),
    _Quantity("Laser bias, mA", Column.TX_BIAS_MA, "bias", "tx_bias", "ma"),
    _Quantity("Temperature of the case, °C", Column.TEMPERATURE_C, "", "temperature", "c"),
    _Quantity("Pre-FEC BER, decimal logarithm", Column.PRE_FEC_BER, "ber"),
    _Quantity("Flaps, new ones", Column.LINK_FLAPS, counter=True),
    _Quantity("Uncorrectable codewords, new ones", Column.FEC_UNCORRECTED, counter=True),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One lane: what is drawn, and its numbers for whoever does not see the drawing."""

    label: str
    points: tuple[tuple[datetime, float, float], ...]
    newest: float
    lowest: float
    highest: float
    baseline: float | None


@dataclass(frozen=True, slots=True)
class Plot:
    """A quantity of one end.

    Attributes:
        title: with the unit.
        end: device and interface.
        lines: by lane.
        limits: the module's own, by name.
        marks: of the window.
        rows: a dozen stretches of the window: time, then lowest to highest of each lane.
    """

    title: str
    end: str
    lines: tuple[Line, ...]
    limits: tuple[tuple[str, float], ...] = ()
    marks: tuple[Mark, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    span: Span | None = None

    @property
    def based(self) -> bool:
        """Whether a line has a baseline."""
        return any(line.baseline is not None for line in self.lines)

    @property
    def data(self) -> dict[str, Any]:
        """As the script draws it: seconds, then a list of values a line; null where nothing was read."""
        return {
            "x": (x := _times(self.lines)),
            "span": None if self.span is None else [time.timestamp() for time in self.span],
            "lines": [{"label": line.label, "values": _values(line, x)} for line in self.lines],
            "limits": [{"label": name, "value": value} for name, value in self.limits],
            "base": [
                {"label": f"baseline, {one.label}", "value": one.baseline}
                for one in self.lines
                if one.baseline is not None
            ],
            "marks": [{"x": m.time.timestamp(), "label": m.label, "kind": m.kind} for m in self.marks],
        }


def end_plots(lake: Lake, cage: Port, module: Mapping[str, Any], span: Span, marks: Sequence[Mark]) -> tuple[Plot, ...]:
    """Read an end's window and draw each quantity that has readings.

    Args:
        lake: with the readings.
        cage: where the module is.
        module: its installation, with its limits; empty where there is none.
        span: the window.
        marks: what happened.
    """
    series = read_series(lake, cage, [quantity.column for quantity in _QUANTITIES], span, _POINTS)
    bases = _baselines(lake, cage, span[0])
    shown = tuple(mark for mark in marks if span[0] <= mark.time < span[1])
    name = f"{cage[1]} {cage[2]}"
    return tuple(_plots(series, bases, module, (name, span, shown)))


def _plots(
    series: Sequence[Series],
    bases: Mapping[tuple[str, int], float],
    module: Mapping[str, Any],
    seen: tuple[str, Span, tuple[Mark, ...]],
) -> Iterator[Plot]:
    end, span, marks = seen
    for quantity in _QUANTITIES:
        found = [one for one in series if one.column == quantity.column]
        if quantity.column is Column.PRE_FEC_BER and any(one.lane is not None for one in found):
            found = [one for one in found if one.lane is not None]
        lines = tuple(line for one in found if (line := _line(quantity, one, bases)) is not None)
        if lines:
            yield Plot(
                quantity.title, end, lines, tuple(_limits(quantity, module)), marks, stretches(lines, span), span
            )


def _line(quantity: _Quantity, series: Series, bases: Mapping[tuple[str, int], float]) -> Line | None:
    points = tuple(_gained(series.points) if quantity.counter else _levels(quantity, series.points))
    if not points:
        return None
    label = "module" if not series.lane else f"lane {series.lane}"
    base = None if series.lane is None else bases.get((quantity.tile, series.lane))
    lowest, highest = min(low for _, low, _ in points), max(high for _, _, high in points)
    return Line(label, points, points[-1][2], lowest, highest, base)


def _levels(quantity: _Quantity, points: Sequence[Point]) -> Iterator[tuple[datetime, float, float]]:
    for point in points:
        if quantity.column is Column.PRE_FEC_BER:
            yield point.time, log10(max(point.low, _LEAST_BER)), log10(max(point.high, _LEAST_BER))
        else:
            yield point.time, point.low, point.high


def _gained(points: Sequence[Point]) -> Iterator[tuple[datetime, float, float]]:
    """What a counter gained from stretch to stretch; one that began anew adds nothing for that."""
    for before, after in pairwise(points):
        gained = max(after.high - before.high, 0.0)
        yield after.time, gained, gained


def _limits(quantity: _Quantity, module: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for side in ("low", "high"):
        for level in ("warn", "alarm"):
            value = module.get(f"{quantity.limit}_{side}_{level}_{quantity.unit}")
            if value is not None:
                yield f"{side} {level}", float(value)


def _baselines(lake: Lake, cage: Port, begin: datetime) -> dict[tuple[str, int], float]:
    """Median over the hours of the fortnight before the window, by quantity and lane."""
    stems = [quantity.tile for quantity in _QUANTITIES if quantity.tile]
    site, device, interface = cage
    tiles = lake.latest(LANE_TILES, since=begin - _BEFORE, until=begin, devices=[(site, device)])
    rows = tiles.filter(pl.col("interface") == interface).group_by("lane")
    found = rows.agg(pl.col(f"{stem}_mean").drop_nans().median() for stem in stems).collect()
    return {
        (stem, row["lane"]): row[f"{stem}_mean"]
        for row in found.to_dicts()
        for stem in stems
        if row[f"{stem}_mean"] is not None
    }


def stretches(lines: Sequence[Line], span: Span) -> tuple[tuple[str, ...], ...]:
    """A dozen stretches; empty ones say so."""
    width = (span[1] - span[0]) / _ROWS
    rows = []
    for k in range(_ROWS):
        begin, end = span[0] + k * width, span[0] + (k + 1) * width
        rows.append((utc(begin), *(_within(line, begin, end) for line in lines)))
    return tuple(rows)


def _within(line: Line, begin: datetime, end: datetime) -> str:
    found = [(low, high) for time, low, high in line.points if begin <= time < end]
    if not found:
        return "no reading"
    low, high = number(min(pair[0] for pair in found)), number(max(pair[1] for pair in found))
    return low if low == high else f"{low} to {high}"


def _times(lines: Sequence[Line]) -> list[float]:
    """Twice a stretch, for its lowest and its highest; and one in each hole, so that no line is drawn over it."""
    times = sorted({time.timestamp() for line in lines for time, _, _ in line.points})
    steps = sorted(b - a for a, b in pairwise(times))
    usual = steps[len(steps) // 2] if steps else 60.0
    holes = [a + usual for a, b in pairwise(times) if b - a > 2.5 * usual]
    return sorted({*times, *(time + usual / 2 for time in times), *holes})


def _values(line: Line, x: Sequence[float]) -> list[float | None]:
    known: dict[float, float] = {}
    for time, low, high in line.points:
        at = time.timestamp()
        known[at] = low
        after = x[x.index(at) + 1] if x.index(at) + 1 < len(x) else None
        if after is not None:
            known.setdefault(after, high)
    return [None if (value := known.get(time)) is None else round(value, 4) for time in x]
