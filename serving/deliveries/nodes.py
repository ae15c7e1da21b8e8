"""Which servers hang on an alarm's link: those of its ends whose modules are of NICs; none is ever guessed."""

import time
from collections.abc import Callable
from typing import Final

import polars as pl

from ingest.lake import Lake
from ingest.schema import MODULES
from serving.alarms import AlarmRecord, left_alone
from serving.deliveries.errors import UnreachableError

__all__ = ["Nodes"]

_FRESH_S: Final = 60.0


class Nodes:
    """Servers by the modules of the lake, read anew once a minute at most.

    Args:
        lake: whose table ``modules`` says which devices are servers.
        no_act_share: of alarms between switches, that are left alone.
        monotonic: seconds that only grow; tests hand in their own.
    """

    def __init__(
        self, lake: Lake, *, no_act_share: float = 0.0, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._lake = lake
        self._share = no_act_share
        self._monotonic = monotonic
        self._servers: frozenset[tuple[str, str]] = frozenset()
        self._due_s: float | None = None

    def of(self, alarm: AlarmRecord) -> tuple[str, ...]:
        """Servers on the alarm's link, by the names of their devices.

        Raises:
            UnreachableError: the lake cannot be read.
        """
        servers = self._known()
        ends = dict.fromkeys(name for name in (alarm.device, alarm.peer_device) if name is not None)
        return tuple(name for name in ends if (alarm.site, name) in servers)

    def left_alone(self, alarm: AlarmRecord, nodes: tuple[str, ...]) -> bool:
        """Whether the alarm is not to be acted on, so that what comes of it is a label.

        Raises:
            UnreachableError: the lake cannot be read.
        """
        return bool(self._share and not nodes and self._known() and left_alone(alarm.alarm_id, self._share))

    def _known(self) -> frozenset[tuple[str, str]]:
        now_s = self._monotonic()
        if self._due_s is None or now_s >= self._due_s:
            self._servers = self._read()
            self._due_s = now_s + _FRESH_S
        return self._servers

    def _read(self) -> frozenset[tuple[str, str]]:
        try:
            nics = self._lake.latest(MODULES).filter(pl.col("role") == "nic")
            return frozenset(nics.select("site", "device").unique().collect().iter_rows())
        except Exception as error:
            msg = f"which nodes hang on a link is not known: the lake cannot be read: {str(error).splitlines()[0]}"
            raise UnreachableError(msg) from error
