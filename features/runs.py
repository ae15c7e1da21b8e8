"""Rows of one series that lie together: found without looking at their names, which a sorted lake repeats and repeats.

A name in memory is sixteen bytes: its length, and its letters or where they lie. Rows whose bytes are equal have the
same name; of those whose bytes differ the names are looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["Runs", "runs_of"]

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Runs:
    """Runs of rows that have the same key.

    Attributes:
        bounds: shape (runs + 1,): where each begins, and the last one ends.
        series: shape (runs,): the row of `keys` that each has.
        keys: each key once, in order of first appearance.
    """

    bounds: Ints
    series: Ints
    keys: pl.DataFrame


def runs_of(key: Sequence[pl.Series]) -> Runs:
    """The runs of some rows, one at least, of whose keys none is null; two that follow each other may be of one key."""
    rows = key[0].len()
    begins = np.zeros(rows, np.bool_)
    for column in key:
        begin = 0
        for chunk in column.get_chunks():
            end = begin + chunk.len()
            if begin < end:
                begins[begin] = True
                begins[begin + 1 : end] |= _differs(chunk)
            begin = end
    at = np.flatnonzero(begins)
    names = pl.DataFrame([column.gather(at) for column in key])
    keys = names.unique(maintain_order=True).with_row_index("series")
    series = names.join(keys, on=names.columns, maintain_order="left")["series"].to_numpy().astype(np.int64)
    return Runs(np.append(at, rows), series, keys.drop("series"))


def _differs(chunk: pl.Series) -> Flags:
    """Of each value but the first whether it is another than the one before, or may be."""
    differs: Flags
    if chunk.dtype == pl.String:
        views = chunk.to_arrow(compat_level=pl.CompatLevel.newest())
        halves = np.frombuffer(views.buffers()[1], np.int64)[2 * views.offset : 2 * (views.offset + len(views))]
        differs = np.not_equal(halves[2:], halves[:-2]).view(np.uint16) != 0
    else:
        values = chunk.to_numpy()
        differs = np.not_equal(values[1:], values[:-1])
    return differs
