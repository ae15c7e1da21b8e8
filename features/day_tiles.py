"""Day tiles in the lake: made of hour tiles a day after each day has ended, and again where something came late.

Only what the files tell that have come since is looked at again: the devices in them. Tiles carry the fingerprint of
the code that made them (`DAY_KERNEL`); changed code makes them anew.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

import polars as pl

from features.day_maker import DAY_KERNEL, LANE_HOUR_COLUMNS, MADE_AFTER, PORT_HOUR_COLUMNS, days_of
from features.day_tables import LANE_DAYS, PORT_DAYS
from features.engine import Engine
from features.tile_maker import KERNEL
from features.tile_tables import LANE_TILES, PORT_TILES
from ingest.lake import Lake
from ingest.lake.delta import DataFile, read
from ingest.schema import Table

__all__ = ["DayPart", "make_days", "update_days"]

_DAY: Final = timedelta(days=1)
_TILE_BYTES: Final = 400
"""Memory that an hour tile takes while days are made of it."""
_HOURS: Final = ((LANE_TILES, LANE_HOUR_COLUMNS), (PORT_TILES, PORT_HOUR_COLUMNS))
_DAYS: Final = (PORT_DAYS, LANE_DAYS)


@dataclass(frozen=True, slots=True)
class DayPart:
    """A day of some devices, all where None."""

    lake: str
    day: datetime
    devices: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class _Span:
    """A day into which tiles have come: how many it has, the files that came, and the names to record when done."""

    day: datetime
    rows: int
    fresh: Sequence[tuple[Table, DataFile]]
    known: bool
    names: tuple[str, ...]


def update_days(lake: Lake, until: datetime, engine: Engine) -> int:
    """Bring the day tiles up to date with the hour tiles.

    Args:
        lake: hour tiles are up to date.
        until: whole hour: days that have not been over for `MADE_AFTER` by then are left for later.
        engine: where parts are computed.

    Returns:
        Number of day tiles written.
    """
    held: dict[_Span, list[tuple[pl.DataFrame, ...]]] = {}
    left: dict[_Span, int] = {}
    of_part: dict[DayPart, _Span] = {}

    def parts() -> Iterator[DayPart]:
        for span in _spans(lake, until):
            mine = list(_parts(lake, span, engine.job_bytes // _TILE_BYTES))
            held[span], left[span] = [], len(mine)
            of_part.update(dict.fromkeys(mine, span))
            yield from mine

    written = 0
    for part, made in engine.run(make_days, parts()):
        span = of_part.pop(part)
        held[span].append(made)
        left[span] -= 1
        if left[span] == 0:
            # Both tables are recorded; a crash between the two makes the day again and adds what is not there.
            for table, frames in zip(_DAYS, zip(*held.pop(span), strict=True), strict=True):
                written += lake.append(table, pl.concat(frames), transaction=span.names)
    return written


def make_days(part: DayPart) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The day tiles of ports and of lanes that say something new: a pure function of what the lake holds."""
    lake, end = Lake(part.lake), part.day + _DAY
    here = pl.lit(value=True) if part.devices is None else pl.col("device").is_in(part.devices)
    hours = [
        lake.scan(table, since=part.day, until=end).filter(pl.col("kernel") == KERNEL, here).select(columns).collect()
        for table, columns in _HOURS
    ]
    lanes, ports = days_of(*hours)
    known = [
        lake.scan(table, since=part.day, until=end).filter(pl.col("kernel") == DAY_KERNEL, here).collect()
        for table in _DAYS
    ]
    fresh_ports, fresh_lanes = (
        rows.join(there, on=rows.columns, how="anti", nulls_equal=True, maintain_order="left") if there.height else rows
        for rows, there in zip((ports, lanes), known, strict=True)
    )
    return fresh_ports, fresh_lanes


def _spans(lake: Lake, until: datetime) -> Iterator[_Span]:
    """The days whose files have changed since their tiles were made, oldest first."""
    files: dict[date, list[tuple[Table, DataFile]]] = {}
    for table, _ in _HOURS:
        for file in lake.files(table, until=until - MADE_AFTER):
            if file.day is not None:
                files.setdefault(file.day, []).append((table, file))
    days = {datetime(d.year, d.month, d.day, tzinfo=UTC): files[d] for d in sorted(files)}
    due = {day: found for day, found in days.items() if day + _DAY + MADE_AFTER <= until}
    whole = {day: _name(file.uri for _, file in found) for day, found in due.items()}
    done = _recorded(lake, whole.values())
    for day, name in whole.items():
        if name not in done:
            seen = _recorded(lake, [_name([file.uri]) for _, file in due[day]])
            fresh = [(table, file) for table, file in due[day] if _name([file.uri]) not in seen]
            rows = sum(file.rows for _, file in due[day])
            yield _Span(day, rows, fresh, bool(seen), (name, *(_name([file.uri]) for _, file in fresh)))


def _recorded(lake: Lake, names: Iterable[str]) -> set[str]:
    names = list(names)
    return lake.recorded(LANE_DAYS, names) & lake.recorded(PORT_DAYS, names)


def _name(uris: Iterable[str]) -> str:
    """Recorded in the log of the day tiles when they are made: of which files, by which code."""
    return f"{DAY_KERNEL:08x}:{hashlib.sha256(chr(10).join(sorted(uris)).encode()).hexdigest()[:32]}"


def _parts(lake: Lake, span: _Span, most_rows: int) -> Iterator[DayPart]:
    if not span.known and span.rows <= most_rows:
        yield DayPart(lake.uri, span.day)
        return
    count: dict[str, int] = {}
    for table, _ in _HOURS:
        rows = lake.scan(table, since=span.day, until=span.day + _DAY, columns=["device"])
        for device, held in rows.group_by("device").len().collect(engine="streaming").iter_rows():
            count[device] = count.get(device, 0) + held
    wanted = _devices(span) if span.known else set(count)
    group: list[str] = []
    rows_held = 0
    for device in sorted(wanted & count.keys()):
        if group and rows_held + count[device] > most_rows:
            yield DayPart(lake.uri, span.day, tuple(group))
            group, rows_held = [], 0
        group.append(device)
        rows_held += count[device]
    yield DayPart(lake.uri, span.day, tuple(group))


def _devices(span: _Span) -> set[str]:
    """The devices of which something came."""
    found: set[str] = set()
    for table, _ in _HOURS:
        files = [file for of, file in span.fresh if of is table]
        found |= set(read(table, files).select("device").unique().collect(engine="streaming")["device"])
    return found
