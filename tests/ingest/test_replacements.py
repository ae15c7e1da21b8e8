"""The replacement ledger: one row a swap, whoever tells of it and in whatever order."""

import itertools
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.exports import import_export
from ingest.lake import Lake
from ingest.replacements import from_installations, from_tickets, merged, record_seen, seen
from ingest.schema import MODULES, REPLACEMENTS

T0 = datetime(2026, 3, 1, tzinfo=UTC)
NOW = datetime(2026, 4, 1, tzinfo=UTC)


def hours(count: float) -> datetime:
    return T0 + timedelta(hours=count)


def module(
    serial: str | None, at: float | None, until: float | None = None, interface: str = "Ethernet1"
) -> dict[str, Any]:
    """A row of `modules`, times in hours."""
    where = {"site": "default", "device": "leaf01", "interface": interface, "serial": serial}
    return where | {
        "installed_at": at if at is None else hours(at),
        "removed_at": until if until is None else hours(until),
    }


def ticket(**columns: Any) -> dict[str, Any]:
    where = {"ticket_id": "T1", "site": "default", "device": "leaf01", "interface": "Ethernet1"}
    return where | {"serial": "A", "opened_at": T0, "closed_at": hours(30), "action": "replace_transceiver"} | columns


def repair(**columns: Any) -> dict[str, Any]:
    step = {"ticket_id": "T1", "seq": 1, "at": hours(5), "end": None, "action": "replace_transceiver"}
    return step | {"old_serial": "A", "new_serial": "B"} | columns


def told(rows: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    names = ("interface", "old_serial", "new_serial", "time", "reason", "source", "ticket_id")
    return [tuple(row[name] for name in names) for row in rows]


def ledger(*steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ledger as a reader sees it after rows from each step were appended."""
    known: dict[tuple[Any, ...], dict[str, Any]] = {}
    for swaps in steps:
        for row in merged(swaps, known.values(), NOW):
            known[tuple(row[name] for name in REPLACEMENTS.key)] = row
    return sorted(known.values(), key=lambda row: (row["interface"], row["time"]))


SEEN = [module("A", 0, until=6), module("B", 6)]


def test_another_serial_in_a_poll_is_a_swap() -> None:
    assert [("Ethernet1", "A", "B", hours(6), "seen", "snmp", None)] == told(seen(SEEN))


@pytest.mark.parametrize(
    "rows",
    [[module("A", 0)], [module("A", 0, until=6)], [module("A", 0, until=6), module("B", 6, interface="Ethernet2")]],
    ids=["first seen", "taken out", "another cage"],
)
def test_what_is_no_swap_is_not_in_the_ledger(rows: list[dict[str, Any]]) -> None:
    assert [] == seen(rows)


def test_an_unknown_serial_is_not_another_one() -> None:
    assert [] == seen([module("A", 0, until=6), module(None, 6)])


def test_a_module_moved_between_two_cages_is_a_swap_in_each() -> None:
    moved = [module("A", 0, until=6), module("B", 6)]
    moved += [module("B", 0, until=6, interface="Ethernet2"), module("A", 6, interface="Ethernet2")]

    assert [("Ethernet1", "A", "B"), ("Ethernet2", "B", "A")] == [row[:3] for row in told(ledger(seen(moved)))]


def test_installations_that_follow_each_other_are_swaps_and_undated_ones_are_not() -> None:
    listed = from_installations([module("C", 20), module("A", 0), module("B", 10), module("B", 12), module("Z", None)])

    assert [("A", "B", hours(10)), ("B", "C", hours(20))] == [row[1:4] for row in told(listed)]


def test_a_repair_tells_of_the_cage_at_its_end_of_the_link() -> None:
    swaps = from_tickets([ticket()], [repair(end="spine01/Ethernet1/4"), repair(seq=2, at=hours(7), new_serial="C")])

    assert [("spine01", "Ethernet1/4"), ("leaf01", "Ethernet1")] == [(row["device"], row["interface"]) for row in swaps]


@pytest.mark.parametrize(
    "step",
    [
        repair(action="clean_connector", new_serial=None),
        repair(new_serial="A"),
        repair(old_serial=None, new_serial=None),
        repair(ticket_id="nowhere"),
    ],
    ids=["cleaned", "the same again", "no serials", "no ticket"],
)
def test_a_repair_that_swapped_nothing_is_not_in_the_ledger(step: dict[str, Any]) -> None:
    assert [] == from_tickets([ticket(action="other")], [step])


def test_a_ticket_closed_by_a_swap_tells_of_it_where_no_repairs_are_written_down() -> None:
    assert [("Ethernet1", "A", None, hours(30), "replace_transceiver", "ticket", "T1")] == told(
        from_tickets([ticket()], [])
    )
    assert [] == from_tickets([ticket(closed_at=None)], [])


def test_a_ticket_adds_its_reason_and_id_to_the_swap_that_a_poll_saw() -> None:
    rows = ledger(seen(SEEN), from_tickets([ticket()], [repair()]))

    assert [("Ethernet1", "A", "B", hours(6), "replace_transceiver", "ticket", "T1")] == told(rows)


def test_a_ticket_without_serials_adds_to_the_one_swap_it_can_mean_and_makes_none() -> None:
    nameless = from_tickets([ticket(serial=None, closed_at=hours(7))], [])

    assert [] == ledger(nameless)
    assert [("Ethernet1", "A", "B", hours(6), "replace_transceiver", "ticket", "T1")] == told(
        ledger(seen(SEEN), nameless)
    )


def test_a_poll_that_sees_what_a_ticket_told_adds_only_the_serial_that_was_missing() -> None:
    rows = ledger(from_tickets([ticket(closed_at=hours(5))], []), seen(SEEN))

    assert [("Ethernet1", "A", "B", hours(5), "replace_transceiver", "ticket", "T1")] == told(rows)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_three_who_tell_of_one_swap_make_one_row_in_any_order(order: tuple[int, ...]) -> None:
    swaps = (seen(SEEN), from_installations([module("A", 0), module("B", 4)]), from_tickets([ticket()], [repair()]))

    rows = ledger(*(swaps[i] for i in order))

    assert [("A", "B", "replace_transceiver", "T1")] == [(row[1], row[2], row[4], row[6]) for row in told(rows)]


def test_the_same_serials_a_week_later_are_another_swap() -> None:
    rows = ledger(seen(SEEN), from_tickets([ticket()], [repair(at=hours(7 * 24))]))

    assert 2 == len(rows)


def test_a_swap_back_in_between_makes_two_of_the_same_serials() -> None:
    back = [module("B", 6, until=10), module("A", 10)]
    again = [module("A", 10, until=20), module("B", 20)]

    assert [("A", "B"), ("B", "A"), ("A", "B")] == [
        row[1:3] for row in told(ledger(seen(SEEN), seen(back), seen(again)))
    ]


def test_two_tickets_are_two_swaps() -> None:
    tickets = [ticket(), ticket(ticket_id="T2")]
    both = from_tickets(tickets, [repair(old_serial=None), repair(ticket_id="T2", at=hours(8), old_serial=None)])

    assert ["T1", "T2"] == [row["ticket_id"] for row in ledger(both)]


@given(st.lists(st.sampled_from("ABC"), min_size=2, max_size=12), st.integers(0, 11))
def test_whatever_follows_whatever_the_ledger_is_the_chain_of_serials(serials: list[str], told_twice: int) -> None:
    swaps = from_installations([module(serial, 10 * place) for place, serial in enumerate(serials)])
    chain = [pair for pair in itertools.pairwise(serials) if pair[0] != pair[1]]

    rows = ledger(swaps, swaps[:told_twice], swaps)

    assert chain == [row[1:3] for row in told(rows)]


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture(name="export")
def _export(tmp_path: Path) -> Callable[..., Path]:
    """An export of one port whose files are given as lines, `repairs=[…]`."""

    def write(**files: list[str]) -> Path:
        (tmp_path / "export" / "telemetry").mkdir(parents=True, exist_ok=True)
        head = "time,device,interface,lane,rx_power_dbm"
        row = "2026-03-01 00:00:00+00:00,leaf01,Ethernet1,1,-2.0"
        (tmp_path / "export" / "telemetry" / "part.csv").write_text(f"{head}\n{row}\n")
        for name, lines in files.items():
            (tmp_path / "export" / f"{name}.csv").write_text("\n".join(lines) + "\n")
        return tmp_path / "export"

    return write


def test_an_import_fills_the_ledger_and_a_second_one_changes_nothing(lake: Lake, export: Callable[..., Path]) -> None:
    inventory = ["device,interface,serial,installed_at", "leaf01,Ethernet1,A,2026-02-01T00:00:00Z"]
    inventory += ["leaf01,Ethernet1,B,2026-03-01T05:30:00Z"]
    tickets = ["ticket_id,device,interface,opened_at", "T1,leaf01,Ethernet1,2026-03-01T00:00:00Z"]
    repairs = ["ticket_id,at,end,action,old_serial,new_serial"]
    repairs += ["T1,2026-03-01T05:00:00Z,leaf01/Ethernet1,replace_transceiver,A,B"]
    directory = export(inventory=inventory, tickets=tickets, repairs=repairs)

    reports = [import_export(directory, lake).records["replacements"] for _ in range(2)]

    rows = lake.latest(REPLACEMENTS).collect().to_dicts()
    expected = ("Ethernet1", "A", "B", datetime(2026, 3, 1, 5, tzinfo=UTC), "replace_transceiver", "ticket", "T1")
    assert [expected] == told(rows)
    assert [(1, 1), (0, 2)] == reports


def test_an_import_without_swaps_makes_no_ledger(lake: Lake, export: Callable[..., Path]) -> None:
    assert {} == import_export(export(), lake).records
    assert not lake.exists(REPLACEMENTS)


def test_a_sweep_writes_its_swaps_beside_what_tickets_told(lake: Lake, export: Callable[..., Path]) -> None:
    tickets = ["ticket_id,device,interface,opened_at", "T1,leaf01,Ethernet1,2026-03-01T00:00:00Z"]
    repairs = ["ticket_id,at,action,old_serial,new_serial", "T1,2026-03-01T05:00:00Z,replace_transceiver,A,B"]
    import_export(export(tickets=tickets, repairs=repairs), lake)
    other = [module("C", 0, until=6, interface="Ethernet2"), module("D", 6, interface="Ethernet2")]

    assert 1 == record_seen(lake, [*SEEN, *other], NOW)
    assert 0 == record_seen(lake, [*SEEN, *other], NOW)
    assert 0 == record_seen(lake, [module("A", 0)], NOW)


def test_rows_that_a_collector_wrote_to_modules_are_in_the_ledger_after_an_import(
    lake: Lake, export: Callable[..., Path]
) -> None:
    rows = [row | {"received_at": NOW} for row in SEEN]
    lake.append(MODULES, pa.Table.from_pylist(rows, schema=MODULES.schema))
    record_seen(lake, SEEN, NOW)

    assert (0, 1) == import_export(export(), lake).records["replacements"]
