"""Baselines beside forelight: rules that need no training, and what forelight is without some of its features.

All look at the same lake, and are judged on the same events.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final

import polars as pl

from features.fleet import Fleet
from features.pipeline import Block
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_EVENTS, PORT_SAMPLES
from models.alarm import alarm_frame
from models.baselines.ablations import ABLATIONS, Ablated, ablated
from models.baselines.flaps import flap_issues
from models.baselines.issues import merged
from models.baselines.limits import limit_alarms_of
from models.baselines.pdr import RULE_SETS, pdr_issues, pdr_news
from models.baselines.pdr_manager import isolations
from models.baselines.physics import PhysicsRule
from models.day_one import day_one
from models.walk import Walk, Work, link_risks
from serving.scoring.compute import Compute
from serving.scoring.training import Step

__all__ = ["Watchers", "rule_alarms"]

Span = tuple[datetime, datetime]
Alarms = dict[str, pl.DataFrame]

_ROWS: Final = 2_000_000
"""Samples looked at together, of whole devices: memory is bounded by them, some 100 bytes each."""


class Watchers:
    """What looks on while the back-test walks: the physics rule, day one, and, where asked for, the ablated models."""

    def __init__(self, fleet: Fleet) -> None:
        self.rule = PhysicsRule()
        self.partial: dict[str, Ablated] = {}
        self.day_one = Walk(day_one(), Work.of(fleet))

    def train(self, lake: Lake, fleet: Fleet, until: datetime, step: Step, compute: Compute) -> None:
        """Train a model of each of `ABLATIONS` on what was known at `until`."""
        rows = sum(file.rows for file in lake.files(LANE_SAMPLES, until=until))
        for name in ABLATIONS:
            with step(f"training {name}") as progress, compute.engine(rows) as engine:
                self.partial[name] = ablated(lake, fleet, until, name, _features_of(progress), engine)

    @property
    def feeds(self) -> list[Callable[[Block], None]]:
        """Take the walk's blocks."""
        return [self.rule.feed, self._feed_day_one, *(partial.feed for partial in self.partial.values())]

    def _feed_day_one(self, block: Block) -> None:
        self.day_one.feed(block, link_risks(self.day_one.artifact, block))

    def alarms(self, fleet: Fleet, end: datetime, every_h: int) -> Alarms:
        """By name, the ablated models last."""
        found = {"physics rule": self.rule.alarms(fleet, end=end, every_h=every_h)}
        found["day one"] = alarm_frame(self.day_one.alarms)
        return found | {name: alarm_frame(partial.walk.alarms) for name, partial in self.partial.items()}


def _features_of(progress: Callable[[float], None]) -> Callable[[str, float], None]:
    """Most of the time of training goes into features."""
    return lambda name, done: progress(0.8 * done if name == "features" else 0.8 + 0.2 * done)


def rule_alarms(lake: Lake, fleet: Fleet, span: Span, step: Step) -> Alarms:
    """By name the alarms of the rules that read samples: the modules' own limits, flaps, PDR in all its readings."""
    start, end = span
    found = _limits(lake, fleet, span, step)
    with step("flap rule") as progress:
        events = lake.scan(PORT_EVENTS, since=start, until=end)
        found["flap rule"] = merged(flap_issues(_by_device(lake, span, progress), events, fleet), fleet, end=end)
    with step("PDR") as progress:
        news = pdr_news(_by_device(lake, span, progress), fleet)
        found |= _pdr(news, fleet, end)
    return found


def _limits(lake: Lake, fleet: Fleet, span: Span, step: Step) -> Alarms:
    start, end = span
    lanes, ports = (lake.scan(table, since=start, until=end) for table in (LANE_SAMPLES, PORT_SAMPLES))
    with step("module limits") as progress:
        found = limit_alarms_of(
            ("warn", "alarm"),
            lanes,
            ports,
            fleet,
            start=start,
            end=end,
            progress=lambda until: progress((until - start) / (end - start)),
        )
    return {"module limits": found["warn"], "module alarm limits": found["alarm"]}


def _pdr(news: Mapping[str, pl.DataFrame], fleet: Fleet, end: datetime) -> Alarms:
    found = {}
    for rules in RULE_SETS:
        found[f"PDR {rules.name}, detector"] = merged(pdr_issues(news[rules.name]), fleet, end=end)
        found[f"PDR {rules.name}, manager"] = isolations(news[rules.name], fleet, rules, end=end)
    return found


def _by_device(lake: Lake, span: Span, progress: Callable[[float], None]) -> Iterator[pl.LazyFrame]:
    """Port samples of some devices at a time, each device whole."""
    samples = lake.scan(PORT_SAMPLES, since=span[0], until=span[1], columns=["site", "device"])
    counts = samples.group_by("site", "device").len().sort("site", "device").collect(engine="streaming")
    groups: list[list[tuple[str, str]]] = []
    held = _ROWS
    for site, device, rows in counts.iter_rows():
        if held + rows > _ROWS:
            groups.append([])
            held = 0
        groups[-1].append((site, device))
        held += rows
    for done, devices in enumerate(groups, 1):
        yield lake.scan(PORT_SAMPLES, since=span[0], until=span[1], devices=devices)
        progress(done / len(groups))
