"""One device from poll to poll: discovered once, read by its map, and discovered again when anything moved."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ingest.collect.device import SYS_UP_TIME, Device
from ingest.collect.installed import Absences, Installations
from ingest.collect.poll import Poll
from ingest.config import Target
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Quality

_SENSOR, _ENTITY = "1.3.6.1.2.1.99.1.1.1", "1.3.6.1.2.1.47.1.1.1.1"
_IF, _IFX = "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1"
_VALUE, _STATUS, _SERIAL = f"{_SENSOR}.4", f"{_SENSOR}.5", f"{_ENTITY}.11"


class Watched:
    """A switch, its device, and what stands of its installations."""

    def __init__(self, switch: Any) -> None:
        self.switch, self.known = switch, Installations()
        options = {"device": "leaf01", "address": "192.0.2.1", "snmp": {"community": "x"}}
        self.device = Device(Target.model_validate(options))

    def poll(self, times: int = 1) -> Poll:
        for _ in range(times):
            poll = asyncio.run(self.device.poll(self.switch, self.known))
            self.known.accept(poll.modules)
        return poll


@pytest.fixture(name="leaf")
def _leaf(switch_of: Callable[[], Any]) -> Watched:
    return Watched(switch_of())


def _lanes(poll: Poll) -> dict[tuple[str, int], dict[str, Any]]:
    assert poll.lanes is not None
    return {(row["interface"], row["lane"]): row for row in poll.lanes.to_pylist()}


def _ports(poll: Poll) -> dict[str, dict[str, Any]]:
    assert poll.ports is not None
    return {row["interface"]: row for row in poll.ports.to_pylist()}


def _qualities(rows: Iterable[dict[str, Any]]) -> set[Quality]:
    return {Quality(row["quality"]) for row in rows}


def test_a_poll_is_rows_of_the_canonical_tables(leaf: Watched) -> None:
    poll = leaf.poll()
    lane, port = _lanes(poll)["Ethernet1", 2], _ports(poll)["Ethernet2"]

    assert poll.lanes is not None
    assert poll.ports is not None
    assert LANE_SAMPLES.schema == poll.lanes.schema
    assert PORT_SAMPLES.schema == poll.ports.schema
    assert (-2.0, 6.5, "SN1", "snmp", 0) == tuple(
        lane[name] if isinstance(lane[name], str | int) else round(lane[name], 4)
        for name in ("rx_power_dbm", "tx_bias_ma", "serial", "source", "quality")
    )
    assert (40.0, True, 2_000, None) == tuple(port[n] for n in ("temperature_c", "oper_up", "in_packets", "crc_errors"))
    assert 1.0 == poll.coverage


def test_what_does_not_change_is_asked_once(leaf: Watched) -> None:
    first, second = leaf.poll(), leaf.poll()

    assert (True, False) == (first.discovered, second.discovered)
    assert {f"{_ENTITY}.7": 1, f"{_SENSOR}.3": 1, _VALUE: 2, _STATUS: 2, f"{_IF}.8": 2} == {
        column: leaf.switch.asked[column] for column in (f"{_ENTITY}.7", f"{_SENSOR}.3", _VALUE, _STATUS, f"{_IF}.8")
    }
    assert second.varbinds < first.varbinds / 2


def test_values_are_those_of_the_poll_not_of_the_discovery(leaf: Watched) -> None:
    leaf.poll()
    leaf.switch.put(f"{_VALUE}.110", -1234)
    leaf.switch.put(f"{_IF}.8.2", 2)
    leaf.switch.put(f"{_IFX}.7.2", 2_500)
    poll = leaf.poll()

    assert -12.34 == pytest.approx(_lanes(poll)["Ethernet1", 1]["rx_power_dbm"], abs=1e-5)
    assert (False, 2_500) == (_ports(poll)["Ethernet2"]["oper_up"], _ports(poll)["Ethernet2"]["in_packets"])


def test_a_sensor_that_its_agent_calls_unavailable_says_nothing(leaf: Watched) -> None:
    leaf.poll()
    leaf.switch.put(f"{_STATUS}.110", 2)

    assert _lanes(leaf.poll())["Ethernet1", 1]["rx_power_dbm"] is None


def test_a_swap_begins_an_installation_in_the_same_poll(leaf: Watched) -> None:
    leaf.poll()
    leaf.switch.put(f"{_SERIAL}.100", b"NEW1")
    poll = leaf.poll()

    assert poll.discovered
    assert [("SN1", True), ("NEW1", False)] == [
        (r["serial"], r["removed_at"] is not None) for r in map(_filled, poll.modules)
    ]
    assert {"NEW1"} == {row["serial"] for (port, _), row in _lanes(poll).items() if port == "Ethernet1"}


def _filled(row: dict[str, Any]) -> dict[str, Any]:
    return {"removed_at": None} | row


def test_a_reboot_is_discovered_at_once(leaf: Watched) -> None:
    """Behind a reboot every index may mean another port (field_faults.md, row 56)."""
    leaf.poll()
    leaf.switch.put(SYS_UP_TIME, 50)

    assert leaf.poll().discovered


def test_rows_that_move_are_never_read_as_what_they_were(leaf: Watched) -> None:
    """The agent numbers anew without a reboot: until the next discovery lanes lack values, none is another's."""
    leaf.poll()
    for oid, cell in list(leaf.switch._cells.items()):
        if oid.startswith((f"{_SENSOR}.", f"{_ENTITY}.")) and 200 < int(oid.rpartition(".")[2]) < 300:
            del leaf.switch._cells[oid]
            leaf.switch.put(f"{oid.rpartition('.')[0]}.{int(oid.rpartition('.')[2]) + 500}", cell)
    poll = leaf.poll()

    assert poll.partial
    assert {"Ethernet1"} == {port for port, _ in _lanes(poll)}
    assert {Quality.PARTIAL_POLL} == _qualities(_lanes(poll).values())


@pytest.fixture(name="impatient")
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five minutes have always passed since the last discovery."""
    monkeypatch.setattr("ingest.collect.device._DISCOVER_AGAIN_S", 0.0)


@pytest.mark.usefixtures("impatient")
class TestRowsThatComeAndGo:
    def test_a_new_module_is_found(self, leaf: Watched) -> None:
        leaf.switch.unplug(2)
        assert {"Ethernet1"} == {port for port, _ in _lanes(leaf.poll())}
        leaf.switch.plug(2, "SN9")
        poll = leaf.poll()

        assert {"Ethernet1", "Ethernet2"} == {port for port, _ in _lanes(poll)}
        assert ["SN9"] == [row["serial"] for row in poll.modules]

    def test_a_table_cut_short_is_partial_as_long_as_its_modules_answer(self, leaf: Watched) -> None:
        """Fewer rows than are known are no success, also twice in a row (field_faults.md, row 51)."""
        leaf.poll()
        for column in range(1, 6):
            for entity in (201, 210, 211, 220, 221):
                del leaf.switch._cells[f"{_SENSOR}.{column}.{entity}"]
        leaf.switch.put(SYS_UP_TIME, 100_001)
        polls = [leaf.poll() for _ in range(5)]

        assert [True, True, True, False, False] == [poll.partial for poll in polls]
        assert "partial: rows of Ethernet2" in str(polls[0].error)
        assert not polls[0].failed
        assert [] == [row for poll in polls for row in poll.modules]

    def test_a_module_that_is_out_says_nothing_and_is_not_removed_at_once(self, leaf: Watched) -> None:
        leaf.poll()
        leaf.switch.unplug(2)
        poll = leaf.poll()

        assert {"Ethernet1"} == set(_ports(poll))
        assert not poll.partial
        assert [] == poll.modules


def test_a_cage_found_empty_for_half_an_hour_is_empty() -> None:
    absences, at = Absences(), datetime(2026, 3, 1, tzinfo=UTC)
    told = [absences.gone(["Ethernet1", "Ethernet2"], ["Ethernet1"], at + timedelta(minutes=m)) for m in (0, 10, 20)]

    assert [[], [], []] == told
    assert [("Ethernet2", at)] == absences.gone(["Ethernet1"], ["Ethernet1"], at + timedelta(minutes=30))
    assert [] == absences.gone(["Ethernet1"], ["Ethernet1"], at + timedelta(minutes=40))


def test_a_daemons_restart_empties_no_cage() -> None:
    absences, at = Absences(), datetime(2026, 3, 1, tzinfo=UTC)
    absences.gone(["Ethernet1"], [], at)

    assert absences
    assert [] == absences.gone([], ["Ethernet1"], at + timedelta(minutes=5))
    assert not absences


def test_what_is_learnt_of_a_module_later_completes_its_row(leaf: Watched) -> None:
    leaf.poll()
    leaf.switch.put(f"{_ENTITY}.13.100", b"QDD-400G-DR4")
    leaf.device.forget()
    (row,) = leaf.poll().modules

    assert ("SN1", "QDD-400G-DR4") == (row["serial"], row["part_number"])
    assert row["installed_at"] < row["received_at"]
    assert [] == leaf.poll().modules


def test_a_scale_that_changes_is_never_applied_to_an_old_number(leaf: Watched) -> None:
    """Where power is in watts some agents move the scale with the value; the map's would be wrong by a thousand."""
    for entity in (110, 120, 210, 220):
        for column, cell in ((1, 6), (2, 8), (3, 4), (4, 5_000)):  # watts, milli, four decimals: 0.5 mW
            leaf.switch.put(f"{_SENSOR}.{column}.{entity}", cell)
    before = leaf.poll()
    leaf.switch.put(f"{_SENSOR}.2.110", 7)  # micro
    leaf.switch.put(f"{_SENSOR}.3.110", 1)
    leaf.switch.put(f"{_VALUE}.110", 2_500)  # 0.25 mW
    after = leaf.poll()

    assert -3.0103 == pytest.approx(_lanes(before)["Ethernet1", 1]["rx_power_dbm"], abs=1e-4)
    assert -6.0206 == pytest.approx(_lanes(after)["Ethernet1", 1]["rx_power_dbm"], abs=1e-4)
    assert -3.0103 == pytest.approx(_lanes(after)["Ethernet1", 2]["rx_power_dbm"], abs=1e-4)


class TestQuality:
    def test_one_sample_far_from_both_its_neighbours_is_marked_once_they_agree(self, leaf: Watched) -> None:
        """59 C, 123 C, 59 C: kept, and called a glitch (field_faults.md, row 66)."""
        leaf.poll()
        leaf.switch.put(f"{_VALUE}.101", 1_000)
        jumped = leaf.poll()
        leaf.switch.put(f"{_VALUE}.101", 400)
        after = leaf.poll()
        assert after.ports is not None
        again = [row for row in after.ports.to_pylist() if Quality(row["quality"]) & Quality.GLITCH]

        assert {Quality(0)} == _qualities(_ports(jumped).values())
        assert [("Ethernet1", 100.0)] == [(row["interface"], row["temperature_c"]) for row in again]
        assert _ports(jumped)["Ethernet1"]["time"] == again[0]["time"] < again[0]["received_at"]
        assert 3 == after.port_count

    def test_a_step_that_stays_is_no_glitch(self, leaf: Watched) -> None:
        leaf.poll()
        leaf.switch.put(f"{_VALUE}.101", 1_000)
        polls = [leaf.poll() for _ in range(3)]

        assert {Quality(0)} == {q for poll in polls for q in _qualities(_ports(poll).values())}

    def test_light_that_goes_away_for_one_sample_is_no_glitch(self, leaf: Watched) -> None:
        leaf.poll()
        leaf.switch.put(f"{_VALUE}.110", -3_000)
        leaf.poll()
        leaf.switch.put(f"{_VALUE}.110", -200)

        assert {Quality(0)} == _qualities(_lanes(leaf.poll()).values())

    def test_a_module_that_never_moves_is_stale_after_an_hour(
        self, leaf: Watched, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ingest.decode.history._STUCK_AFTER", timedelta(0))
        moving = [leaf.poll() for _ in range(10)]
        stale = leaf.poll()
        leaf.switch.put(f"{_VALUE}.101", 401)
        moved = leaf.poll()

        assert {Quality(0)} == {q for poll in moving for q in _qualities(_lanes(poll).values())}
        assert {Quality.STALE} == _qualities(_lanes(stale).values())
        assert {("Ethernet1", Quality(0)), ("Ethernet2", Quality.STALE)} == {
            (port, Quality(row["quality"])) for (port, _), row in _lanes(moved).items()
        }

    def test_a_dark_port_that_never_moves_is_not_stale(self, leaf: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ingest.decode.history._STUCK_AFTER", timedelta(0))
        for entity in (110, 120):
            leaf.switch.put(f"{_VALUE}.{entity}", -4_000)
            leaf.switch.put(f"{_VALUE}.{entity + 1}", 0)

        assert {Quality(0)} == {
            Quality(row["quality"]) for (port, _), row in _lanes(leaf.poll(13)).items() if port == "Ethernet1"
        }

    def test_an_impossible_number_is_told_once_as_it_came(self, leaf: Watched) -> None:
        leaf.poll()
        leaf.switch.put(f"{_VALUE}.101", 32_767)  # 3,276.7 C
        first, second = leaf.poll(), leaf.poll()

        assert [("Ethernet1", 0, "temperature_c", 32_767.0)] == [
            (r.interface, r.lane, r.quantity, r.raw) for r in first.refused
        ]
        assert [] == second.refused
        assert _ports(second)["Ethernet1"]["temperature_c"] is None
