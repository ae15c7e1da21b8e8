"""The judge's counting rules, each on a fleet small enough to count by hand."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from features.fleet import Fleet
from features.labels import EVENT_SCHEMA
from models.evaluate import judge, judge_levels
from models.scorecard import Scorecard, early_days, scorecard_table

START = datetime(2026, 3, 1, tzinfo=UTC)
END = START + timedelta(days=28)  # four weeks
FAILED = START + timedelta(days=20, hours=12)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def _links(count: int = 5) -> pl.DataFrame:
    """Links C0, C1, …: leaf01:Ethernet<i> to spine01:Ethernet<i>."""
    ports = [f"Ethernet{i}" for i in range(count)]
    return pl.DataFrame(
        {
            "a_device": ["leaf01"] * count,
            "a_interface": ports,
            "z_device": ["spine01"] * count,
            "z_interface": ports,
            "cable_id": [f"C{i}" for i in range(count)],
            "kind": ["fiber"] * count,
        }
    )


def _event(**values: Any) -> dict[str, Any]:
    event: dict[str, Any] = {
        "event_id": "T1",
        "link_id": "C0",
        "site": "default",
        "device": "leaf01",
        "interface": "Ethernet0",
    }
    event |= {"failed_at": FAILED, "opened_at": FAILED + HOUR, "closed_at": FAILED + 10 * HOUR}
    return event | {"failure_type": "contamination", "action": "clean_connector", "verdict": "counted"} | values


def _alarm(raised_at: datetime, cleared_at: datetime | None = None, **values: Any) -> dict[str, Any]:
    alarm = {"device": "leaf01", "interface": "Ethernet0", "raised_at": raised_at, "cleared_at": cleared_at}
    return alarm | values


def _frame(rows: tuple[dict[str, Any], ...]) -> pl.DataFrame:
    times = {"raised_at": pl.Datetime("us", "UTC"), "cleared_at": pl.Datetime("us", "UTC")}
    none = pl.DataFrame(schema=pl.Schema({"device": pl.String(), "interface": pl.String(), **times}))
    return pl.DataFrame(rows, schema_overrides=times) if rows else none


Judge = Callable[..., Scorecard]


@pytest.fixture(name="judged")
def _judged() -> Judge:
    def run(*alarms: dict[str, Any], events: list[dict[str, Any]] | None = None, **frames: pl.DataFrame) -> Scorecard:
        known = pl.DataFrame([_event()] if events is None else events, schema=EVENT_SCHEMA)
        fleet = Fleet.from_frames(**({"links": _links()} | frames))
        return judge(_frame(alarms), known, fleet, start=START, end=END)

    return run


def _caught(card: Scorecard) -> dict[int, int]:
    return {score.lead_h: score.caught for score in card.leads}


class TestCaught:
    def test_an_alarm_two_days_before_is_caught_at_every_lead(self, judged: Judge) -> None:
        card = judged(_alarm(FAILED - 2 * DAY))

        assert {1: 1, 6: 1, 24: 1} == _caught(card)
        assert 0 == card.false_alarms
        assert (1.0, 1.0, 1.0) == (card.at(24).precision, card.at(24).recall, card.at(24).f1)

    def test_the_other_end_of_the_link_counts(self, judged: Judge) -> None:
        assert {1: 1, 6: 1, 24: 1} == _caught(judged(_alarm(FAILED - 2 * DAY, device="spine01")))

    def test_exactly_at_the_lead_is_early_enough_and_a_second_later_is_not(self, judged: Judge) -> None:
        assert {1: 1, 6: 1, 24: 0} == _caught(judged(_alarm(FAILED - 6 * HOUR)))
        assert {1: 1, 6: 0, 24: 0} == _caught(judged(_alarm(FAILED - 6 * HOUR + timedelta(seconds=1))))

    def test_too_late_for_a_lead_is_not_false(self, judged: Judge) -> None:
        card = judged(_alarm(FAILED - timedelta(minutes=20)))

        assert {1: 0, 6: 0, 24: 0} == _caught(card)
        assert 0 == card.false_alarms

    def test_within_a_week_it_need_not_stand_any_more(self, judged: Judge) -> None:
        assert 1 == _caught(judged(_alarm(FAILED - 6 * DAY, FAILED - 5 * DAY)))[24]

    def test_earlier_it_must_still_stand_when_the_failure_comes(self, judged: Judge) -> None:
        standing = judged(_alarm(FAILED - 8 * DAY))
        until_then = judged(_alarm(FAILED - 8 * DAY, FAILED))
        cleared = judged(_alarm(FAILED - 8 * DAY, FAILED - HOUR))

        assert [(1, 0), (1, 0), (0, 1)] == [
            (_caught(card)[24], card.false_alarms) for card in (standing, until_then, cleared)
        ]

    def test_many_alarms_of_one_failure_catch_it_once(self, judged: Judge) -> None:
        card = judged(*(_alarm(FAILED - days * DAY) for days in (1, 2, 3)))

        assert (1, 1.0) == (_caught(card)[24], card.at(24).precision)

    def test_an_alarm_says_nothing_of_the_failure_after_the_next(self, judged: Judge) -> None:
        again = _event(event_id="T2", failed_at=FAILED + 5 * DAY, opened_at=FAILED + 5 * DAY, closed_at=None)

        card = judged(_alarm(FAILED - DAY), events=[_event(), again])

        assert 2 == card.failures
        assert {1: 1, 6: 1, 24: 1} == _caught(card)

    def test_an_alarm_before_the_period_may_catch_a_failure_in_it(self, judged: Judge) -> None:
        card = judged(_alarm(START - DAY), events=[_event(failed_at=START + DAY)])

        assert {1: 1, 6: 1, 24: 1} == _caught(card)
        assert 0 == card.alarms

    def test_a_breakout_module_stands_for_all_its_links(self, judged: Judge) -> None:
        links = _links(2).with_columns(a_interface=pl.lit("Ethernet0"))

        card = judged(_alarm(FAILED - DAY), events=[_event(link_id="C1", interface="Ethernet1")], links=links)

        assert (1, 0) == (_caught(card)[24], card.false_alarms)


class TestFalse:
    def test_an_alarm_on_a_healthy_link_is_false_once_a_link_and_day(self, judged: Judge) -> None:
        noon = START + 5 * DAY + 12 * HOUR
        card = judged(
            _alarm(noon, interface="Ethernet1"),
            _alarm(noon + HOUR, interface="Ethernet1", device="spine01"),  # same link, same day
            _alarm(noon + DAY, interface="Ethernet1"),  # next day
            _alarm(noon, interface="Ethernet2"),  # another link
        )

        assert 3 == card.false_alarms
        assert 4 == card.alarms
        assert (0.0, 0.0) == (card.at(24).precision, card.at(24).f1)

    def test_eight_days_before_and_cleared_is_false(self, judged: Judge) -> None:
        assert 1 == judged(_alarm(FAILED - 8 * DAY, FAILED - 7 * DAY)).false_alarms

    def test_standing_since_more_than_thirty_days_catches_and_is_false(self, judged: Judge) -> None:
        event = _event(failed_at=END - HOUR, opened_at=END, closed_at=None)

        card = judged(_alarm(START - 4 * DAY), _alarm(START, interface="Ethernet9"), events=[event])
        begun_inside = judge(
            _frame((_alarm(START),)),
            pl.DataFrame([_event(failed_at=START + 31 * DAY)], schema=EVENT_SCHEMA),
            Fleet.from_frames(links=_links()),
            start=START,
            end=START + 40 * DAY,
        )

        assert (1, 2) == (_caught(card)[24], card.false_alarms)  # the other is on a port that nobody knows
        assert (1, 1) == (_caught(begun_inside)[24], begun_inside.false_alarms)

    def test_between_failure_and_two_days_after_repair_nothing_counts(self, judged: Judge) -> None:
        closed = FAILED + 10 * HOUR
        inside = judged(_alarm(FAILED + HOUR), _alarm(closed + 47 * HOUR))
        after = judged(_alarm(closed + 49 * HOUR))

        assert [(0, 0), (0, 1)] == [(_caught(card)[1], card.false_alarms) for card in (inside, after)]

    def test_an_alarm_after_a_failure_does_not_catch_the_next(self, judged: Judge) -> None:
        again = _event(event_id="T2", failed_at=FAILED + 4 * DAY, opened_at=FAILED + 4 * DAY)

        card = judged(_alarm(FAILED + HOUR), events=[_event(), again])

        assert ({1: 0, 6: 0, 24: 0}, 0) == (_caught(card), card.false_alarms)

    def test_an_alarm_that_ends_in_the_work_it_was_raised_in_counts_nowhere(self, judged: Judge) -> None:
        work = pl.DataFrame({"device": ["spine01"], "start": [FAILED - 2 * DAY], "end": [FAILED - DAY]})

        card = judged(_alarm(FAILED - 40 * HOUR, FAILED - 30 * HOUR), maintenance=work)

        assert ({1: 0, 6: 0, 24: 0}, 0) == (_caught(card), card.false_alarms)

    def test_an_alarm_that_outlives_the_work_counts_from_its_end(self, judged: Judge) -> None:
        """Right or false: or else whoever raises alarms in every maintenance window is never wrong."""
        end = FAILED - 6 * HOUR
        work = pl.DataFrame(
            {"device": ["spine01"] * 2, "start": [FAILED - 2 * DAY, end - HOUR], "end": [end - HOUR, end]}
        )

        card = judged(_alarm(FAILED - DAY), _alarm(FAILED - DAY, interface="Ethernet1"), maintenance=work)

        assert ({1: 1, 6: 1, 24: 0}, 1) == (_caught(card), card.false_alarms)

    def test_in_the_week_before_a_preventive_swap_nothing_is_false(self, judged: Judge) -> None:
        swapped = START + 15 * DAY
        modules = pl.DataFrame(
            {"device": ["leaf01"], "interface": ["Ethernet1"], "serial": ["A"], "removed_at": [swapped]}
        )

        before = judged(_alarm(swapped - 6 * DAY, interface="Ethernet1"), modules=modules)
        sooner = judged(_alarm(swapped - 8 * DAY, interface="Ethernet1"), modules=modules)

        assert [0, 1] == [before.false_alarms, sooner.false_alarms]

    @pytest.mark.parametrize(
        ("verdict", "evidence", "false"),
        [
            *[("duplicate", True, 0), ("repeat", True, 0), ("copper", True, 0), ("copper", False, 0)],
            *[("no_fault_found", False, 1), ("no_fault_found", True, 0)],
        ],
    )
    def test_before_an_uncounted_ticket_only_no_fault_and_no_outage_makes_it_false(
        self, judged: Judge, verdict: str, evidence: bool, false: int
    ) -> None:
        """A link that was seen to fail did fail, whatever was found."""
        card = judged(_alarm(FAILED - DAY), events=[_event(verdict=verdict, evidence=evidence)])

        assert (0, false) == (card.failures, card.false_alarms)
        assert {verdict: 1} == card.uncounted
        assert card.at(24).f1 is None

    def test_only_alarms_of_the_period_can_be_false(self, judged: Judge) -> None:
        ended = _alarm(START - HOUR, START, interface="Ethernet1")

        card = judged(ended, _alarm(END, interface="Ethernet1"))

        assert (0, 0) == (card.alarms, card.false_alarms)

    def test_an_alarm_that_stands_as_the_period_begins_is_of_the_period(self, judged: Judge) -> None:
        """What may catch failures in it may be false in it: on its first day, once."""
        card = judged(_alarm(START - 3 * DAY, interface="Ethernet1"))

        assert (0, 1, [START.date()]) == (card.alarms, card.false_alarms, list(card.false_by_day))

    def test_an_alarm_before_a_failure_after_the_period_is_not_false(self, judged: Judge) -> None:
        card = judged(_alarm(END - DAY), events=[_event(failed_at=END + DAY)])

        assert (0, 0) == (card.failures, card.false_alarms)

    def test_no_alarms_miss_everything_and_have_no_precision(self, judged: Judge) -> None:
        score = judged().at(24)

        assert (0, None, 0.0, 0.0) == (score.caught, score.precision, score.recall, score.f1)


class TestRates:
    def test_f1_is_the_harmonic_mean(self, judged: Judge) -> None:
        """Two failures, one caught, two false alarms: precision 1/3, recall 1/2, F1 2/5."""
        events = [_event(), _event(event_id="T2", link_id="C1", interface="Ethernet1")]
        false = [_alarm(START + 2 * DAY, interface=f"Ethernet{i}") for i in (2, 3)]

        score = judged(_alarm(FAILED - 2 * DAY), *false, events=events).at(24)

        assert (1 / 3, 1 / 2, 2 / 5) == (score.precision, score.recall, score.f1)
        assert score.f1_low is not None
        assert score.f1_high is not None
        assert 0.0 <= score.f1_low <= 0.4 <= score.f1_high <= 1.0

    def test_false_alarms_are_per_thousand_modules_and_week(self, judged: Judge) -> None:
        """Five links have ten ends; over four weeks that is 40 module-weeks, and 2 / 40 is 50 per thousand."""
        card = judged(*(_alarm(START + 2 * DAY, interface=f"Ethernet{i}") for i in (2, 3)))

        assert (10, 40.0, 50.0) == (card.modules, card.module_weeks, card.false_per_1000_module_weeks)

    def test_modules_are_optical_cages_of_the_inventory_in_the_period(self, judged: Judge) -> None:
        modules = pl.DataFrame(
            {
                "device": ["leaf01"] * 5,
                "interface": ["Ethernet0", "Ethernet0", "Ethernet1", "Ethernet2", "Ethernet3"],
                "serial": list("ABCDE"),
                "media": ["400GBASE-DR4"] * 4 + ["400GBASE-CR8"],  # the last is copper
                "installed_at": [None, START + DAY, END + DAY, None, None],  # C comes after the period
                "removed_at": [START + DAY, None, None, None, None],
            }
        )

        assert 2 == judged(modules=modules).modules

    def test_precision_at_a_base_rate_keeps_recall_and_false_rate(self, judged: Judge) -> None:
        """Recall 1 at 1 % a year is 0.01 x 7 / 365.25 right alarms a module and week beside 1 / 40 false ones."""
        score = judged(_alarm(FAILED - 2 * DAY), _alarm(START, interface="Ethernet3")).at(24)

        right = 0.01 * 7 / 365.25
        assert pytest.approx(right / (right + 1 / 40)) == score.precision_at_base_rate

    def test_none_false_in_a_short_history_is_not_none_for_ever(self, judged: Judge) -> None:
        """No event in 40 module-weeks rules out more than 3.0 / 40 a week with 95 % (the rule of three)."""
        score = judged(_alarm(FAILED - 2 * DAY)).at(24)

        right = 0.01 * 7 / 365.25
        assert 1.0 == score.precision_at_base_rate
        assert pytest.approx(right / (right + 3.0 / 40), rel=0.01) == score.precision_at_base_rate_low

    def test_lead_time_runs_from_the_first_alarm_that_is_right(self, judged: Judge) -> None:
        card = judged(_alarm(FAILED - 3 * DAY, FAILED - 2 * DAY), _alarm(FAILED - HOUR))

        assert (72.0,) == card.lead_times_h
        assert {"10%": 72.0, "50%": 72.0, "90%": 72.0} == card.lead_quantiles_h

    def test_levels_are_judged_apart(self) -> None:
        alarms = _frame((_alarm(FAILED - 2 * DAY, level="watch"), _alarm(FAILED - 2 * HOUR, level="act")))
        events = pl.DataFrame([_event()], schema=EVENT_SCHEMA)

        cards = judge_levels(alarms, events, Fleet.from_frames(links=_links()), start=START, end=END, name="model")

        assert [("model", 1), ("model, act", 0)] == [(card.name, _caught(card)[24]) for card in cards]

    def test_an_alarm_acts_from_when_it_reached_that_level(self) -> None:
        """Raised two days ahead, at ``act`` two hours ahead: nobody would have drained before."""
        alarms = _frame((_alarm(FAILED - 2 * DAY, level="act", act_at=FAILED - 2 * HOUR),))
        events = pl.DataFrame([_event()], schema=EVENT_SCHEMA)

        watch, act = judge_levels(alarms, events, Fleet.from_frames(links=_links()), start=START, end=END)

        assert (1, 0, 1) == (_caught(watch)[24], _caught(act)[24], _caught(act)[1])


class TestAttribution:
    def _modules(self) -> pl.DataFrame:
        """The module taken out in the repair sat at the spine, though the ticket names the leaf."""
        removed = [None, FAILED + 10 * HOUR]
        return pl.DataFrame(
            {
                "device": ["leaf01", "spine01"],
                "interface": ["Ethernet0"] * 2,
                "serial": ["A", "B"],
                "removed_at": removed,
            }
        )

    def test_the_end_is_the_one_whose_module_was_taken_out(self, judged: Judge) -> None:
        event = _event(failure_type="laser_degradation", action="replace_transceiver")
        said: dict[str, Any] = {
            "suspect": "module",
            "failure_type": "laser_degradation",
            "action": "replace_transceiver",
        }

        right = judged(_alarm(FAILED - DAY, device="spine01", **said), events=[event], modules=self._modules())
        wrong = judged(_alarm(FAILED - DAY, device="leaf01", **said), events=[event], modules=self._modules())

        assert [(1.0, 1.0), (0.0, 0.0)] == [
            (card.attribution.end_accuracy, card.attribution.fault_unit_accuracy) for card in (right, wrong)
        ]
        assert 1.0 == wrong.attribution.type_accuracy == wrong.attribution.action_accuracy

    def test_a_fibre_has_no_wrong_end(self, judged: Judge) -> None:
        told = judged(_alarm(FAILED - DAY, device="spine01", suspect="fiber")).attribution

        assert (1.0, 1.0, None) == (told.unit_accuracy, told.fault_unit_accuracy, told.end_accuracy)

    def test_what_helped_in_the_end_outweighs_the_type_on_the_ticket(self, judged: Judge) -> None:
        repairs = pl.DataFrame(
            {"ticket_id": ["T1", "T1"], "seq": [1, 2], "action": ["clean_connector", "replace_transceiver"]}
        )

        told = judged(_alarm(FAILED - DAY, suspect="fiber"), repairs=repairs).attribution

        assert {"module": {"fiber": 1}} == told.unit_confusion

    def test_the_last_alarm_an_hour_before_speaks_and_abstaining_is_not_wrong(self, judged: Judge) -> None:
        card = judged(
            _alarm(FAILED - 2 * DAY, failure_type="laser_degradation", suspect="module"),
            _alarm(FAILED - 2 * HOUR, failure_type="contamination", suspect="unknown"),
            _alarm(FAILED - timedelta(minutes=5), failure_type="other", suspect="module"),
        )

        assert {"contamination": {"contamination": 1}} == card.attribution.type_confusion
        assert card.attribution.unit_accuracy is None


def test_a_scorecard_is_plain_json_without_nan(judged: Judge) -> None:
    values = json.loads(json.dumps(judged(_alarm(FAILED - 2 * DAY)).to_dict(), allow_nan=False))

    assert "2026-03-01T00:00:00+00:00" == values["start"]
    assert 1.0 == values["leads"]["24h"]["f1"]
    assert {"2026-03-19": 1} == values["alarms_by_day"]


def test_scorecards_stand_side_by_side(judged: Judge) -> None:
    table = scorecard_table(judged(_alarm(FAILED - 2 * DAY)), judged())
    printer = Console(width=120)
    with printer.capture() as capture:
        printer.print(table)

    assert "F1 at 24 h" in capture.get()
    assert 3 == len(table.columns)


def test_false_alarms_of_the_last_days_are_said_to_be_open(judged: Judge) -> None:
    card = judged(_alarm(END - 8 * DAY), _alarm(END - 3 * DAY, interface="Ethernet1"), events=[])

    assert card.false_alarms == 2
    assert early_days(card, END + 2 * DAY).startswith("1 of 2 false alarms were raised since 2026-03-22")
    assert early_days(card, END + 9 * DAY) == ""
