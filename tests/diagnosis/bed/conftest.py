"""Fabrics of network namespaces, where they are permitted."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fabric_bed.hosts import Agents, Rates
from fabric_bed.net import Fabric, missing

Build = Callable[[Fabric, Rates], Agents]


@pytest.fixture(name="permitted", scope="session")
def _permitted() -> None:
    """Skips where namespaces, nftables or root are not to be had."""
    if reason := missing():
        pytest.skip(reason)


@pytest.fixture(name="build")
def _build(permitted: None, tmp_path: Path) -> Iterator[Build]:
    """Builds a fabric and starts its agents; takes it away in the end."""
    built: list[Agents] = []

    def build(fabric: Fabric, rates: Rates) -> Agents:
        agents = Agents(fabric, tmp_path, rates)
        built.append(agents)
        fabric.up()
        agents.start()
        agents.ready()
        return agents

    yield build
    for agents in built:
        agents.end()
        agents.fabric.down()
