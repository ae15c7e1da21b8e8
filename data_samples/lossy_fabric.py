"""Probes through a fabric whose links lose packets: who sent, what came back, and by which way.

Losses are drawn of what really crosses each link, hop by hop, so a link hides behind the one before it. Sound links
have a background each; flows come in uneven sizes and their hash prefers some ports.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from data_samples.fat_tree import FatTree, Routes

__all__ = ["Flows", "Losses", "background", "draw_flows", "faults", "one_way", "round_trip", "scores"]


@dataclass(frozen=True, slots=True)
class Flows:
    """Probes of as many 5-tuples: the ways there and back, and packets sent on each."""

    there: Routes
    back: Routes
    sent: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Losses:
    """Packets that were lost on the way there, and of those that came there, on the way back."""

    there: NDArray[np.int64]
    back: NDArray[np.int64]


def background(links: int, rng: np.random.Generator, most: float = 1e-4) -> NDArray[np.float64]:
    """Loss of sound links, each its own."""
    return rng.uniform(0.0, most, links)


def faults(
    loss: NDArray[np.float64], count: int, low: float, high: float, rng: np.random.Generator, *, even: bool = False
) -> NDArray[np.int64]:
    """Make some links lossy, their loss log-uniform in a range, or even over it; which ones."""
    links = rng.choice(loss.size, count, replace=False)
    drawn = rng.uniform(low, high, count) if even else np.exp(rng.uniform(np.log(low), np.log(high), count))
    loss[links] = drawn
    return links


def draw_flows(tree: FatTree, flows: int, packets: int, rng: np.random.Generator, uneven: float = 20.0) -> Flows:
    """Flows between two edge switches each, and how their hash routes them.

    Args:
        tree: the fabric.
        flows: how many.
        packets: of all flows together, on average.
        rng: draws.
        uneven: concentration of the hash's preference of ports; at 20 one port in six differs by a fifth or more.
    """
    source = np.arange(flows) % tree.edges
    target = (source + rng.integers(1, tree.edges, flows)) % tree.edges
    sent = 1 + rng.poisson(rng.gamma(5.0, packets / flows / 5.0, flows))
    return Flows(_hashed(tree, source, target, rng, uneven), _hashed(tree, target, source, rng, uneven), sent)


def _hashed(
    tree: FatTree, source: NDArray[np.int64], target: NDArray[np.int64], rng: np.random.Generator, uneven: float
) -> Routes:
    """A port at each switch on the way up: each switch prefers some of its ports."""
    edge_prefers = rng.dirichlet(np.full(tree.half, uneven), tree.edges)
    agg_prefers = rng.dirichlet(np.full(tree.half, uneven), tree.edges)
    agg = _pick(edge_prefers[source], rng)
    core = _pick(agg_prefers[source // tree.half * tree.half + agg], rng)
    return tree.routes(source, target, agg, core)


def _pick(shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    below = np.cumsum(shares, axis=1) < rng.random((len(shares), 1))
    return np.asarray(np.minimum(np.count_nonzero(below, axis=1), shares.shape[1] - 1), dtype=np.int64)


def one_way(
    routes: Routes, sent: NDArray[np.int64], loss: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Packets of each flow that did not come there: each link loses of what the one before let through."""
    alive = sent.copy()
    for hop in routes.links.T:
        alive -= rng.binomial(alive, np.where(hop < 0, 0.0, loss[hop]))
    return sent - alive


def round_trip(flows: Flows, loss: NDArray[np.float64], rng: np.random.Generator) -> Losses:
    """Losses there, and of the answers on the way back."""
    there = one_way(flows.there, flows.sent, loss, rng)
    return Losses(there, one_way(flows.back, flows.sent - there, loss, rng))


def scores(
    links: int, faulty: NDArray[np.int64], auc: float, rate: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """A calibrated probability of each link, which ranks a faulty one before a sound one with the chance ``auc``.

    Log-likelihood ratios are normal with the variance of twice their mean, so that adding them to log-odds is right.
    """
    apart = np.sqrt(2.0) * NormalDist().inv_cdf(auc)
    ratio = rng.normal(-(apart**2) / 2.0, apart, links)
    ratio[faulty] += apart**2
    return 1.0 / (1.0 + (1.0 - rate) / rate * np.exp(-ratio))
