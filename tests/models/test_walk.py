"""The walk through history: what is raised, what stands, what is held back, and for how long."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from features.cube import LakeTiles
from features.engine import Pool
from features.fleet import Fleet
from features.pipeline import Block, FeaturePipeline, hourly
from ingest.lake import Lake
from models.artifact import Artifact
from models.policy import ALARM_HORIZON_H, Policy
from models.risk_log import RiskLog
from models.walk import LinkRisks, Walk, Work, ends_of, link_risks, links_of, serial_at, walk

MakeBlock = Callable[..., Block]
Run = Callable[..., Walk]

POLICY = Policy(watch=0.2, act=0.6, act_reason="", sure=0.4)
HOUR = timedelta(hours=1)


def _risks(rows: Sequence[Sequence[float | None]]) -> LinkRisks:
    """Of each link (port i speaks for it) its risk at each hour; None where it is silent."""
    told = [
        (time, port, risk)
        for time in range(len(rows[0]))
        for port, of_link in enumerate(rows)
        if (risk := of_link[time]) is not None
    ]
    times, ports, risks = zip(*told, strict=True)
    return LinkRisks(np.array(ports), np.array(times), np.array(risks, np.float32)[:, None].repeat(6, axis=1))


@pytest.fixture(name="run")
def _run(artifact: Artifact, make_block: MakeBlock) -> Run:
    """Walks through hand-made risks of links C0, C1…, hour by hour."""

    def run(*rows: Sequence[float | None], policy: Policy = POLICY, **records: pl.DataFrame) -> Walk:
        block = make_block(links=len(rows), hours=len(rows[0]), **records)
        steps = Walk(replace(artifact, policy=policy), Work.of(block.history.fleet))
        steps.feed(block, _risks(rows))
        return steps

    return run


def _told(steps: Walk, begin: datetime) -> list[tuple[str, str, float, float | None]]:
    """Link, level, hour raised, hour cleared of each alarm."""
    return [
        (
            alarm.link_id,
            alarm.level,
            (alarm.raised_at - begin) / HOUR,
            None if alarm.cleared_at is None else (alarm.cleared_at - begin) / HOUR,
        )
        for alarm in steps.alarms
    ]


class TestOneLink:
    def test_an_alarm_is_raised_at_the_second_high_score_and_stands(self, run: Run, begin: datetime) -> None:
        steps = run([0.1, 0.3, 0.1, 0.3, 0.3, 0.1])

        assert [("C0", "watch", 3, None)] == _told(steps, begin)

    def test_it_ends_when_risk_has_stayed_low_for_a_day(self, run: Run, begin: datetime) -> None:
        steps = run([0.3, 0.3, *[0.05] * 30])

        assert [("C0", "watch", 1, 25)] == _told(steps, begin)

    def test_while_it_stands_there_is_no_other(self, run: Run, begin: datetime) -> None:
        steps = run([0.3] * 100)

        assert [("C0", "watch", 1, None)] == _told(steps, begin)

    def test_after_its_end_there_may_be_another(self, run: Run, begin: datetime) -> None:
        steps = run([0.3, 0.3, *[0.05] * 24, 0.3, 0.3])

        assert [("C0", "watch", 1, 25), ("C0", "watch", 27, None)] == _told(steps, begin)
        assert 2 == len({alarm.alarm_id for alarm in steps.alarms})

    def test_it_rises_to_act(self, run: Run, begin: datetime) -> None:
        steps = run([0.3, 0.3, 0.7, 0.7])

        assert [("C0", "act", 1, None)] == _told(steps, begin)

    def test_a_silent_hour_changes_nothing(self, run: Run, begin: datetime) -> None:
        steps = run([0.3, None, 0.3, None, None])

        assert [("C0", "watch", 2, None)] == _told(steps, begin)

    def test_silence_does_not_keep_it_for_ever(self, run: Run, begin: datetime) -> None:
        steps = run([0.3, 0.3, *[None] * 50], policy=replace(POLICY, expire_after_days=1))

        assert [("C0", "watch", 1, 26)] == _told(steps, begin)

    def test_a_high_score_of_yesterday_does_not_help(self, run: Run) -> None:
        assert [] == run([0.3, *[None] * 24, 0.3]).alarms


class TestPeople:
    def _ticket(self, begin: datetime, opened_h: int, closed_h: int | None) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "ticket_id": ["T1"],
                "device": ["spine01"],
                "interface": ["Ethernet0"],
                "opened_at": [begin + opened_h * HOUR],
                "closed_at": [None if closed_h is None else begin + closed_h * HOUR],
            },
            schema_overrides={"closed_at": pl.Datetime("us", "UTC")},
        )

    def test_nothing_is_raised_while_a_ticket_is_open_at_either_end(self, run: Run, begin: datetime) -> None:
        """Nor in the day after it."""
        steps = run([0.3] * 40, tickets=self._ticket(begin, 0, 6))

        assert [("C0", "watch", 30, None)] == _told(steps, begin)

    def test_a_ticket_that_was_not_closed_is_open(self, run: Run, begin: datetime) -> None:
        assert [] == run([0.3] * 10, tickets=self._ticket(begin, 1, None)).alarms

    def test_an_alarm_ends_with_the_repair(self, run: Run, begin: datetime) -> None:
        """And while the ticket is open none is raised; what comes after it is a new alarm."""
        steps = run([0.3] * 10, tickets=self._ticket(begin, 3, 6))

        assert ("C0", "watch", 1, 6) == _told(steps, begin)[0]

    def test_nothing_is_raised_during_maintenance_of_a_whole_device(self, run: Run, begin: datetime) -> None:
        work = pl.DataFrame(
            {"device": ["spine01"], "start": [begin], "end": [begin + 4 * HOUR], "announced_at": [begin - 9 * HOUR]}
        )

        assert [("C0", "watch", 4, None)] == _told(run([0.3] * 10, maintenance=work), begin)

    def test_maintenance_counts_from_when_it_was_announced(self, run: Run, begin: datetime) -> None:
        """Written down after the fact it was not known: a history cut off before that must raise the same alarm."""
        work = pl.DataFrame(
            {"device": ["leaf00"], "start": [begin], "end": [begin + 8 * HOUR], "announced_at": [begin + 5 * HOUR]}
        )

        assert [("C0", "watch", 1, None)] == _told(run([0.3] * 10, maintenance=work), begin)

    def test_work_at_another_port_of_the_device_is_none_at_this_one(self, run: Run, begin: datetime) -> None:
        work = pl.DataFrame(
            {
                "device": ["spine01"],
                "interface": ["Ethernet1"],
                "start": [begin],
                "end": [begin + 8 * HOUR],
                "announced_at": [begin],
            }
        )

        told = _told(run([0.3] * 4, [0.3] * 4, maintenance=work), begin)

        assert [("C0", "watch", 1, None)] == told


class TestStorms:
    def test_too_many_at_once_on_a_device_are_held_back(self, run: Run, begin: datetime) -> None:
        """All five links end at spine01."""
        steps = run(*[[0.3, 0.3]] * 5)

        assert [] == steps.alarms
        assert [(f"C{i}", begin + HOUR) for i in range(5)] == steps.held_back

    def test_four_are_not_too_many(self, run: Run) -> None:
        assert 4 == len(run(*[[0.3, 0.3]] * 4).alarms)

    def test_what_was_held_back_is_raised_when_the_storm_is_over(self, run: Run, begin: datetime) -> None:
        steps = run(*[[0.3, 0.3, 0.3]] * 2, *[[0.3, 0.3, 0.01]] * 3)

        assert [("C0", "watch", 2, None), ("C1", "watch", 2, None)] == _told(steps, begin)
        assert 5 == len(steps.held_back)


class TestRecabling:
    def test_an_alarm_ends_with_its_link(self, artifact: Artifact, make_block: MakeBlock, begin: datetime) -> None:
        """The cable is replaced: another link between the same ports, under another name."""
        first, second = (make_block(links=1, hours=4) for _ in range(2))
        renamed = second.history.fleet.links.with_columns(cable_id=pl.lit("C7"))
        times = [at + 4 * HOUR for at in first.history.at]
        past = replace(second.history, fleet=Fleet.from_frames(links=renamed), at=times)
        steps = Walk(replace(artifact, policy=POLICY), Work({}))

        steps.feed(first, _risks([[0.3] * 4]))
        steps.feed(replace(second, history=past), _risks([[0.3] * 4]))

        assert [("C0", "watch", 1, 4), ("C7", "watch", 5, None)] == _told(steps, begin)

    def test_people_at_work_are_known_by_port_whatever_the_link_is_called(self, begin: datetime) -> None:
        tickets = pl.DataFrame(
            {"ticket_id": ["T1"], "device": ["leaf00"], "interface": ["Ethernet0"], "opened_at": [begin]}
        )
        work = Work.of(Fleet.from_frames(tickets=tickets))

        assert work.busy([("default", "leaf00", "Ethernet0"), ("default", "spine01", "Ethernet0")], begin)
        assert not work.busy([("default", "leaf00", "Ethernet1")], begin)
        assert not work.busy([("default", "leaf00", "Ethernet0")], begin - HOUR)


def test_ends_and_links_of_a_block(make_block: MakeBlock) -> None:
    block = make_block(links=2)

    assert [("default", "spine01", "Ethernet0"), ("default", "leaf00", "Ethernet0")] == ends_of(block, 2)
    assert {"C0", "C1"} == links_of(block)
    assert serial_at(block, ("default", "leaf00", "Ethernet0"), 0) is None
    assert serial_at(block, ("default", "nowhere", "Ethernet0"), 0) is None


@pytest.fixture(name="span", scope="module")
def _span(train_until: datetime) -> list[datetime]:
    return hourly(train_until, train_until + timedelta(days=4))


@pytest.fixture(name="nervous", scope="module")
def _nervous(artifact: Artifact, fleet_lake: Lake, fleet: Fleet, span: list[datetime]) -> Artifact:
    """A model whose policy is alarmed by one hour of ten."""
    log = RiskLog()
    walk(artifact, LakeTiles(fleet_lake), fleet, span, log=log)
    watch = float(np.nanquantile(log.risks().risk[ALARM_HORIZON_H], 0.9))
    return replace(artifact, policy=replace(artifact.policy, watch=watch, sure=watch, storm=10_000))


@pytest.fixture(name="steps", scope="module")
def _steps(nervous: Artifact, fleet_lake: Lake, fleet: Fleet, span: list[datetime]) -> Walk:
    return walk(nervous, LakeTiles(fleet_lake), fleet, span)


class TestHistory:
    def test_alarms_are_raised_and_cleared_within_the_span(self, steps: Walk, span: list[datetime]) -> None:
        assert 5 < len(steps.alarms)
        assert any(alarm.cleared_at for alarm in steps.alarms)
        assert all(alarm.raised_at in span for alarm in steps.alarms)
        assert len(steps.alarms) == len({alarm.alarm_id for alarm in steps.alarms})

    def test_a_link_has_one_standing_alarm_at_most(self, steps: Walk, span: list[datetime]) -> None:
        ends = {alarm.alarm_id: alarm.cleared_at or span[-1] for alarm in steps.alarms}
        by_link: dict[str, list[tuple[datetime, datetime]]] = {}
        for alarm in steps.alarms:
            by_link.setdefault(alarm.link_id, []).append((alarm.raised_at, ends[alarm.alarm_id]))

        for spans in by_link.values():
            assert all(end <= start for (_, end), (start, _) in pairwise(spans))

    def test_every_alarm_is_over_the_threshold(self, steps: Walk, nervous: Artifact) -> None:
        assert all(alarm.risk_24h >= round(nervous.policy.watch, 6) for alarm in steps.alarms)

    def test_fed_piece_by_piece_it_is_the_same_walk(
        self, steps: Walk, nervous: Artifact, fleet_lake: Lake, fleet: Fleet, span: list[datetime]
    ) -> None:
        """Blocks are a matter of memory: six hours at a time decide the same."""
        pieces = Walk(nervous, Work.of(fleet))
        for i in range(0, len(span), 6):
            for block in FeaturePipeline().blocks(LakeTiles(fleet_lake), fleet, span[i : i + 6]):
                pieces.feed(block, link_risks(nervous, block))

        assert steps.alarms == pieces.alarms
        assert steps.held_back == pieces.held_back

    @pytest.mark.slow
    def test_on_a_pool_of_processes_it_is_the_same_walk(
        self, steps: Walk, nervous: Artifact, fleet_lake: Lake, fleet: Fleet, span: list[datetime]
    ) -> None:
        with Pool(2) as engine:
            pooled = walk(nervous, LakeTiles(fleet_lake), fleet, span, engine=engine)

        assert steps.alarms == pooled.alarms
        assert steps.held_back == pooled.held_back

    def test_progress_ends_at_one(
        self, artifact: Artifact, fleet_lake: Lake, fleet: Fleet, train_until: datetime
    ) -> None:
        done: list[float] = []

        walk(artifact, LakeTiles(fleet_lake), fleet, hourly(train_until, train_until + 3 * HOUR), done.append)

        assert 1.0 == done[-1]
        assert sorted(done) == done

    def test_of_no_times_there_is_no_walk(self, artifact: Artifact, fleet_lake: Lake, fleet: Fleet) -> None:
        assert [] == walk(artifact, LakeTiles(fleet_lake), fleet, []).alarms
