"""Which module sits in which cage, so that an installation is written once and a swap is noticed.

Silence is never a removal (field_faults.md, row 43): a module is gone when another serial number is in its place.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Self

from ingest.decode import Decoded
from ingest.entity import Inventory
from ingest.samples import Origin
from ingest.schema import Quality

__all__ = ["Installations"]

_Cage = tuple[str, str, str]
_UNKNOWN = Inventory()


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

    def changes(self, decoded: Decoded, origin: Origin) -> list[dict[str, Any]]:
        """Rows to append to `modules`: new installations, and the ones they end.

        A poll without inventory says nothing, and neither does a module that once told its serial and now does not.
        """
        rows: list[dict[str, Any]] = []
        if origin.quality & Quality.PARTIAL_POLL:
            return rows
        for interface in decoded.alive:
            module = decoded.map.inventory.get(interface, _UNKNOWN)
            cage = (origin.site, origin.device, interface)
            before = self._rows.get(cage)
            if before and module.serial in {None, before.get("serial")}:
                continue
            row = {
                "received_at": origin.time,
                "site": origin.site,
                "device": origin.device,
                "interface": interface,
                "serial": module.serial,
                "vendor": module.vendor,
                "part_number": module.part_number,
                "firmware": module.firmware,
                "media": module.media,
                "role": "switch",
                "installed_at": origin.time,
                **decoded.map.limits.get(interface, {}),
            }
            if before:
                rows.append(_ended(before, origin.time))
            rows.append(row)
        return rows


def _ended(row: dict[str, Any], at: datetime) -> dict[str, Any]:
    return row | {"received_at": at, "removed_at": at}


def _cage(row: Mapping[str, Any]) -> _Cage:
    return str(row["site"]), str(row["device"]), str(row["interface"])
