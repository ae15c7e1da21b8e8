"""What training looks at: rows at risk of every link end, and every link at each hour, as known at a time.

lake ──pieces of the times──► blocks ──► rows at risk, hours
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.cube import PORT, LakeTiles
from features.engine import Engine, Here
from features.fleet import Fleet
from features.labels import censoring, failure_events
from features.pipeline import Block, FeaturePipeline, hourly
from features.shards import fleet_blocks
from ingest.errors import ModelError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, FailureType
from models.base import FAULTS, HORIZONS_H, Fault
from models.counting import NEITHER
from models.joint import JointModel, joint_model
from models.rows import Outcomes, RiskSet, outcomes, risk_set, stack
from models.sampling import LinkSample, ports_at_once, ports_of, room
from models.truth import truth

__all__ = ["WARM_UP", "EveryHour", "TrainingData", "labelled_faults", "training_data"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

WARM_UP: Final = timedelta(days=2)
"""The first days of telemetry have no past to be compared with."""
_PIECE: Final = timedelta(days=8)
"""Training looks at so many days at once: memory stays bounded however long the history."""


@dataclass(frozen=True)
class EveryHour:
    """What the policy is fitted on: each link at each hour, of a large fleet a share of the links drawn by their names.

    Attributes:
        rows: shape (n, columns), as the hazard sees a link (`JointModel.link_view`).
        link: shape (n,), name of the link.
        hour: shape (n,), hours since the first.
        healthy: shape (n,), whether an alarm then is known to be false: nothing failed for a week, nor, as far as
            is known, for a month: of an alarm so early the judge says that it is neither right nor false.
        until_event_h: shape (n,), hours to the link's next failure, inf where none is known.
    """

    rows: Floats
    link: NDArray[np.object_]
    hour: Ints
    healthy: NDArray[np.bool_]
    until_event_h: Floats


@dataclass(frozen=True)
class TrainingData:
    """What is learnt from.

    Attributes:
        rows: module ends at times, with what became of them.
        fault: of each row, index into `FAULTS` of its link's next failure, -1 where unknown.
        every_hour: for the policy.
        events: failures as known at `until`.
        times: the hours between warm-up and `until`; nothing later was looked at.
        fleet: records as known at `until`.
        links_share: of all links, those drawn; those that failed are looked at besides; weights make up for the rest.
    """

    rows: RiskSet
    fault: Ints
    every_hour: EveryHour
    events: pl.DataFrame
    times: Sequence[datetime]
    fleet: Fleet
    links_share: float = 1.0


@dataclass(frozen=True)
class _Piece:
    """Some of the times that are learnt from, with what became of the links."""

    lake: str
    until: datetime
    first: datetime
    times: Sequence[datetime]
    events: pl.DataFrame
    censored: pl.DataFrame
    model: JointModel
    each_end: bool
    links: LinkSample


_Rows = tuple[list[RiskSet], list[EveryHour]]


def _rows_of(piece: _Piece) -> _Rows:
    """What is learnt from a piece: a pure function of what the lake holds."""
    lake = Lake(piece.lake)
    fleet = Fleet.load(lake).as_of(piece.until)
    return _learnt(piece, FeaturePipeline().blocks(LakeTiles(lake), fleet, piece.times))


def _learnt(piece: _Piece, blocks: Iterable[Block]) -> _Rows:
    parts, hourly_parts = [], []
    for block in blocks:
        known = outcomes(block, piece.events, piece.censored, piece.until)
        parts.append(risk_set(block, known, piece.links.stands_for(block.history.links)))
        hourly_parts.append(_every_hour(block, known, piece))
    return parts, hourly_parts


def training_data(
    lake: Lake,
    until: datetime,
    progress: Callable[[float], None] = lambda _: None,
    engine: Engine | None = None,
    model: JointModel | None = None,
    each_end: bool = False,
) -> TrainingData:
    """Rows at risk from everything that was known at `until`.

    Args:
        lake: telemetry, tiles, records.
        until: whole hour.
        progress: called with the fraction done.
        engine: where features are computed, piece by piece; this process where not given. Where its memory does not
            hold all links, those that failed and a share of the others are learnt from (`models.sampling`).
        model: whose view of a link the policy is fitted on; the joint model's where not given.
        each_end: rows for the policy of each end of a link, not of the link.

    Raises:
        ModelError: there is too little telemetry before `until`.
    """
    model = model or joint_model()
    times = _times(lake, until)
    fleet = Fleet.load(lake).as_of(until)
    samples = (
        lake.scan(table, until=until).filter(pl.col("received_at") <= until) for table in (PORT_SAMPLES, LANE_SAMPLES)
    )
    events = failure_events(fleet, *samples)
    censored = censoring(fleet, events)
    engine = engine or Here()
    ports = ports_of(lake, fleet, times)
    count = ports.select(PORT if each_end else ["link_id"]).n_unique()
    links = LinkSample.fitting(events, count, len(times), room(engine))
    hours = int(_PIECE / timedelta(hours=1))
    starts = range(0, len(times), hours)
    pieces = [
        _Piece(lake.uri, until, times[0], times[i : i + hours], events, censored, model, each_end, links)
        for i in starts
    ]
    made: dict[datetime, _Rows] = {}
    for piece, result in _made(pieces, ports, engine):
        made[piece.times[0]] = result
        progress(len(made) / len(pieces))
    in_order = [made[piece.times[0]] for piece in pieces]
    hourly_parts = [part for _, parts in in_order for part in parts]
    rows = stack(part for parts, _ in in_order for part in parts)
    every = EveryHour(*(np.concatenate([getattr(p, f.name) for p in hourly_parts]) for f in fields(EveryHour)))
    return TrainingData(rows, labelled_faults(rows, events, fleet), every, events, times, fleet, links.share)


def _made(pieces: Sequence[_Piece], ports: pl.DataFrame, engine: Engine) -> Iterator[tuple[_Piece, _Rows]]:
    """All ports of a piece at once where they fit, else of the links that are learnt from, device by device."""
    most = ports_at_once(engine)
    if ports.height <= most:
        yield from engine.run(_rows_of, pieces)
        return
    for piece in pieces:
        lake = Lake(piece.lake)
        wanted = ports.filter(piece.links.stands_for(ports["link_id"]) > 0).select(PORT).unique()
        fleet = Fleet.load(lake).as_of(piece.until)
        yield piece, _learnt(piece, fleet_blocks(lake, fleet, piece.times, wanted, engine, most))


def _times(lake: Lake, until: datetime) -> list[datetime]:
    days = lake.dates(PORT_SAMPLES)
    if not days:
        msg = f"{lake.uri} holds no telemetry: forelight import DIR, or forelight collect, brings some"
        raise ModelError(msg)
    begin = datetime(days[0].year, days[0].month, days[0].day, tzinfo=UTC) + WARM_UP
    times = hourly(begin, until)
    if len(times) < HORIZONS_H[-1]:
        msg = f"{len(times)} hours of telemetry before {until:%Y-%m-%d %H:%M}Z, the warm-up left out: a week is needed"
        raise ModelError(msg)
    return times


def _every_hour(block: Block, known: Outcomes, piece: _Piece) -> EveryHour:
    drawn = piece.links.drawn(block.history.links)
    port, time = np.nonzero((block.present if piece.each_end else block.first) & drawn[:, None])
    far = known.until_event_h[port, time] > NEITHER / timedelta(hours=1)
    return EveryHour(
        piece.model.link_view(block.matrix(port, time)),
        np.array(block.history.links, object)[port],
        ((block.history.at_s[time] - piece.first.timestamp()) // 3600).astype(np.int64),
        known.well[port, time] & far & (known.observed_h[port, time] >= HORIZONS_H[-1]),
        np.where(known.well[port, time], known.until_event_h[port, time], np.inf).astype(np.float32),
    )


def labelled_faults(rows: RiskSet, events: pl.DataFrame, fleet: Fleet) -> Ints:
    """Of each row, which of `FAULTS` its link's next failure was, seen from the row's end; -1 where unknown."""
    told = events.join(truth(events, fleet), on="event_id", how="left", maintain_order="left")
    columns = ("true_type", "true_site", "true_device", "true_interface")
    of_event = list(told.select(columns).iter_rows())
    number = {fault: i for i, fault in enumerate(FAULTS)}
    out = np.full(rows.event.shape[0], -1, np.int64)
    places = list(rows.place.iter_rows())
    for i in np.flatnonzero(rows.event >= 0):
        kind, *place = of_event[rows.event[i]]
        if kind is not None:
            out[i] = number.get(Fault(FailureType(kind), tuple(place) == places[i]), -1)
    return out
