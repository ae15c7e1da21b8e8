"""``forelight lake``: what the lake holds, and its compaction."""

import dataclasses
import json

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from features.tiles import LANE_TILES, PORT_TILES
from ingest.lake import Lake
from ingest.lease import FileLease
from ingest.schema import LANE_SAMPLES, PORT_EVENTS, PORT_SAMPLES, SCORES
from serving.settings import Settings

__all__ = ["compact", "stats"]


def stats(*, as_json: bool) -> None:
    """Rows, files and bytes of each table."""
    found = Lake(Settings.from_env().lake_uri).stats((LANE_TILES, PORT_TILES))
    if as_json:
        print(json.dumps([dataclasses.asdict(entry) for entry in found], indent=2, default=str))  # noqa: T201 - the answer
        return
    table = Table("table", "rows", "files", "MB", "first day", "last day")
    for entry in found:
        days = ("" if day is None else str(day) for day in (entry.first, entry.last))
        table.add_row(entry.name, f"{entry.rows:,}", f"{entry.files:,}", f"{entry.size_bytes / 1e6:,.1f}", *days)
    Console().print(table if found else "The lake is empty.")


def compact() -> None:
    """Rewrite closed days of samples, events and scores; tiles keep every version, so they are left alone."""
    settings = Settings.from_env()
    lake, lease = Lake(settings.lake_uri), FileLease(settings.home / "compact.lock")
    console = Console(stderr=True)
    done = 0
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
        for table in (LANE_SAMPLES, PORT_SAMPLES, PORT_EVENTS, SCORES):
            task = bars.add_task(table.name, total=max(len(lake.dates(table)), 1))
            done += lake.compact(table, lease=lease, progress=lambda _, task=task: bars.advance(task))  # type: ignore[misc]
            bars.update(task, completed=float("inf"))
    Console().print(f"{done} days rewritten")
