"""Link flaps of devices that do not count them: from when each port last changed its state (IF-MIB ifLastChange).

A flap is a link that went down without anybody having switched it off (field_faults.md, row 63). Between two polls a
port can flap more than once; ifLastChange tells of one. Where a device counts its changes of state, all are counted.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["LAST_CHANGE", "STATE_CHANGES", "Flaps"]

LAST_CHANGE: Final = "1.3.6.1.2.1.2.2.1.9"
"""ifLastChange: sysUpTime in hundredths of a second when the port entered its state; 0 where it never left it."""

STATE_CHANGES: Final = "1.3.6.1.4.1.30065.3.15.1.1.1.8"
"""aristaIfOperStatusChanges (ARISTA-IF-MIB): how often ifOperStatus has changed since the start, up or down."""

Ticks = npt.NDArray[np.int64]
States = npt.NDArray[np.int8]

_UNKNOWN: Final = -1


class Flaps:
    """Cumulative flaps of one device's ports; they begin at 0 with the first poll, as after a restart of a device."""

    def __init__(self) -> None:
        self._ports: tuple[str, ...] = ()
        self._up_time: int | None = None
        self._count = np.zeros(0, np.int64)
        self._ticks, self._changes = self._count.copy(), self._count.copy()
        self._up, self._admin = self._count.copy(), self._count.copy()

    def update(
        self,
        ports: Sequence[str],
        last_change: Ticks,
        up: States,
        admin: States,
        *,
        changes: Ticks | None = None,
        up_time: int | None = None,
    ) -> Ticks:
        """Take one poll; all arrays have the shape (ports,).

        Args:
            ports: names; they may be others than at the last poll.
            last_change: cells of `LAST_CHANGE`, -1 where there is none.
            up: 1 up, 0 down, -1 unknown.
            admin: likewise; 0 is switched off.
            changes: cells of `STATE_CHANGES`, -1 where there is none.
            up_time: sysUpTime; where it runs backwards the device was restarted, which is no fault of its links.

        Returns:
            Flaps by port, -1 where nothing can tell of them.
        """
        self._align(tuple(ports))
        told = np.full(len(ports), _UNKNOWN, np.int64) if changes is None else changes
        restarted = up_time is not None and self._up_time is not None and up_time < self._up_time
        if not restarted:
            self._count += self._flapped(last_change, up, admin, told)
        self._up_time = self._up_time if up_time is None else up_time
        for kept, new in ((self._ticks, last_change), (self._changes, told), (self._admin, admin), (self._up, up)):
            known = (new != _UNKNOWN) & (up != _UNKNOWN)
            kept[known] = new[known]
        return np.where(self._up == _UNKNOWN, _UNKNOWN, self._count)

    def _flapped(self, ticks: Ticks, up: States, admin: States, changes: Ticks) -> Ticks:
        """Times that each port went down by itself since the last poll."""
        was_up, was_down, off_before = self._up == 1, self._up == 0, self._admin == 0
        went_down = was_up & (up == 0)
        # A tick that runs backwards is sysUpTime's wrap or a restart.
        moved = (ticks != _UNKNOWN) & (self._ticks != _UNKNOWN) & (ticks > self._ticks)
        unseen = moved & ((was_up & (up == 1)) | (was_down & (up == 0) & ~off_before))
        counted = (changes != _UNKNOWN) & (self._changes != _UNKNOWN) & (changes >= self._changes)
        steps = np.where(counted, changes - self._changes, 0)
        downs = np.where(counted, np.maximum((steps + was_up) // 2, went_down), went_down | unseen)
        downs = np.where((admin == 0) & (up == 0), np.maximum(downs - 1, 0), downs)  # the last one was switched off
        return np.where((up == _UNKNOWN) | (self._up == _UNKNOWN), 0, downs).astype(np.int64)

    def _align(self, ports: tuple[str, ...]) -> None:
        """Bring what is known into the order of these ports; new ones begin at 0."""
        if ports == self._ports:
            return
        place = {name: i for i, name in enumerate(self._ports)}
        old = np.array([place.get(name, _UNKNOWN) for name in ports], np.int64)
        kept = old != _UNKNOWN

        def moved(array: npt.NDArray[np.int64], fresh: int) -> npt.NDArray[np.int64]:
            result = np.full(len(ports), fresh, np.int64)
            result[kept] = array[old[kept]]
            return result

        self._count = moved(self._count, 0)
        self._ticks, self._changes = moved(self._ticks, _UNKNOWN), moved(self._changes, _UNKNOWN)
        self._up, self._admin = moved(self._up, _UNKNOWN), moved(self._admin, _UNKNOWN)
        self._ports = ports
