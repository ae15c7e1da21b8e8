"""Cells of telemetry files: any type in, canonical types out, and what cannot be is named.

A value is impossible where the register it comes from cannot hold it, or where it is
the register with all bits set, which is what an unread or broken module answers:
0xFFFF x 2 uA = 131.07 mA, -128 C, 8.16 dBm (SFF-8472 rev 12.4, table 9-16; CMIS 5.2,
table 8-62 and the bias multiplier of byte 01h:160).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ingest.plain import CONTROLS
from ingest.quarantine import Kind
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES
from ingest.units import NO_LIGHT_DBM
from ingest.utc import END, FIRST

__all__ = ["ROW_COLUMNS", "TYPES", "Check", "checks", "lossy", "raw_name", "settled", "typed", "unplain", "utc"]

_LANE_TYPES = pl.from_arrow(LANE_SAMPLES.schema.empty_table())
_PORT_TYPES = pl.from_arrow(PORT_SAMPLES.schema.empty_table())
assert isinstance(_LANE_TYPES, pl.DataFrame)  # noqa: S101 - a table becomes a frame, not a series
assert isinstance(_PORT_TYPES, pl.DataFrame)  # noqa: S101 - as above
_BESIDE: Final = {"port_pre_fec_ber": pl.Float64(), "port_quality": pl.Int16()}  # the port's own, beside a lane's
TYPES: Final[dict[str, pl.DataType]] = {
    name: kind
    for name, kind in {**_PORT_TYPES.schema, **_LANE_TYPES.schema, **_BESIDE}.items()
    if name not in ("received_at", "source")
}
"""Every column that a telemetry file may have, and what it becomes; text is kept as categories."""

ROW_COLUMNS: Final = ("time", "site", "device", "interface", "lane")
"""What a row cannot do without; ``site`` is "default" and ``lane`` 0 where nothing is said."""

_MISSING: Final = ("", "n/a", "na", "nan", "null", "none", "-", "--")
_TRUE: Final = ("true", "t", "1", "1.0", "yes", "y", "up", "on")
_FALSE: Final = ("false", "f", "0", "0.0", "no", "n", "down", "off")
_MAX_LANE: Final = 16  # CMIS: two banks of eight
_ALL_ONES_MA: Final = (131.07, 262.14, 524.28)
_LSB: Final = 0.004  # all ones come back from float32 and rounded scaling a little off

_COUNTERS: Final = {name: (0, 2**63 - 1) for name, kind in TYPES.items() if kind == pl.Int64}
_RANGES: Final = {
    "tx_power_dbm": (NO_LIGHT_DBM, 8.16),
    "rx_power_dbm": (NO_LIGHT_DBM, 8.16),
    "tx_bias_ma": (0.0, 524.27),
    "pre_fec_ber": (0.0, 1.0),
    "port_pre_fec_ber": (0.0, 1.0),
    "snr_db": (0.0, 255.99),
    "host_snr_db": (0.0, 255.99),
    "laser_temperature_c": (-127.99, 127.98),
    "temperature_c": (-127.99, 127.98),
    "voltage_v": (0.0, 6.5534),
}
_POWERS: Final = ("tx_power_dbm", "rx_power_dbm")
_NAMES: Final = ("device", "interface")
_WHOLE: Final = (0, 2**15 - 1)
_SOUND: Final = _RANGES | {"tx_bias_ma": (0.0, 131.0), "lane": (0, _MAX_LANE)} | _COUNTERS
"""What numbers may be without a closer look."""


@dataclass(frozen=True, slots=True)
class Check:
    """Where one column of a typed batch is wrong: ``wrong`` is over the raw and the typed columns."""

    column: str
    kind: Kind
    reason: str
    wrong: pl.Expr


_RAW: Final = "raw:"


def raw_name(name: str) -> str:
    """What ``typed`` calls a column as the file has it."""
    return f"{_RAW}{name}"


def _raw(name: str) -> pl.Expr:
    return pl.col(raw_name(name))


def settled(batch: pl.DataFrame) -> list[pl.Expr]:
    """The columns in which nothing can be wrong, each as it becomes, told from their least and greatest values."""
    numbers = [name for name, kind in batch.schema.items() if name == "time" or kind.is_numeric()]
    spans = batch.select(pl.struct(_ends(name, batch.schema[name])).alias(name) for name in numbers)
    sound = [
        name
        for name, span in spans.row(0, named=True).items()
        if span["low"] is None or _is_within(name, batch.schema[name], span["low"], span["high"])
    ]
    sound = [name for name in sound if name not in ROW_COLUMNS or not batch.get_column(name).null_count()]
    sound += [name for name in batch.columns if name not in numbers and _is_clean(batch.get_column(name))]
    return [pl.col(name).cast(pl.Categorical() if TYPES[name] == pl.String else TYPES[name]) for name in sound]


def _ends(name: str, kind: pl.DataType) -> list[pl.Expr]:
    """The least and greatest value, NaN where there is one: it lies in no range."""
    column = pl.col(name)
    least, most = (column.nan_min(), column.nan_max()) if kind.is_float() else (column.min(), column.max())
    return [least.alias("low"), most.alias("high")]


def _is_within(name: str, kind: pl.DataType, low: Any, high: Any) -> bool:
    """Whether numbers in this range need neither care in casting nor any check."""
    if name == "time":
        return kind == TYPES[name] and bool(low >= FIRST and high <= END)
    if TYPES[name].is_integer() and not kind.is_integer():
        return False
    first, last = _SOUND.get(name, _WHOLE)
    return bool(low >= first and high <= last)


def _is_clean(values: pl.Series) -> bool:
    """Whether names or flags can be taken as they are."""
    name, kind = values.name, values.dtype
    if TYPES[name] == pl.String:
        return isinstance(kind, pl.Categorical) and not (name in _NAMES and values.null_count()) and _tidy(values)
    return kind == TYPES[name]


def typed(batch: pl.DataFrame) -> pl.DataFrame:
    """The batch with each column cast, and its raw form beside it under its ``raw_name``.

    What cannot be cast is null; NaN is null; a power at or below the floor, -inf too, is no light.
    """
    names = [name for name in batch.columns if TYPES[name] == pl.String]
    tidy = [name for name in names if _tidy(batch.get_column(name))]
    rows = batch.rename(raw_name).with_columns(
        _raw(name).cast(pl.Categorical()).alias(name) if name in tidy else _cast(name, kind).alias(name)
        for name, kind in batch.schema.items()
    )
    again = [name for name in lossy(batch, rows) if batch.schema[name] == pl.String and name not in (*names, "time")]
    return rows.with_columns(_cast(name, pl.String(), patient=True).alias(name) for name in again)


def lossy(batch: pl.DataFrame, rows: pl.DataFrame) -> list[str]:
    """Columns that are null in `rows` where they are not in `batch`."""
    return [name for name in batch.columns if rows.get_column(name).null_count() > batch.get_column(name).null_count()]


def _tidy(names: pl.Series) -> bool:
    """Whether nothing is to be trimmed or dropped; a million rows have few names, so this is cheaper than doing it."""
    distinct = _distinct(names)
    unclean = (distinct != distinct.str.strip_chars()) | distinct.str.to_lowercase().is_in(_MISSING)
    return not (unclean | distinct.str.contains(CONTROLS)).any()


def _distinct(names: pl.Series) -> pl.Series:
    return names.unique().cast(pl.String).drop_nulls()


def unplain(rows: pl.DataFrame) -> list[str]:
    """Columns of names of which one holds control characters."""
    names = [name for name in rows.columns if TYPES.get(name) == pl.String]
    return [name for name in names if _distinct(rows.get_column(name)).str.contains(CONTROLS).any()]


def _cast(name: str, source: pl.DataType, *, patient: bool = False) -> pl.Expr:
    target, column = TYPES[name], _raw(name)
    if isinstance(source, pl.Categorical | pl.Enum):
        column, source = column.cast(pl.String), pl.String()
    if name == "time":
        return utc(column) if source == pl.String else column.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
    if target == pl.String:
        text = column.cast(pl.String).str.strip_chars()
        return pl.when(~text.str.to_lowercase().is_in(_MISSING)).then(text).cast(pl.Categorical())
    if source == pl.String:
        column = _from_text(column.str.strip_chars() if patient else column, target, patient=patient)
    if not target.is_float():
        return column.cast(target, strict=False)
    column = column.cast(pl.Float64, strict=False).fill_nan(None)
    if name in _POWERS:
        column = column.clip(lower_bound=NO_LIGHT_DBM)
    return column.cast(target)


def _from_text(text: pl.Expr, target: pl.DataType, *, patient: bool) -> pl.Expr:
    if target == pl.Boolean:
        word = text.str.to_lowercase()
        return pl.when(word.is_in(_TRUE)).then(statement=True).when(word.is_in(_FALSE)).then(statement=False)
    if isinstance(target, pl.List):
        items = text.str.strip_chars("[]() ").str.replace_all(r"[;,\s]+", " ").str.split(" ")
        return pl.when(text != "").then(items)
    if target.is_integer():
        whole = text.cast(pl.Int64, strict=False)  # a table with gaps writes its integers as 12.0
        return (
            pl.coalesce(whole, text.cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)) if patient else whole
        )
    return text.cast(pl.Float64, strict=False)


def utc(text: pl.Expr) -> pl.Expr:
    """ISO 8601 with a zone as a time in UTC; anything else, a naive time too, is null."""
    zoned = text.str.strip_chars().str.replace(" ", "T", literal=True).str.replace(r"[zZ]$", "+00:00")
    return pl.coalesce(
        zoned.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", strict=False, time_unit="us"),
        zoned.str.to_datetime("%Y-%m-%dT%H:%M%#z", strict=False, time_unit="us"),
    )


def checks(raw: Mapping[str, pl.DataType], lossy: Collection[str], unplain: Collection[str]) -> list[Check]:
    """What may be wrong with a batch.

    Args:
        raw: names and types as the file has them.
        lossy: columns in which a value was lost by the cast; the others need no look at their text.
        unplain: columns in which a name holds control characters.
    """
    found = list(_time_checks(raw["time"], lossy)) if "time" in raw else []
    found += [Check(name, Kind.ROW, f"no {name}", pl.col(name).is_null()) for name in _NAMES if name in raw]
    for name in unplain:
        kind = Kind.ROW if name in ROW_COLUMNS else Kind.VALUE
        found.append(
            Check(name, kind, "control characters in a name", pl.col(name).cast(pl.String).str.contains(CONTROLS))
        )
    for name, source in raw.items():
        if name not in ROW_COLUMNS:
            found += _value_checks(name, source, lossy)
    if "lane" in raw:
        wrong = ~pl.col("lane").is_between(0, _MAX_LANE).fill_null(value=True)
        if "lane" in lossy:
            wrong |= _lost("lane", raw["lane"])
        found.append(Check("lane", Kind.ROW, f"not a lane from 0 to {_MAX_LANE}", wrong))
    return found


def _time_checks(source: pl.DataType, lossy: Collection[str]) -> list[Check]:
    time, text = pl.col("time"), _raw("time")
    impossible = Check("time", Kind.ROW, "not a time between 2000 and 2100", ~time.is_between(FIRST, END))
    missing = text.is_null()
    if source != pl.String or "time" not in lossy:
        return [Check("time", Kind.ROW, "no time", missing), impossible]
    missing |= text.str.strip_chars() == ""
    naive = time.is_null() & text.str.contains(r"^\s*\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?)?\s*$")
    return [
        Check("time", Kind.ERROR, "a time without a zone (write +00:00 or Z for UTC)", naive),
        Check("time", Kind.ROW, "no time", missing),
        Check("time", Kind.ROW, "not an ISO 8601 time", time.is_null() & ~missing.fill_null(value=True) & ~naive),
        impossible,
    ]


def _value_checks(name: str, source: pl.DataType, lossy: Collection[str]) -> list[Check]:
    found = []
    if TYPES[name] != pl.String and name in lossy:
        found.append(Check(name, Kind.VALUE, f"not a {_noun(TYPES[name])}", _lost(name, source)))
    value = pl.col(name)
    if name in _RANGES:
        low, high = _RANGES[name]
        outside = (value < low) | (value > high)
        if name == "tx_bias_ma":
            outside |= pl.any_horizontal(((value - ones).abs() < _LSB) for ones in _ALL_ONES_MA)
        found.append(Check(name, Kind.VALUE, "no module can give this value", outside))
    elif TYPES[name] == pl.Int64:
        found.append(Check(name, Kind.VALUE, "a counter below 0", value < 0))
    return found


def _lost(name: str, source: pl.DataType) -> pl.Expr:
    """Where there was something that the cast could not take."""
    raw = _raw(name)
    lost = pl.col(name).is_null() & raw.is_not_null()
    if source == pl.String:
        return lost & ~raw.str.strip_chars().str.to_lowercase().is_in(_MISSING)
    return lost & raw.is_not_nan() if source.is_float() else lost


def _noun(kind: pl.DataType) -> str:
    return {pl.Boolean: "true or false", pl.List: "list of numbers"}.get(kind.base_type(), "number")
