"""``forelight lake``: what the lake holds, its compaction, retention and state."""

import dataclasses
import difflib
import json
import os
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Column
from rich.table import Table as Grid

from features.day_tables import LANE_DAYS, PORT_DAYS
from features.tiles import LANE_TILES, PORT_TILES
from ingest.config import load_retention
from ingest.errors import LakeError, ServingError
from ingest.lake import Finding, Lake
from ingest.schema import TABLES
from serving.cli.progress import bars
from serving.leases import rewrite_lease
from serving.settings import Settings

__all__ = ["check", "compact", "create", "prune", "retention", "stats"]

_TILES: Final = (LANE_TILES, PORT_TILES, LANE_DAYS, PORT_DAYS)
_ALL: Final = {table.name: table for table in (*TABLES.values(), *_TILES)}
_KEEP: Final = "FORELIGHT_LAKE_KEEP"
_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1)}
_LEAST_SAFE_AGE: Final = timedelta(hours=1)
"""A query that runs longer than this is none of ours."""


def stats(*, as_json: bool) -> None:
    """Rows, files and bytes of each table."""
    found = Lake(Settings.from_env().lake_uri).stats(_TILES)
    if as_json:
        entries = [dataclasses.asdict(entry) | {"row_bytes": round(entry.row_bytes, 2)} for entry in found]
        print(json.dumps(entries, indent=2, default=str))  # noqa: T201 - the answer
        return
    grid = Grid(
        Column("table", no_wrap=True), "rows", "files", "waiting", "MB", "bytes/row", "buckets", "first day", "last day"
    )
    for entry in found:
        days = ("" if day is None else str(day) for day in (entry.first, entry.last))
        sizes = (f"{entry.size_bytes / 1e6:,.1f}", f"{entry.row_bytes:.1f}", str(entry.buckets))
        grid.add_row(entry.name, f"{entry.rows:,}", f"{entry.files:,}", f"{entry.waiting_files:,}", *sizes, *days)
    Console().print(grid if found else "The lake is empty.")


def create(*, buckets: int | None) -> None:
    """Make the tables, so that their buckets are settled; a table that is there keeps its own."""
    lake = Lake(Settings.from_env().lake_uri, buckets=buckets)
    made = lake.create(_ALL.values())
    Console().print(f"{len(made)} tables created, {len(_ALL) - len(made)} were there")


def compact() -> None:
    """Rewrite closed days of all tables, and the tables without days; of tiles every version is kept."""
    settings = Settings.from_env()
    lake, lease = Lake(settings.lake_uri), rewrite_lease(settings)
    days, small, failed = 0, 0, []
    with bars("days") as shown:
        for table in _ALL.values():
            task = shown.add_task(table.name, total=max(len(lake.dates(table)), 1))
            try:
                done = lake.compact(
                    table,
                    lease=lease,
                    keep_versions=table in _TILES,
                    progress=lambda _, task=task: shown.advance(task),  # type: ignore[misc]  # mypy on a default
                )
                days, small = (days, small + done) if table.time is None else (days + done, small)
            except LakeError as error:
                failed.append(str(error))
            _finish(shown, task)
    Console().print(f"{days} days rewritten, {small} tables without days")
    if failed:
        raise ServingError("; ".join(failed))


def retention(
    options: Iterable[str], env: Mapping[str, str] = os.environ, config: Path | None = None
) -> dict[str, timedelta]:
    """How long rows of each table are kept.

    Args:
        options: each ``TABLE=30d``; they go over what else is said.
        env: ``FORELIGHT_LAKE_KEEP`` goes over the configuration.
        config: whose ``[retention]`` counts; ``forelight.toml``, where it is there, if not given.

    Raises:
        ServingError: an entry that is none, or names no table with days.
        ConfigError: the configuration is wrong, or not there though it was named.
    """
    said = [(_KEEP, entry.strip()) for entry in env.get(_KEEP, "").split(",") if entry.strip()]
    file = config or Path("forelight.toml")
    keep = load_retention(file) if config is not None or file.exists() else {}
    for place, entry in (*said, *(("--keep", option) for option in options)):
        name, _, age = entry.partition("=")
        if name not in _ALL or _ALL[name].time is None:
            near = difflib.get_close_matches(name, _dated(), n=1, cutoff=0.0)[0]
            msg = f"{place} {entry}: {name} is no table with days; the nearest is {near}"
            raise ServingError(msg)
        keep[name] = _age(f"{place} {entry}", age)
    return keep


def _dated() -> list[str]:
    return [name for name, table in _ALL.items() if table.time is not None]


def _age(where: str, text: str) -> timedelta:
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isdigit() or int(number) == 0:
        msg = f"{where}: {text!r} is no time such as 30d or 48h"
        raise ServingError(msg)
    return int(number) * _UNITS[unit]


def prune(*, keep: Iterable[str], config: Path | None, safe_age: str, as_json: bool) -> None:
    """Drop days that are over, delete files that nobody reads any more."""
    settings = Settings.from_env()
    kept, age = retention(keep, config=config), _age("--safe-age", safe_age)
    if age < _LEAST_SAFE_AGE:
        msg = f"--safe-age {safe_age}: readers may hold files for an hour at least"
        raise ServingError(msg)
    lake, lease = Lake(settings.lake_uri), rewrite_lease(settings)
    with bars("tables") as shown:
        task = shown.add_task("prune", total=len(_ALL))
        found = []
        for name, table in _ALL.items():
            found.append(lake.prune(table, lease=lease, keep=kept.get(name), safe_age=age))
            shown.advance(task)
    if as_json:
        print(json.dumps([dataclasses.asdict(entry) for entry in found], indent=2))  # noqa: T201 - the answer
        return
    days, files = sum(entry.days for entry in found), sum(entry.files for entry in found)
    megabytes = sum(entry.size_bytes for entry in found) / 1e6
    Console().print(f"{days} days dropped, {files} files deleted, {megabytes:,.1f} MB freed")


def check(*, deep: bool, repair: bool, as_json: bool) -> None:
    """Name what is wrong, one line a finding; exit code 1 where something is and stays so."""
    settings = Settings.from_env()
    lake = Lake(settings.lake_uri)
    found: list[Finding] = []
    with bars("tables") as shown:
        task = shown.add_task("check", total=len(_ALL))
        for table in _ALL.values():
            found += lake.check([table], deep=deep)
            shown.advance(task)
    mended = lake.repair(found, _TILES, lease=rewrite_lease(settings)) if repair and found else []
    if as_json:
        entries = [dataclasses.asdict(entry) | {"repaired": entry in mended} for entry in found]
        print(json.dumps(entries, indent=2))  # noqa: T201 - the answer
    else:
        for entry in found:
            print(f"{entry} (repaired)" if entry in mended else entry)  # noqa: T201 - the answer
    left = len(found) - len(mended)
    if left:
        msg = f"{left} findings in the lake" if left > 1 else "1 finding in the lake"
        raise ServingError(msg)
    if not found and not as_json:
        Console().print("The lake is whole.")


def _finish(shown: Progress, task: TaskID) -> None:
    shown.update(task, completed=float("inf"))
