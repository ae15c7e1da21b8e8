"""The back-test as the command line and the demo run it: walk, judge, and the module limits on the same events."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta

import polars as pl

from features.cube import LakeTiles
from features.fleet import Fleet
from features.labels import failure_events
from features.pipeline import Block, hourly
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES
from models.artifact import Artifact
from models.baselines.limits import limit_alarms
from models.evaluate import judge, judge_levels
from models.risk_card import with_risks
from models.risk_log import RiskLog, Risks
from models.scorecard import Scorecard
from models.walk import Walk, walk
from serving.scoring.compute import Compute
from serving.scoring.training import Step, newest_hour

__all__ = ["judged", "judged_events", "unwatched", "walked", "watched"]

Span = tuple[datetime, datetime]


def walked(  # noqa: PLR0913 - the last two have defaults
    lake: Lake,
    fleet: Fleet,
    artifact: Artifact,
    span: Span,
    every_h: int,
    step: Step,
    compute: Compute = Compute(),  # noqa: B008 - a frozen value
    *,
    also: Sequence[Callable[[Block], None]] = (),
    log: RiskLog | None = None,
) -> Walk:
    """Score every step of a span as if it were live; features are computed where there is room and time for it.

    Others may look on: each of `also` is called with the features, in order of time. A log keeps all risks.
    """
    rows = sum(file.rows for file in lake.files(LANE_SAMPLES, since=span[0], until=span[1]))
    with step(f"back-test, every {every_h} h") as progress, compute.engine(rows) as engine:
        return walk(artifact, LakeTiles(lake), fleet, hourly(*span, every_h), progress, engine, also, log=log)


def judged_events(lake: Lake, fleet: Fleet) -> pl.DataFrame:
    """The failures that alarms are judged by, as known in the end."""
    return failure_events(fleet, lake.scan(PORT_SAMPLES), lake.scan(LANE_SAMPLES))


def watched(lake: Lake) -> set[date]:
    """UTC days with telemetry: on others no alarm could come, so that they are no time without a false one."""
    return {*lake.dates(PORT_SAMPLES), *lake.dates(LANE_SAMPLES)}


def unwatched(lake: Lake, span: Span) -> str:
    """What to say of the days of a span that have no telemetry; nothing where all have."""
    first, last = span[0].date(), (span[1] - timedelta(microseconds=1)).date()
    days = (last - first).days + 1
    seen = sum(first <= day <= last for day in watched(lake))
    return "" if seen == days else f"there is telemetry of {seen:,} of {days:,} days: rates are of those alone"


def judged(
    lake: Lake,
    fleet: Fleet,
    alarms: pl.DataFrame,
    span: Span,
    step: Step,
    *,
    others: Mapping[str, pl.DataFrame] | None = None,
    risks: Risks | None = None,
) -> list[Scorecard]:
    """Scorecards of the alarms, of those at level act alone, then of others': the modules' limits where none are given.

    Where the risks behind the alarms are given, the first card has their curve and calibration.
    """
    start, end = span
    days = watched(lake)
    with step("judging"):
        events = judged_events(lake, fleet)
        cards = judge_levels(alarms, events, fleet, start=start, end=end, name="forelight", watched=days)
        if risks is not None:
            cards[0] = with_risks(cards[0], risks, events, fleet, newest_hour(lake))
    rest = others if others is not None else {"module limits": _limits(lake, fleet, span, step)}
    for name, said in rest.items():
        cards.append(judge(said, events, fleet, start=start, end=end, name=name, watched=days))
    return cards


def _limits(lake: Lake, fleet: Fleet, span: Span, step: Step) -> pl.DataFrame:
    """What the modules' own warning limits would have raised."""
    start, end = span
    with step("module limits") as progress:
        return limit_alarms(
            lake.scan(LANE_SAMPLES, since=start, until=end),
            lake.scan(PORT_SAMPLES, since=start, until=end),
            fleet,
            start=start,
            end=end,
            progress=lambda until: progress((until - start) / max(end - start, timedelta(hours=1))),
        )
