"""Which port each hop of a traced way is, and the ways of 5-tuples as links.

Addresses are those that an operator listed (``port_addresses``), and of NICs those that the probes themselves tell.
"""

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from diagnosis.fabric import Fabric, Path, Port
from diagnosis.probes import Known
from diagnosis.ways import Span, Ways
from ingest.lake import Lake
from ingest.schema import PORT_ADDRESSES, PROBE_PATHS

__all__ = ["TRACED_WITHIN", "any_whole", "paths_traced", "ports_by_address", "traced", "unmapped"]

TRACED_WITHIN: Final = timedelta(hours=1)
"""A way that was found longer ago may be another by now."""


def ports_by_address(lake: Lake, rows: pl.DataFrame) -> dict[str, Port]:
    """The port of each address: as the operator lists it, else as its own host says, else as others do.

    One that two claim, in rows of ``probes`` or ``probe_paths``, is nobody's.
    """
    found: dict[str, Port] = {}
    for end in ("target", "source"):
        named = rows.select("site", *(f"{end}_{what}" for what in ("device", "interface", "address"))).unique()
        claims: dict[str, set[Port]] = defaultdict(set)
        for site, device, interface, address in named.drop_nulls().iter_rows():
            claims[address].add((site, device, interface))
        for address, ports in claims.items():
            found.pop(address, None)
            if len(ports) == 1:
                found[address] = next(iter(ports))
    listed = lake.latest(PORT_ADDRESSES).select("site", "device", "interface", "address").collect()
    return found | {address: (site, device, interface) for site, device, interface, address in listed.iter_rows()}


def paths_traced(lake: Lake, at: datetime) -> pl.DataFrame:
    """Rows of ``probe_paths`` of the hour before a time."""
    return lake.scan(PROBE_PATHS, since=at - TRACED_WITHIN, until=at).collect()


def unmapped(paths: pl.DataFrame, ports: dict[str, Port]) -> Counter[str]:
    """Hops that no table names a port for, and how many ways go by each."""
    hops = (hop for hops in paths["hops"].drop_nulls().to_list() for hop in hops)
    return Counter(hop for hop in hops if hop is not None and hop not in ports)


def any_whole(paths: pl.DataFrame, ports: dict[str, Port]) -> bool:
    """Whether a way is known by all its ports."""
    whole = paths.filter("reached")["hops"].drop_nulls().to_list()
    return any(all(hop in ports for hop in hops) for hops in whole if hops)


def traced(lake: Lake, fabric: Fabric, at: datetime) -> dict[tuple[str, int, str], Path]:
    """The links of the newest way of each 5-tuple, by source address, source port and target address.

    A way with a hop that said nothing, or that no table names, has no links.
    """
    paths = paths_traced(lake, at)
    ways = Ways(Known(fabric, ports_by_address(lake, paths)))
    ways.add(paths)
    flows = paths.filter(direction="forward").unique(["site", "source_address", "source_port", "target_address"])
    links = ways.of(flows, "forward", Span(at, at)).to_list()
    names = flows.select("source_address", "source_port", "target_address").rows()
    return {flow: tuple(path) for flow, path in zip(names, links, strict=True) if path is not None}
