"""From changes that a stream tells to rows of `port_events`, and to the flaps that the device does not count."""

from collections.abc import Iterator
from typing import Any, Final

from ingest.gnmi.clock import Clock
from ingest.gnmi.layout import Layout
from ingest.gnmi.mirror import STATES, Change
from ingest.gnmi.places import Facts
from ingest.gnmi.rows import moment, oper_of
from ingest.gnmi.values import flag_of, text_of

__all__ = ["Events"]

_DAY_NS: Final = 86_400_000_000_000
_OF_FLAG: Final = {"rx_los": "los", "tx_fault": "fault"}
_MOST: Final = 50_000


class Events:
    """Events of one device, gathered until they are taken.

    Attributes:
        flaps: by port, how often it went down by itself.
    """

    def __init__(self, site: str, device: str, clock: Clock) -> None:
        self._site, self._device, self._clock = site, device, clock
        self._rows: list[dict[str, Any]] = []
        self.flaps: dict[str, int] = {}

    def add(self, change: Change, layout: Layout, facts: Facts, *, missed: bool) -> None:
        """Take a change.

        Args:
            change: what a fact was and is.
            layout: of the device, before the change or after it.
            facts: as they stand after it.
            missed: it was seen only when the device told all again.
        """
        known = sorted(_ports(change, layout))
        for kind, cause in _kinds(change):
            for cage in known:
                if kind == "down" and facts.get("interface", cage, "admin_up") is not None:
                    off = oper_of(facts.get("interface", cage, "admin_up")) == 0
                    cause = f"{cause}, switched off" if off else cause  # noqa: PLW2901 - the cause of this port
                    self.flaps[cage] = self.flaps.get(cage, 0) + (not off)
                elif kind == "down":
                    self.flaps[cage] = self.flaps.get(cage, 0) + 1
                self._append(change, cage, kind, f"{cause}, while not heard" if missed else cause)

    def take(self) -> list[dict[str, Any]]:
        """Rows of `port_events`, each given once."""
        rows, self._rows = self._rows, []
        return rows

    def _append(self, change: Change, cage: str, kind: str, cause: str) -> None:
        if len(self._rows) < _MOST:
            at = moment(self._when(change))
            where = {"site": self._site, "device": self._device, "interface": cage}
            told = {"kind": kind, "cause": cause, "source": "gnmi"}
            self._rows.append({"time": at, "received_at": moment(change.received), **where, **told})

    def _when(self, change: Change) -> int:
        """The device's stamp is when it happened, unless its clock cannot be believed."""
        age = change.received - change.stamp
        offset = self._clock.offset_ns or 0
        return (
            change.stamp
            if 0 <= age <= _DAY_NS and abs(offset) < _DAY_NS and not self._clock.skewed
            else change.received
        )


def _ports(change: Change, layout: Layout) -> set[str]:
    """Ports that a change is of: all of a device's, a breakout's own, or the cage."""
    if change.of == "device":
        return {port for port, beside in zip(layout.map.ports, layout.beside, strict=True) if not beside}
    own = layout.places.own(change.place) if change.of == "interface" and change.column in STATES else None
    ports = {own if own in layout.map.ports else layout.places.cage(change.of, change.place)}
    return {port for port in ports if port in layout.map.ports}


def _kinds(change: Change) -> Iterator[tuple[str, str]]:
    """Kinds of event that a change is, each with its cause; most changes are none."""
    column = change.column
    if column == "oper_up":
        before, after = oper_of(change.before), oper_of(change.after)
        if after >= 0 and before >= 0 and before != after:
            yield ("up" if after else "down"), f"oper-status {text_of(change.after)}"
    elif column in _OF_FLAG:
        if flag_of(change.after) and flag_of(change.before) is False:
            yield _OF_FLAG[column], f"{column} of lane {change.sub}" if change.sub else column
    elif column == "serial":
        before_serial, after_serial = text_of(change.before), text_of(change.after)
        if before_serial != after_serial and before_serial:
            yield "removed", f"serial {before_serial} is gone"
        if before_serial != after_serial and after_serial:
            yield "inserted", f"serial {after_serial}"
    elif column == "boot_time" and change.before is not None and change.after is not None:
        yield "reboot", "boot-time moved"
