"""Lane rows with the port's columns repeated on each: taken apart into lane and port samples."""

from typing import Final

import polars as pl

from ingest.export_values import TYPES
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

__all__ = ["Splitter"]

_PORT: Final = ["site", "device", "interface"]
_READING: Final = [*_PORT, "time"]
_LANE_VALUES: Final = [
    name
    for name in LANE_SAMPLES.schema.names
    if name not in (*_READING, "received_at", "lane", "serial", "quality", "source")
]
_PORT_VALUES: Final = [
    name
    for name in PORT_SAMPLES.schema.names
    if name not in (*_READING, "received_at", "quality", "source", "pre_fec_ber")
]


class Splitter:
    """Splits the batches of one file; it remembers what must not depend on where a batch ends.

    * A port's sample is the greatest of what its lanes' rows say, nulls apart: as they
      repeat it, that is what they say; a flag given lane by lane is up if any is.
    * ``pre_fec_ber`` is the port's where the row is for lane 0, or where all lanes of
      the port always say the same; otherwise each lane's own. ``port_pre_fec_ber`` is always the port's.
    * A lane without any value (copper, a module without DOM) makes no lane sample.
    """

    def __init__(self) -> None:
        self._own_ber = pl.DataFrame(schema=dict.fromkeys(_PORT, pl.String))
        self._seen = pl.DataFrame(schema={"hash": pl.UInt64})

    def split(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Lane samples and port samples of a cleaned batch.

        Args:
            rows: `_READING`, lane, quality, and any other columns of both tables.
        """
        rows = rows.with_columns(pl.lit(None, TYPES[name]).alias(name) for name in _ABSENT if name not in rows.columns)
        ports = self._ports(rows)
        shared = self._shared_ber(ports)
        lanes = self._lanes(rows, shared)
        ports = (
            ports.join(shared.with_columns(shared=True), on=_PORT, how="left")
            .with_columns(
                pre_fec_ber=pl.coalesce("port_ber", pl.when("shared").then("ber_high")),
                received_at="time",
                source=pl.lit("file"),
            )
            .drop("port_ber", "ber_low", "ber_high", "ber_lanes", "shared")
        )
        return lanes, self._unseen(ports)

    def _lanes(self, rows: pl.DataFrame, shared: pl.DataFrame) -> pl.DataFrame:
        if shared.height:
            rows = rows.join(shared.with_columns(shared=True), on=_PORT, how="left", maintain_order="left")
        else:
            rows = rows.with_columns(shared=pl.lit(None, pl.Boolean))
        present = [name for name in _LANE_VALUES if name in rows.columns]
        ports = pl.col("shared").fill_null(value=False) | (pl.col("lane") == 0)
        return (
            rows.with_columns(pl.when(~ports).then("pre_fec_ber").alias("pre_fec_ber"))
            .filter(pl.any_horizontal(pl.col(present).is_not_null()))
            .select(*_READING, "lane", "serial", "quality", *present, received_at="time", source=pl.lit("file"))
        )

    def _ports(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row a reading; the BER's spread over lanes beside it."""
        lane_ber = pl.col("pre_fec_ber").filter((pl.col("lane") > 0) & (pl.col("pre_fec_ber") > 0))
        values = [name for name in _PORT_VALUES if name in rows.columns]
        return rows.group_by(_READING, maintain_order=True).agg(
            *(pl.col(name).drop_nulls().first() if name == "fec_bins" else pl.col(name).max() for name in values),
            pl.col("quality").bitwise_or(),
            pl.coalesce(
                pl.col("port_pre_fec_ber").max(), pl.col("pre_fec_ber").filter(pl.col("lane") == 0).max()
            ).alias("port_ber"),
            lane_ber.min().alias("ber_low"),
            pl.col("pre_fec_ber").filter(pl.col("lane") > 0).max().alias("ber_high"),
            lane_ber.len().alias("ber_lanes"),
        )

    def _shared_ber(self, ports: pl.DataFrame) -> pl.DataFrame:
        """Ports whose lanes all say the same, wherever more than one says anything."""
        same = (
            ports.lazy()
            .filter(pl.col("ber_lanes") > 1)
            .group_by(_PORT)
            .agg((pl.col("ber_low") == pl.col("ber_high")).all().alias("same"))
            .collect()
        )
        self._own_ber = pl.concat([self._own_ber, same.filter(~pl.col("same")).select(_PORT)]).unique()
        return same.filter("same").select(_PORT).join(self._own_ber, on=_PORT, how="anti")

    def _unseen(self, ports: pl.DataFrame) -> pl.DataFrame:
        """Without readings that an earlier batch had: a file may go lane by lane.

        A 64-bit hash stands for a reading: of ten million the chance that two collide is 3e-6.
        """
        hashes = ports.select(hash=pl.struct(_READING).hash())
        fresh = ports.with_columns(hashes).join(self._seen, on="hash", how="anti", maintain_order="left")
        self._seen = pl.concat([self._seen, fresh.select("hash")], rechunk=False)
        return fresh.drop("hash")


_ABSENT: Final = ("serial", "pre_fec_ber", "port_pre_fec_ber")
