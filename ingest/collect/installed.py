"""Which module sits in which cage, so that an installation is written once and a swap is noticed.

Silence is never a removal (field_faults.md, row 43): a module is gone when another serial number is in its place, or
when whole discoveries have found its cage empty for half an hour.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Self

from ingest.decode.discover import Decoded
from ingest.decode.entity import Inventory
from ingest.decode.samples import Origin
from ingest.schema import Quality

__all__ = ["Absences", "Installations"]

_Cage = tuple[str, str, str]
_UNKNOWN = Inventory()
_EMPTY_FOR: Final = timedelta(minutes=30)
_EMPTY_DISCOVERIES: Final = 3
"""A daemon that restarts takes a switch's modules out of its tables for minutes (SONiC's xcvrd): that is no removal."""


class Installations:
    """The newest installation of each cage (site, device, interface)."""

    def __init__(self) -> None:
        self._rows: dict[_Cage, dict[str, Any]] = {}

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """As `modules` has them: of a cage's standing installations the one installed last."""
        known = cls()
        for row in sorted(rows, key=lambda row: (row["installed_at"] is not None, row["installed_at"])):
            known.accept([row])
        return known

    def accept(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows of `modules` that have been written: their standing installations are known from now on."""
        for row in rows:
            if row.get("removed_at") is None:
                self._rows[_cage(row)] = dict(row)
            elif self._rows.get(_cage(row), {}).get("serial") == row.get("serial"):
                self._rows.pop(_cage(row), None)

    def removed(self, cages: Iterable[tuple[str, datetime]], origin: Origin) -> list[dict[str, Any]]:
        """Rows to append for modules that are gone, each with when it was first missing."""
        found = ((self._rows.get((origin.site, origin.device, interface)), at) for interface, at in cages)
        return [_ended(row, at, origin.time) for row, at in found if row is not None]

    def changes(self, decoded: Decoded, origin: Origin) -> list[dict[str, Any]]:
        """Rows to append to `modules`: new installations, the ones they end, and what is now known of old ones.

        A poll without inventory says nothing, and neither does a module that once told its serial and now does not.
        """
        rows: list[dict[str, Any]] = []
        if origin.quality & Quality.PARTIAL_POLL:
            return rows
        for interface in decoded.alive:
            module = decoded.map.inventory.get(interface, _UNKNOWN)
            cage = (origin.site, origin.device, interface)
            before = self._rows.get(cage)
            told = {
                "vendor": module.vendor,
                "part_number": module.part_number,
                "firmware": module.firmware,
                "media": module.media,
                "form_factor": module.form_factor,
                "speed_gbps": module.speed_gbps,
                "fec_mode": module.fec_mode,
                **decoded.map.limits.get(interface, {}),
            }
            if before and module.serial in {None, before.get("serial")}:
                if learnt := _learnt(before, told):
                    rows.append(before | learnt | {"received_at": origin.time})
                continue
            if before:
                rows.append(_ended(before, origin.time, origin.time))
            rows.append(
                dict(zip(("site", "device", "interface"), cage, strict=True))
                | {"received_at": origin.time, "installed_at": origin.time, "role": "switch", "serial": module.serial}
                | told
            )
        return rows


class Absences:
    """Modules of one device that were in their cages when this process last saw them, and are not."""

    def __init__(self) -> None:
        self._missing: dict[str, tuple[datetime, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._missing)

    def gone(self, had: Iterable[str], have: Iterable[str], at: datetime) -> list[tuple[str, datetime]]:
        """Take a whole discovery.

        Args:
            had: ports with a module at the discovery before.
            have: ports with one now.
            at: now.

        Returns:
            Ports whose module is gone for good, each told once, and since when it is missing.
        """
        present = set(have)
        for port in {*had, *self._missing} - present:
            since, times = self._missing.get(port, (at, 0))
            self._missing[port] = (since, times + 1)
        self._missing = {port: seen for port, seen in self._missing.items() if port not in present}
        done = [
            (port, since)
            for port, (since, times) in self._missing.items()
            if times >= _EMPTY_DISCOVERIES and at - since >= _EMPTY_FOR
        ]
        for port, _ in done:
            del self._missing[port]
        return sorted(done)


def _learnt(row: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """What the row lacks; only its firmware may also change."""
    return {
        name: value
        for name, value in told.items()
        if value is not None and (row.get(name) is None or (name == "firmware" and row[name] != value))
    }


def _ended(row: dict[str, Any], at: datetime, received_at: datetime) -> dict[str, Any]:
    return row | {"received_at": received_at, "removed_at": at}


def _cage(row: Mapping[str, Any]) -> _Cage:
    return str(row["site"]), str(row["device"]), str(row["interface"])
