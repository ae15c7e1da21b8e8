"""Windows of probes through a fabric that loses packets."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest

from data_samples.fat_tree import FatTree
from data_samples.lossy_fabric import Flows, background, draw_flows, round_trip
from diagnosis.fabric import crossings
from diagnosis.observations import Observations

Window: TypeAlias = Callable[..., Observations]


@pytest.fixture(name="tree")
def _tree() -> FatTree:
    return FatTree(4)


def _round_trips(tree: FatTree, flows: Flows, loss: np.ndarray, rng: np.random.Generator) -> Observations:
    lost = round_trip(flows, loss, rng)
    paths = crossings(np.hstack([flows.there.links, flows.back.links]), 2 * tree.cables)
    return Observations(paths, flows.sent.astype(float), (lost.there + lost.back).astype(float))


@pytest.fixture(name="window")
def _window(tree: FatTree) -> Window:
    """Round trips in a small fat tree whose links lose what is asked for."""

    def window(lossy: dict[int, float], *, seed: int = 1, flows: int = 2_000, packets: int = 40_000) -> Observations:
        rng = np.random.default_rng(seed)
        loss = background(2 * tree.cables, rng)
        for link, share in lossy.items():
            loss[link] = share
        return _round_trips(tree, draw_flows(tree, flows, packets, rng), loss, rng)

    return window
