"""Leases a second with the guard held: a fabric of 100,000 transceivers, SQLite, one caller and many at once.

    python benchmarks/leases.py

Every link between switches has an alarm of level act. Each lease is asked for another link, and is on disk before it is
answered: one caller's in a transaction of its own, those of many callers in shared ones. The ratio is to the bare
transaction: one row inserted and committed the same way. Beside what was seen it says what a core of its own would do,
from the processor time taken: on a machine that others use, what was seen is theirs as much as ours.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from features.fleet import Fleet
from serving.alarms import AlarmRecord
from serving.drains.advice import Mode
from serving.drains.config import DrainConfig
from serving.drains.desk import Desk, Known
from serving.drains.fabric import Fabric, LinkClass, Port
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
CALLERS = 32


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


@dataclass(frozen=True, slots=True)
class Rate:
    """How many a second were seen, and how many the processor time would allow."""

    seen: float
    own: float


def timed(work: Callable[[int], object], callers: int = 1) -> Rate:
    """Asking once for each number."""
    with ThreadPoolExecutor(callers) as pool:
        began, cpu = time.perf_counter(), time.process_time()
        list(pool.map(work, range(ASKED)))
        return Rate(ASKED / (time.perf_counter() - began), ASKED / (time.process_time() - cpu))


def one_round(everything: Known, asked: Sequence[Port], callers: int) -> tuple[Rate, Rate, int]:
    """Bare transactions, leases of so many callers, and how many were granted, on a new database."""
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

        rows = timed(bare)
        leases = timed(
            lambda number: granted.append(desk.lease(everything, asked[number], "benchmark", None)[1]), callers
        )
    return rows, leases, sum(isinstance(one, Drain) for one in granted)


def main() -> None:
    """Print leases a second, and what of them the guard gave."""
    network = fabric()
    everything = known(network, datetime.now(UTC))
    trunks = sorted(alarm.link_id for alarm in everything.snapshot.standing.values())
    asked = [network.links[name].ends[0] for name in trunks[:: len(trunks) // ASKED]]
    print(f"fabric: {len(network.links):,} links, {len(network.design)} ToRs, {len(trunks):,} links between switches")
    for callers in (1, CALLERS):
        rounds = [one_round(everything, asked, callers) for _ in range(ROUNDS)]
        rows = statistics.median(rows.seen for rows, _, _ in rounds)
        leases, own = (statistics.median(getattr(rate, name) for _, rate, _ in rounds) for name in ("seen", "own"))
        granted = min(count for _, _, count in rounds)
        print(
            f"{callers:3} callers: {leases:,.0f} leases/s with the guard held, {rows / leases:.2f} bare transactions "
            f"({rows:,.0f}/s) each; of a core of its own {own:,.0f}/s; granted {granted} of {ASKED}; "
            f"load {os.getloadavg()[0]:.1f}"
        )


if __name__ == "__main__":
    main()
