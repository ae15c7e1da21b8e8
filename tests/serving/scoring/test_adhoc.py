"""Ad-hoc scores are those of the fleet, given the same readings."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from features.cube import PORT, LakeTiles
from features.fleet import Fleet
from features.pipeline import FeaturePipeline
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, LIMITS, LINKS, PORT_SAMPLES, Table
from models.artifact import Artifact
from models.base import HORIZONS_H
from serving.scoring import adhoc
from serving.scoring.adhoc import LOOKED_BACK, Module, Scored, newest_hour, score
from serving.wire.scores import Lanes, Ports

RECORD = ("serial", "media", *LIMITS)


def _columns(rows: pl.DataFrame, names: Sequence[str]) -> Mapping[str, Sequence[Any]]:
    return {name: rows[name].to_list() for name in names if name in rows.columns}


@pytest.fixture(name="at", scope="module")
def _at(fleet_end: datetime) -> datetime:
    return fleet_end - timedelta(hours=5)


@pytest.fixture(name="fleet", scope="module")
def _fleet(fleet_lake: Lake) -> Fleet:
    """What a request can say of the fleet: modules in their cages, and links."""
    modules = Fleet.load(fleet_lake).in_cages().select(*PORT, *RECORD)
    ends = [f"{end}_{name}" for end in "az" for name in PORT]
    return Fleet.from_frames(modules=modules, links=fleet_lake.latest(LINKS).collect().select(ends))


@pytest.fixture(name="asked", scope="module")
def _asked(fleet_lake: Lake, fleet: Fleet, at: datetime) -> list[Module]:
    """The whole fleet's readings as a request would have them."""

    def readings(table: Table, names: Sequence[str]) -> dict[tuple[str, str, str], Mapping[str, Sequence[Any]]]:
        rows = fleet_lake.latest(table, since=at - LOOKED_BACK, until=at).collect()
        parts = rows.partition_by(PORT, as_dict=True, maintain_order=True)
        return {(str(s), str(d), str(i)): _columns(part, [*names, "serial"]) for (s, d, i), part in parts.items()}

    lanes = readings(LANE_SAMPLES, list(Lanes.model_fields))
    ports = readings(PORT_SAMPLES, list(Ports.model_fields))
    far: dict[Any, Any] = {}
    for row in fleet.links.select([f"{end}_{name}" for end in "az" for name in PORT]).iter_rows():
        far[row[:3]], far[row[3:]] = row[3:], row[:3]
    records: dict[Any, Any] = {
        row[:3]: dict(zip(RECORD, row[3:], strict=True)) for row in fleet.modules.select(*PORT, *RECORD).rows()
    }
    return [
        Module(
            port=port,
            peer=far.get(port),
            record=records.get(port, {}),
            lanes=lanes.get(port, {}),
            ports=ports.get(port, {}),
        )
        for port in dict.fromkeys([*lanes, *ports])
    ]


def test_the_risk_of_each_module_is_that_which_the_lakes_tiles_give(
    fleet_lake: Lake, fleet: Fleet, asked: list[Module], artifact: Artifact, at: datetime
) -> None:
    rows = FeaturePipeline().transform(LakeTiles(fleet_lake), fleet, at)
    risk = artifact.model.risk(rows.select(FeaturePipeline().names).to_numpy())
    expected = dict(zip(rows.select(PORT).iter_rows(), risk, strict=True))

    told = {module.port: one for module, one in zip(asked, score(artifact, asked, at), strict=True)}

    assert len(expected) >= 80
    assert set(expected) == {port for port, one in told.items() if one.risks is not None}
    for port, values in expected.items():
        risks = told[port].risks
        assert risks is not None
        assert np.array_equal(values, np.array([risks[h] for h in HORIZONS_H], np.float32)), port


def test_whoever_is_scored_beside_it_changes_nothing(asked: list[Module], artifact: Artifact, at: datetime) -> None:
    """Requests that wait at the same time are scored together; each is a site of its own."""
    together = score(artifact, asked, at)
    chosen = {module.port: module for module in asked}
    pair = next([m, chosen[m.peer]] for m in asked if m.peer in chosen and m.port[1] != m.peer[1])
    device = [m for m in asked if m.port[1] in {p.port[1] for p in pair}]  # a device's modules have a mode in common

    alone = score(artifact, device, at)

    expected = {module.port: one for module, one in zip(asked, together, strict=True)}
    assert [expected[m.port] for m in device if m in pair] == [
        one for m, one in zip(device, alone, strict=True) if m in pair
    ]


def test_where_the_risk_matters_it_is_said_what_would_fail_and_why(
    asked: list[Module], artifact: Artifact, at: datetime
) -> None:
    told = [one for one in score(artifact, asked, at) if one.risks is not None]
    high = [one for one in told if one.risks and one.risks[24] >= adhoc.NEGLIGIBLE * artifact.policy.watch]

    assert [one.failure_type is not None for one in told] == [one in high for one in told]
    assert all(one.types and abs(sum(one.types.values()) - 1.0) < 1e-6 for one in high)


def test_a_module_that_is_silent_is_unknown_not_healthy(asked: list[Module], artifact: Artifact, at: datetime) -> None:
    first = asked[0]
    silent = Module(port=("s", "d", "i"), lanes={}, ports={})
    late = Module(port=first.port, lanes=first.lanes, ports=first.ports)

    told = score(artifact, [silent, late], at + timedelta(hours=12))

    assert [None, None] == [one.risks for one in told]
    assert all("no reading" in one.reasons[0] for one in told)


def test_copper_is_unknown_and_says_why(asked: list[Module], artifact: Artifact, at: datetime) -> None:
    module = next(one for one in asked if one.ports)
    copper = Module(port=module.port, record={"media": "400GBASE-CR8"}, lanes=module.lanes, ports=module.ports)

    assert [Scored(reasons=("the link is copper: there are no optics in it",))] == score(artifact, [copper], at)


def test_readings_after_the_time_are_not_looked_at(asked: list[Module], artifact: Artifact, at: datetime) -> None:
    def cut(columns: Mapping[str, Sequence[Any]]) -> Mapping[str, Sequence[Any]]:
        kept = [k for k, time in enumerate(columns.get("time", ())) if time < at - timedelta(hours=3)]
        return {name: [values[k] for k in kept] for name, values in columns.items()}

    some = asked[:10]
    before = [Module(port=m.port, record=m.record, lanes=cut(m.lanes), ports=cut(m.ports)) for m in some]
    whole = [Module(port=m.port, record=m.record, lanes=m.lanes, ports=m.ports) for m in some]

    then = at - timedelta(hours=3)
    assert score(artifact, before, then) == score(artifact, whole, then)


def test_the_newest_reading_says_which_hour_it_is() -> None:
    time = datetime.fromisoformat("2026-11-29T11:07:00+00:00")
    module = Module(port=("s", "d", "i"), lanes={"time": [time]}, ports={})

    assert datetime.fromisoformat("2026-11-29T12:00:00+00:00") == newest_hour([module])
    assert newest_hour([Module(port=("s", "d", "i"), lanes={}, ports={})]) is None
