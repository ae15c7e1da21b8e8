"""The risk of a link over a window, by horizon and by type, as the runs of that time said it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import polars as pl

from ingest.lake import Lake
from ingest.schema import SCORES, FailureType
from serving.drains.fabric import Port
from serving.web.link_history import Mark
from serving.web.link_plots import Line, Plot, stretches

__all__ = ["risk_plots"]

_HORIZONS: Final = (6, 24, 168)
_MOST: Final = 400
_SHOWN: Final = 0.01
"""A type less probable than this at every time is not drawn."""


def risk_plots(
    lake: Lake, ports: Sequence[Port], span: tuple[datetime, datetime], marks: Sequence[Mark]
) -> tuple[Plot, ...]:
    """Two plots; none where no run scored the link in the window."""
    rows = _rows(lake, ports, span)
    if rows.is_empty():
        return ()
    shown = tuple(mark for mark in marks if span[0] <= mark.time < span[1])
    named = "the link"
    horizons = [_line(rows, f"within {hours} h", pl.col(f"risk_{hours}h")) for hours in _HORIZONS]
    types = [
        _line(rows, str(kind).replace("_", " "), pl.col("risk_24h") * pl.col("type_probabilities").struct.field(kind))
        for kind in FailureType
    ]
    plots = []
    for title, found in (("Risk of failure, by horizon", horizons), ("Risk within 24 h, by type", types)):
        lines = tuple(line for line in found if line is not None)
        if found is types:
            lines = tuple(line for line in lines if line.highest >= _SHOWN)
        if lines:
            plots.append(Plot(title, named, lines, (), shown, stretches(lines, span), span))
    return tuple(plots)


def _rows(lake: Lake, ports: Sequence[Port], span: tuple[datetime, datetime]) -> pl.DataFrame:
    """The highest of both ends at each time; thinned to so many times."""
    devices = {port[:2] for port in ports}
    rows = lake.latest(SCORES, since=span[0], until=span[1], devices=devices)
    here = pl.any_horizontal(
        (pl.col("site") == site) & (pl.col("device") == device) & (pl.col("interface") == interface)
        for site, device, interface in ports
    )
    columns = ["time", *(f"risk_{hours}h" for hours in _HORIZONS), "type_probabilities"]
    found = rows.filter(here).select(columns).sort("time", "risk_24h", nulls_last=False).collect()
    found = found.unique("time", keep="last", maintain_order=True)
    every = max(1, -(-found.height // _MOST))
    return found.gather_every(every, offset=(found.height - 1) % every) if found.height else found


def _line(rows: pl.DataFrame, label: str, value: pl.Expr) -> Line | None:
    known = rows.select("time", value=value).drop_nulls().drop_nans()
    if known.is_empty():
        return None
    points = tuple((time, risk, risk) for time, risk in known.iter_rows())
    values = [risk for _, risk, _ in points]
    return Line(label, points, values[-1], min(values), max(values), None)
