"""The fleet in numbers, worked out once a run and kept: by device, by part number, by age, by failure type."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from features.fleet import PORT
from ingest.lake import Lake
from ingest.schema import MODULES, TICKETS, FailureType
from serving.snapshot import Snapshot

__all__ = ["DeviceRow", "FleetView", "Group", "MixRow", "fleet_view"]

_RISK: Final = "risk_168h"
_DAY: Final = "risk_24h"
_AGES: Final = ((30, "under 30 days"), (90, "30 to 90 days"), (365, "90 days to a year"), (1095, "1 to 3 years"))
_OLDEST: Final = "over 3 years"
_YEAR: Final = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A device: how its ports are, and whether it reports.

    Attributes:
        newest_at: of its newest reading that was used; None where no module of it gave one.
        highest: risk within a day of its worst port; None where none could be scored.
        ports: interface and risk within a day, in the order of the names.
    """

    site: str
    device: str
    modules: int
    unknown: int
    newest_at: datetime | None
    highest: float | None
    ports: tuple[tuple[str, float | None], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Modules that have something in common.

    Attributes:
        expected: failures of links that their risks promise within a week, a link counted at each of its ends.
        mean: risk within a week.
        unknown: could not be scored, and are in no mean.
    """

    name: str
    modules: int
    unknown: int
    expected: float
    mean: float | None


@dataclass(frozen=True, slots=True)
class MixRow:
    """A failure type: of alarms that stand, of what risks promise within a week, of tickets of the last year."""

    kind: str
    standing: int
    expected: float
    tickets: int


@dataclass(frozen=True, slots=True)
class FleetView:
    """What the page is made of.

    Attributes:
        version: of the store that it was worked out of.
        devices: the riskiest first, then by name.
        silent: modules of the inventory that the latest run has no row of, by site and device.
    """

    version: tuple[int, int]
    devices: tuple[DeviceRow, ...]
    parts: tuple[Group, ...]
    ages: tuple[Group, ...]
    mix: tuple[MixRow, ...]
    silent: tuple[tuple[str, str, int], ...]


def fleet_view(lake: Lake, snapshot: Snapshot, now: datetime) -> FleetView:
    """Work it out; seconds for a large fleet, so not on the event loop."""
    scores = snapshot.scores.rows
    if snapshot.run is None or scores.is_empty():
        return FleetView(snapshot.version, (), (), (), (), ())
    modules = _modules(lake, now)
    known = scores.join(modules, on=PORT, how="left")
    age = (pl.lit(snapshot.run.at) - pl.col("installed_at")).dt.total_days()
    aged = known.with_columns(group=_age_name(age))
    parts = known.with_columns(group=pl.col("part_number").fill_null("not in the inventory"))
    silent = (
        modules.join(scores.select(PORT), on=PORT, how="anti").group_by("site", "device").len().sort("site", "device")
    )
    return FleetView(
        snapshot.version,
        tuple(_devices(scores, snapshot.run.at)),
        tuple(sorted(_groups(parts), key=lambda group: -group.expected)),
        tuple(_in_order(list(_groups(aged)))),
        tuple(_mix(lake, snapshot, scores, now)),
        tuple(silent.iter_rows()),
    )


def _modules(lake: Lake, now: datetime) -> pl.DataFrame:
    """The module in each cage now."""
    rows = lake.latest(MODULES, columns=[*PORT, "part_number", "installed_at", "removed_at"])
    there = rows.filter(pl.col("removed_at").is_null() | (pl.col("removed_at") > now))
    known = there.filter(pl.col("installed_at").is_null() | (pl.col("installed_at") <= now)).collect()
    return known.sort("installed_at", nulls_last=False).unique(PORT, keep="last").drop("removed_at")


def _age_name(days: pl.Expr) -> pl.Expr:
    named = pl.lit(_OLDEST)
    for limit, name in reversed(_AGES):
        named = pl.when(days < limit).then(pl.lit(name)).otherwise(named)
    return pl.when(days.is_null()).then(pl.lit("not known")).otherwise(named)


def _in_order(groups: list[Group]) -> list[Group]:
    order = [*(name for _, name in _AGES), _OLDEST, "not known"]
    return sorted(groups, key=lambda group: order.index(group.name))


def _devices(scores: pl.DataFrame, at: datetime) -> Iterator[DeviceRow]:
    risk = pl.col(_DAY).fill_nan(None)
    rows = (
        scores.sort(PORT)
        .group_by("site", "device", maintain_order=True)
        .agg(
            modules=pl.len(),
            unknown=(pl.col("status") != "scored").sum(),
            age_s=pl.col("data_age_s").min(),
            highest=risk.max(),
            interface=pl.col("interface"),
            risk=risk,
        )
    )
    for row in rows.sort("highest", descending=True, nulls_last=True, maintain_order=True).iter_rows(named=True):
        yield DeviceRow(
            row["site"],
            row["device"],
            row["modules"],
            row["unknown"],
            None if row["age_s"] is None else at - timedelta(seconds=row["age_s"]),
            row["highest"],
            tuple(zip(row["interface"], row["risk"], strict=True)),
        )


def _groups(rows: pl.DataFrame) -> Iterator[Group]:
    risk = pl.col(_RISK).fill_nan(None)
    found = rows.group_by("group").agg(
        modules=pl.len(), unknown=(pl.col("status") != "scored").sum(), expected=risk.sum(), mean=risk.mean()
    )
    for row in found.sort("group").iter_rows(named=True):
        yield Group(row["group"], row["modules"], row["unknown"], row["expected"], row["mean"])


def _mix(lake: Lake, snapshot: Snapshot, scores: pl.DataFrame, now: datetime) -> Iterator[MixRow]:
    standing = Counter(alarm.failure_type for alarm in snapshot.standing.values())
    share = pl.col("type_probabilities").struct
    expected: dict[str, Any] = scores.select(
        (pl.col(_RISK) * share.field(kind)).fill_nan(None).sum().alias(kind) for kind in FailureType
    ).row(0, named=True)
    lately = lake.latest(TICKETS).filter(pl.col("opened_at") > now - _YEAR, pl.col("opened_at") <= now)
    tickets = dict(lately.group_by("failure_type").len().collect().iter_rows())
    for kind in FailureType:
        row = MixRow(kind, standing[kind], expected[kind] / 2, tickets.get(kind, 0))
        if row.standing or row.expected > 0 or row.tickets:
            yield row
    if standing[None] or tickets.get(None):
        yield MixRow("not known", standing[None], 0.0, tickets.get(None, 0))
