"""Links that a fabric's tools saw, as rows of ``links``: a port has one cable, so a new neighbour ends the old link."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from ingest.dumps.reading import Cable, Port

__all__ = ["link_rows"]

_SOURCE: Final = "file"
_Ends = tuple[Port, Port]


def link_rows(
    cables: Mapping[_Ends, Cable], known: Iterable[Mapping[str, Any]], site: str, at: datetime
) -> list[dict[str, Any]]:
    """Rows to append, without ``received_at``.

    Args:
        cables: by their ends, the lower one first.
        known: the latest rows of `links`.
        site: of the cables.
        at: when dumps were taken that say no time.
    """
    standing = {_ends(row): dict(row) for row in known if _stands(row, site)}
    by_port = {end: ends for ends in standing for end in ends}
    rows: list[dict[str, Any]] = []
    for ends, cable in cables.items():
        told = {"kind": cable.kind, "cable_id": cable.cable_id}
        if (row := standing.get(ends)) is not None:
            learnt = {name: value for name, value in told.items() if value is not None and row[name] != value}
            rows += [row | learnt] if learnt else []
            continue
        since = cable.time or at
        before = {old for end in ends if (old := by_port.get(end)) is not None and old not in cables}
        if any(_begins_later(standing[old], since) for old in before):
            continue
        rows += [standing[old] | {"valid_to": since} for old in sorted(before)]
        (a, z) = ends
        new = {"a_site": site, "a_device": a[0], "a_interface": a[1], "z_site": site, "z_device": z[0]}
        rows.append(
            new
            | {"z_interface": z[1], "source": _SOURCE, "valid_from": since if before else None, "valid_to": None}
            | told
        )
    return rows


def _stands(row: Mapping[str, Any], site: str) -> bool:
    of_site = row["a_site"] == site == row["z_site"]
    return bool(of_site and row["valid_to"] is None and row["source"] == _SOURCE)


def _begins_later(row: Mapping[str, Any], at: datetime) -> bool:
    return row["valid_from"] is not None and row["valid_from"] >= at


def _ends(row: Mapping[str, Any]) -> _Ends:
    a, z = (row["a_device"], row["a_interface"]), (row["z_device"], row["z_interface"])
    return (a, z) if a <= z else (z, a)
