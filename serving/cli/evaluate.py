"""``forelight evaluate``: the judge for anybody's alarms, on the lake or on an export."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl
from rich.console import Console

from features.fleet import Fleet
from features.labels import failure_events
from ingest.errors import LakeError
from ingest.exports import import_export
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES
from models.alarm_file import read_alarms
from models.baselines.limits import limit_alarms
from models.counting import unknown_ports
from models.evaluate import judge, judge_levels
from models.risk_card import with_alarm_risks
from models.scorecard import Scorecard, early_days, scorecard_table
from models.tables import rich_table, small_tables
from serving.backtest.backtesting import unwatched, watched
from serving.cli.progress import bars, step
from serving.settings import Settings

__all__ = ["run"]

_SHOWN: Final = 5


def run(alarms: Path, *, data: Path | None, start: datetime | None, end: datetime | None, as_json: bool) -> None:
    """Judge the alarms of a CSV and print the scorecard beside the module limits'.

    The period is the telemetry's where it is not given. In JSON the scorecard's own keys stand on top, with
    ``levels`` (a scorecard of ``act`` alone, where the alarms have levels) and ``baseline`` (module limits) beside.

    Raises:
        ExportError: the CSV or the export cannot be taken; the text names file and line.
        LakeError: there is no telemetry to judge by.
    """
    raised = read_alarms(alarms)
    with _lake(data) as lake, bars("days") as shown:
        task = shown.add_task("dating failures", total=None)
        start, end, known_until = _period(lake, start, end)
        fleet = Fleet.load(lake)
        events = failure_events(fleet, lake.scan(PORT_SAMPLES), lake.scan(LANE_SAMPLES))
        shown.update(task, description="judging")
        days = watched(lake)
        cards = judge_levels(raised, events, fleet, start=start, end=end, watched=days)
        cards[0] = with_alarm_risks(cards[0], raised, events, fleet)
        strange = unknown_ports(raised, fleet)
        shown.update(task, description="module limits", total=(end - start) / timedelta(days=1))
        limits = _limits(lake, fleet, start, end, lambda done: shown.update(task, completed=done))
        baseline = judge(limits, events, fleet, start=start, end=end, name="module limits", watched=days)
        early = early_days(cards[0], known_until)
        unseen = unwatched(lake, (start, end))
    if unseen:
        Console(stderr=True).print(unseen, markup=False)
    if strange:
        named = ", ".join(strange[:_SHOWN]) + (", …" if len(strange) > _SHOWN else "")
        told = f"no such port in links or inventory, so alarms there are false: {named}"
        Console(stderr=True).print(told, markup=False)
    if as_json:
        print(json.dumps({**_as_json(cards, baseline), "unknown_ports": strange}, indent=2, allow_nan=False))  # noqa: T201 - the answer
    else:
        title = f"{alarms.name}: {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"
        Console().print(scorecard_table(*cards, baseline, title=title))
        for small in small_tables(cards):
            Console().print(rich_table(small))
        if early:
            Console().print(early, highlight=False)


@contextmanager
def _lake(data: Path | None) -> Iterator[Lake]:
    """The lake of this installation, or a passing one that holds an export."""
    if data is None:
        yield Lake(Settings.from_env().lake_uri)
        return
    with tempfile.TemporaryDirectory(prefix="forelight-") as folder:
        lake = Lake(f"{folder}/lake")
        with step(f"reading {data}") as progress:
            report = import_export(data, lake, progress=lambda _, done, total: progress(done / max(total, 1)))
        for finding in report.refused:
            Console(stderr=True).print(f"left out: {finding}", markup=False)
        yield lake


def _period(lake: Lake, start: datetime | None, end: datetime | None) -> tuple[datetime, datetime, datetime]:
    """The period asked for, or else that of the telemetry; and the last time of telemetry."""
    times = lake.scan(PORT_SAMPLES, columns=["time"])
    first, last = times.select(first=pl.col("time").min(), last=pl.col("time").max()).collect().row(0)
    if first is None:
        msg = f"{lake.uri}: no telemetry to judge by; import an export first, or name one with --data"
        raise LakeError(msg)
    start, end = start or first, end or last
    if start >= end:
        msg = f"nothing to judge: {start.isoformat()} is not before {end.isoformat()}"
        raise LakeError(msg)
    return start, end, last


def _limits(
    lake: Lake, fleet: Fleet, start: datetime, end: datetime, progress: Callable[[float], None]
) -> pl.DataFrame:
    """What the modules' own warning limits would have raised."""
    return limit_alarms(
        lake.scan(LANE_SAMPLES),
        lake.scan(PORT_SAMPLES),
        fleet,
        start=start,
        end=end,
        progress=lambda until: progress((until - start) / timedelta(days=1)),
    )


def _as_json(cards: list[Scorecard], baseline: Scorecard) -> dict[str, object]:
    return {
        **cards[0].to_dict(),
        "levels": {card.name.rpartition(" ")[2]: card.to_dict() for card in cards[1:]},
        "baseline": baseline.to_dict(),
    }
