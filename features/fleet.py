"""The fleet as records say it: modules, links, tickets, repairs and maintenance, and what was known at a time.

``as_of`` is the one place that decides what an operator could have known: training, back-test,
scoring and the service all look at the fleet through it. Telemetry has no part here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Self, cast

import polars as pl

from ingest.schema import LINKS, MAINTENANCE, MODULES, REPAIRS, TICKETS, Table

if TYPE_CHECKING:
    from ingest.lake import Lake

__all__ = ["COPPER_KINDS", "COPPER_MEDIA", "NO_OPTICS", "PORT", "Fleet", "is_copper", "polars_schema", "port_name"]

PORT: Final = ("site", "device", "interface")
"""What names a cage in every table."""

COPPER_KINDS: Final = ("dac", "acc", "aec")
"""Kinds of links that carry no light: nothing optical can be read of them."""
NO_OPTICS: Final = "the link is copper: there are no optics in it"
"""Why such a link has no features, no risk and no alarm, and its tickets count for nothing."""

COPPER_MEDIA: Final = (
    r"(?i)(?:^|[^A-Z])(?:CU|CR\d*|DAC|ACC|AEC|COPPER)(?:[^A-Z]|$)|CU\d+M|BASE-?(?:CU|CR|T(?:[^A-Z]|$))"
)
"""What names of copper media look like [IEEE 802.3 -CR and -T, vendors' CU3M, DAC and the like]."""
_RANK: Final = {"file": 0, "lldp": 1}
_TABLES: Final = {table.name: table for table in (MODULES, LINKS, TICKETS, REPAIRS, MAINTENANCE)}


def polars_schema(table: Table) -> pl.Schema:
    """Column names and polars types of a canonical table.

    >>> polars_schema(TICKETS)["device"]
    String
    """
    return cast("pl.DataFrame", pl.from_arrow(table.schema.empty_table())).schema


def is_copper(kind: str = "kind", media: str = "media") -> pl.Expr:
    """Whether a link or module is copper, by its kind or else by its media; unknown is not copper."""
    by_kind = pl.col(kind).str.to_lowercase().is_in(COPPER_KINDS).fill_null(value=False)
    return by_kind | pl.col(media).str.contains(COPPER_MEDIA).fill_null(value=False)


def _cast(frame: pl.DataFrame | None, table: Table) -> pl.DataFrame:
    """The frame in a table's columns and types: what it lacks is null, and ``site`` "default"."""
    schema = polars_schema(table)
    if frame is None:
        return schema.to_frame()
    missing = [pl.lit(None).alias(name) for name in schema if name not in frame.columns]
    sites = [name for name in schema if name == "site" or name.endswith("_site")]
    return (
        frame.with_columns(missing)
        .with_columns(pl.col(name).cast(pl.String).fill_null("default") for name in sites)
        .select(pl.col(name).cast(kind) for name, kind in schema.items())
    )


def _known(column: str, at: datetime) -> pl.Expr:
    """What happened by then; a null time is "always"."""
    return pl.col(column).is_null() | (pl.col(column) <= at)


def _until(at: datetime, when: str, *columns: str) -> list[pl.Expr]:
    """The columns, null where their time ``when`` lies after ``at`` or is null."""
    return [pl.when(pl.col(when) <= at).then(pl.col(name)).alias(name) for name in columns]


def port_name(prefix: str = "") -> pl.Expr:
    """``device:interface``, with the site in front where it is not the default one.

    Args:
        prefix: of the columns site, device, interface.
    """
    site, device, interface = (pl.col(f"{prefix}{name}") for name in PORT)
    where = pl.when(site == "default").then(pl.lit("")).otherwise(pl.concat_str(site, pl.lit("/")))
    return pl.concat_str(where, device, pl.lit(":"), interface)


@dataclass(frozen=True)
class Fleet:
    """Records of the fleet, each a frame with the columns of its canonical table.

    Attributes:
        modules: installations: (site, device, interface, serial, installed_at), with limits.
        links: two endpoints a row.
        tickets: failures as operators wrote them down.
        repairs: what was done, in order.
        maintenance: announced work.
    """

    modules: pl.DataFrame
    links: pl.DataFrame
    tickets: pl.DataFrame
    repairs: pl.DataFrame
    maintenance: pl.DataFrame

    @classmethod
    def from_frames(cls, **frames: pl.DataFrame | None) -> Self:
        """A fleet of the frames given by table name; missing columns and tables are empty."""
        tables = {
            "modules": MODULES,
            "links": LINKS,
            "tickets": TICKETS,
            "repairs": REPAIRS,
            "maintenance": MAINTENANCE,
        }
        if unknown := set(frames) - set(tables):
            msg = f"a fleet has no {', '.join(sorted(unknown))}; it has {', '.join(tables)}"
            raise TypeError(msg)
        return cls(**{name: _cast(frames.get(name), table) for name, table in tables.items()})

    @classmethod
    def load(cls, lake: "Lake") -> Self:
        """The fleet as the lake's small tables say it now; an absent table is empty."""
        return cls.from_frames(**{name: lake.latest(table).collect() for name, table in _TABLES.items()})

    def as_of(self, at: datetime) -> Self:
        """The same fleet as far as it was known at ``at``: the future is not there, nor hinted at."""
        return replace(
            self,
            modules=self.modules.filter(_known("installed_at", at)).with_columns(
                _until(at, "removed_at", "removed_at")
            ),
            links=_believed(
                self.links.filter(_known("valid_from", at)).with_columns(_until(at, "valid_to", "valid_to"))
            ).filter(pl.col("valid_to").is_null()),
            tickets=self.tickets.filter(pl.col("opened_at") <= at)
            .with_columns(_until(at, "closed_at", "failure_type", "action", "bench_verdict", "closed_at"))
            .with_columns(_until(at, "drained_at", "drained_at")),
            repairs=self.repairs.filter(pl.col("at") <= at),
            maintenance=self.maintenance.filter(pl.col("announced_at").fill_null(pl.col("start")) <= at),
        )

    def in_cages(self) -> pl.DataFrame:
        """The module in each cage: one row a port, the latest installation that is not removed."""
        return (
            self.modules.filter(pl.col("removed_at").is_null())
            .sort("installed_at", nulls_last=False)
            .unique(PORT, keep="last", maintain_order=True)
        )

    def ends(self) -> pl.DataFrame:
        """One row a link and end, both ends whether or not they have inventory or telemetry.

        Columns: link_id, end ("a" or "z"), site, device, interface, kind, media (of this end), copper, peer_site,
        peer_device, peer_interface, valid_from, valid_to. A port known from the inventory but in no link is a link
        of its own with null peers. A twin-port or breakout cage has a row for each of its links.
        """
        links = _distinct(self.links)
        sides = [_side(links, "a", "z"), _side(links, "z", "a")]
        media = self.modules.sort("installed_at", nulls_last=False).unique(PORT, keep="last").select(*PORT, "media")
        linked = pl.concat(sides)
        alone = _alone(media.join(linked, on=PORT, how="anti"), linked.schema)
        return (
            pl.concat([linked, alone])
            .join(media, on=PORT, how="left", maintain_order="left")
            .with_columns(copper=is_copper().any().over("link_id"))
            .sort("link_id", "end")
        )


def _pair() -> pl.Expr:
    """A link by its two ports, in one order."""
    a, z = port_name("a_"), port_name("z_")
    return pl.when(a < z).then(pl.concat_str(a, pl.lit("--"), z)).otherwise(pl.concat_str(z, pl.lit("--"), a))


def _believed(links: pl.DataFrame) -> pl.DataFrame:
    """What a file says of a port overrides LLDP for as long as it says it, and of the same link for good.

    LLDP's rows that a file contradicts are cut to the time before it or after it; what never stood is left out.
    """
    rows = links.with_row_index("row").with_columns(pair=_pair(), told=pl.col("source").fill_null("file") == "lldp")
    ports = pl.concat(rows.with_columns(port=port_name(f"{end}_")) for end in "az")
    filed = ports.filter(~pl.col("told")).select("port", filed="pair", since="valid_from", until="valid_to")
    met = (
        ports.filter("told")
        .join(filed, on="port")
        .filter(
            (pl.col("since") < pl.col("valid_to")).fill_null(value=True),
            (pl.col("until") > pl.col("valid_from")).fill_null(value=True),
        )
        .with_columns(
            later=(pl.col("since") > pl.col("valid_from")).fill_null(value=False) & (pl.col("filed") != pl.col("pair")),
            ever=pl.col("until").is_null() | (pl.col("filed") == pl.col("pair")),
        )
        .group_by("row")
        .agg(
            (pl.col("ever") & ~pl.col("later")).any().alias("never"),
            pl.col("until").filter(~pl.col("later")).max().alias("after"),
            pl.col("since").filter("later").min().alias("before"),
        )
    )
    return (
        rows.join(met, on="row", how="left", maintain_order="left")
        .with_columns(
            valid_from=pl.max_horizontal("valid_from", "after"), valid_to=pl.min_horizontal("valid_to", "before")
        )
        .filter(
            ~pl.col("never").fill_null(value=False),
            ~pl.col("told") | (pl.col("valid_to") > pl.col("valid_from")).fill_null(value=True),
        )
        .select(links.columns)
    )


def _distinct(links: pl.DataFrame) -> pl.DataFrame:
    """One row a link: told by both ends it is one, and what a file says of a port overrides LLDP."""
    rank = pl.col("source").replace_strict(_RANK, default=0)
    named = _believed(links).with_columns(pair=_pair(), rank=rank)
    distinct = (
        named.filter(port_name("a_") != port_name("z_"))
        .sort("rank", "valid_from", nulls_last=False)
        .group_by("pair", maintain_order=True)
        .agg(pl.col(f"{end}_{name}").first() for end in "az" for name in PORT)
    )
    spans = named.group_by("pair").agg(
        pl.col("cable_id").drop_nulls().first(),
        pl.col("kind").drop_nulls().first(),
        valid_from=pl.when(pl.col("valid_from").is_null().any()).then(None).otherwise(pl.col("valid_from").min()),
        valid_to=pl.when(pl.col("valid_to").is_null().any()).then(None).otherwise(pl.col("valid_to").max()),
    )
    shared = pl.len().over("cable_id") > 1
    name = (
        pl.when(pl.col("cable_id").is_null())
        .then(pl.col("pair"))
        .when(shared)
        .then(pl.concat_str("cable_id", pl.lit(":"), "pair"))
        .otherwise(pl.col("cable_id"))
    )
    return distinct.join(spans, on="pair", how="left").with_columns(link_id=name)


def _side(links: pl.DataFrame, end: str, peer: str) -> pl.DataFrame:
    """One end of each link, with the other as its peer."""
    return links.select(
        "link_id",
        pl.lit(end).alias("end"),
        *(pl.col(f"{end}_{name}").alias(name) for name in PORT),
        "kind",
        *(pl.col(f"{peer}_{name}").alias(f"peer_{name}") for name in PORT),
        "valid_from",
        "valid_to",
    )


def _alone(ports: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Ports in no link, each a link of its own named after the port."""
    named = ports.select(*PORT, *(pl.col(name).alias(f"a_{name}") for name in PORT))
    return (
        named.with_columns(link_id=port_name("a_"), end=pl.lit("a"))
        .with_columns(pl.lit(None).alias(name) for name in schema if name not in {"link_id", "end", *PORT})
        .select(pl.col(name).cast(kind) for name, kind in schema.items())
    )
