"""Leases a second with the guard held: a fabric of 100,000 transceivers, SQLite, one caller after another.

    python benchmarks/leases.py

Every link between switches has an alarm of level act. Each lease is asked for another link, in a transaction of its
own that is on disk before it is answered. Its ratio is to the bare transaction: one row inserted and
committed the same way.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from features.fleet import Fleet
from serving.alarms import AlarmRecord
from serving.drains.advice import Mode
from serving.drains.config import DrainConfig
from serving.drains.desk import Desk, Known
from serving.drains.fabric import Fabric, LinkClass
from serving.drains.observed import Observed
from serving.drains.records import Drain, Entry, Kind
from serving.drains.sight import Sight
from serving.drains.store import DrainStore
from serving.snapshot import ScoreTable, Snapshot, by_end
from serving.store import AlarmStore

PODS, LEAVES, SPINES, SERVERS = 16, 32, 16, 64
PLANES = 16
"""Each leaf has 64 servers and 16 uplinks, each spine of a pod 16 links to its plane of cores: 45,056 links."""

ASKED = 200
"""About as many links as may be out at once of this fabric, by UFM's rule of 0.5 %."""

ROUNDS = 3


def links() -> pl.DataFrame:
    """A three-tier Clos."""
    rows = []
    for pod in range(PODS):
        for leaf in range(LEAVES):
            name = f"leaf{pod:02}-{leaf:02}"
            rows += [(name, f"Ethernet{s + 1}", f"spine{pod:02}-{s:02}", f"Ethernet{leaf + 1}") for s in range(SPINES)]
            rows += [(name, f"Ethernet{k + 101}", f"gpu{pod:02}-{leaf:02}-{k:02}", "eth0") for k in range(SERVERS)]
        for spine in range(SPINES):
            name = f"spine{pod:02}-{spine:02}"
            rows += [
                (name, f"Ethernet{c + 101}", f"core{spine:02}-{c:02}", f"Ethernet{pod + 1}") for c in range(PLANES)
            ]
    return pl.DataFrame(rows, schema=["a_device", "a_interface", "z_device", "z_interface"], orient="row")


def fabric() -> Fabric:
    """Its fabric, with the servers known by their modules."""
    rows = links()
    nics = rows.filter(pl.col("z_interface") == "eth0").select(device="z_device", interface="z_interface")
    modules = nics.with_columns(serial="device", role=pl.lit("nic"))
    return Fabric.of(Fleet.from_frames(links=rows, modules=modules))


def known(network: Fabric, now: datetime) -> Known:
    """Scores of all, alarms on all links between switches, everything up."""
    ports = pl.DataFrame(sorted(network.at_port), schema=["site", "device", "interface"], orient="row")
    facts = {"status": "scored", "risk_24h": 0.7}
    scores = ports.with_columns(pl.lit(value).alias(name) for name, value in facts.items())
    scores = scores.with_columns(reasons=pl.lit([], pl.List(pl.String)), type_probabilities=None)
    trunks = [link for link in network.links.values() if network.class_of(link) is LinkClass.FABRIC]
    alarms = {f"a{k}": _alarm(k, link.link_id, link.ends, now) for k, link in enumerate(trunks)}
    observed = Observed(now, {}, frozenset(), dict.fromkeys(network.links, now))
    snapshot = Snapshot((1, 1), None, ScoreTable.of(scores), by_end(alarms.values()), alarms, frozenset())
    return Known(snapshot, Sight(network, observed))


def _alarm(number: int, link_id: str, ends: Sequence[tuple[str, str, str]], now: datetime) -> AlarmRecord:
    (site, device, interface), (_, peer, far) = ends
    return AlarmRecord(
        alarm_id=f"a{number}",
        link_id=link_id,
        site=site,
        device=device,
        interface=interface,
        suspect="fiber",  # type: ignore[arg-type]  # the record makes words of it
        level="act",  # type: ignore[arg-type]
        raised_at=now,
        risk_24h=0.7,
        risk_168h=0.9,
        failure_type=None,
        action="clean_connector",  # type: ignore[arg-type]
        expected_from=now,
        expected_to=now + timedelta(days=1),
        model_version="1",
        peer_device=peer,
        peer_interface=far,
    )


def timed(work: Callable[[int], object]) -> float:
    """Seconds that asking once for each number takes."""
    began = time.perf_counter()
    for number in range(ASKED):
        work(number)
    return time.perf_counter() - began


def one_round(everything: Known, asked: Sequence[tuple[str, str, str]]) -> tuple[float, float, int]:
    """Bare transactions a second, leases a second, and how many were granted, on a new database."""
    wide = {"most_per_device": 1_000, "most_per_tier": 100_000, "most_in_fleet": 100_000, "most_per_hour": 1_000_000}
    config = DrainConfig.model_validate({"guard": wide | {"observed_within_s": 86_400}})
    granted = list[object]()
    with tempfile.TemporaryDirectory() as folder, AlarmStore(f"sqlite:///{Path(folder) / 'f.db'}") as store:
        desk = Desk(DrainStore(store.engine), config)
        with desk.store.writing() as writing:
            writing.switch("fabric", Mode.ACTIVE, "benchmark", "")

        def bare(_number: int) -> None:
            with desk.store.writing() as writing:
                writing.log(Entry(at=writing.now, kind=Kind.ADVICE, outcome="drain", why="", who="benchmark"))

        rows_s = timed(bare)
        leases_s = timed(lambda number: granted.append(desk.lease(everything, asked[number], "benchmark", None)[1]))
    return ASKED / rows_s, ASKED / leases_s, sum(isinstance(one, Drain) for one in granted)


def main() -> None:
    """Print leases a second, and what of them the guard gave."""
    network = fabric()
    everything = known(network, datetime.now(UTC))
    trunks = sorted(alarm.link_id for alarm in everything.snapshot.standing.values())
    asked = [network.links[name].ends[0] for name in trunks[:: len(trunks) // ASKED]]
    rounds = [one_round(everything, asked) for _ in range(ROUNDS)]
    rows, leases, granted = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"fabric: {len(network.links):,} links, {len(network.design)} ToRs, {len(trunks):,} links between switches")
    print(f"bare transactions: {rows:,.0f}/s")
    print(f"leases with the guard held: {leases:,.0f}/s, {rows / leases:.2f} bare ones each")
    print(f"granted: {granted} of {ASKED}")


if __name__ == "__main__":
    main()
