"""History of ports of which no records but modules and links are known: nobody wrote of tickets or of installations."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.at_hand import PortName
from features.cube import Cube
from features.fleet import Fleet
from features.history import History
from features.physics import Installations, Technology, installations

__all__ = ["HistoryAtHand", "Record", "history_at_hand"]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
Ints = NDArray[np.int64]

_NO_RECORDS: Final = Fleet.from_frames()


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a module: its media name, and its own limits, as `LIMITS`, None where one is not given."""

    media: str | None
    limits: Sequence[float | None]


@dataclass(frozen=True)
class HistoryAtHand(History):
    """As `History` would have it of a fleet with these modules and links alone.

    Attributes:
        names: of the cube's ports.
        linked: pairs of them, by row.
        told: facts of the module in each.
    """

    names: Sequence[PortName] = ()
    linked: Sequence[tuple[int, int]] = ()
    told: Installations = field(kw_only=True)

    @cached_property
    def table(self) -> Installations:
        """Of the modules that are known."""
        return self.told

    @cached_property
    def _of_port(self) -> tuple[list[str], Ints]:
        """The link of each port and the port at its other end; of several links the first by name."""
        own = [
            f"{device}:{interface}" if site == "default" else f"{site}/{device}:{interface}"
            for site, device, interface in self.names
        ]  # as `Fleet.ends` does
        links, peer = list(own), np.full(len(own), -1, np.int64)
        for a, z in self.linked:
            name = "--".join(sorted((own[a], own[z])))
            for near, far in ((a, z), (z, a)):
                if near != far and (peer[near] < 0 or name < links[near]):
                    links[near], peer[near] = name, far
        return links, peer

    @cached_property
    def links(self) -> list[str]:
        """By the ports' names, as `Fleet.ends` names a link."""
        return self._of_port[0]

    @cached_property
    def peer(self) -> Ints:
        """Shape (ports,), -1 where none is known."""
        return self._of_port[1]

    @cached_property
    def copper(self) -> NDArray[np.bool_]:
        """By the media of either end."""
        own = self.told.technology[: len(self.names)] == Technology.COPPER
        either: NDArray[np.bool_] = own | ((self.peer >= 0) & own[self.peer])
        return either

    @cached_property
    def ends(self) -> dict[PortName, tuple[str, PortName | None, str | None]]:
        """Of each port its link and the port at the other end."""
        far = (None if p < 0 else self.names[p] for p in self.peer.tolist())
        return {name: (link, end, None) for name, link, end in zip(self.names, self.links, far, strict=True)}

    def _installed_at(self, times_s: NDArray[np.floating]) -> Ints:
        return np.repeat(np.arange(len(self.names))[:, None], times_s.shape[0], axis=1)

    @cached_property
    def age_days(self) -> Floats:
        """Nobody wrote it down."""
        return self._everywhere(np.nan)

    @cached_property
    def touched_s(self) -> Floats64:
        """By the serials that were read at either end."""
        out = np.full((len(self.names), len(self.at)), -np.inf)
        for name, times in self.cube.swapped_s.items():
            port = self.cube.port_of[name]
            for row in (port, *np.flatnonzero(self.peer == port).tolist()):
                for k, now in enumerate(self.at_s):
                    out[row, k] = max([out[row, k], *(time for time in times if time <= now)])
        return out

    def tickets_within(self, span: timedelta) -> Floats:  # noqa: ARG002 - as of any span
        """None is known."""
        return self._everywhere(0.0)

    @cached_property
    def neighbour_touches(self) -> Floats:
        """None is known."""
        return self._everywhere(0.0)

    @cached_property
    def lot_excess(self) -> Floats:
        """No lot is known."""
        return self._everywhere(0.0)

    def _everywhere(self, value: float) -> Floats:
        return np.full((len(self.names), len(self.at)), value, np.float32)


def history_at_hand(
    cube: Cube, at: datetime, names: Sequence[PortName], linked: Sequence[tuple[int, int]], records: Sequence[Record]
) -> HistoryAtHand:
    """The history of a cube's ports at one time.

    Args:
        cube: of ports of these names.
        at: whole hour.
        names: of its ports, in order.
        linked: pairs of ports, by row.
        records: of the module in each port.
    """
    given = np.array([record.limits for record in records], np.float32)
    nothing = [None] * len(records)
    told = installations(pl.DataFrame(), given, [record.media for record in records], nothing, nothing)
    return HistoryAtHand(cube, _NO_RECORDS, [at], names=names, linked=linked, told=told)
