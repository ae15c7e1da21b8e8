"""Runs of rows that have the same key, against Python's own comparison."""

from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.runs import runs_of

NAMES = st.sampled_from(
    ["", "a", "leaf01", "Ethernet1/12", "Ethernet1/12/1", "Ethernet1/12/2", "a rather long name", "b"]
)
ROWS = st.lists(st.tuples(NAMES, NAMES, st.integers(0, 3)), min_size=1, max_size=40)


def _columns(rows: list[tuple[str, str, int]], cuts: list[int]) -> list[pl.Series]:
    """Three columns in chunks, each cut out of a longer one."""
    whole = pl.DataFrame(
        [rows[-1], *rows, rows[0]], schema={"a": pl.String, "b": pl.String, "c": pl.Int8}, orient="row"
    )
    bounds = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    pieces = [whole.slice(1 + begin, end - begin) for begin, end in pairwise(bounds)]
    return pl.concat(pieces, rechunk=False).get_columns()


@given(ROWS, st.lists(st.integers(0, 39), max_size=4))
@settings(deadline=None, max_examples=100)
def test_every_row_has_the_key_of_its_run(rows: list[tuple[str, str, int]], cuts: list[int]) -> None:
    """Short names, which lie in the row, and long ones, which lie elsewhere; chunks end anywhere."""
    runs = runs_of(_columns(rows, cuts))

    keys = list(runs.keys.iter_rows())
    said = [keys[s] for (a, b), s in zip(pairwise(runs.bounds), runs.series, strict=True) for _ in range(a, b)]
    assert rows == said
    assert list(dict.fromkeys(rows)) == keys


@pytest.mark.parametrize("name", ["leaf01", "a name that does not lie in the row"])
def test_a_series_that_lies_together_is_one_run(name: str) -> None:
    """Otherwise each of a day's rows would be looked up."""
    column = pl.Series("name", [name, "b"]).gather([0] * 500 + [1] * 500)

    assert [0, 500, 1000] == runs_of([column]).bounds.tolist()
