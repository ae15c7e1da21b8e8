"""Champion and challenger on the same hours: both walk through what came after both were trained, and are judged."""

from datetime import timedelta
from typing import Final

from features.cube import LakeTiles
from features.fleet import Fleet
from features.pipeline import hourly
from ingest.errors import ModelError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES
from models.alarm import alarm_frame
from models.artifact import Artifact
from models.paired import Comparison, compare
from models.rows import TICKET_LAG
from models.walk import Walk, Work, link_risks, walk
from serving.backtest.backtesting import judged_events
from serving.scoring.compute import Compute
from serving.scoring.training import Step, newest_hour

__all__ = ["compared"]

_LEAST: Final = timedelta(days=1)
"""Less than a day cannot tell who warns a day ahead."""


def compared(
    lake: Lake,
    champion: Artifact,
    challenger: Artifact,
    step: Step,
    compute: Compute = Compute(),  # noqa: B008 - a frozen value
) -> Comparison:
    """Judge both from when the later of them was trained until tickets can be expected to be there; tiles are fresh.

    Raises:
        ModelError: there is less than a day of that.
    """
    start = max(champion.trained_until, challenger.trained_until)
    end = newest_hour(lake) - TICKET_LAG
    if end - start < _LEAST:
        msg = (
            f"there is nothing to compare on yet: the later model was trained until {start:%Y-%m-%d %H:%M}Z, and "
            f"failures are known until {end:%Y-%m-%d %H:%M}Z; train --until an earlier time, wait, or --force REASON"
        )
        raise ModelError(msg)
    fleet = Fleet.load(lake)
    second = Walk(challenger, Work.of(fleet))
    rows = sum(file.rows for file in lake.files(LANE_SAMPLES, since=start, until=end))
    with step("champion and challenger") as progress, compute.engine(rows) as engine:
        first = walk(
            champion,
            LakeTiles(lake),
            fleet,
            hourly(start, end),
            progress,
            engine,
            [lambda block: second.feed(block, link_risks(challenger, block))],
        )
        events = judged_events(lake, fleet)
        before, after = (alarm_frame(each.alarms) for each in (first, second))
        return compare(before, after, events, fleet, start=start, end=end)
