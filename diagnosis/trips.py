"""Rows of a window beside the links of their ways, and what a localiser is given of them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from diagnosis.fabric import incidence
from diagnosis.observations import Floats, Observations
from diagnosis.probes import Known
from diagnosis.ways import Span, Ways

__all__ = ["Trips"]

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Trips:
    """Rows and their known ways.

    Attributes:
        rows: of ``probes``.
        there: shape (rows, directed links): 1 at each link of the way there; nothing where no way is known.
        back: of the way back.
    """

    rows: pl.DataFrame
    there: sparse.csr_array
    back: sparse.csr_array

    @classmethod
    def of(cls, rows: pl.DataFrame, ways: Ways, span: Span) -> Self:
        """With the ways of a window."""
        links = ways.known.fabric.links
        return cls(
            rows,
            _matrix(ways.of(rows, "forward", span), links),
            _matrix(ways.of(rows, "reverse", span), links),
        )

    def through(self, rows: Flags | Floats) -> Floats:
        """Of each link how many of these rows cross it, or the sum of what each counts."""
        each = rows.astype(np.float64)
        return np.asarray(self.there.T @ each + self.back.T @ each, dtype=np.float64)

    def across(self, links: Flags | Floats) -> Floats:
        """Of each row how many of these links its ways cross, or the sum of what each counts."""
        each = links.astype(np.float64)
        return np.asarray(self.there @ each + self.back @ each, dtype=np.float64)

    def losses(self, rows: Flags) -> tuple[Floats, Floats]:
        """Packets of these rows that came to the ways across each link, and that were lost on them.

        What is lost on a round trip counts for both its ways where the responder's count is not known.
        """
        sent, lost = self.numbers("sent"), self.numbers("lost")
        forward, reverse = (self.numbers(column) for column in ("forward_lost", "reverse_lost"))
        forward, reverse = np.where(np.isnan(forward), lost, forward), np.where(np.isnan(reverse), lost, reverse)
        came = self.there.T @ (sent * rows) + self.back.T @ ((sent - forward) * rows)
        return came, self.there.T @ (forward * rows) + self.back.T @ (reverse * rows)

    def numbers(self, column: str) -> Floats:
        """A column; NaN where it says nothing."""
        return self.rows[column].cast(pl.Float64).to_numpy()

    def only(self, wanted: Flags) -> Self:
        """Some of the rows."""
        if wanted.all():
            return self
        return type(self)(self.rows.filter(wanted), self.there[wanted], self.back[wanted])

    def observed(self, known: Known) -> Observations:
        """Each direction by itself where the responder's count is known, else the round trip."""
        there = _completed(self.there, self.rows, known, "source", "target")
        back = _completed(self.back, self.rows, known, "target", "source")
        sent, lost, forward = (self.numbers(column) for column in ("sent", "lost", "forward_lost"))
        by_way = ~np.isnan(forward)
        trips = there[~by_way] + back[~by_way]
        paths = sparse.csr_array(sparse.vstack([trips, there[by_way], back[by_way]], format="csr"))
        came = sent[by_way] - forward[by_way]
        return Observations(
            paths,
            np.concatenate([sent[~by_way], sent[by_way], came]),
            np.concatenate([lost[~by_way], forward[by_way], self.numbers("reverse_lost")[by_way]]),
        )


def _matrix(ways: pl.Series, links: int) -> sparse.csr_array:
    bounds = np.concatenate([[0], np.cumsum(ways.list.len().fill_null(0).to_numpy())])
    crossed = ways.drop_nulls().explode().drop_nulls().to_numpy().astype(np.int32)
    return sparse.csr_array((np.ones(crossed.size), crossed, bounds), shape=(len(ways), links))


def _completed(paths: sparse.csr_array, rows: pl.DataFrame, known: Known, near: str, far: str) -> sparse.csr_array:
    """Where no way is known, the ways that the fabric offers, each with its share."""
    missing = np.diff(paths.indptr) == 0
    if not missing.any():
        return paths
    ends = rows.filter(missing).select("site", f"{near}_device", f"{far}_device")
    pairs = ends.unique(maintain_order=True).with_row_index("pair")
    ways = [known.fabric.spread((site, one), (site, other)) for _, site, one, other in pairs.iter_rows()]
    which = ends.join(pairs, on=ends.columns, how="left", nulls_equal=True, maintain_order="left")["pair"].to_numpy()
    at = np.flatnonzero(missing)
    placed = sparse.csr_array((np.ones(at.size), (at, which)), shape=(paths.shape[0], pairs.height))
    return sparse.csr_array(paths + placed @ incidence(ways, paths.shape[1]))
