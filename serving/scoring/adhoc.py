"""Risks of modules that the lake does not know, from readings handed in: the same tiles, features and model.

Many are scored as cheaply as one, so requests that wait at the same time are scored together. What is computed of a
module needs its own readings and its peer's, so it is the same whoever else is scored beside it. No table of samples
or tiles is made on the way: `features.at_hand` lays readings out as arrays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from features.at_hand import PortName, cube_of
from features.fleet import NO_OPTICS
from features.history_at_hand import Record, history_at_hand
from features.look import DAYS, Look, series_of
from features.pipeline import Block, FeaturePipeline
from features.tiles_at_hand import KINDS, Readings, micros
from ingest.schema import LANE_SAMPLES, LIMITS, PORT_SAMPLES, Action, FailureType, Table
from models.alarm import Diagnosis, diagnoses
from models.artifact import Artifact
from models.base import HORIZONS_H
from models.policy import ALARM_HORIZON_H
from serving.errors import QueryError

__all__ = ["LOOKED_BACK", "Module", "Scored", "newest_hour", "score"]

_HOUR: Final = timedelta(hours=1)
_MICROSECOND: Final = timedelta(microseconds=1)
_PIPELINE: Final = FeaturePipeline()
LOOKED_BACK: Final = timedelta(days=DAYS)
"""Readings of before change nothing."""
NEGLIGIBLE: Final = 0.5
"""Below this share of the risk of an alarm it is not said what would fail, as in a run over the fleet."""
_ALARM: Final = HORIZONS_H.index(ALARM_HORIZON_H)
_SILENT: Final = "no reading in the six hours before"
Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One module with its readings.

    Attributes:
        port: site, device and interface; unique among those that are scored together.
        peer: the port at the far end, where that is given, too.
        record: columns of the table ``modules`` that are known: media and limits are looked at.
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
    """The whole hour after the newest reading; None where there is none.

    Raises:
        QueryError: there is no such hour.
    """
    times = [max(columns["time"]) for m in modules for columns in (m.lanes, m.ports) if columns.get("time")]
    if not times:
        return None
    newest: datetime = max(times)
    try:
        return newest.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + _HOUR
    except OverflowError as error:
        msg = "the time of the newest reading is out of range"
        raise QueryError(msg) from error


def score(artifact: Artifact, modules: Sequence[Module], at: datetime) -> list[Scored]:
    """What the model says of each module as of a whole hour.

    Args:
        artifact: the model.
        modules: a peer that is not among them is none.
        at: readings of later are not looked at.
    """
    ranked = sorted(range(len(modules)), key=lambda i: modules[i].port)
    found = _told(artifact, *_block([modules[i] for i in ranked], at))
    told: list[Scored] = [found[0]] * len(modules)
    for i, one in zip(ranked, found, strict=True):
        told[i] = one
    return told


def _block(modules: Sequence[Module], at: datetime) -> tuple[Block, NDArray[np.float64]]:
    """Features of modules that are sorted by port, and how old the newest reading of each is; NaN where it has none."""
    names = [module.port for module in modules]
    number = {name: k for k, name in enumerate(names)}
    lanes, ports = (_readings(table, modules, at) for table in (LANE_SAMPLES, PORT_SAMPLES))
    cube = cube_of(names, lanes, ports, at)
    linked = [(k, number[m.peer]) for k, m in enumerate(modules) if m.peer is not None and m.peer in number]
    records = [Record(m.record.get("media"), [m.record.get(name) for name in LIMITS]) for m in modules]
    history = history_at_hand(cube, at, names, linked, records)
    newest = np.full(len(names), -1, np.int64)
    for read in (lanes, ports):
        np.maximum.at(newest, read.port, read.time_us)
    ages = np.where(newest < 0, np.nan, (micros([at])[0] - newest) / 1e6)
    return _PIPELINE.block(Look(cube, history, series_of(cube, history))), ages


def _told(artifact: Artifact, block: Block, ages_s: NDArray[np.float64]) -> list[Scored]:
    """What is said of each port of a block."""
    spoken = np.flatnonzero(block.present[:, 0])
    told = [Scored(reasons=(NO_OPTICS if copper else _SILENT,)) for copper in block.history.copper.tolist()]
    if not spoken.size:
        return told
    risk = artifact.model.risk(block.matrix(spoken, np.zeros_like(spoken))).astype(np.float64)
    high = np.flatnonzero(risk[:, _ALARM] >= NEGLIGIBLE * artifact.policy.watch)
    found = diagnoses(artifact, block, spoken[high], 0) if high.size else None
    of_high = {i: k for k, i in enumerate(high.tolist())}
    for i, (port, risks) in enumerate(zip(spoken.tolist(), risk.tolist(), strict=True)):
        diagnosis = found.of(of_high[i]) if found is not None and i in of_high else None
        told[port] = _scored(risks, float(ages_s[port]), diagnosis)
    return told


def _scored(risk: Sequence[float], age_s: float, diagnosis: Diagnosis | None) -> Scored:
    risks = dict(zip(HORIZONS_H, risk, strict=True))
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


def _readings(table: Table, modules: Sequence[Module], at: datetime) -> Readings:
    """Columns of a canonical table, module after module; whose they are is the place of the module."""
    given = [(k, m.lanes if table is LANE_SAMPLES else m.ports) for k, m in enumerate(modules)]
    given = [(k, columns) for k, columns in given if columns.get("time")]
    counts = [len(columns["time"]) for _, columns in given]
    port = np.repeat(np.array([k for k, _ in given], np.int64), counts)
    time_us = micros([time for _, columns in given for time in columns["time"]])

    def column(name: str, kind: type[np.generic]) -> NDArray[Any]:
        parts = (columns.get(name) or [None] * count for (_, columns), count in zip(given, counts, strict=True))
        return np.array(list(chain.from_iterable(parts)), kind)

    told = {name for _, columns in given for name, values in columns.items() if values}
    read = Readings(
        port,
        column("lane", np.int64) if table is LANE_SAMPLES else np.zeros(port.size, np.int64),
        time_us,
        {name: column(name, kind) for name, kind in KINDS[table.name].items() if name in told},
        np.nan_to_num(column("quality", np.float64)).astype(np.int16) if "quality" in told else None,
        _codes(column("serial", np.object_)) if "serial" in told else None,
    )
    now_us = micros([at])[0]
    seen = (time_us < now_us) & (time_us >= now_us - LOOKED_BACK // _MICROSECOND)
    return read if seen.all() else read.take(seen)


def _codes(serials: NDArray[np.object_]) -> NDArray[np.int32]:
    numbers: dict[str | None, int] = {None: -1}
    return np.array([numbers.setdefault(serial, len(numbers)) for serial in serials.tolist()], np.int32)
