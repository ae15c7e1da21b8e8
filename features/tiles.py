"""Tiles: an hour of a lane or a port as a few statistics, computed once and kept in the lake.

A tile of hour *h* covers ``h <= time < h + 1 h``. Its ``received_at`` is that of its latest
sample, so that "what was known at a time" is a filter. Samples that come after their hour has
ended make further complete tiles of the same key with a later ``received_at``, one for each hour
in which some came; readers take the latest one received by then, and the earlier ones stay for
whoever asks as of an earlier time. So at each whole hour a reader sees what it would have seen then.

Only hours into which files have come since are looked at again. Tiles carry the fingerprint of the
code that made them (`KERNEL`): changed code makes them anew, and never reads the old ones.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Final

import polars as pl

from features.day_tiles import update_days
from features.engine import Engine, Here
from features.tile_maker import KERNEL, SAMPLE_COLUMNS, tile_day
from features.tile_tables import COUNTERS, LANE_GAUGES, LANE_TILES, PORT_GAUGES, PORT_TILES, Gauge
from ingest.lake import Lake
from ingest.lake.delta import DataFile
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Table

__all__ = [
    "COUNTERS",
    "KERNEL",
    "LANE_GAUGES",
    "LANE_TILES",
    "PORT_GAUGES",
    "PORT_TILES",
    "Gauge",
    "TilePart",
    "make_part",
    "samples_waiting",
    "tile_day",
    "update_tiles",
]

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_SOURCES: Final = {LANE_TILES.name: (LANE_TILES, LANE_SAMPLES), PORT_TILES.name: (PORT_TILES, PORT_SAMPLES)}

_ROW_BYTES: Final = 1_600
"""Memory that a sample takes while tiles are made of it: measured where each has an hour of its own, tiled before."""
_BY_THE_HOUR: Final = timedelta(days=3)
"""Of so many days it is known by the hour what was looked at; of older ones, to which little comes, by the day."""
_COMMIT_ROWS: Final = 250_000
"""Tiles are committed in such numbers, fewer where memory is small: what waits stays small."""


@dataclass(frozen=True, slots=True)
class TilePart:
    """A part of the telemetry: some hours of some devices.

    Attributes:
        lake: its address.
        table: name of the tiles' table.
        since, until: whole hours of one day, the latter not included.
        devices: the first and the last of them by name; all where None.
    """

    lake: str
    table: str
    since: datetime
    until: datetime
    devices: tuple[str, str] | None = None


@dataclass(frozen=True)
class _Span:
    """Hours of one day into which files have come, and the names under which they are recorded when done."""

    table: str
    since: datetime
    until: datetime
    rows: int
    names: tuple[str, ...]


def update_tiles(
    lake: Lake,
    *,
    now: datetime | None = None,
    progress: Callable[[float], None] | None = None,
    engine: Engine | None = None,
) -> int:
    """Bring the tiles up to date with the samples; only hours whose files changed are read.

    Args:
        lake: where samples are and tiles go.
        now: hours that have not ended by then are left for later; the wall clock where not given.
        progress: called with the fraction done.
        engine: where parts are computed; this process where not given. Memory is bounded by its ``job_bytes``.

    Returns:
        Number of hour tiles written; day tiles are made of them, see `features.day_tiles`.
    """
    engine = engine or Here()
    spans = _spans(lake, now)
    report = progress or (lambda _: None)
    report(0.0 if spans else 1.0)
    book = _Book(lake, engine.job_bytes // _ROW_BYTES)
    for part, tiles in engine.run(make_part, book.parts(spans)):
        if book.take(part, tiles):
            report(book.done / len(spans))
    update_days(lake, _whole_hour(now), engine)
    return book.written


def samples_waiting(lake: Lake, *, now: datetime | None = None) -> int:
    """About how many samples `update_tiles` would read."""
    return sum(span.rows for span in _spans(lake, now))


def _spans(lake: Lake, now: datetime | None) -> list[_Span]:
    return [span for name in _SOURCES for span in _changed(lake, name, _whole_hour(now))]


def _whole_hour(now: datetime | None) -> datetime:
    """The hour that has not ended."""
    return (now or datetime.now(UTC)).astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def make_part(part: TilePart) -> pl.DataFrame:
    """The tiles of a part that say something new: a pure function of what the lake holds."""
    tiles, source = _SOURCES[part.table]
    lake = Lake(part.lake)
    samples = lake.scan(source, since=part.since, until=part.until, columns=SAMPLE_COLUMNS[part.table])
    with lake.reading(source, since=part.since, until=part.until):
        read = _of_devices(samples, part).collect(engine="streaming")
    fresh = tile_day(read, tiles)
    known = lake.scan(tiles, since=part.since, until=part.until).filter(pl.col("kernel") == KERNEL)
    with lake.reading(tiles, since=part.since, until=part.until):
        before = _of_devices(known, part).collect(engine="streaming")
    return _news(fresh, before, tiles)


def _of_devices(rows: pl.LazyFrame, part: TilePart) -> pl.LazyFrame:
    if part.devices is None:
        return rows
    first, last = (pl.lit(device) for device in part.devices)
    return rows.filter(pl.col("device").is_between(first, last))


def _news(fresh: pl.DataFrame, known: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Tiles that say something new: compaction takes superseded samples away, never what was said of them."""
    if known.height == 0:
        return fresh
    version = [*table.key, "received_at"]
    fuller = known.group_by(version).agg(pl.col("rows").max().alias("known_rows"))
    fresh = fresh.join(known, on=fresh.columns, how="anti", nulls_equal=True)
    fresh = fresh.join(fuller, on=version, how="left", maintain_order="left")
    return fresh.filter(pl.col("rows") >= pl.col("known_rows").fill_null(0)).drop("known_rows")


# ---- which hours -----------------------------------------------------------------------------


def _changed(lake: Lake, table: str, open_hour: datetime) -> Iterator[_Span]:
    """The hours whose files, or whose day's end, have changed since their tiles were made."""
    tiles, source = _SOURCES[table]
    days: dict[date, list[DataFile]] = {}
    for file in lake.files(source):
        if file.day is not None:
            days.setdefault(file.day, []).append(file)
    spans = [span for day in sorted(days) if (span := _whole_day(table, day, days[day], open_hour))]
    done = lake.recorded(tiles, [name for span in spans for name in span.names])
    for span in spans:
        if not done.issuperset(span.names):
            yield from _by_hour(lake, span, days[span.since.date()], open_hour)


def _whole_day(table: str, day: date, files: list[DataFile], open_hour: datetime) -> _Span | None:
    since = datetime(day.year, day.month, day.day, tzinfo=UTC)
    until = min(since + _DAY, open_hour)
    if until <= since:
        return None
    return _Span(table, since, until, sum(file.rows for file in files), (_name(files, until),))


def _by_hour(lake: Lake, day: _Span, files: list[DataFile], open_hour: datetime) -> Iterator[_Span]:
    """The changed hours of a day, those that follow each other together; an old day as a whole."""
    if day.since < open_hour - _BY_THE_HOUR:
        yield day
        return
    hours = [day.since + _HOUR * i for i in range(int((day.until - day.since) / _HOUR))]
    of_hour = {hour: [file for file in files if file.may_hold(hour, hour + _HOUR)] for hour in hours}
    names = {hour: _name(of_hour[hour], hour) for hour in hours if of_hour[hour]}
    done = lake.recorded(_SOURCES[day.table][0], names.values())
    changed = [hour for hour, name in names.items() if name not in done]
    bounds = [0, *(i for i, (a, b) in enumerate(pairwise(changed), 1) if b - a > _HOUR), len(changed)]
    for begin, end in pairwise(bounds):
        if run := changed[begin:end]:
            held = {file.uri: file.rows for hour in run for file in of_hour[hour]}
            yield _Span(day.table, run[0], run[-1] + _HOUR, sum(held.values()), tuple(names[hour] for hour in run))


def _name(files: Iterable[DataFile], time: datetime) -> str:
    """Recorded in the tiles' log when they are made: which files, up to when, by which code."""
    digest = hashlib.sha256("\n".join(sorted(file.uri for file in files)).encode()).hexdigest()[:32]
    return f"{KERNEL:08x}:{digest}:{time.isoformat()}"


# ---- parts and their results -----------------------------------------------------------------


class _Book:
    """Cuts spans into parts, and commits what comes of them; a span is recorded with its last tiles."""

    def __init__(self, lake: Lake, most_rows: int) -> None:
        self.written = self.done = 0
        self._lake, self._most_rows = lake, most_rows
        self._open: dict[TilePart, _Span] = {}
        self._left: dict[_Span, int] = {}
        self._held: dict[_Span, list[pl.DataFrame]] = {}

    def parts(self, spans: Iterable[_Span]) -> Iterator[TilePart]:
        """Parts of no more rows than there may be each, as far as devices and hours allow."""
        for span in spans:
            parts = list(_parts(self._lake, span, self._most_rows))
            self._left[span], self._held[span] = len(parts), []
            for part in parts:
                self._open[part] = span
            yield from parts

    def take(self, part: TilePart, tiles: pl.DataFrame) -> bool:
        """Whether a span is done with it."""
        span = self._open.pop(part)
        held = self._held[span]
        held.append(tiles)
        self._left[span] -= 1
        last = self._left[span] == 0
        if last or sum(frame.height for frame in held) >= min(_COMMIT_ROWS, self._most_rows // 2):
            table = _SOURCES[span.table][0]
            news = pl.concat(held)
            self._lake.append(table, news, transaction=span.names if last else None)
            self.written += news.height
            held.clear()
        self.done += last
        return last


def _parts(lake: Lake, span: _Span, most_rows: int) -> Iterator[TilePart]:
    whole = TilePart(lake.uri, span.table, span.since, span.until)
    if span.rows <= most_rows:
        yield whole
        return
    source = _SOURCES[span.table][1]
    of_device = lake.scan(source, since=span.since, until=span.until, columns=["device"]).group_by("device").len()
    group: list[str] = []
    held = 0
    for device, rows in of_device.collect(engine="streaming").sort("device").iter_rows():
        if group and held + rows > most_rows:
            yield replace(whole, devices=(group[0], group[-1]))
            group, held = [], 0
        group, held = [*group, device], held + rows
        if rows > most_rows:
            yield from _hours_of(replace(whole, devices=(device, device)), -(-rows // most_rows))
            group, held = [], 0
    if group:
        yield replace(whole, devices=(group[0], group[-1]))


def _hours_of(part: TilePart, pieces: int) -> Iterator[TilePart]:
    """One device in several pieces of whole hours."""
    hours = int((part.until - part.since) / _HOUR)
    cuts = sorted({part.since + _HOUR * (hours * i // pieces) for i in range(pieces + 1)})
    for since, until in pairwise(cuts):
        yield replace(part, since=since, until=until)
