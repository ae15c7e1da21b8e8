"""What the network gave its hosts: loss, round trips and processing of closed windows, by ToR, pod and fleet.

Quantiles of a scope are made of its flows': of their medians the median, of their 99th percentiles the 99th, each flow
as often as it was answered. No more than 2 % of the scope's round trips are longer than the latter.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import networkx as nx
import polars as pl
from scipy.stats import binom

from diagnosis.fabric import Device, Fabric

__all__ = ["Breach", "Places", "Reach", "Sla", "Tier", "breaches", "placed", "slas"]

_LOSS: Final = 1e-3
_P99_NS: Final = 5_000_000
"""Pingmesh's alarm (SIGCOMM 2015): more than one packet in a thousand is lost, or the 99th percentile is over 5 ms."""
_CHANCE: Final = 0.01
"""So many losses would be chance less often than that, if the loss were what is allowed [judgement]."""
_VALUES: Final = {"rtt_p50_ns": 0.5, "rtt_p99_ns": 0.99, "target_p50_ns": 0.5, "target_p99_ns": 0.99}


class Tier(StrEnum):
    """How much of the network."""

    FLEET = "fleet"
    POD = "pod"
    TOR = "tor"


class Reach(StrEnum):
    """Which probes: between two hosts of it, or between one of it and another."""

    WITHIN = "within"
    ACROSS = "across"


class Breach(StrEnum):
    """What is worse than it should be."""

    LOSS = "loss"
    RTT = "rtt"


@dataclass(frozen=True, slots=True)
class Sla:
    """One scope in one window.

    Attributes:
        name: of the ToR; of a pod its first and last ToR.
        flows: 5-tuples.
        processing_p50_ns: at responders, from receipt to reply; None where nothing was told.
        breached: what is worse than Pingmesh's alarm allows, losses by chance left out.
    """

    time: datetime
    tier: Tier
    site: str
    name: str
    reach: Reach
    flows: int
    sent: int
    lost: int
    rtt_p50_ns: int | None
    rtt_p99_ns: int | None
    processing_p50_ns: int | None
    processing_p99_ns: int | None
    breached: tuple[Breach, ...]

    @property
    def loss(self) -> float:
        """Share of the probes."""
        return self.lost / self.sent if self.sent else 0.0


@dataclass(frozen=True, slots=True)
class Places:
    """Where hosts are.

    Attributes:
        tors: of each port of a host, its ToR; of a host with one ToR, that of the host as a port without a name.
        pods: of each ToR, its pod's name: ToRs below the same switches are one.
    """

    tors: Mapping[tuple[str, str, str | None], Device]
    pods: Mapping[Device, str]

    @classmethod
    def of(cls, fabric: Fabric) -> "Places":
        """Of a fabric whose servers are known."""
        tors: dict[tuple[str, str, str | None], Device] = {}
        for near, far in [*fabric.cables, *(pair[::-1] for pair in fabric.cables)]:
            if near[:2] in fabric.servers and far[:2] not in fabric.servers:
                tors[near] = far[:2]
        for host in {port[:2] for port in tors}:
            own = {tor for port, tor in tors.items() if port[:2] == host}
            if len(own) == 1:
                tors[*host, None] = own.pop()
        return cls(tors, _pods(fabric, set(tors.values())))

    def of_site(self, site: str) -> "Places":
        """Those of one site."""
        tors = {port: tor for port, tor in self.tors.items() if port[0] == site}
        return Places(tors, {tor: pod for tor, pod in self.pods.items() if tor[0] == site})

    def tor(self, site: str, device: str | None, interface: str | None) -> Device | None:
        """The ToR of one end of a flow; None where no cable tells it."""
        if device is None:
            return None
        return self.tors.get((site, device, interface)) or self.tors.get((site, device, None))


def _pods(fabric: Fabric, tors: set[Device]) -> dict[Device, str]:
    above: nx.Graph[Device] = nx.Graph()
    above.add_nodes_from(tors)
    for tor in tors:
        above.add_edges_from((tor, other) for other in fabric.graph[tor] if other not in fabric.servers | tors)
    found: dict[Device, str] = {}
    for part in nx.connected_components(above):
        own = sorted(part & tors)
        name = own[0][1] if len(own) == 1 else f"{own[0][1]}…{own[-1][1]}"
        found |= dict.fromkeys(own, name)
    return found


def breaches(sent: int, lost: int, rtt_p99_ns: int | None) -> tuple[Breach, ...]:
    """What is worse than Pingmesh's alarm allows.

    >>> breaches(200, 1, 30_000), breaches(20_000, 60, 30_000), breaches(200, 0, 6_000_000)
    ((), (<Breach.LOSS: 'loss'>,), (<Breach.RTT: 'rtt'>,))
    """
    found = []
    if lost and binom.sf(lost - 1, sent, _LOSS) < _CHANCE:
        found.append(Breach.LOSS)
    if rtt_p99_ns is not None and rtt_p99_ns > _P99_NS:
        found.append(Breach.RTT)
    return tuple(found)


def placed(rows: pl.DataFrame, places: Places) -> pl.DataFrame:
    """Rows of ``probes`` with ToR and pod of both ends, as ``source_tor`` and the like; null where not known."""
    for end in ("source", "target"):
        port = ["site", f"{end}_device", f"{end}_interface"]
        ports = rows.select(port).unique()
        tors = [places.tor(*each) for each in ports.iter_rows()]
        names = [None if tor is None else tor[1] for tor in tors]
        pods = [None if tor is None else places.pods[tor] for tor in tors]
        told = [pl.Series(f"{end}_tor", names, dtype=pl.String), pl.Series(f"{end}_pod", pods, dtype=pl.String)]
        rows = rows.join(ports.with_columns(told), on=port, how="left", nulls_equal=True)
    return rows


def slas(rows: pl.DataFrame, places: Places) -> list[Sla]:
    """Of each window and scope: the newest window first, then fleet, pods and ToRs by name.

    Args:
        rows: of ``probes``, of closed windows. Hosts that are down are among them: a verdict tells why.
        places: where hosts are; those of which it is not known count for the fleet alone.
    """
    if not rows.height:
        return []
    scoped = pl.concat(_scoped(placed(rows, places)))
    key = ("time", "tier", "site", "name", "reach")
    found = scoped.group_by(key).agg(
        pl.len().alias("flows"),
        pl.col("sent").sum(),
        pl.col("lost").sum(),
        *(_quantile(*each) for each in _VALUES.items()),
    )
    order = {str(tier): place for place, tier in enumerate(Tier)}
    told = [_sla(row) for row in found.iter_rows(named=True)]
    return sorted(told, key=lambda one: (-one.time.timestamp(), order[one.tier], one.site, one.name, one.reach))


def _scoped(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Each row once for each scope that it counts for."""
    columns = ["time", "site", "sent", "lost", *_VALUES]
    yield _named(rows, columns, Tier.FLEET, pl.lit("all"), Reach.WITHIN)
    for tier in (Tier.POD, Tier.TOR):
        source, target = pl.col(f"source_{tier}"), pl.col(f"target_{tier}")
        yield _named(rows.filter(source == target), columns, tier, source, Reach.WITHIN)
        crossing = rows.filter(source.ne_missing(target))
        for end in (source, target):
            yield _named(crossing.filter(end.is_not_null()), columns, tier, end, Reach.ACROSS)


def _named(rows: pl.DataFrame, columns: list[str], tier: Tier, name: pl.Expr, reach: Reach) -> pl.DataFrame:
    return rows.select(*columns, pl.lit(str(tier)).alias("tier"), name.alias("name"), pl.lit(str(reach)).alias("reach"))


def _quantile(name: str, share: float) -> pl.Expr:
    """Of flows' quantiles, each as often as its probes were answered."""
    value = pl.col(name)
    weight = pl.when(value.is_null()).then(0).otherwise((pl.col("sent") - pl.col("lost")).clip(lower_bound=1))
    heard = weight.sort_by(value, nulls_last=True).cum_sum() >= share * weight.sum()
    return value.sort_by(value, nulls_last=True).filter(heard).first().alias(name)


def _sla(row: Mapping[str, Any]) -> Sla:
    return Sla(
        time=row["time"],
        tier=Tier(row["tier"]),
        site=row["site"],
        name=row["name"],
        reach=Reach(row["reach"]),
        flows=row["flows"],
        sent=row["sent"],
        lost=row["lost"],
        rtt_p50_ns=row["rtt_p50_ns"],
        rtt_p99_ns=row["rtt_p99_ns"],
        processing_p50_ns=row["target_p50_ns"],
        processing_p99_ns=row["target_p99_ns"],
        breached=breaches(row["sent"], row["lost"], row["rtt_p99_ns"]),
    )
