"""What a map of ToR against ToR shows at a glance, after Pingmesh (SIGCOMM 2015, section 6).

A pod that is down is a white cross, one that fails a red one; where the spine fails all is red but the blocks on the
diagonal, which do not go by the spine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from diagnosis.sla import Places, breaches, placed

__all__ = ["Cell", "HeatMap", "Pattern", "Seen", "heat_map", "pattern"]

_MOST: Final = 0.8
_FEW: Final = 0.2
"""Shares of the cells that are known [judgement]."""


class Cell(IntEnum):
    """Probes from one ToR to another."""

    UNKNOWN = -1  # none was sent
    GREEN = 0
    RED = 1  # more is lost, or the round trip is longer, than Pingmesh's alarm allows
    WHITE = 2  # none was answered


class Pattern(StrEnum):
    """What the map shows."""

    NORMAL = "normal"
    POD_DOWN = "pod_down"
    POD_FAILURE = "pod_failure"
    SPINE_FAILURE = "spine_failure"
    MIXED = "mixed"  # something is wrong, in none of these shapes
    UNKNOWN = "unknown"  # nothing was probed


@dataclass(frozen=True, slots=True)
class Seen:
    """A pattern, and the pods that it is about."""

    pattern: Pattern
    pods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Cells by source (rows) and target (columns).

    Attributes:
        tors: of rows and columns.
        pods: of each of them.
        cells: (tors, tors), values of `Cell`.
    """

    tors: tuple[str, ...]
    pods: tuple[str, ...]
    cells: NDArray[np.int8]


def heat_map(rows: pl.DataFrame, places: Places) -> HeatMap:
    """The map of rows of ``probes`` of one site; where there is one pod only, each ToR counts as one."""
    found = placed(rows, places).drop_nulls(["source_tor", "target_tor"])
    pairs = found.group_by("source_tor", "target_tor").agg(
        pl.col("sent").sum(), pl.col("lost").sum(), pl.col("rtt_p99_ns").quantile(0.99, "nearest")
    )
    pods = {tor: pod for (_, tor), pod in places.pods.items()}
    tors = tuple(sorted(pods, key=lambda tor: (pods[tor], tor)))
    place = {tor: number for number, tor in enumerate(tors)}
    cells = np.full((len(tors), len(tors)), Cell.UNKNOWN, dtype=np.int8)
    for source, target, sent, lost, p99_ns in pairs.iter_rows():
        cells[place[source], place[target]] = _cell(sent, lost, p99_ns)
    one = len(set(pods.values())) == 1
    return HeatMap(tors, tors if one else tuple(pods[tor] for tor in tors), cells)


def _cell(sent: int, lost: int, p99_ns: float | None) -> Cell:
    if not sent:
        return Cell.UNKNOWN
    if lost == sent:
        return Cell.WHITE
    return Cell.RED if breaches(sent, lost, None if p99_ns is None else int(p99_ns)) else Cell.GREEN


def pattern(cells: NDArray[np.int8], pods: Sequence[str]) -> Seen:
    """What a map shows.

    Args:
        cells: (n, n), values of `Cell`, from row to column.
        pods: (n,) the pod of each row and column.

    Shares are of the cells that are known: plans do not probe all pairs.
    """
    if not (cells != Cell.UNKNOWN).any():
        return Seen(Pattern.UNKNOWN)
    if not (cells > Cell.GREEN).any():
        return Seen(Pattern.NORMAL)
    names = np.asarray(pods)
    for kind, colours in ((Pattern.POD_DOWN, (Cell.WHITE,)), (Pattern.POD_FAILURE, (Cell.RED, Cell.WHITE))):
        crosses = _crosses(np.isin(cells, colours), cells, names)
        if crosses:
            return Seen(kind, crosses)
    inside = names[:, None] == names[None, :]
    if _share(cells > Cell.GREEN, cells, ~inside) >= _MOST and _share(cells > Cell.GREEN, cells, inside) <= _FEW:
        return Seen(Pattern.SPINE_FAILURE)
    return Seen(Pattern.MIXED)


def _crosses(bad: NDArray[np.bool_], cells: NDArray[np.int8], names: NDArray[np.str_]) -> tuple[str, ...]:
    """Pods whose rows and columns are bad while nearly all beside them is green.

    Where that leaves nothing beside them, it is those of them that are not green inside either.
    """
    found, inside_too = [], []
    for pod in dict.fromkeys(names.tolist()):
        own = names == pod
        if _share(bad, cells, own[:, None] ^ own[None, :]) < _MOST:
            continue
        found.append(pod)
        inside = own[:, None] & own[None, :]
        if _share(cells == Cell.GREEN, cells, inside) < _MOST:
            inside_too.append(pod)
    for some in (found, inside_too):
        rest = ~np.isin(names, some)
        beside = rest[:, None] & rest[None, :]
        if some and _share(cells == Cell.GREEN, cells, beside) >= _MOST:
            return tuple(some)
    return ()


def _share(what: NDArray[np.bool_], cells: NDArray[np.int8], where: NDArray[np.bool_]) -> float:
    """Of the known cells there; 0 of none."""
    known = where & (cells != Cell.UNKNOWN)
    return float(what[known].mean()) if known.any() else 0.0
