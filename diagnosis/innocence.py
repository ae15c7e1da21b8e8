"""Is the network innocent? Only where every link that could be at fault would have shown itself.

Where a window is too thin for that, it says how many more like it would be enough.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from diagnosis.localize import Localization
from diagnosis.observations import Floats

__all__ = ["AllClear", "Suspicion", "all_clear", "loss_of", "throughput", "windows_needed"]

_MOST_WINDOWS: Final = 10_000
_UNDER_WAY: Final = 122
"""Packets under way of one flow: 400 Gb/s, 10 µs, 4 KB [bandwidth times delay]."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What an all-clear must hold for.

    Attributes:
        links: directed links that a job's packets cross.
        sla: loss of a link that would matter to it.
    """

    links: frozenset[int]
    sla: float = 1e-3


@dataclass(frozen=True, slots=True)
class AllClear:
    """Whether nothing is wrong, and how well that was looked at.

    Attributes:
        innocent: nothing was found, and whatever matters would have been.
        least_loss: the least loss that would have been found at each of the links; of the worst seen one.
        unseen: links at which a loss that matters could have passed unseen.
        suspected: links that a fault may be at.
        more_windows: windows like these that would still be needed; None where no number of them is enough, since
            nothing crosses a link.
    """

    innocent: bool
    least_loss: float
    unseen: tuple[int, ...]
    suspected: tuple[int, ...]
    more_windows: int | None


def all_clear(told: Localization, suspicion: Suspicion, windows: int = 1) -> AllClear:
    """What a localiser's answer says of these links.

    Args:
        told: of some windows together.
        suspicion: which links, and what would matter.
        windows: how many they were.
    """
    links = np.array(sorted(suspicion.links), dtype=np.intp)
    least = np.ones(links.size) if told.least_loss is None else told.least_loss[links]
    unseen = links[least > suspicion.sla]
    suspected = tuple(link for link in told.suspected if link in suspicion.links)
    return AllClear(
        innocent=not (unseen.size or suspected or not links.size),
        least_loss=float(least.max(initial=0.0)) if links.size else 1.0,
        unseen=tuple(int(link) for link in unseen),
        suspected=suspected,
        more_windows=windows_needed(least, suspicion.sla, windows) if links.size else None,
    )


def windows_needed(least: Floats, sla: float, windows: int) -> int | None:
    """How many more windows like these bring every link's least loss below what matters.

    The least loss falls with the number of packets at least as fast as its square root, which counts here.

    >>> windows_needed(np.array([5e-4, 2e-3]), 1e-3, 2)
    6
    """
    worst = float(least.max(initial=0.0))
    if worst <= sla:
        return 0
    needed = np.ceil(windows * (worst / sla) ** 2)
    return None if worst >= 1.0 or needed > _MOST_WINDOWS else int(needed) - windows


def throughput(loss: float) -> float:
    """What is left of a RoCE flow's throughput where a link loses packets: go-back-N resends all that was under way.

    >>> [round(throughput(loss), 3) for loss in (1e-4, 1e-3, 1e-2)]
    [0.988, 0.891, 0.448]
    """
    return (1.0 - loss) / (1.0 + loss * (_UNDER_WAY - 1))


def loss_of(slowdown: float) -> float:
    """Loss of a link that makes a flow slower by a share: the inverse of ``throughput``.

    >>> round(loss_of(1.0 - throughput(2e-4)), 6)
    0.0002
    """
    return slowdown / (1.0 + (1.0 - slowdown) * (_UNDER_WAY - 1))
