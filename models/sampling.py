"""Which links are learnt from where memory cannot hold them all: case-control sampling (King & Zeng 2001).

Each link that failed or was rescued is kept. Of the others a share is drawn by a hash of the link's name, the same in
every process and training, and each row of theirs weighs as many as it stands for, so that calibration stays right.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.cube import PORT
from features.engine import OWN_BYTES, Engine, machine_memory
from features.fleet import Fleet, port_name
from features.shards import ports_known
from ingest.lake import Lake

__all__ = ["LinkSample", "ports_at_once", "ports_of", "room"]

_LINK_HOUR_BYTES: Final = 2_500
"""Memory that an hour of a link takes while a model is fitted, copies included: measured."""
_PORT_BYTES: Final = 700_000
"""What a port of five lanes takes while its features of eight days are made: measured."""
_LEAST_SHARE: Final = 0.01
"""Fewer healthy links do not tell how healthy links look, however little memory there is [judgement]."""


@dataclass(frozen=True, slots=True)
class LinkSample:
    """Links that are learnt from.

    Attributes:
        cases: names of those that failed or were rescued: all are kept.
        share: of all links, those drawn by their names.
    """

    cases: frozenset[str]
    share: float = 1.0

    @classmethod
    def fitting(cls, events: pl.DataFrame, links: int, hours: int, room_bytes: int) -> Self:
        """All cases, and as large a share of the links as there is room for.

        Args:
            events: `features.labels.failure_events`.
            links: of the whole fleet.
            hours: that are learnt from.
            room_bytes: for the rows of all of them.
        """
        cases = frozenset(events.filter(pl.col("weight") > 0)["link_id"].drop_nulls())
        most = room_bytes / (_LINK_HOUR_BYTES * max(hours, 1))
        if links <= most:
            return cls(cases)
        return cls(cases, max((most - len(cases)) / max(links - len(cases), 1), _LEAST_SHARE))

    def drawn(self, links: Iterable[str]) -> NDArray[np.bool_]:
        """Whether each link is of the share: healthy and failing ones alike, so a fair picture of the fleet."""
        return np.array([self.share >= 1 or crc32(name.encode()) < self.share * 2**32 for name in links], np.bool_)

    def stands_for(self, links: Iterable[str]) -> NDArray[np.float64]:
        """How many links each one stands for: itself where it is a case, 0 where it is not looked at."""
        names = list(links)
        case = np.array([name in self.cases for name in names], np.bool_)
        return np.where(case, 1.0, np.where(self.drawn(names), 1.0 / self.share, 0.0))


def ports_of(lake: Lake, fleet: Fleet, times: Sequence[datetime]) -> pl.DataFrame:
    """Site, device, interface and link of every port that records name or that spoke; one row a port and link."""
    ends = fleet.ends().select("link_id", *PORT).unique()
    ports = pl.concat([ports_known(lake, fleet, times[0], times[-1]), ends.select(PORT)]).drop_nulls().unique()
    linked = ports.join(ends, on=PORT, how="left")
    return linked.with_columns(pl.col("link_id").fill_null(port_name())).sort(*PORT, "link_id")


def room(engine: Engine) -> int:
    """Bytes for rows: half of the memory beyond the processes, never more than this machine's."""
    return max(min(engine.workers * engine.job_bytes, machine_memory() - OWN_BYTES), 0) // 2


def ports_at_once(engine: Engine) -> int:
    """How many ports a job may look at, for as many days as training looks at together."""
    return max(engine.job_bytes // 2 // _PORT_BYTES, 1)
