"""What happened to each port, as numbers at times: installations, touches, tickets, links; nothing later counts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.cube import PORT, Cube
from features.fleet import Fleet, port_name
from features.physics import Installations, installation_table

__all__ = ["History"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
PortName = tuple[str, str, str]

_NEIGHBOUR_TOUCH: Final = timedelta(hours=48)
_LONG_AGO_H: Final = 24.0 * 365
_EVER_H: Final = 1 << 30
_PEER: Final = tuple(f"peer_{name}" for name in PORT)


def _seconds(times: Iterable[datetime]) -> Floats64:
    return np.array([t.timestamp() for t in times], np.float64)


def _epoch_s(column: str) -> pl.Expr:
    return pl.col(column).dt.epoch("us") / 1e6


@dataclass(frozen=True)
class History:
    """Records of the fleet seen from the ports of a cube at some times.

    Attributes:
        cube: whose ports these are, row by row.
        fleet: records; whatever they say of later than a time is not used for it.
        at: the times, ascending.
        swapped_s: what `Cube.swapped_s` says of all ports that anybody asks for; the cube's own where not given.
    """

    cube: Cube
    fleet: Fleet
    at: Sequence[datetime]
    swapped_s: Mapping[PortName, Sequence[float]] | None = None

    def on(self, cube: Cube) -> "History":
        """The same records seen from the ports of another cube; what does not hang on the ports is shared."""
        other = replace(self, cube=cube)
        shared = ("at_s", "_ends", "ends", "table", "_swaps")
        other.__dict__.update({name: self.__dict__[name] for name in shared if name in self.__dict__})
        return other

    @cached_property
    def at_s(self) -> Floats64:
        """The times in seconds since 1970."""
        return _seconds(self.at)

    @cached_property
    def _ends(self) -> pl.DataFrame:
        """Of each port its link, the port at the other end and what the cable is; of several links the first."""
        ends = self.fleet.as_of(self.at[0]).ends().sort("link_id", maintain_order=True)
        return ends.select("link_id", *PORT, *_PEER, "kind", "copper").unique(PORT, keep="first", maintain_order=True)

    @cached_property
    def ends(self) -> dict[PortName, tuple[str, PortName | None, str | None]]:
        """Of each port its link, the port at the other end and the kind of cable; of several links the first."""
        return {
            (site, device, interface): (link, (psite, pdevice, pinterface) if pdevice is not None else None, kind)
            for link, site, device, interface, psite, pdevice, pinterface, kind, _ in self._ends.iter_rows()
        }

    @cached_property
    def peer(self) -> Ints:
        """Shape (ports,): row of the port at the other end, -1 where it is unknown or silent."""
        rows = self.cube.ports.select(pl.col(PORT).name.prefix("peer_"), far=pl.int_range(pl.len()))
        far = self._linked.join(rows, on=_PEER, how="left", maintain_order="left")["far"]
        return far.fill_null(-1).to_numpy().astype(np.int64)

    @cached_property
    def _linked(self) -> pl.DataFrame:
        """The cube's ports, row by row, with their links; a port without one is its own."""
        linked = self.cube.ports.join(self._ends, on=PORT, how="left", maintain_order="left")
        return linked.with_columns(pl.col("link_id").fill_null(port_name()))

    @cached_property
    def links(self) -> list[str]:
        """The link of each port; a port without one is its own."""
        return self._linked["link_id"].to_list()

    @cached_property
    def copper(self) -> NDArray[np.bool_]:
        """Shape (ports,): whether the port's link is copper, which has no optics that could fail."""
        return self._linked["copper"].fill_null(value=False).to_numpy()

    def _link(self, site: str, device: str, interface: str) -> str:
        if end := self.ends.get((site, device, interface)):
            return end[0]
        return f"{device}:{interface}" if site == "default" else f"{site}/{device}:{interface}"  # as `Fleet.ends` does

    @cached_property
    def table(self) -> Installations:
        """Limits and technology of every installation ever recorded."""
        return installation_table(self.fleet.modules.sort("installed_at", nulls_last=False, maintain_order=True))

    @cached_property
    def installation(self) -> Ints:
        """Shape (ports, times): row of `table` for the module in the cage then; its last row is "unknown"."""
        return self._installed_at(self.at_s)

    def _installed_at(self, times_s: NDArray[np.floating]) -> Ints:
        """Shape (ports, times): rows of `table`, as `installation` says, at any times."""
        out = np.full((self.cube.ports.height, times_s.shape[0]), self.table.frame.height, np.int64)
        for port, row, since in self._in_turn:
            held = out[port]
            np.copyto(held, row[:, None], where=since[:, None] <= times_s)
            out[port] = held
        return out

    @cached_property
    def _in_turn(self) -> list[tuple[Ints, Ints, Floats64]]:
        """The first module of every cage, the second and so on: port, row of `table`, when it came; -inf if always."""
        known = (
            self.table.frame.select(*PORT, since=pl.col("installed_at").dt.epoch("us") / 1e6)
            .with_row_index("row")
            .join(self.cube.ports.with_row_index("p"), on=PORT, maintain_order="left")
            .with_columns(turn=pl.int_range(pl.len()).over("p"), since=pl.col("since").fill_null(float("-inf")))
        )
        turns = (known.filter(pl.col("turn") == k) for k in range(int(known["turn"].max() or 0) + 1))  # type: ignore[arg-type]  # a number
        return [
            (
                turn["p"].to_numpy().astype(np.int64),
                turn["row"].to_numpy().astype(np.int64),
                turn["since"].to_numpy(),
            )
            for turn in turns
        ]

    @cached_property
    def speed_gbps(self) -> Floats:
        """Shape (ports, hours): line rate of the module in the cage at the end of each hour, NaN where unknown."""
        hours = self.cube.serials.shape[1]
        ends_s = (self.cube.start + 1.0 + np.arange(hours)) * 3600.0
        speeds: Floats = self.table.speed_gbps[self._installed_at(ends_s)]
        return speeds

    @cached_property
    def day_speed_gbps(self) -> Floats:
        """Shape (ports, days): line rate of the module in the cage at the end of each of the cube's days."""
        days = self.cube.days
        ends_s = (days.start + 1.0 + np.arange(days.serials.shape[2])) * 86400.0
        speeds: Floats = self.table.speed_gbps[self._installed_at(ends_s)]
        return speeds

    @cached_property
    def age_days(self) -> Floats:
        """Shape (ports, times): days since installation, NaN where nobody wrote it down."""
        installed = self.table.frame["installed_at"].dt.epoch("ms").cast(pl.Float64).fill_null(float("nan"))
        since = np.append(installed.to_numpy() / 1000.0, np.nan)[self.installation]
        age: Floats = ((self.at_s[None, :] - since) / 86400.0).astype(np.float32)
        return age

    def _by_link(self, column: str) -> dict[str, list[float]]:
        times: dict[str, list[float]] = {}
        tickets = self.fleet.tickets.filter(pl.col(column).is_not_null())
        for site, device, interface, when in tickets.select("site", "device", "interface", column).iter_rows():
            times.setdefault(self._link(site, device, interface), []).append(when.timestamp())
        return times

    @cached_property
    def _swaps(self) -> pl.DataFrame:
        """When a cage got another module: by the records, and by the serials that were read."""
        read = self.cube.swapped_s if self.swapped_s is None else self.swapped_s
        told = [(*name, time) for name, times in read.items() for time in times]
        recorded = self.fleet.modules.drop_nulls("installed_at").select(*PORT, when=_epoch_s("installed_at"))
        return pl.concat([recorded, pl.DataFrame(told, schema=recorded.schema, orient="row")])

    @cached_property
    def touched_s(self) -> Floats64:
        """Shape (ports, times): when the link was last touched (swap at either end, ticket closed); -inf if never."""
        ports = self._linked.with_row_index("p")
        closed = self.fleet.tickets.drop_nulls("closed_at").select(*PORT, when=_epoch_s("closed_at"))
        mended = closed.join(self._ends, on=PORT, how="left").select(pl.col("link_id").fill_null(port_name()), "when")
        found = (
            ports.join(self._swaps, on=PORT),
            ports.join(self._swaps, left_on=_PEER, right_on=PORT),
            ports.join(mended, on="link_id"),
        )
        touches = pl.concat(each.select("p", "when") for each in found)
        port, when = touches["p"].to_numpy(), touches["when"].to_numpy()
        out = np.full((ports.height, len(self.at)), -np.inf)
        for k, now in enumerate(self.at_s):
            seen = when <= now
            np.maximum.at(out[:, k], port[seen], when[seen])
        return out

    @cached_property
    def epoch(self) -> Ints:
        """Shape (ports, times): first whole hour after the last touch, counted from the cube's start."""
        hours = np.ceil(self.touched_s / 3600.0) - self.cube.start
        epoch: Ints = np.maximum(hours, -_EVER_H).astype(np.int64)
        return epoch

    @cached_property
    def since_touch_h(self) -> Floats:
        """Shape (ports, times): hours since the link was touched, a year where it never was."""
        return np.minimum((self.at_s[None, :] - self.touched_s) / 3600.0, _LONG_AGO_H).astype(np.float32)

    def tickets_within(self, span: timedelta) -> Floats:
        """Shape (ports, times): tickets opened on the link within the span before each time."""
        opened = self._by_link("opened_at")
        out = np.zeros((len(self.links), len(self.at)), np.float32)
        for p, link in enumerate(self.links):
            if times := opened.get(link):
                out[p] = self._count(times, span)
        return out

    def _count(self, times: list[float], span: timedelta) -> Floats:
        known = np.sort(times)
        upto = np.searchsorted(known, self.at_s, side="right")
        return (upto - np.searchsorted(known, self.at_s - span.total_seconds(), side="right")).astype(np.float32)

    @cached_property
    def neighbour_touches(self) -> Floats:
        """Shape (ports, times): repairs of the device's other links within 48 h: hands disturb neighbours."""
        by_device: dict[tuple[str, str], list[tuple[float, str]]] = {}
        tickets = self.fleet.tickets.filter(pl.col("closed_at").is_not_null())
        for site, device, interface, when in tickets.select("site", "device", "interface", "closed_at").iter_rows():
            by_device.setdefault((site, device), []).append((when.timestamp(), self._link(site, device, interface)))
        out = np.zeros((len(self.links), len(self.at)), np.float32)
        for (site, device, _), p in self.cube.port_of.items():
            if others := [when for when, link in by_device.get((site, device), ()) if link != self.links[p]]:
                out[p] = self._count(others, _NEIGHBOUR_TOUCH)
        return out

    @cached_property
    def lot_excess(self) -> Floats:
        """Shape (ports, times): log2 of a lot's tickets over those expected at the fleet's rate, shrunk by two."""
        frame = self.table.frame
        lots = (frame["part_number"].fill_null("") + "/" + frame["lot"].fill_null("")).to_list()
        since = [when.timestamp() if when else -np.inf for when in frame["installed_at"]]
        keys = frame.select("site", "device", "interface", "serial").iter_rows()
        module = {key: (lot, start) for key, lot, start in reversed(list(zip(keys, lots, since, strict=True)))}
        made, failed = _times_of(lots, since), dict[str, list[float]]()
        for *key, when in self.fleet.tickets.select("site", "device", "interface", "serial", "opened_at").iter_rows():
            if found := module.get(tuple(key)):
                failed.setdefault(found[0], []).append(max(when.timestamp(), found[1]))  # both must be known
        numbers = {lot: i for i, lot in enumerate(made)}
        installed = np.array([self._upto(times) for times in made.values()]).reshape(-1, len(self.at))
        opened = np.array([self._upto(failed.get(lot, [])) for lot in made]).reshape(-1, len(self.at))
        rate = opened.sum(axis=0) / np.maximum(installed.sum(axis=0), 1.0)
        excess = np.vstack([np.log2((opened + 2) / (installed * rate + 2)), np.zeros(len(self.at))])
        lot = np.array([*(numbers[name] for name in lots), len(made)])
        return np.take_along_axis(excess.astype(np.float32), lot[self.installation], axis=0)

    def _upto(self, times: list[float]) -> Floats64:
        return np.searchsorted(np.sort(times), self.at_s, side="right").astype(np.float64)


def _times_of(names: list[str], times: list[float]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for name, when in zip(names, times, strict=True):
        found.setdefault(name, []).append(when)
    return found
