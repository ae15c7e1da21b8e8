"""The doctor on what holds data: home and its disk, the lake, the alarm store."""

import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from features.day_tables import LANE_DAYS, PORT_DAYS
from features.tile_tables import LANE_TILES, PORT_TILES
from ingest.lake import Lake
from ingest.lake.files import stored_path
from ingest.schema import TABLES
from serving import migrate
from serving.doctor.finding import Finding, failed, fine, warned
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["database", "home", "is_made", "lake"]

_TILES: Final = (LANE_TILES, PORT_TILES, LANE_DAYS, PORT_DAYS)
_LOW_BYTES: Final = 2_000_000_000
"""A night's compaction of a large fleet writes a day anew before the old files go."""
_NO_BYTES: Final = 100_000_000
_MANY_FILES: Final = 2_000
"""So many small files cost a reader seconds."""
_COMPACT: Final = "forelight lake compact, nightly by a timer (docs/operations.md#schedule)"


def home(settings: Settings, _now: datetime) -> Finding:
    """The folder is there or can be made, may be written to, and has room."""
    folder = settings.home
    standing = next(place for place in (folder, *folder.parents) if place.exists())
    if not standing.is_dir() or not os.access(standing, os.W_OK | os.X_OK):
        return failed("home", f"{standing} cannot be written to", "mend its rights, or set FORELIGHT_HOME to another")
    free = shutil.disk_usage(standing).free
    room = f"{free / 1e9:,.1f} GB free"
    if free < _LOW_BYTES:
        say = failed if free < _NO_BYTES else warned
        return say("home", f"{folder}: only {room}", "make room: forelight lake prune --keep lane_samples=90d")
    if not folder.exists():
        advice = "the first import makes it; is it the right one? FORELIGHT_HOME says which"
        return warned("home", f"{folder} is not there yet ({room})", advice)
    return fine("home", f"{folder} ({room})")


def lake(settings: Settings, _now: datetime) -> Finding:
    """Its tables open, all of their files are there, and they are not in too many pieces."""
    tables = Lake(settings.lake_uri).stats(_TILES)
    if half := _half(settings.lake_uri):
        return failed(
            "lake",
            half,
            "forelight lake check names each file; --mend leaves out what is gone, a backup brings it back",
        )
    rows, waiting = sum(table.rows for table in tables), sum(table.waiting_files for table in tables)
    if not rows:
        advice = "forelight import DIR, or forelight collect; forelight demo shows what it looks like"
        return warned("lake", f"{settings.lake_uri} is empty", advice)
    size = f"{rows:,} rows in {len(tables)} tables, {sum(table.size_bytes for table in tables) / 1e6:,.1f} MB"
    if waiting > _MANY_FILES:
        return warned("lake", f"{size}; {waiting:,} files wait to be compacted", _COMPACT)
    return fine("lake", f"{size} at {settings.lake_uri}")


def _half(uri: str) -> str:
    """The first table on this machine's disks of which a part is gone; empty where all of them are whole."""
    place = Path(uri.removeprefix("file://"))
    if "://" in str(place):
        return ""
    if place.exists() and not place.is_dir():
        return f"{place} is no folder"
    for table in (*TABLES.values(), *_TILES):
        folder = place / table.name
        if not (folder / "_delta_log").exists() and next(folder.rglob("*.parquet"), None) is not None:
            return f"{table.name} has files and no log: nothing of it is seen"
        files = Lake(uri).files(table)
        gone = [file.path for file in files if not (folder / stored_path(file.path)).exists()]
        if gone:
            return f"{table.name}: {len(gone):,} of {len(files):,} files are gone, {gone[0]} for one"
    return ""


def is_made(url: str) -> bool:
    """Whether there is such a database: looking at one of SQLite that is not there would make it."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        return True  # whoever opens it says what is wrong with it
    return parsed.get_backend_name() != "sqlite" or Path(parsed.database or "").exists()


def database(settings: Settings, _now: datetime) -> Finding:
    """The alarm store answers and has this version's schema."""
    if not is_made(settings.database_url):
        return fine("database", "there is no alarm store yet; forelight score makes it")
    store = AlarmStore(settings.database_url)
    try:
        found, needed = store.revision(), migrate.head_revision()
    finally:
        store.close()
    kind = make_url(settings.database_url).get_backend_name()
    if found == needed:
        return fine("database", f"{kind}, schema {found}")
    if found is None or found < needed:
        advice = "stop the service; forelight score or forelight serve migrates it (back it up: forelight backup FILE)"
        return warned("database", f"{kind}, schema {found or 'missing'}, this version's is {needed}", advice)
    return failed("database", f"{kind}, schema {found} is of a newer forelight than this", "install the newer one")
