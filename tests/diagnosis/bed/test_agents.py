"""Agents in namespaces: what a loss that was really made becomes in the lake."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from fabric_bed.hosts import Agents, Rates
from fabric_bed.net import Fabric

from ingest.lake import Lake
from ingest.schema import PROBE_PATHS, PROBES
from serving.samples.probes import judged_probes
from serving.wire.probes import ProbeRequest

pytestmark = pytest.mark.fabric


def test_a_loss_in_one_direction_is_counted_in_that_direction(
    build: Callable[[Fabric, Rates], Agents], tmp_path: Path
) -> None:
    """A fifth of what the leaf sends to host1 is dropped: forward for host0's probes, reverse for host1's own."""
    agents = build(Fabric(leaves=1, spines=1, hosts=2), Rates(ports=2, per_s=60.0))
    agents.fabric.lose((("leaf0", "host1"), ("host1", "eth0")), 0.2)
    start = agents.window()
    agents.wait(start)
    lake = Lake(str(tmp_path / "lake"))
    for file in (agents.folder / "rows").glob("probes-*.json"):
        batch, refused = judged_probes(ProbeRequest.model_validate_json(file.read_text()), datetime.now(UTC))
        assert [] == refused
        lake.append(PROBES, PROBES.of(batch.probes))
        lake.append(PROBE_PATHS, PROBE_PATHS.of(batch.paths))
    counts = pl.col("sent", "forward_lost", "reverse_lost").sum()
    window = lake.latest(PROBES).filter(time=datetime.fromtimestamp(start, UTC))
    found = window.group_by("source_device").agg(counts).collect()
    sums = {row["source_device"]: row for row in found.to_dicts()}
    hops = lake.latest(PROBE_PATHS).collect()["hops"].to_list()

    assert 0 == sums["host0"]["reverse_lost"] == sums["host1"]["forward_lost"]
    assert 0.1 < sums["host0"]["forward_lost"] / sums["host0"]["sent"] < 0.32
    assert 0.1 < sums["host1"]["reverse_lost"] / sums["host1"]["sent"] < 0.32
    assert {("10.1.0.1",), ("10.1.1.1",)} == {tuple(each) for each in hops}
