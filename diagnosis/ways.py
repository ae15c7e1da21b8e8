"""The ways of flows as links, as they were found in the course of time."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

import numpy as np
import polars as pl

from diagnosis.probes import Known

__all__ = ["Direction", "Span", "Ways"]

Direction = Literal["forward", "reverse"]
_FLOW: Final = ["site", "source_address", "target_address", "source_port"]
"""What a row of ``probes`` and its ways have in common."""

_COLUMNS: Final[dict[str, pl.DataType | pl.datatypes.DataTypeClass]] = {
    "site": pl.String,
    "source_address": pl.String,
    "target_address": pl.String,
    "source_port": pl.Int32,
    "direction": pl.String,
    "time": pl.Datetime("us", "UTC"),
    "hops": pl.List(pl.String),
    "whole": pl.Boolean,  # whether every hop said its address
    "links": pl.List(pl.Int32),
}
_FOUND: Final = pl.Schema(_COLUMNS)


@dataclass(frozen=True, slots=True)
class Span:
    """A window's time."""

    start: datetime
    end: datetime


@dataclass
class Ways:
    """Traced ways.

    A hop that said nothing says nothing here: a way with such is used where there is no whole one.
    """

    known: Known
    _found: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_FOUND))

    def add(self, rows: pl.DataFrame) -> None:
        """Take rows of ``probe_paths``; those that did not come to their end say nothing."""
        end = pl.when(direction="forward").then("target_address").otherwise("source_address")
        reached = rows.filter("reached").with_columns(pl.concat_list(pl.col("hops").fill_null([]), end))
        found = reached.with_columns(self._read(reached["hops"]))
        self._found = pl.concat([self._found, found.select(_FOUND.names()).cast(_FOUND)])
        if not self._found["time"].is_sorted():
            self._found = self._found.sort("time", maintain_order=True)

    def of(self, rows: pl.DataFrame, direction: Direction, span: Span) -> pl.Series:
        """Links of each row's way, as lists; null where it is not known.

        It is the last whole way found before the window, or the first after its start.
        """
        whole = self._found.filter("whole", pl.col("time") <= span.end, direction=direction)
        before = pl.col("time") <= span.start
        last = whole.filter(before).group_by(_FLOW).agg(pl.col("links").last())
        first = whole.filter(~before).join(last, on=_FLOW, how="anti").group_by(_FLOW).agg(pl.col("links").first())
        one = pl.concat([last, first])
        return rows.select(_FLOW).join(one, on=_FLOW, how="left", maintain_order="left")["links"]

    def moved(self, span: Span) -> pl.DataFrame:
        """Flows of which a way found within the window is another than the last before it."""
        way = [*_FLOW, "direction"]
        during = self._found.filter(pl.col("time") > span.start, pl.col("time") <= span.end)
        before = self._found.filter(pl.col("time") <= span.start).join(during, on=way, how="semi")
        pairs = during.join(before.group_by(way).agg(was=pl.col("hops").last()), on=way).with_row_index("pair")
        same = pl.col("hops").list.len() == pl.col("was").list.len()
        hops = pairs.filter(same).explode("hops", "was").filter(pl.col("hops") != pl.col("was"))
        return pairs.filter(~same | pl.col("pair").is_in(hops["pair"].implode())).select(_FLOW).unique()

    def _read(self, hops: pl.Series) -> list[pl.Series]:
        """Of each list of hops whether it is whole, and its links.

        Links are null where a hop is no cable's end, or both ends of one are there.
        """
        fabric = self.known.fabric
        arriving = {name: fabric.arriving[at] for name, at in self.known.ports.items() if at in fabric.arriving}
        links = hops.list.eval(pl.element().replace_strict(arriving, default=None, return_dtype=pl.Int32))
        length, number = hops.list.len().to_numpy(), links.explode().fill_null(-1).to_numpy()
        row = np.repeat(np.arange(length.size), length)
        bad = number < 0
        bad[:-1] |= (number[:-1] ^ 1 == number[1:]) & (row[:-1] == row[1:])
        unknown = np.bincount(row[bad], minlength=length.size) > 0
        silent = np.bincount(row[hops.explode().is_null().to_numpy()], minlength=length.size) > 0
        known = pl.select(pl.when(pl.Series(~unknown)).then(links)).to_series()
        return [pl.Series("whole", ~silent), known.rename("links")]
