"""An alarm: whose it is, what it says, and its line of the CSV."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.pipeline import Block
from ingest.schema import FailureType
from models.actions import ranked
from models.alarm import ALARM_COLUMNS, Alarm, Diagnosis, alarm_frame, alarm_id, diagnose_all, expected_window
from models.alarm_file import read_alarms
from models.artifact import Artifact
from models.base import FAULTS, HORIZONS_H, Fault
from models.walk import LinkRisks, link_risks, make_alarm
from serving.alarm_csv import CSV_COLUMNS
from serving.alarms import AlarmRecord

AT = datetime(2026, 3, 10, 12, tzinfo=UTC)

ALARM = Alarm(
    alarm_id="a1",
    link_id="C1",
    site="default",
    device="leaf01",
    interface="Ethernet1/1",
    suspect="module",
    level="watch",
    raised_at=AT,
    risk_24h=0.25,
    risk_168h=0.5,
    failure_type="laser_degradation",
    action="replace_transceiver",
    expected_from=AT + timedelta(hours=3),
    expected_to=AT + timedelta(hours=90),
    model_version="abc",
    peer_device="spine01",
    peer_interface="Ethernet7",
    serial="S1",
    reasons=("the link flaps",),
)


@pytest.fixture(name="risks", scope="module")
def _risks(artifact: Artifact, block: Block) -> LinkRisks:
    return link_risks(artifact, block)


@pytest.fixture(name="diagnoses", scope="module")
def _diagnoses(artifact: Artifact, block: Block) -> list[Diagnosis]:
    return diagnose_all(artifact, block, np.flatnonzero(block.present[:, 0]), 0)


class TestIdentity:
    def test_the_same_link_and_time_are_the_same_alarm(self) -> None:
        assert alarm_id("C1", AT) == alarm_id("C1", datetime.fromisoformat("2026-03-10T12:00:00+00:00"))
        assert 16 == len(alarm_id("C1", AT))

    def test_another_link_or_time_is_another_alarm(self) -> None:
        ids = {alarm_id(link, AT + timedelta(hours=h)) for link in ("C1", "C2") for h in range(3)}

        assert 6 == len(ids)


class TestExpectedWindow:
    @given(st.lists(st.floats(0, 1, width=32), min_size=6, max_size=6).map(sorted))
    def test_it_begins_before_it_ends_and_lies_within_a_week(self, risk: list[float]) -> None:
        begin, end = expected_window(AT, np.array(risk, np.float32))

        assert AT <= begin <= end <= AT + timedelta(hours=168)
        assert UTC == begin.tzinfo

    def test_it_holds_the_middle_of_the_risk(self) -> None:
        even = np.array([hours / 168 for hours in HORIZONS_H], np.float32)

        assert (AT + timedelta(hours=17), AT + timedelta(hours=151)) == expected_window(AT, even)

    def test_a_sudden_risk_is_expected_soon(self) -> None:
        begin, end = expected_window(AT, np.array([0.8, 0.81, 0.81, 0.81, 0.81, 0.81], np.float32))

        assert AT < begin < end <= AT + timedelta(hours=6)


class TestDiagnosis:
    def test_every_port_that_speaks_has_one(self, block: Block, diagnoses: list[Diagnosis]) -> None:
        assert block.present[:, 0].sum() == len(diagnoses)
        assert [] == [found for found in diagnoses if not np.isclose(1.0, sum(found.types.values()), atol=1e-4)]

    def test_the_action_is_what_to_try_first(self, diagnoses: list[Diagnosis]) -> None:
        assert [ranked(found.types)[0].action for found in diagnoses] == [found.action for found in diagnoses]

    def test_the_type_is_one_that_the_suspect_can_have(self, diagnoses: list[Diagnosis]) -> None:
        """A module is not contaminated, and a fibre has no laser that wears out."""
        told = [found for found in diagnoses if found.suspect != "unknown"]

        assert [found.suspect for found in told] == [Fault(found.failure_type, here=True).suspect for found in told]

    def test_a_suspect_is_named_only_where_it_is_likely(self, diagnoses: list[Diagnosis]) -> None:
        assert {found.suspect for found in diagnoses} <= {"module", "fiber", "unknown"}
        assert all((found.suspect == "unknown") == (found.probability < 0.35) for found in diagnoses)

    def test_the_suspect_end_is_one_of_the_links_two_and_the_peer_the_other(
        self, block: Block, diagnoses: list[Diagnosis]
    ) -> None:
        for port, found in zip(np.flatnonzero(block.present[:, 0]).tolist(), diagnoses, strict=True):
            near = block.cube.ports.row(port)
            assert {near, block.history.ends[near][1]} == {found.end, found.peer}

    def test_both_ends_of_a_link_name_the_same_suspect(self, block: Block, diagnoses: list[Diagnosis]) -> None:
        by_port = dict(zip(np.flatnonzero(block.present[:, 0]).tolist(), diagnoses, strict=True))
        pairs = [(by_port[p], by_port[q]) for p, q in enumerate(block.history.peer.tolist()) if p in by_port and q > p]
        both = [(near, far) for near, far in pairs if near.suspect != "unknown"]

        assert 3 < len(both)
        assert [near.end for near, _ in both] == [far.end for _, far in both]
        assert [near.suspect for near, _ in both] == [far.suspect for _, far in both]

    def test_faults_have_a_unit(self) -> None:
        assert {"fiber", "module"} == {fault.suspect for fault in FAULTS}
        assert {FailureType.CONTAMINATION, FailureType.FIBER_DAMAGE} == {
            fault.failure_type for fault in FAULTS if fault.suspect == "fiber"
        }


class TestMakeAlarm:
    def test_it_says_what_the_model_said(self, artifact: Artifact, block: Block, risks: LinkRisks) -> None:
        i = int(np.argmax(risks.risk[:, -1]))

        alarm = make_alarm(artifact, block, risks, i, "watch")

        assert pytest.approx(risks.risk[i, [2, 5]], abs=1e-6) == [alarm.risk_24h, alarm.risk_168h]
        assert block.history.at[risks.time[i]] == alarm.raised_at
        assert alarm_id(alarm.link_id, alarm.raised_at) == alarm.alarm_id
        assert (artifact.version, "watch", None) == (alarm.model_version, alarm.level, alarm.cleared_at)
        assert alarm.raised_at <= alarm.expected_from <= alarm.expected_to

    def test_it_names_the_module_in_the_suspect_cage(self, artifact: Artifact, block: Block, risks: LinkRisks) -> None:
        cages = block.history.fleet.as_of(block.history.at[0]).in_cages()
        known = {(s, d, i): serial for s, d, i, serial in cages.select("site", "device", "interface", "serial").rows()}

        alarms = [make_alarm(artifact, block, risks, i, "watch") for i in np.flatnonzero(risks.time == 0).tolist()]

        told = [(a.serial, known.get((a.site, a.device, a.interface))) for a in alarms if a.serial is not None]
        assert 10 < len(told)
        assert [serial for _, serial in told] == [serial for serial, _ in told]

    def test_the_store_takes_it(self, artifact: Artifact, block: Block, risks: LinkRisks) -> None:
        alarm = make_alarm(artifact, block, risks, 0, "act")

        record = AlarmRecord(**{field.name: getattr(alarm, field.name) for field in fields(Alarm)})

        assert (alarm.alarm_id, "act", "open") == (record.alarm_id, record.level, record.status)


class TestFile:
    def test_the_columns_are_those_of_the_design_and_of_the_store(self) -> None:
        """And when an alarm reached ``act``, without which its level could not be judged."""
        said = (
            "alarm_id, site, device, interface, suspect, level, raised_at, cleared_at, risk_24h, risk_168h, "
            "failure_type, action, expected_from, expected_to, peer_device, peer_interface, model_version, act_at"
        )

        assert tuple(said.split(", ")) == tuple(ALARM_COLUMNS)
        assert CSV_COLUMNS == tuple(ALARM_COLUMNS)

    def test_alarms_are_in_order_of_time(self) -> None:
        later = replace(ALARM, alarm_id="a0", raised_at=AT + timedelta(hours=1))
        same = replace(ALARM, alarm_id="a2")

        assert ["a1", "a2", "a0"] == alarm_frame([later, same, ALARM])["alarm_id"].to_list()

    def test_of_no_alarms_the_columns_are_there(self, tmp_path: Path) -> None:
        alarm_frame([]).write_csv(tmp_path / "alarms.csv")

        assert ",".join(ALARM_COLUMNS) == (tmp_path / "alarms.csv").read_text(encoding="utf-8").strip()
        assert 0 == read_alarms(tmp_path / "alarms.csv").height

    def test_what_the_back_test_writes_the_judge_reads(self, tmp_path: Path) -> None:
        cleared = replace(ALARM, alarm_id="a2", cleared_at=AT + timedelta(days=1), peer_device=None)
        frame = alarm_frame([ALARM, cleared])
        frame.write_csv(tmp_path / "alarms.csv", datetime_format="%Y-%m-%dT%H:%M:%SZ")

        read = read_alarms(tmp_path / "alarms.csv")

        assert read.equals(frame.select(read.columns))
        assert {"raised_at", "cleared_at", "suspect", "failure_type"} <= set(read.columns)
        assert pl.Series("cleared_at", [None, AT + timedelta(days=1)]).equals(read["cleared_at"])
