"""Risks of a back-test, kept hour by hour: what calibration and the curve of recall over false alarms are read from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.pipeline import Block
from models.base import HORIZONS_H

__all__ = ["KEPT_H", "RiskLog", "Risks", "joined", "ports_frame"]

KEPT_H: Final = (24, 168)
"""Horizons that are kept: a day ahead, which alarms rest on, and the week in which they may come true."""

_COLUMNS: Final = [HORIZONS_H.index(hours) for hours in KEPT_H]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Risks:
    """Risk of each link at each time.

    Attributes:
        links: names.
        ports: site, device, interface of one end of each link.
        times: ascending, evenly spaced.
        risk: by horizon of `KEPT_H`, shape (links, times), NaN where a link did not speak.
    """

    links: Sequence[str]
    ports: Sequence[tuple[str, str, str]]
    times: Sequence[datetime]
    risk: dict[int, Floats]


@dataclass
class RiskLog:
    """Takes risks block by block; 8 bytes a link and hour.

    Attributes:
        links: whose risks are kept; None: all.
    """

    links: frozenset[str] | None = None

    _number: dict[str, int] = field(default_factory=dict)
    _ports: list[tuple[str, str, str]] = field(default_factory=list)
    _parts: list[tuple[Sequence[datetime], NDArray[np.int32], NDArray[np.int32], Floats]] = field(default_factory=list)

    def add(self, block: Block, port: NDArray[np.int64], time: NDArray[np.int64], risk: Floats) -> None:
        """Keep the risks of a block.

        Args:
            block: for the names of its links.
            port: shape (n,), row of the block's cube.
            time: shape (n,), index of the block's times.
            risk: shape (n, horizons).
        """
        if self.links is not None:
            mine = np.array([name in self.links for name in block.history.links], np.bool_)[port]
            port, time, risk = port[mine], time[mine], risk[mine]
        rows = block.cube.ports.rows()
        numbers = np.full(len(rows), -1, np.int32)
        for p in np.unique(port).tolist():
            link = block.history.links[p]
            if link not in self._number:
                self._number[link] = len(self._ports)
                self._ports.append(rows[p])
            numbers[p] = self._number[link]
        self._parts.append((list(block.history.at), numbers[port], time.astype(np.int32), risk[:, _COLUMNS].copy()))

    def risks(self) -> Risks:
        """All that was kept."""
        times = sorted({time for at, *_ in self._parts for time in at})
        where = {at: t for t, at in enumerate(times)}
        out = {hours: np.full((len(self._ports), len(times)), np.nan, np.float32) for hours in KEPT_H}
        for at, link, index, risk in self._parts:
            column = np.array([where[time] for time in at], np.int64)[index]
            for k, hours in enumerate(KEPT_H):
                out[hours][link, column] = risk[:, k]
        return Risks(list(self._number), self._ports, times, out)


def joined(logs: Sequence[RiskLog]) -> Risks:
    """Risks of logs that keep different links over the same times."""
    parts = [log.risks() for log in logs]
    times = parts[0].times if parts else []
    return Risks(
        [link for part in parts for link in part.links],
        [port for part in parts for port in part.ports],
        times,
        {hours: np.concatenate([part.risk[hours] for part in parts]) for hours in KEPT_H},
    )


def ports_frame(risks: Risks) -> pl.DataFrame:
    """Port of each link, in order of `risks.links`."""
    return pl.DataFrame(risks.ports, schema=["site", "device", "interface"], orient="row")
