"""``forelight labels``: every ticket, and what was made of it."""

import json
from datetime import datetime

import polars as pl
from rich.console import Console
from rich.table import Table

from features.fleet import Fleet
from features.label_reasons import explained
from features.labels import failure_events
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES
from serving.cli.progress import step
from serving.settings import Settings

__all__ = ["run"]

_LEAST_WHY = 24


def run(*, as_json: bool) -> None:
    """Print each ticket's verdict, link, dates and why, and how many there are of each verdict."""
    lake = Lake(Settings.from_env().lake_uri)
    fleet = Fleet.load(lake)
    with step("dating failures"):
        events = failure_events(fleet, lake.scan(PORT_SAMPLES), lake.scan(LANE_SAMPLES))
        told = explained(events, fleet.ends())
    summary = dict(told["verdict"].value_counts().sort("count", "verdict", descending=[True, False]).iter_rows())
    if as_json:
        answer = {"tickets": [_plain(row) for row in told.iter_rows(named=True)], "summary": summary}
        print(json.dumps(answer, indent=2, allow_nan=False))  # noqa: T201 - the answer
        return
    console = Console()
    if told.is_empty():
        console.print("there are no tickets: forelight import takes tickets.csv, or any spreadsheet by a map")
        return
    console.print(_table(told))
    counts = ", ".join(f"{count} {verdict.replace('_', ' ')}" for verdict, count in summary.items())
    late = told.filter(pl.col("evidence"))
    console.print(f"{told.height} tickets: {counts or 'none'}; {late.height} dated by telemetry", highlight=False)


def _plain(row: dict[str, object]) -> dict[str, object]:
    """A row as JSON takes it: times in ISO 8601."""
    return {
        "ticket_id" if name == "event_id" else name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
    }


def _table(told: pl.DataFrame) -> Table:
    """A line a ticket, on a terminal of 80 columns, too; a link that bears its port's name is not told twice."""
    table = Table(padding=0)
    for name in ("ticket", "port and link", "failed at", "verdict", "why"):
        table.add_column(name, overflow="fold", min_width=_LEAST_WHY if name == "why" else None)
    for row in told.iter_rows(named=True):
        site = "" if row["site"] == "default" else f"{row['site']}/"
        port, link = f"{site}{row['device']}:{row['interface']}", row["link_id"] or "-"
        where = port if link == port else f"{port} {link}"
        table.add_row(row["event_id"], where, f"{row['failed_at']:%Y-%m-%d %H:%M}", row["verdict"], row["why"])
    return table
