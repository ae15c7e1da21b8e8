"""Risks of modules that the lake does not know, from readings handed in: the same tiles, features and model.

Many are scored as cheaply as one, so requests that wait at the same time are scored together. What is computed of a
module needs its own readings and its peer's, so it is the same whoever else is scored beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.cube import PORT, LakeTiles
from features.day_maker import MADE_AFTER, days_of
from features.day_tables import LANE_DAYS, PORT_DAYS
from features.fleet import Fleet, polars_schema
from features.look import DAYS
from features.pipeline import Block, FeaturePipeline
from features.tile_maker import SAMPLE_COLUMNS, tile_day
from features.tile_tables import LANE_TILES, PORT_TILES
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Action, FailureType, Table
from models.alarm import Diagnosis, diagnoses
from models.artifact import Artifact
from models.base import HORIZONS_H
from models.policy import ALARM_HORIZON_H

__all__ = ["LOOKED_BACK", "Module", "Scored", "newest_hour", "score"]

_HOUR: Final = timedelta(hours=1)
LOOKED_BACK: Final = timedelta(days=DAYS)
"""Readings of before change nothing."""
NEGLIGIBLE: Final = 0.5
"""Below this share of the risk of an alarm it is not said what would fail, as in a run over the fleet."""
_ALARM: Final = HORIZONS_H.index(ALARM_HORIZON_H)
_SILENT: Final = "no reading in the six hours before"
PortName = tuple[str, str, str]
Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One module with its readings.

    Attributes:
        port: site, device and interface; unique among those that are scored together.
        peer: the port at the far end, where that is given, too.
        record: columns of the table ``modules`` that are known: media, limits.
        lanes, ports: columns of ``lane_samples`` and ``port_samples``, each as long as ``time``.
    """

    port: PortName
    peer: PortName | None = None
    record: Mapping[str, Any] = field(default_factory=dict)
    lanes: Columns
    ports: Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What the model says of a module; risks are None where it cannot say anything.

    Attributes:
        risks: P(failure of its link within), by hours.
        failure_type, types, suspect, action: None where the risk is negligible, as are `reasons`.
    """

    risks: Mapping[int, float] | None = None
    data_age_s: float | None = None
    failure_type: FailureType | None = None
    types: Mapping[FailureType, float] | None = None
    suspect: str | None = None
    action: Action | None = None
    reasons: tuple[str, ...] = ()


def newest_hour(modules: Sequence[Module]) -> datetime | None:
    """The whole hour after the newest reading; None where there is none."""
    times = [max(columns["time"]) for m in modules for columns in (m.lanes, m.ports) if columns.get("time")]
    if not times:
        return None
    newest: datetime = max(times)
    hour = newest.replace(minute=0, second=0, microsecond=0)
    return hour + _HOUR


def score(artifact: Artifact, modules: Sequence[Module], at: datetime) -> list[Scored]:
    """What the model says of each module as of a whole hour.

    Args:
        artifact: the model.
        modules: a peer that is not among them is none.
        at: readings of later are not looked at.
    """
    lanes, ports = (_samples(table, modules, at) for table in (LANE_SAMPLES, PORT_SAMPLES))
    source = _Tiles.of(tile_day(lanes, LANE_TILES), tile_day(ports, PORT_TILES), at)
    block = next(FeaturePipeline().blocks(source, _fleet(modules), [at]), None)
    rows = [-1 if block is None else block.cube.port_of.get(module.port, -1) for module in modules]
    spoken = [] if block is None else [p for p in rows if p >= 0 and block.present[p, 0]]
    if block is None or not spoken:
        return [Scored(reasons=(_SILENT,)) for _ in modules]
    ages = [_age_s(module, at) for module in modules]
    return _told(artifact, block, np.array(spoken), list(zip(rows, ages, strict=True)))


def _age_s(module: Module, at: datetime) -> float | None:
    """Of the newest reading before `at`."""
    times = [time for columns in (module.lanes, module.ports) for time in columns.get("time", ()) if time < at]
    return (at - max(times)).total_seconds() if times else None


def _told(
    artifact: Artifact, block: Block, spoken: NDArray[np.int64], rows: list[tuple[int, float | None]]
) -> list[Scored]:
    """What is said of each module, by its row of the block and the age of its readings."""
    risk = artifact.model.risk(block.matrix(spoken, np.zeros_like(spoken))).astype(np.float64)
    high = np.flatnonzero(risk[:, _ALARM] >= NEGLIGIBLE * artifact.policy.watch)
    found = diagnoses(artifact, block, spoken[high], 0) if high.size else None
    place, told = {port: i for i, port in enumerate(spoken.tolist())}, {i: k for k, i in enumerate(high.tolist())}

    def one(port: int, age_s: float | None) -> Scored:
        if port not in place:
            return Scored(reasons=(_SILENT,))
        i = place[port]
        diagnosis = found.of(told[i]) if found is not None and i in told else None
        return _scored(risk[i], age_s, diagnosis)

    return [one(port, age_s) for port, age_s in rows]


def _scored(risk: NDArray[np.float64], age_s: float | None, diagnosis: Diagnosis | None) -> Scored:
    risks = dict(zip(HORIZONS_H, risk.tolist(), strict=True))
    if diagnosis is None:
        return Scored(risks=risks, data_age_s=age_s)
    return Scored(
        risks=risks,
        data_age_s=age_s,
        failure_type=diagnosis.failure_type,
        types=diagnosis.types,
        suspect=diagnosis.suspect,
        action=diagnosis.action,
        reasons=diagnosis.reasons,
    )


def _samples(table: Table, modules: Sequence[Module], at: datetime) -> pl.DataFrame:
    """Rows of a canonical table, module after module."""
    wanted = SAMPLE_COLUMNS["lane_tiles" if table is LANE_SAMPLES else "port_tiles"]
    schema = {name: kind for name, kind in polars_schema(table).items() if name in wanted}
    given = [(m.port, m.lanes if table is LANE_SAMPLES else m.ports) for m in modules]
    given = [(port, columns) for port, columns in given if columns.get("time")]
    counts = [len(columns["time"]) for _, columns in given]
    which = np.repeat(np.arange(len(given)), counts)
    rows: dict[str, pl.Series] = {}
    for name, kind in schema.items():
        if any(columns.get(name) for _, columns in given):
            parts = (columns.get(name) or [None] * count for (_, columns), count in zip(given, counts, strict=True))
            rows[name] = pl.Series(name, [value for part in parts for value in part], kind)
        elif name in PORT:
            rows[name] = pl.Series(name, [port[PORT.index(name)] for port, _ in given], pl.String).gather(which)
        else:
            rows[name] = pl.Series(name, [0 if name == "quality" else None], kind).new_from_index(0, which.size)
    rows["received_at"] = rows["time"]  # as an import has it
    return pl.DataFrame(rows).filter(pl.col("time") < at, pl.col("time") >= at - LOOKED_BACK)


def _fleet(modules: Sequence[Module]) -> Fleet:
    ports = {module.port for module in modules}
    records = [{**module.record, **dict(zip(PORT, module.port, strict=True))} for module in modules if module.record]
    pairs = {tuple(sorted((m.port, m.peer))) for m in modules if m.peer in ports and m.peer is not None}
    ends = [f"{end}_{name}" for end in "az" for name in PORT]
    links = pl.DataFrame([(*a, *z) for a, z in sorted(pairs)], schema=ends, orient="row") if pairs else None
    return Fleet.from_frames(modules=pl.DataFrame(records, infer_schema_length=None) if records else None, links=links)


@dataclass(frozen=True)
class _Tiles(LakeTiles):
    """Tiles in memory, in the place of those of a lake."""

    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @classmethod
    def of(cls, lanes: pl.DataFrame, ports: pl.DataFrame, at: datetime) -> "_Tiles":
        """Of hour tiles, of which the tiles of those days are made that somebody will ask for."""
        tables = {LANE_TILES.name: lanes, PORT_TILES.name: ports}
        tables |= {table.name: polars_schema(table).to_frame() for table in (LANE_DAYS, PORT_DAYS)}
        old = [tiles.filter(pl.col("hour") < at - MADE_AFTER) for tiles in (lanes, ports)]
        days = pl.concat([tiles["hour"] for tiles in old]).dt.truncate("1d").unique().sort()
        made = [days_of(*(t.filter(pl.col("hour").dt.truncate("1d") == day) for t in old)) for day in days]
        if made:
            for table, frames in zip((LANE_DAYS, PORT_DAYS), zip(*made, strict=True), strict=True):
                tables[table.name] = pl.concat(frames)
        return cls(Lake(""), tables=tables)

    def _read(
        self, table: Table, since: datetime, until: datetime, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        time = str(table.time)
        if columns is None:
            columns = [name for name in table.schema.names if name not in {*table.key, "received_at", "kernel"}]
        serials = [name for name in columns if name in {"serial", "serial_first", "serial_last"}]
        tiles = self.tables[table.name].filter(pl.col(time) >= since, pl.col(time) < until)
        tiles = tiles.select(*table.key, "received_at", *columns, pl.lit(value=False).alias("late"))
        return tiles.with_columns(pl.col(*PORT, *serials).cast(pl.Categorical))
