"""The replacement ledger: which module gave way to which, in which cage, when and why (field_faults.md, row 59).

Three tell of it: a poll that finds another serial, an inventory in which one installation follows another, and a
ticket's repairs. What they say of one swap is one row, under the time that was written first; the ticket's reason and
id are added to it. A module that moved to another cage is a swap in each of the two.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import pyarrow as pa

from ingest.exports.records import Port
from ingest.lake import Lake
from ingest.schema import MODULES, REPAIRS, REPLACEMENTS, TICKETS, Action

__all__ = ["from_installations", "from_tickets", "merged", "record_records", "record_seen", "seen"]

Row = dict[str, Any]

_SAME_SWAP: Final = timedelta(days=3)
"""A ticket is written up to days after the hands were there, or with the day only."""

_INSTALLATION: Final = ("site", "device", "interface", "serial", "installed_at")
_SERIALS: Final = ("old_serial", "new_serial")


def seen(modules: Iterable[Mapping[str, Any]], reason: str = "seen", source: str = "snmp") -> list[Row]:
    """Swaps in rows of `modules` written at once: an installation that was ended and one that began in its cage."""
    rows = list(modules)
    ended = {_cage(row): row for row in rows if row.get("removed_at") is not None}
    return [
        _swap(row, ended[_cage(row)]["serial"], row["serial"], row["installed_at"], reason, source)
        for row in rows
        if row.get("removed_at") is None and _cage(row) in ended and _differ(ended[_cage(row)], row)
    ]


def from_installations(modules: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Swaps between installations that follow each other in a cage; one without a date follows none."""
    by_cage: dict[Port, list[Mapping[str, Any]]] = defaultdict(list)
    for row in modules:
        if row.get("serial") and row.get("installed_at"):
            by_cage[_cage(row)].append(row)
    return [
        _swap(after, before["serial"], after["serial"], after["installed_at"], "listed", "file")
        for rows in by_cage.values()
        for before, after in itertools.pairwise(sorted(rows, key=lambda row: row["installed_at"]))
        if _differ(before, after)
    ]


def from_tickets(tickets: Iterable[Mapping[str, Any]], repairs: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Swaps that repairs tell of, and tickets that were closed by one and have no repairs written down."""
    by_id = {row["ticket_id"]: row for row in tickets}
    swaps, written = [], set()
    for repair in repairs:
        ticket = by_id.get(repair["ticket_id"])
        if ticket is None:
            continue
        written.add(repair["ticket_id"])
        new = repair.get("new_serial")
        if new or (repair.get("action") == Action.REPLACE_TRANSCEIVER and repair.get("old_serial")):
            cage = _end(repair.get("end"), ticket)
            swaps.append(_told(cage, repair.get("old_serial"), new, repair["at"], repair.get("action"), ticket))
    for ticket in by_id.values():
        if ticket["ticket_id"] in written or ticket.get("action") != Action.REPLACE_TRANSCEIVER:
            continue
        if ticket.get("closed_at"):
            swaps.append(_told(ticket, ticket.get("serial"), None, ticket["closed_at"], ticket["action"], ticket))
    return [swap for swap in swaps if swap["old_serial"] != swap["new_serial"] or not swap["old_serial"]]


def merged(swaps: Iterable[Row], known: Iterable[Mapping[str, Any]], received_at: datetime) -> list[Row]:
    """Rows to append to the ledger: swaps that it does not have, and rows of it that a swap adds something to."""
    ledger: dict[Port, list[Row]] = defaultdict(list)
    for row in known:
        ledger[_cage(row)].append(dict(row))
    changed: dict[tuple[Port, datetime], Row] = {}
    for swap in sorted(swaps, key=lambda row: row["time"]):
        rows = ledger[_cage(swap)]
        same = _same(swap, rows)
        if same is None:  # what names no serial only adds to what is known
            if any(swap[name] for name in _SERIALS) and not any(row["time"] == swap["time"] for row in rows):
                rows.append(swap)
                changed[_cage(swap), swap["time"]] = swap
        elif added := _added(same, swap):
            same.update(added)
            changed[_cage(same), same["time"]] = same
    return [row | {"received_at": received_at} for row in changed.values()]


def record_seen(
    lake: Lake,
    modules: Iterable[Mapping[str, Any]],
    received_at: datetime,
    *,
    reason: str = "seen",
    source: str = "snmp",
) -> int:
    """Swaps in rows of `modules` that were written at once go into the ledger, which is read only where there are any.

    Returns:
        Rows appended.
    """
    swaps = seen(modules, reason, source)
    return _append(lake, swaps, received_at) if swaps else 0


def record_records(lake: Lake, received_at: datetime) -> tuple[int, int]:
    """What the lake's modules, tickets and repairs say after an import goes into the ledger.

    Returns:
        Rows that are new or changed, and swaps that were known.
    """
    installations = lake.latest(MODULES, columns=_INSTALLATION).collect().to_dicts()
    tickets, repairs = (lake.latest(table).collect().to_dicts() for table in (TICKETS, REPAIRS))
    swaps = from_installations(installations) + from_tickets(tickets, repairs)
    new = _append(lake, swaps, received_at) if swaps else 0
    return new, max(len(swaps) - new, 0)


def _append(lake: Lake, swaps: list[Row], received_at: datetime) -> int:
    rows = merged(swaps, lake.latest(REPLACEMENTS).collect().to_dicts(), received_at)
    return lake.append(REPLACEMENTS, pa.Table.from_pylist(rows, schema=REPLACEMENTS.schema)) if rows else 0


def _cage(row: Mapping[str, Any]) -> Port:
    return str(row["site"]), str(row["device"]), str(row["interface"])


def _end(end: str | None, ticket: Mapping[str, Any]) -> Mapping[str, Any]:
    """The cage that a repair's `device/interface` names; the ticket's where it names none."""
    device, slash, interface = (end or "").partition("/")
    return {"site": ticket["site"], "device": device, "interface": interface} if slash else ticket


def _differ(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return bool(before.get("serial") and after.get("serial")) and before["serial"] != after["serial"]


def _swap(
    cage: Mapping[str, Any], old: str | None, new: str | None, at: datetime, reason: str | None, source: str
) -> Row:
    site, device, interface = _cage(cage)
    where = {"time": at, "site": site, "device": device, "interface": interface}
    return where | {"old_serial": old, "new_serial": new, "reason": reason, "source": source, "ticket_id": None}


def _told(
    cage: Mapping[str, Any],
    old: str | None,
    new: str | None,
    at: datetime,
    action: str | None,
    ticket: Mapping[str, Any],
) -> Row:
    return _swap(cage, old, new, at, action, "ticket") | {"ticket_id": ticket["ticket_id"]}


def _same(swap: Row, rows: list[Row]) -> Row | None:
    """The row that tells of the same swap: the nearest with the same serials and no other swap in between."""
    nearest = sorted(rows, key=lambda row: abs(row["time"] - swap["time"]))
    for place, row in enumerate(nearest):
        if abs(row["time"] - swap["time"]) > _SAME_SWAP:
            break
        if _agree(swap, row):
            between = (min(row["time"], swap["time"]), max(row["time"], swap["time"]))
            others = (other for other in nearest[:place] if between[0] < other["time"] < between[1])
            return None if any(others) else row
    return None


def _agree(swap: Row, row: Row) -> bool:
    """Whether no serial contradicts, one at least is the same where any is told, and no two tickets are mixed."""
    pairs = [(swap[name], row[name]) for name in _SERIALS if swap[name] and row[name]]
    silent = not any(swap[name] for name in _SERIALS)
    tickets = {swap["ticket_id"], row["ticket_id"]} - {None}
    return (silent or bool(pairs)) and all(one == other for one, other in pairs) and len(tickets) <= 1


def _added(row: Row, swap: Row) -> Row:
    """What a swap adds to a row: missing serials, and a ticket's word."""
    added = {name: swap[name] for name in _SERIALS if swap[name] and not row[name]}
    if swap["ticket_id"] and not row["ticket_id"]:
        added |= {name: swap[name] for name in ("reason", "source", "ticket_id")}
    elif swap["ticket_id"] and (swap["reason"] or row["reason"]) != row["reason"]:
        added["reason"] = swap["reason"]
    return added
