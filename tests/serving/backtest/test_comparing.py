"""Baselines beside forelight: rules read the lake some devices at a time, and however many, the same comes of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import polars as pl
import pytest

from features.cube import LakeTiles
from features.fleet import Fleet
from features.pipeline import FeaturePipeline, hourly
from ingest.lake import Lake
from models.alarm import alarm_frame
from models.artifact import Artifact
from models.baselines.ablations import ABLATIONS
from models.baselines.limits import ALARM_SCHEMA
from serving.backtest import comparing
from serving.backtest.backtesting import judged, walked
from serving.backtest.comparing import Watchers, rule_alarms
from serving.scoring.compute import Compute

Span = tuple[datetime, datetime]
PDR = [
    f"PDR {rules}, {way}" for rules in ("as_shipped", "as_documented", "fixed_rate") for way in ("detector", "manager")
]


@contextmanager
def _silent(_name: str) -> Iterator[Callable[[float], None]]:
    yield lambda _done: None


@pytest.fixture(name="span", scope="module")
def _span(train_until: datetime) -> Span:
    return train_until, train_until + timedelta(days=6)


@pytest.fixture(name="alarms", scope="module")
def _alarms(fleet_lake: Lake, span: Span) -> dict[str, pl.DataFrame]:
    return rule_alarms(fleet_lake, Fleet.load(fleet_lake), span, _silent)


def test_every_rule_gives_a_table_of_alarms(alarms: dict[str, pl.DataFrame]) -> None:
    assert ["module limits", "module alarm limits", "flap rule", *PDR] == list(alarms)
    assert [ALARM_SCHEMA] * len(alarms) == [each.schema for each in alarms.values()]
    assert all(each["raised_at"].is_sorted() for each in alarms.values())
    assert min(alarms[name].height for name in ("flap rule", *PDR)) > 0


def test_no_alarm_lies_outside_the_span(alarms: dict[str, pl.DataFrame], span: Span) -> None:
    times = pl.concat([each["raised_at"] for each in alarms.values()])

    assert times.is_between(*span, closed="left").all()


def test_the_same_alarms_come_of_small_parts(
    fleet_lake: Lake, span: Span, alarms: dict[str, pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ends of a link may be in different ones."""
    monkeypatch.setattr(comparing, "_ROWS", 1)
    steps: list[float] = []

    @contextmanager
    def step(_name: str) -> Iterator[Callable[[float], None]]:
        yield steps.append

    parts = rule_alarms(fleet_lake, Fleet.load(fleet_lake), span, step)

    assert len(steps) > 10
    assert all(alarms[name].equals(parts[name]) for name in alarms)


def test_an_empty_span_gives_no_alarms(fleet_lake: Lake, span: Span) -> None:
    later = tuple(time + timedelta(days=900) for time in span)

    found = rule_alarms(fleet_lake, Fleet.load(fleet_lake), later, _silent)  # type: ignore[arg-type]

    assert {0} == {each.height for each in found.values()}


def test_the_physics_rule_looks_on_while_the_model_walks(fleet_lake: Lake, artifact: Artifact, span: Span) -> None:
    """It raises what it raises alone, and the walk raises what it raises alone."""
    fleet = Fleet.load(fleet_lake)
    watchers = Watchers(fleet)
    day = span[0], span[0] + timedelta(days=2)

    watched = walked(fleet_lake, fleet, artifact, day, 1, _silent, also=watchers.feeds)

    alone = Watchers(fleet)
    for block in FeaturePipeline().blocks(LakeTiles(fleet_lake), fleet, hourly(*day)):
        alone.rule.feed(block)
    said = watchers.alarms(fleet, day[1], 1)
    assert ["physics rule", "day one"] == list(said)
    assert said["physics rule"].height > 0
    assert said["physics rule"].equals(alone.alarms(fleet, day[1], 1)["physics rule"])
    assert walked(fleet_lake, fleet, artifact, day, 1, _silent).alarms == watched.alarms


@pytest.mark.slow
def test_models_that_see_less_are_judged_on_the_same_failures(
    fleet_lake: Lake, artifact: Artifact, span: Span, train_until: datetime
) -> None:
    fleet = Fleet.load(fleet_lake)
    watchers = Watchers(fleet)

    watchers.train(fleet_lake, fleet, train_until, _silent, Compute())
    walk = walked(fleet_lake, fleet, artifact, span, 1, _silent, also=watchers.feeds)

    others = watchers.alarms(fleet, span[1], 1)
    ours = alarm_frame(walk.alarms)
    cards = judged(fleet_lake, fleet, ours, span, _silent, others=others)
    assert ["forelight", "physics rule", "day one", *ABLATIONS] == [
        card.name for card in cards if not card.name.endswith(" act")
    ]
    assert 1 == len({card.failures for card in cards})
    assert any(card.alarms > 0 for card in cards if card.name in ABLATIONS)
