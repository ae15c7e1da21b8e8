"""Which module a dump found in which cage, as rows of ``modules``.

Such a row is known by telemetry alone: an inventory that lists the port later ends it. A dump that is older than what
is known of the cage changes nothing.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from ingest.dumps.reading import Reading
from ingest.dumps.rows import limits_of
from ingest.exports.seen import INFERRED
from ingest.schema import MODULES

__all__ = ["module_rows"]

_Cage = tuple[str, str, str]
_HELD: Final = frozenset(MODULES.schema.names)


def module_rows(readings: Iterable[Reading], known: Iterable[Mapping[str, Any]], site: str) -> list[dict[str, Any]]:
    """Rows to append, without ``received_at``.

    Args:
        readings: with device, interface and time; what they say of modules is taken in the order of their times.
        known: the latest rows of `modules` of these ports.
        site: of the readings.
    """
    standing = _standing(known)
    rows: dict[tuple[_Cage, str | None, datetime | None], dict[str, Any]] = {}
    for reading in sorted(readings, key=lambda reading: (reading.time, reading.line)):
        told = {name: value for name, value in (reading.module | limits_of(reading)).items() if name in _HELD}
        if not told:
            continue
        cage = (site, str(reading.device), str(reading.interface))
        for row in _changes(cage, told, reading.time, standing.get(cage)):
            rows[cage, row["serial"], row["installed_at"]] = row
            if row["removed_at"] is None:
                standing[cage] = row
    return list(rows.values())


def _standing(known: Iterable[Mapping[str, Any]]) -> dict[_Cage, dict[str, Any]]:
    """Of each cage the installation that stands; of several the one installed last."""
    found: dict[_Cage, dict[str, Any]] = {}
    for row in sorted(known, key=lambda row: (row["installed_at"] is not None, row["installed_at"])):
        if row["removed_at"] is None:
            found[str(row["site"]), str(row["device"]), str(row["interface"])] = dict(row)
    return found


def _changes(
    cage: _Cage, told: dict[str, Any], at: datetime | None, before: dict[str, Any] | None
) -> list[dict[str, Any]]:
    serial = told.get("serial")
    new = dict(zip(("site", "device", "interface"), cage, strict=True)) | {"source": INFERRED, "removed_at": None}
    if before is None:
        return [new | {"serial": serial, "installed_at": None} | told]
    if serial is None or before["serial"] in (None, serial):
        learnt = {name: value for name, value in told.items() if _is_news(name, before.get(name), value)}
        if before["serial"] is None and serial is not None:
            return [before | {"removed_at": before["installed_at"] or at}, before | learnt] if learnt else []
        return [before | learnt] if learnt else []
    if at is None or (before["installed_at"] is not None and at <= before["installed_at"]):
        return []
    return [before | {"removed_at": at}, new | {"serial": serial, "installed_at": at} | told]


def _is_news(name: str, before: object, value: object) -> bool:
    """Whether it was not known; a firmware may also change."""
    return before is None or (name == "firmware" and before != value)
