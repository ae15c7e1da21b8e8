"""Which probes to send: enough 5-tuples to cover every path, and few paths that tell links apart.

R-Pingmesh (SIGCOMM 2024) draws source ports until every parallel path is likely to be among them. deTector (ATC 2017)
picks paths one by one: so many of them cross each link (alpha), and as many faults at once can be told apart (beta).
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from diagnosis.fabric import Path

__all__ = ["Plan", "classes", "greedy_plan", "rotated", "tuples_needed"]


def tuples_needed(paths: int, sure: float = 0.99) -> int:
    """5-tuples whose hashes cover all of so many equal paths with that probability: the coupon collector's problem.

    >>> [tuples_needed(paths) for paths in (4, 8, 16, 32, 64, 128)]
    [21, 51, 115, 255, 557, 1206]
    """
    low, high = paths, paths * math.ceil(math.log(paths / (1.0 - sure)) + 1.0)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _missed(paths, middle) <= 1.0 - sure else (middle + 1, high)
    return low


def _missed(paths: int, tuples: int) -> float:
    """P(some path is not among them), in whole numbers, since the alternating sum cancels in others."""
    ways = sum((-1) ** (left + 1) * math.comb(paths, left) * (paths - left) ** tuples for left in range(1, paths + 1))
    return float(Fraction(ways, paths**tuples))


def rotated(ports: Sequence[int], period: int, pool: range, share: float = 0.2) -> list[int]:
    """Source ports of a period: a share of them is replaced in each, the oldest first, and none comes twice.

    >>> rotated([1, 2, 3, 4, 5], 1, range(10, 20))
    [2, 3, 4, 5, 10]
    """
    each = max(1, round(share * len(ports)))
    there = set(ports)
    fresh = [port for port in pool if port not in there]
    line = [*ports, *fresh]
    start = period * each % len(line)
    return [line[(start + place) % len(line)] for place in range(len(ports))]


@dataclass(frozen=True, slots=True)
class Plan:
    """Chosen paths.

    Attributes:
        chosen: places of the paths among those that were offered.
        cover: paths through the link that the fewest cross, of the links that any path crosses.
        classes: sets of links that the chosen paths cannot tell apart, two or more each.
    """

    chosen: tuple[int, ...]
    cover: int
    classes: tuple[frozenset[int], ...]


def greedy_plan(paths: Sequence[Path], alpha: int = 1, beta: int = 1) -> Plan:
    """The greedy choice of deTector: the path that covers what lacks cover and splits most sets that look alike.

    Args:
        paths: that probes can be sent along.
        alpha: paths that shall cross each link.
        beta: faults at once that shall be told apart; 0 asks for cover alone.

    Each path's worth falls as others are chosen, so that one whose worth still stands when it is looked at again is the
    best (lazy greedy).
    """
    need = dict.fromkeys((link for path in paths for link in path), alpha)
    sets = _Sets(need, beta)
    heap = [(-(len(path) + len(sets.elements)), place) for place, path in enumerate(paths)]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and (any(need.values()) or sets.alike):
        _, place = heapq.heappop(heap)
        worth = sum(need[link] > 0 for link in paths[place]) + sets.split_by(paths[place])
        if not worth:
            continue
        if heap and worth < -heap[0][0]:
            heapq.heappush(heap, (-worth, place))
            continue
        chosen.append(place)
        sets.split(paths[place])
        for link in paths[place]:
            need[link] = max(need[link] - 1, 0)
    crossing = defaultdict(int, dict.fromkeys(need, 0))
    for place in chosen:
        for link in paths[place]:
            crossing[link] += 1
    return Plan(tuple(chosen), min(crossing.values(), default=0), classes(paths[place] for place in chosen))


class _Sets:
    """Sets of up to so many links, grouped by which of the chosen paths they hit; those hit alike are one group."""

    def __init__(self, links: Iterable[int], beta: int) -> None:
        known = sorted(links)
        self.elements = [frozenset(some) for size in range(1, beta + 1) for some in combinations(known, size)]
        self._of_link: dict[int, list[int]] = defaultdict(list)
        for number, some in enumerate(self.elements):
            for link in some:
                self._of_link[link].append(number)
        self._group = np.zeros(len(self.elements), dtype=np.int64)
        self._sizes = {0: len(self.elements)} if self.elements else {}

    @property
    def alike(self) -> bool:
        """Whether two sets still look the same."""
        return any(size > 1 for size in self._sizes.values())

    def split_by(self, path: Path) -> int:
        """Groups that a path would split."""
        hit = self._hit(path)
        groups, counts = np.unique(self._group[hit], return_counts=True)
        return sum(count < self._sizes[int(group)] for group, count in zip(groups, counts, strict=True))

    def split(self, path: Path) -> None:
        """Choose a path: what it hits and what it does not are told apart from now on."""
        hit = self._hit(path)
        for group in np.unique(self._group[hit]):
            own = hit[self._group[hit] == group]
            if own.size < self._sizes[int(group)]:
                fresh = len(self._sizes)
                self._group[own] = fresh
                self._sizes[fresh] = int(own.size)
                self._sizes[int(group)] -= int(own.size)

    def _hit(self, path: Path) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(sorted({number for link in path for number in self._of_link[link]}), dtype=np.int64)


def classes(paths: Iterable[Path]) -> tuple[frozenset[int], ...]:
    """Links that these paths cannot tell apart: each path crosses all of a class or none of it.

    >>> classes([(0, 1), (0, 1, 2)])
    (frozenset({0, 1}),)
    """
    crossing: dict[int, list[int]] = defaultdict(list)
    for number, path in enumerate(paths):
        for link in path:
            crossing[link].append(number)
    alike: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for link, numbers in crossing.items():
        alike[tuple(numbers)].add(link)
    return tuple(frozenset(links) for links in alike.values() if len(links) > 1)
