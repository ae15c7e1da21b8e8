"""Features at many times on an engine: pieces of the times are looked at by different workers, and come in order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from features.cube import HOUR, LakeTiles
from features.engine import Engine, Here, in_order
from features.fleet import Fleet
from features.pipeline import Block, FeaturePipeline

__all__ = ["engine_blocks"]

_LONGEST: Final = timedelta(days=12)
"""So many days are looked at at once: memory stays bounded however long the span is."""
_LEAST: Final = timedelta(days=3)
"""Each piece reads the weeks before it again: shorter ones would cost more than further workers gain."""


@dataclass(frozen=True)
class _Piece:
    """Some of the times, and all that is needed to look at them."""

    source: LakeTiles
    fleet: Fleet
    times: Sequence[datetime]


def engine_blocks(engine: Engine, source: LakeTiles, fleet: Fleet, times: Sequence[datetime]) -> Iterator[Block]:
    """What `FeaturePipeline.blocks` gives, to the bit; blocks of other processes come without their tiles.

    Args:
        engine: where they are computed.
        source: where tiles are read.
        fleet: records; each time sees only what was known by then.
        times: whole hours, ascending.
    """
    pieces = [_Piece(source, fleet, piece) for piece in _pieces(times, engine.workers)]
    if isinstance(engine, Here):
        for piece in pieces:
            yield from FeaturePipeline().blocks(source, fleet, piece.times)
        return
    for _, blocks in in_order(engine, _look, pieces):
        yield from blocks


def _look(piece: _Piece) -> list[Block]:
    """A pure function of what the lake and the records hold."""
    return [block.light() for block in FeaturePipeline().blocks(piece.source, piece.fleet, piece.times)]


def _pieces(times: Sequence[datetime], workers: int) -> list[list[datetime]]:
    """The times in pieces, one a worker where the span is long enough for it."""
    if not times:
        return []
    longest = min(_LONGEST, max((times[-1] - times[0] + HOUR) / workers, _LEAST))
    pieces: list[list[datetime]] = [[]]
    for time in times:
        if pieces[-1] and time - pieces[-1][0] >= longest:
            pieces.append([])
        pieces[-1].append(time)
    return pieces
