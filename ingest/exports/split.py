"""Lane rows with the port's columns repeated on each: taken apart into lane and port samples."""

from typing import Final

import polars as pl

from ingest.exports.values import TYPES
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

__all__ = ["Splitter"]

_READING: Final = ["site", "device", "interface", "time"]
_LANE_VALUES: Final = [
    name
    for name in LANE_SAMPLES.schema.names
    if name not in (*_READING, "received_at", "lane", "serial", "quality", "source")
]
_PORT_VALUES: Final = [
    name for name in PORT_SAMPLES.schema.names if name not in (*_READING, "received_at", "source", "pre_fec_ber")
]
_TEXT: Final = pl.Categorical()
_HELD_ROWS: Final = 100_000
_FILE: Final = pl.lit("file").cast(_TEXT).alias("source")


class Splitter:
    """Splits the batches of one file, so that it does not matter where a batch ends.

    * A port's sample is the greatest of what its lanes' rows say, nulls apart: as they
      repeat it, that is what they say; a flag given lane by lane is up if any is.
    * ``pre_fec_ber`` is the lane's where the row names one, and the port's where it is
      for lane 0; ``port_pre_fec_ber`` is the port's, as
      ``port_quality`` is. So a row means the same wherever it stands.
    * A lane without any value (copper, a module without DOM) makes no lane sample.

    Attributes:
        held: rows at the end of the last batch, whose reading may go on in the next one.
    """

    def __init__(self) -> None:
        self.held = pl.DataFrame()
        self._seen = _Readings()
        self._codes = pl.Series(["default"], dtype=_TEXT)  # codes of categories stay as long as one column lives

    def split(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Lane samples and port samples of a cleaned batch.

        Args:
            rows: `_READING`, lane, quality, and any other columns of both tables.
        """
        rows = pl.concat([self.held, rows]) if self.held.height else rows
        keep = _whole(rows)
        self.held = rows.slice(keep)
        return self._split(rows.head(keep))

    def rest(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The samples of what is held back, when no batch follows."""
        rows, self.held = self.held, self.held.clear()
        return self._split(rows)

    def _split(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        absent = [name for name in _ABSENT if name not in rows.columns]
        rows = rows.with_columns(pl.lit(None, _kind(name)).alias(name) for name in absent)
        if rows.get_column("lane").min() == 0:
            of_port = pl.when(pl.col("lane") == 0).then("pre_fec_ber")
            rows = rows.with_columns(
                pl.when(pl.col("lane") != 0).then("pre_fec_ber").alias("pre_fec_ber"),
                port_pre_fec_ber=pl.max_horizontal("port_pre_fec_ber", of_port),
            )
        return _lanes(rows), self._seen.first(_ports(rows))


def _kind(name: str) -> pl.DataType:
    """As a file has a column that is there: files that have it and files that do not go together."""
    return _TEXT if TYPES[name] == pl.String else TYPES[name]


def _whole(rows: pl.DataFrame) -> int:
    """Rows before those at the end that share one time: they may be a sweep that goes on, or at least one reading."""
    time = rows.get_column("time")
    for marks in ((time != time.shift()).fill_null(value=True), _starts(rows)):
        begins = marks.reverse().arg_max()
        if begins is not None and begins < _HELD_ROWS:
            return rows.height - begins - 1
    return rows.height


def _lanes(rows: pl.DataFrame) -> pl.DataFrame:
    present = [name for name in _LANE_VALUES if name in rows.columns]
    if all(rows.get_column(name).null_count() for name in present):
        rows = rows.filter(pl.any_horizontal(pl.col(present).is_not_null()))
    return rows.select(*_READING, "lane", "serial", "quality", *present, _FILE, received_at="time")


def _ports(rows: pl.DataFrame) -> pl.DataFrame:
    """One row a reading. Rows of a reading mostly stand together: then a change of name or time begins the next one."""
    starts = _starts(rows)
    if _hashes(rows.filter(starts)).is_duplicated().any():
        rows = rows.sort(_READING, maintain_order=True)
        starts = _starts(rows)
    values = [name for name in (*_PORT_VALUES, "port_pre_fec_ber", "port_quality") if name in rows.columns]
    repeated = rows.select((pl.col(name).eq_missing(pl.col(name).shift()) | starts).all() for name in values)
    differ = [name for name in values if not repeated.get_column(name).item()]
    ports = rows.select(*_READING, *(name for name in values if name not in differ)).filter(starts)
    if differ:
        runs = rows.select(differ).with_columns(starts.cum_sum().set_sorted().alias("run"))
        ports = ports.hstack(runs.group_by("run", maintain_order=True).agg(map(_greatest, differ)).drop("run"))
    if "port_quality" in ports.columns:
        ports = ports.with_columns(quality=pl.coalesce("port_quality", "quality")).drop("port_quality")
    return ports.rename({"port_pre_fec_ber": "pre_fec_ber"}).with_columns(_FILE, received_at="time")


def _starts(rows: pl.DataFrame) -> pl.Series:
    """Where a row is of another reading than the one before it."""
    codes = [pl.col(name).to_physical() for name in _READING]
    return rows.select(pl.any_horizontal(code != code.shift() for code in codes).fill_null(value=True)).to_series()


def _greatest(name: str) -> pl.Expr:
    if name in ("quality", "port_quality"):
        return pl.col(name).bitwise_or()
    return pl.col(name).drop_nulls().first() if name == "fec_bins" else pl.col(name).max()


def _hashes(readings: pl.DataFrame) -> pl.Series:
    """A 64-bit hash stands for a reading: of ten million the chance that two collide is 3e-6."""
    return readings.select(pl.struct(pl.col(name).to_physical() for name in _READING).hash()).to_series()


class _Readings:
    """Readings of earlier batches: a file may go lane by lane, and a batch may end within a reading."""

    def __init__(self) -> None:
        self._hashes = pl.Series(dtype=pl.UInt64)
        self._newest = pl.DataFrame(schema={"port": pl.UInt64, "newest": TYPES["time"]})

    def first(self, ports: pl.DataFrame) -> pl.DataFrame:
        """Those that no earlier batch had."""
        hashes = _hashes(ports)
        spans = (
            ports.select(port=pl.struct(pl.col(name).to_physical() for name in _READING[:-1]).hash(), time="time")
            .group_by("port")
            .agg(oldest=pl.col("time").min(), newest=pl.col("time").max())
        )
        again = spans.join(self._newest.rename({"newest": "before"}), on="port")
        if again.select((pl.col("oldest") <= pl.col("before")).any()).item():
            fresh = ~hashes.is_in(self._hashes.implode())
            ports, hashes = ports.filter(fresh), hashes.filter(fresh)
        self._hashes = self._hashes.append(hashes)
        self._newest = pl.concat([self._newest, spans.select("port", "newest")]).group_by("port").max()
        return ports


_ABSENT: Final = ("serial", "pre_fec_ber", "port_pre_fec_ber")
