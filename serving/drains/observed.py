"""Which links carry traffic now, as telemetry, maintenance and tickets say it.

A link is up where an end was seen up lately and no end is down: not seen up counts as down. What people, another
controller or a technician has taken out is down whoever did it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from features.fleet import PORT, Fleet
from ingest.lake import Lake
from ingest.schema import PORT_SAMPLES
from serving.drains.fabric import Fabric, Port

__all__ = ["Observed", "observe", "observed_of"]

_AHEAD: Final = timedelta(minutes=5)
"""Clocks of devices that are ahead by no more are believed."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The state of the links at one time.

    Attributes:
        at: as of when.
        down: link_id and why, for links seen down or taken out.
        unseen: links of which nobody has said lately that they are up.
        up_at: when each link was last seen up.
    """

    at: datetime
    down: Mapping[str, str] = field(default_factory=dict)
    unseen: frozenset[str] = frozenset()
    up_at: Mapping[str, datetime] = field(default_factory=dict)

    def usable(self, link_id: str) -> bool:
        """Whether it carries traffic as far as anybody knows."""
        return link_id not in self.down and link_id not in self.unseen


def observe(lake: Lake, fleet: Fleet, fabric: Fabric, at: datetime, within_s: float) -> Observed:
    """Read the last state of every port.

    Args:
        lake: with ``port_samples``.
        fleet: as known at `at`.
        fabric: of that fleet.
        at: as of when.
        within_s: how old a state may be.
    """
    columns = [*PORT, "time", "oper_up", "admin_up"]
    since = at - timedelta(seconds=within_s)
    rows = lake.latest(PORT_SAMPLES, since=since, until=at + _AHEAD, columns=columns).filter(pl.col("time") >= since)
    last = rows.sort("time").group_by(PORT).agg(pl.col("time", "oper_up", "admin_up").last()).collect()
    states = {(site, device, interface): state for site, device, interface, *state in last.iter_rows()}
    return observed_of(fabric, _read(states), _planned(fleet, at), at)


def observed_of(
    fabric: Fabric,
    states: Mapping[Port, tuple[datetime, bool | None]],
    planned: Mapping[tuple[str, str, str | None], str],
    at: datetime,
) -> Observed:
    """The state of each link from those of ports.

    Args:
        fabric: its links.
        states: when a port was seen, and whether it was up; None where it did not say.
        planned: ports, or whole devices (None as the interface), that are taken out, and why.
        at: as of when.
    """
    down, unseen, up_at = dict[str, str](), set[str](), dict[str, datetime]()
    for link in fabric.links.values():
        seen = [states.get(end) or states.get(fabric.cages[end]) for end in link.ends]
        said = [state for state in seen if state is not None]
        ends = [*link.ends, *(fabric.cages[end] for end in link.ends)]
        if why := _taken_out(ends, planned):
            down[link.link_id] = why
        elif any(up is False for _, up in said):
            down[link.link_id] = "seen down"
        elif ups := [time for time, up in said if up]:
            up_at[link.link_id] = max(ups)
        else:
            unseen.add(link.link_id)
    return Observed(at, down, frozenset(unseen), up_at)


def _read(states: Mapping[Port, list[object]]) -> dict[Port, tuple[datetime, bool | None]]:
    found: dict[Port, tuple[datetime, bool | None]] = {}
    for port, (time, oper_up, admin_up) in states.items():
        assert isinstance(time, datetime)  # noqa: S101 - the schema says so
        up = False if False in (oper_up, admin_up) else (True if oper_up else None)
        found[port] = (time, up)
    return found


def _planned(fleet: Fleet, at: datetime) -> dict[tuple[str, str, str | None], str]:
    """What maintenance and open tickets have taken out."""
    work = fleet.maintenance.filter(pl.col("start") <= at, pl.col("end") > at)
    planned = {
        (site, device, interface): f"in maintenance ({kind})"
        for site, device, interface, kind in work.select(*PORT, pl.col("kind").fill_null("unspecified")).iter_rows()
    }
    drained = fleet.tickets.filter(
        pl.col("drained_at") <= at, pl.col("closed_at").is_null(), pl.col("device").is_not_null()
    )
    for site, device, interface, ticket in drained.select(*PORT, "ticket_id").iter_rows():
        planned[site, device, interface] = f"drained for ticket {ticket}"
    return planned


def _taken_out(ends: Sequence[Port], planned: Mapping[tuple[str, str, str | None], str]) -> str | None:
    for site, device, interface in ends:
        for name in (interface, None):
            if why := planned.get((site, device, name)):
                return why
    return None
