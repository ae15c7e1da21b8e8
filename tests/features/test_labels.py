"""Failures: dated by evidence, counted once, and the times in which nothing counts."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from features.fleet import Fleet
from features.labels import EVENT_SCHEMA, censoring, failure_events, link_maintenance

OPENED = datetime(2026, 3, 10, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
POLL = timedelta(minutes=15)
RECORDINGS = Path(__file__).parents[2] / ".." / "shared" / "recordings" / "export_small"


def _ticket(**values: Any) -> dict[str, Any]:
    ticket = {"ticket_id": "T1", "device": "leaf01", "interface": "Ethernet0", "opened_at": OPENED}
    ticket |= {"closed_at": OPENED + 6 * HOUR, "failure_type": "contamination", "action": "clean_connector"}
    return ticket | values


MakeFleet = Callable[..., Fleet]


@pytest.fixture(name="fleet_of")
def _fleet_of() -> MakeFleet:
    """Two links: leaf01:Ethernet0 to spine01:Ethernet0, and the copper leaf01:Ethernet8 to gpu01:eth0."""
    links = pl.DataFrame(
        {
            "a_device": ["leaf01", "leaf01"],
            "a_interface": ["Ethernet0", "Ethernet8"],
            "z_device": ["spine01", "gpu01"],
            "z_interface": ["Ethernet0", "eth0"],
            "cable_id": ["C1", "C2"],
            "kind": ["fiber", "dac"],
        }
    )

    def make(*tickets: dict[str, Any], **frames: pl.DataFrame) -> Fleet:
        return Fleet.from_frames(links=links, tickets=pl.DataFrame(tickets), **frames)

    return make


def _samples(*, bad: Callable[[datetime], bool], device: str = "leaf01", **extra: Any) -> pl.DataFrame:
    """Ten days of polls of one port before the ticket, down where ``bad``."""
    times = [OPENED - timedelta(days=10) + i * POLL for i in range(10 * 96 + 1)]
    frame = pl.DataFrame({"time": times, "oper_up": [not bad(time) for time in times]})
    return frame.with_columns(
        site=pl.lit("default"), device=pl.lit(device), interface=pl.lit("Ethernet0"), admin_up=pl.lit(value=True)
    ).with_columns(**{name: pl.lit(value) for name, value in extra.items()})


def _failed_at(fleet: Fleet, samples: pl.DataFrame) -> datetime:
    failed_at: datetime = failure_events(fleet, samples)["failed_at"].item()
    return failed_at


class TestDating:
    def test_a_failure_begins_with_the_outage_that_leads_to_the_ticket(self, fleet_of: MakeFleet) -> None:
        samples = _samples(bad=lambda time: time >= OPENED - 5 * HOUR)

        assert OPENED - 5 * HOUR == _failed_at(fleet_of(_ticket()), samples)

    def test_evidence_at_the_other_end_counts(self, fleet_of: MakeFleet) -> None:
        near = _samples(bad=lambda _: False)
        far = _samples(bad=lambda time: time >= OPENED - 3 * HOUR, device="spine01")

        assert OPENED - 3 * HOUR == _failed_at(fleet_of(_ticket()), pl.concat([near, far]))

    def test_a_single_flap_days_before_is_a_symptom(self, fleet_of: MakeFleet) -> None:
        samples = _samples(bad=lambda time: time == OPENED - 50 * HOUR or time >= OPENED - 2 * HOUR)

        assert OPENED - 2 * HOUR == _failed_at(fleet_of(_ticket()), samples)

    def test_a_ticket_two_days_late_is_dated_by_the_outage(self, fleet_of: MakeFleet) -> None:
        samples = _samples(bad=lambda time: time >= OPENED - 48 * HOUR)

        assert OPENED - 48 * HOUR == _failed_at(fleet_of(_ticket()), samples)

    def test_a_link_that_came_back_for_a_day_failed_the_second_time(self, fleet_of: MakeFleet) -> None:
        first, second = OPENED - 40 * HOUR, OPENED - 4 * HOUR
        samples = _samples(bad=lambda time: first <= time < first + HOUR or time >= second)

        assert second == _failed_at(fleet_of(_ticket()), samples)

    def test_a_failure_that_comes_and_goes_is_one(self, fleet_of: MakeFleet) -> None:
        first, second = OPENED - 8 * HOUR, OPENED - 4 * HOUR
        samples = _samples(bad=lambda time: first <= time < first + HOUR or time >= second)

        assert first == _failed_at(fleet_of(_ticket()), samples)

    def test_without_evidence_it_is_the_ticket(self, fleet_of: MakeFleet) -> None:
        events = failure_events(fleet_of(_ticket()), _samples(bad=lambda _: False))

        assert [(OPENED, False)] == events.select("failed_at", "evidence").rows()

    def test_without_any_telemetry_it_is_the_ticket(self, fleet_of: MakeFleet) -> None:
        samples = _samples(bad=lambda _: True, device="leaf77").drop("oper_up", "admin_up")

        assert OPENED == _failed_at(fleet_of(_ticket()), samples)

    def test_a_port_that_was_switched_off_is_no_evidence(self, fleet_of: MakeFleet) -> None:
        samples = _samples(bad=lambda time: time >= OPENED - 5 * HOUR, admin_up=False)

        assert OPENED == _failed_at(fleet_of(_ticket()), samples)

    def test_an_outage_in_maintenance_is_no_evidence(self, fleet_of: MakeFleet) -> None:
        work = pl.DataFrame({"device": ["spine01"], "start": [OPENED - 20 * HOUR], "end": [OPENED - 10 * HOUR]})
        samples = _samples(bad=lambda time: OPENED - 19 * HOUR <= time < OPENED - 11 * HOUR)

        assert OPENED == _failed_at(fleet_of(_ticket(), maintenance=work), samples)

    def test_lost_codewords_are_evidence_and_a_habit_of_losing_some_is_not(self, fleet_of: MakeFleet) -> None:
        start = OPENED - 6 * HOUR
        quiet = _samples(bad=lambda _: False)
        habit = quiet.with_columns(fec_uncorrected=pl.int_range(pl.len()) * 200)  # 0.22 a second, always
        grows = pl.when(pl.col("time") >= start).then(9_000).otherwise(200)  # 10 a second from start
        failing = quiet.with_columns(fec_uncorrected=grows.cum_sum())

        assert OPENED == _failed_at(fleet_of(_ticket()), habit)
        assert start == _failed_at(fleet_of(_ticket()), failing)

    def test_a_counter_that_began_anew_is_no_loss(self, fleet_of: MakeFleet) -> None:
        reset = pl.when(pl.col("time") < OPENED - HOUR).then(10**9).otherwise(5)
        samples = _samples(bad=lambda _: False).with_columns(crc_errors=reset)

        assert OPENED == _failed_at(fleet_of(_ticket()), samples)

    def test_the_outage_of_an_earlier_ticket_is_not_evidence_for_the_next(self, fleet_of: MakeFleet) -> None:
        earlier = _ticket(ticket_id="T0", opened_at=OPENED - 70 * HOUR, closed_at=OPENED - 60 * HOUR)
        samples = _samples(bad=lambda time: OPENED - 72 * HOUR <= time < OPENED - 60 * HOUR)

        events = failure_events(fleet_of(earlier, _ticket()), samples)

        assert [("T0", OPENED - 72 * HOUR), ("T1", OPENED)] == events.select("event_id", "failed_at").rows()


class TestVerdicts:
    def _verdicts(self, fleet: Fleet, samples: pl.DataFrame | None = None) -> dict[str, str]:
        samples = _samples(bad=lambda _: False) if samples is None else samples
        return dict(failure_events(fleet, samples).select("event_id", "verdict").iter_rows())

    def test_a_second_ticket_while_the_first_is_open_is_a_duplicate(self, fleet_of: MakeFleet) -> None:
        other_end = _ticket(ticket_id="T2", device="spine01", opened_at=OPENED + HOUR)

        assert {"T1": "counted", "T2": "duplicate"} == self._verdicts(fleet_of(_ticket(), other_end))

    def test_within_two_days_of_the_repair_it_is_a_repeat_and_later_it_counts(self, fleet_of: MakeFleet) -> None:
        closed = OPENED + 6 * HOUR
        soon = _ticket(ticket_id="T2", opened_at=closed + 47 * HOUR, closed_at=closed + 48 * HOUR)
        later = _ticket(ticket_id="T3", opened_at=closed + 97 * HOUR)

        verdicts = self._verdicts(fleet_of(_ticket(), soon, later))

        assert {"T1": "counted", "T2": "repeat", "T3": "counted"} == verdicts

    def test_no_fault_found_is_none_and_hides_no_failure(self, fleet_of: MakeFleet) -> None:
        nothing = _ticket(ticket_id="T0", opened_at=OPENED - HOUR, failure_type="no_fault_found")

        assert {"T0": "no_fault_found", "T1": "counted"} == self._verdicts(fleet_of(nothing, _ticket()))

    def test_a_module_that_tests_good_counts_only_where_the_link_was_down(self, fleet_of: MakeFleet) -> None:
        fleet = fleet_of(_ticket(bench_verdict="no_trouble_found"))

        assert {"T1": "no_fault_found"} == self._verdicts(fleet)
        assert {"T1": "counted"} == self._verdicts(fleet, _samples(bad=lambda time: time >= OPENED - HOUR))

    def test_copper_and_unknown_ports_are_not_counted(self, fleet_of: MakeFleet) -> None:
        copper = _ticket(ticket_id="T2", interface="Ethernet8")
        nowhere = _ticket(ticket_id="T3", device="laef01")

        assert {"T2": "copper", "T3": "unknown_port"} == self._verdicts(fleet_of(copper, nowhere))

    def test_a_mistyped_port_is_found_by_its_serial(self, fleet_of: MakeFleet) -> None:
        modules = pl.DataFrame({"device": ["spine01"], "interface": ["Ethernet0"], "serial": ["SN7"]})

        fleet = fleet_of(_ticket(device="spien01", serial="SN7"), modules=modules)

        events = failure_events(fleet, _samples(bad=lambda _: False))
        assert [("C1", "spien01", "counted")] == events.select("link_id", "device", "verdict").rows()

    def test_the_link_with_evidence_wins_where_port_and_serial_disagree(self, fleet_of: MakeFleet) -> None:
        modules = pl.DataFrame({"device": ["spine01"], "interface": ["Ethernet0"], "serial": ["SN7"]})
        fleet = fleet_of(_ticket(interface="Ethernet8", serial="SN7"), modules=modules)

        without = failure_events(fleet, _samples(bad=lambda _: False))
        with_evidence = failure_events(fleet, _samples(bad=lambda time: time >= OPENED - HOUR))

        assert ["C2"] == without["link_id"].to_list()
        assert ["C1"] == with_evidence["link_id"].to_list()

    def test_a_ticket_out_of_announced_work_is_maintenance(self, fleet_of: MakeFleet) -> None:
        work = pl.DataFrame({"device": ["leaf01"], "start": [OPENED - HOUR], "end": [OPENED + HOUR]})

        assert {"T1": "maintenance"} == self._verdicts(fleet_of(_ticket(), maintenance=work))


def test_no_tickets_are_no_events(fleet_of: MakeFleet) -> None:
    fleet = Fleet.from_frames(links=fleet_of(_ticket()).links)

    events = failure_events(fleet, _samples(bad=lambda _: False))

    assert events.is_empty()
    assert EVENT_SCHEMA == events.schema


def test_events_as_of_a_time_know_nothing_of_later(fleet_of: MakeFleet) -> None:
    """What was known when the first ticket was opened is the same whatever happened afterwards."""
    later = _ticket(ticket_id="T2", opened_at=OPENED + 200 * HOUR)
    samples = _samples(bad=lambda time: time >= OPENED - 5 * HOUR)

    known = failure_events(fleet_of(_ticket(), later).as_of(OPENED), samples)

    never_later = failure_events(fleet_of(_ticket()).as_of(OPENED), samples)
    assert known.equals(never_later)
    assert [("counted", None, OPENED - 5 * HOUR)] == known.select("verdict", "closed_at", "failed_at").rows()


class TestCensoring:
    def _windows(self, fleet: Fleet) -> list[tuple[Any, ...]]:
        events = failure_events(fleet, _samples(bad=lambda time: time >= OPENED - 5 * HOUR))
        return censoring(fleet, events).rows()

    def test_from_the_failure_until_two_days_after_the_repair(self, fleet_of: MakeFleet) -> None:
        expected = [("C1", OPENED - 5 * HOUR, OPENED + 6 * HOUR + timedelta(days=2), "failure")]

        assert expected == self._windows(fleet_of(_ticket()))

    def test_the_week_before_an_outage_in_which_nothing_was_found(self, fleet_of: MakeFleet) -> None:
        """What failed was not healthy before; where nothing failed, nothing is left out."""
        fleet = fleet_of(_ticket(failure_type="no_fault_found"))
        failed, week = OPENED - 5 * HOUR, timedelta(days=7)
        well = failure_events(fleet, _samples(bad=lambda _: False))
        over = OPENED + 6 * HOUR + timedelta(days=2)

        assert [
            ("C1", failed - week, failed, "no_fault_found"),
            ("C1", failed, over, "no_fault_found"),
        ] == self._windows(fleet)
        assert [("C1", OPENED, over, "no_fault_found")] == censoring(fleet, well).rows()

    def test_hours_before_a_failure_are_that_failures_though_an_outage_without_a_finding_lies_near(
        self, fleet_of: MakeFleet
    ) -> None:
        outage = _ticket(ticket_id="T0", opened_at=OPENED - 96 * HOUR, closed_at=None, failure_type="no_fault_found")
        events = failure_events(
            fleet_of(outage, _ticket()), _samples(bad=lambda time: OPENED - 100 * HOUR <= time <= OPENED - 98 * HOUR)
        )
        week = timedelta(days=7)

        (window,) = [row for row in censoring(fleet_of(), events).rows() if row[2] is not None and row[2] < OPENED]

        assert ("C1", OPENED - 100 * HOUR - week, OPENED - week, "no_fault_found") == window

    def test_an_open_ticket_has_no_end(self, fleet_of: MakeFleet) -> None:
        assert [("C1", OPENED - 5 * HOUR, None, "failure")] == self._windows(fleet_of(_ticket(closed_at=None)))

    def test_work_on_a_device_is_work_on_its_links(self, fleet_of: MakeFleet) -> None:
        work = pl.DataFrame({"device": ["leaf01"], "start": [OPENED], "end": [OPENED + HOUR], "kind": ["power"]})

        windows = link_maintenance(fleet_of(_ticket(), maintenance=work)).rows()

        assert [(link, OPENED, OPENED + HOUR, "power") for link in ("C1", "C2")] == windows

    def test_the_week_before_a_swap_without_a_ticket(self, fleet_of: MakeFleet) -> None:
        swapped = OPENED - timedelta(days=20)
        modules = pl.DataFrame(
            {
                "device": ["leaf01", "spine01"],
                "interface": ["Ethernet0", "Ethernet0"],
                "serial": ["A", "B"],
                "removed_at": [swapped, OPENED + 6 * HOUR],  # the second in the ticket's repair
            }
        )

        windows = self._windows(fleet_of(_ticket(), modules=modules))

        assert ("C1", swapped - timedelta(days=7), swapped, "preventive_swap") == windows[0]
        assert ["preventive_swap", "failure"] == [window[3] for window in windows]


@pytest.mark.device
@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="no recordings beside the project")
def test_the_recorded_export_fails_when_its_links_go_down() -> None:
    """Read by eye in both ends' states: the outage before each ticket, or the ticket where none was seen yet."""
    frames = {name: pl.read_csv(RECORDINGS / f"{name}.csv", try_parse_dates=True) for name in ("links", "tickets")}
    samples = pl.scan_parquet(RECORDINGS / "telemetry" / "*.parquet").with_columns(site=pl.lit("default"))

    events = failure_events(Fleet.from_frames(**frames), samples)

    dated = {
        name: failed.strftime("%m-%d %H:%M") for name, failed in events.select("event_id", "failed_at").iter_rows()
    }
    assert {"counted"} == set(events["verdict"])
    assert "03-09 10:00" == dated["INC1003"]
    assert "03-18 18:15" == dated["INC1008"]
    assert "04-01 22:00" == dated["INC1005"]
    assert "03-26 02:45" == dated["INC1011"]
