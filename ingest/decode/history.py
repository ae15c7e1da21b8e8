"""What a device's last polls say of its newest: glitches of one sample, and readings that do not move."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt

from ingest.decode.devicemap import DeviceMap, Snapshot
from ingest.decode.quality import BIAS_EPSILON_MA, Flags, across
from ingest.decode.samples import Bits
from ingest.decode.slots import QUANTITIES
from ingest.schema import Quality
from ingest.units import NO_LIGHT_DBM

__all__ = ["Glitches", "History"]

_STUCK_AFTER: Final = timedelta(hours=1)
_STUCK_POLLS: Final = 10
"""A module whose light, current and temperature all stay the same to the last bit for so long is not being read.

A receiver's noise alone moves its power by more than the 0.01 dB of its register; SONiC refreshes DOM
every minute at best, and loops of two were seen (field_faults.md, row 47)."""

_STEP: Final = {
    "temperature_c": 15.0,  # 59 to 123 C and back was seen; a heat sink does not do that within two polls
    "laser_temperature_c": 15.0,
    "voltage_v": 0.3,  # 9 % of 3.3 V: modules specify 5 %
    "tx_bias_ma": 15.0,
    "rx_power_dbm": 3.0,
    "tx_power_dbm": 3.0,
}
"""How far one sample must lie from both its neighbours, which agree within half of it, to be a glitch (row 66)."""

_STEPS: Final = np.array([_STEP.get(name, np.inf) for name in QUANTITIES])
_POWERS: Final = np.array([name.endswith("_power_dbm") for name in QUANTITIES])
_OF_PORT: Final = np.array([name in {"temperature_c", "voltage_v", "host_snr_db"} for name in QUANTITIES])
_RX, _BIAS = QUANTITIES.index("rx_power_dbm"), QUANTITIES.index("tx_bias_ma")


@dataclass(frozen=True)
class Glitches:
    """Rows of the poll before that turn out to have been glitches.

    Attributes:
        snapshot: that poll's readings.
        time: when it was.
        rows: of the grid, in which a lane's quantity was one.
        ports: in which one of the module's own was.
    """

    snapshot: Snapshot
    time: datetime
    rows: Flags
    ports: Flags


class History:
    """The last two polls of one device map."""

    def __init__(self, device: DeviceMap) -> None:
        self._device = device
        self._polls: list[tuple[datetime, Snapshot]] = []
        ports = device.rows.ports
        self._same_since = np.full(ports, np.datetime64("NaT", "us"))
        self._same_polls = np.zeros(ports, np.int64)
        self._refused = np.zeros((len(device.rows.port), len(QUANTITIES)), np.bool_)

    def take(self, snapshot: Snapshot, time: datetime) -> tuple[Bits, Glitches | None]:
        """Bits of the newest poll by port, and what it makes a glitch of the one before.

        A glitch is told only once the sample after it is in: median of three. A step that stays is no glitch, and
        neither is light that goes away for one sample: links do flap.
        """
        stuck = self._stuck(snapshot, time)
        glitches = self._glitches(snapshot)
        self._polls = [*self._polls[-1:], (time, snapshot)]
        return np.where(stuck, int(Quality.STALE), 0).astype(np.int16), glitches

    def refused(self, snapshot: Snapshot) -> list[tuple[int, int]]:
        """Readings (row, quantity) that cannot be a module's and could at the last poll: each is told once."""
        refused = snapshot.given & np.isnan(snapshot.values) & (snapshot.raw != 0)
        news = refused & ~self._refused
        self._refused = refused
        return [(int(row), int(column)) for row, column in zip(*news.nonzero(), strict=True)]

    def _stuck(self, snapshot: Snapshot, time: datetime) -> Flags:
        rows, moment = self._device.rows, np.datetime64(time.replace(tzinfo=None), "us")
        if self._polls:
            moved = rows.any(across(~_equal(snapshot.values, self._polls[-1][1].values)))
        else:
            moved = np.ones(rows.ports, np.bool_)
        with np.errstate(invalid="ignore"):
            shines = snapshot.values[:, _BIAS] >= BIAS_EPSILON_MA
            lit = rows.any(shines & (snapshot.values[:, _RX] > NO_LIGHT_DBM))
        self._same_since = np.where(moved | ~lit, moment, self._same_since)
        self._same_polls = np.where(moved | ~lit, 0, self._same_polls + 1)
        return lit & (self._same_polls >= _STUCK_POLLS) & (moment - self._same_since >= np.timedelta64(_STUCK_AFTER))

    def _glitches(self, snapshot: Snapshot) -> Glitches | None:
        if len(self._polls) < 2:  # noqa: PLR2004 - three samples make a median
            return None
        (_, first), (time, middle) = self._polls
        with np.errstate(invalid="ignore"):
            before, after = middle.values - first.values, middle.values - snapshot.values
            far = (np.abs(before) > _STEPS) & (np.abs(after) > _STEPS) & (np.sign(before) == np.sign(after))
            far &= np.abs(first.values - snapshot.values) < _STEPS / 2
            far &= (before > 0) | ~_POWERS
        if not far.any():
            return None
        ports = self._device.rows.any(across(far[:, _OF_PORT]))
        return Glitches(middle, time, across(far[:, ~_OF_PORT]), ports)


def _equal(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> Flags:
    return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))
