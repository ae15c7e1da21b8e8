"""The baseline every operator has: alarms where a module crosses its own limits.

A crossing must last two samples while the port is up; no light on a port that is down announces
nothing. The limits are the module's own (EEPROM or inventory), warning or alarm.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

import polars as pl

from features.fleet import PORT, Fleet
from features.labels import link_maintenance
from ingest.schema import Action, FailureType, Quality
from ingest.units import NO_LIGHT_DBM

__all__ = ["ALARM_SCHEMA", "Level", "limit_alarms", "limit_alarms_of"]

Level = Literal["warn", "alarm"]

_STEP: Final = timedelta(days=2)  # read at once: memory is bounded by it, not by the history
_LANE: Final = ("tx_power_dbm", "rx_power_dbm", "tx_bias_ma")
_MODULE: Final = ("temperature_c", "voltage_v")
_RAISE_AFTER: Final = 2
_CLEAR_AFTER: Final = 8
_DOUBTFUL: Final = int(Quality.GLITCH | Quality.STALE | Quality.LIMITS_IMPLAUSIBLE)

_MEANING: Final = {
    "rx_power_dbm": ("fiber", FailureType.CONTAMINATION, Action.CLEAN_CONNECTOR),
    "tx_power_dbm": ("module", FailureType.LASER_DEGRADATION, Action.REPLACE_TRANSCEIVER),
    "tx_bias_ma": ("module", FailureType.LASER_DEGRADATION, Action.REPLACE_TRANSCEIVER),
    "temperature_c": ("module", FailureType.MODULE_ELECTRONICS, Action.REPLACE_TRANSCEIVER),
    "voltage_v": ("module", FailureType.MODULE_ELECTRONICS, Action.REPLACE_TRANSCEIVER),
}
"""What a technician would make of each quantity: suspect, failure type and first action."""

ALARM_SCHEMA: Final = pl.Schema(
    {
        **dict.fromkeys(PORT, pl.String()),
        "raised_at": pl.Datetime("us", "UTC"),
        "cleared_at": pl.Datetime("us", "UTC"),
        "quantity": pl.String(),
        "suspect": pl.String(),
        "failure_type": pl.String(),
        "action": pl.String(),
    }
)


def limit_alarms(
    lane_samples: pl.LazyFrame,
    port_samples: pl.LazyFrame,
    fleet: Fleet,
    *,
    start: datetime,
    end: datetime,
    level: Level = "warn",
    progress: Callable[[datetime], None] | None = None,
) -> pl.DataFrame:
    """Alarms of one level; see `limit_alarms_of`."""
    found = limit_alarms_of((level,), lane_samples, port_samples, fleet, start=start, end=end, progress=progress)
    return found[level]


def limit_alarms_of(
    levels: Sequence[Level],
    lane_samples: pl.LazyFrame,
    port_samples: pl.LazyFrame,
    fleet: Fleet,
    *,
    start: datetime,
    end: datetime,
    progress: Callable[[datetime], None] | None = None,
) -> dict[Level, pl.DataFrame]:
    """Alarms of [start, end), one row each of ``ALARM_SCHEMA``: raised at the second sample beyond a limit.

    An alarm is cleared at the eighth sample in a row within the limits. ``quantity`` is what crossed first.

    Args:
        levels: which of the module's limits; the samples are read once for all.
        lane_samples: canonical lane samples.
        port_samples: canonical port samples; where a port has none it counts as up.
        fleet: the modules with their limits, and maintenance.
        start: first time read.
        end: reading ends before it.
        progress: called with the time up to which samples are done.
    """
    ports = fleet.modules.select(PORT).unique().sort(PORT).with_row_index("port")
    limits, work = _limits(fleet, ports, levels), _work(fleet, ports)
    parts: dict[Level, list[pl.DataFrame]] = {level: [] for level in levels}
    tails: dict[Level, pl.DataFrame] = {}
    for since, until in _steps(start, end):
        inside = pl.col("time").is_between(since, until, closed="left")
        lanes, states = (_numbered(samples.filter(inside), ports) for samples in (lane_samples, port_samples))
        readings = _readings(lanes, states, limits, levels)
        for level in levels:
            crossed = readings.select("port", "time", crossed=f"crossed_{level}")
            changes, tails[level] = _advance(crossed, work, tails.get(level))
            parts[level].append(changes)
        if progress is not None:
            progress(until)
    return {
        level: _alarms(pl.concat(changed), ports) if changed else ALARM_SCHEMA.to_frame()
        for level, changed in parts.items()
    }


def _steps(start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    while start < end:
        yield start, min(start + _STEP, end)
        start += _STEP


def _limit(quantity: str, side: str, level: str) -> str:
    name, unit = quantity.rsplit("_", 1)
    return f"{name}_{side}_{level}_{unit}"


def _limits(fleet: Fleet, ports: pl.DataFrame, levels: Sequence[Level]) -> pl.LazyFrame:
    """The installations with the limits of some levels."""
    columns = [_limit(quantity, side, level) for quantity in _MEANING for side in ("low", "high") for level in levels]
    numbered = fleet.modules.join(ports, on=list(PORT))
    return numbered.select("port", "installed_at", "removed_at", *columns).lazy()


def _work(fleet: Fleet, ports: pl.DataFrame) -> pl.DataFrame:
    """port, start, end of maintenance on the port's links."""
    ends = fleet.ends().select("link_id", *PORT).join(ports, on=list(PORT))
    return link_maintenance(fleet).join(ends, on="link_id").select("port", "start", "end")


def _numbered(samples: pl.LazyFrame, ports: pl.DataFrame) -> pl.LazyFrame:
    """Sure samples with the port's number for its name: sorting and grouping by numbers is several times faster."""
    sure = (pl.col("quality") & _DOUBTFUL) == 0
    return samples.filter(sure).join(ports.lazy(), on=list(PORT)).drop(PORT)


def _present(samples: pl.LazyFrame, columns: tuple[str, ...], kind: type[pl.DataType]) -> list[pl.Expr]:
    """The columns, null where the samples lack them."""
    there = samples.collect_schema().names()
    return [pl.col(name) if name in there else pl.lit(None, kind).alias(name) for name in columns]


def _readings(lanes: pl.LazyFrame, states: pl.LazyFrame, limits: pl.LazyFrame, levels: Sequence[Level]) -> pl.DataFrame:
    """port, time and for each level what crossed (the quantity beyond its limit, or null), of ports that are up."""
    lit = pl.when(pl.col("rx_power_dbm") > NO_LIGHT_DBM).then("rx_power_dbm").alias("rx_power_dbm")
    key = ["port", "time"]
    lowest = [pl.col(name).min().alias(f"{name}_min") for name in _LANE]
    highest = [pl.col(name).max().alias(f"{name}_max") for name in _LANE]
    by_port = lanes.with_columns(lit).group_by(key).agg(*lowest, *highest)
    known = states.select(
        *key, *_present(states, ("oper_up", "admin_up"), pl.Boolean), *_present(states, _MODULE, pl.Float32)
    )
    up = pl.col("oper_up").fill_null(value=True) & pl.col("admin_up").fill_null(value=True)
    mine = pl.col("installed_at").is_null() | (pl.col("installed_at") <= pl.col("time"))
    mine &= pl.col("removed_at").is_null() | (pl.col("removed_at") > pl.col("time"))
    return (
        by_port.join(known.unique(key), on=key, how="full", coalesce=True)
        .filter(up)
        .join(limits, on="port")
        .filter(mine)
        .select(*key, *(_crossed(level).alias(f"crossed_{level}") for level in levels))
        .collect(engine="streaming")
        .unique(key)
    )


def _crossed(level: Level) -> pl.Expr:
    return pl.coalesce(_crossing(quantity, level) for quantity in _MEANING)


def _crossing(quantity: str, level: str) -> pl.Expr:
    """The quantity's name where it lies beyond one of its limits; no limit is never crossed."""
    low, high = (f"{quantity}_min", f"{quantity}_max") if quantity in _LANE else (quantity, quantity)
    beyond = (pl.col(low) < pl.col(_limit(quantity, "low", level))).fill_null(value=False)
    beyond |= (pl.col(high) > pl.col(_limit(quantity, "high", level))).fill_null(value=False)
    return pl.when(beyond).then(pl.lit(quantity))


def _advance(
    readings: pl.DataFrame, work: pl.DataFrame, tail: pl.DataFrame | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What changed in these readings, and the last ones of each port, which the next step goes on from."""
    idle = readings.join(work, on="port").filter(pl.col("time").is_between("start", "end"))
    fresh = readings.join(idle, on=["port", "time"], how="anti").with_columns(
        state=pl.lit(None, pl.Boolean), old=pl.lit(value=False)
    )
    rows = (fresh if tail is None else pl.concat([tail, fresh])).sort("port", "time")
    crossed = pl.col("crossed").is_not_null().cast(pl.Int8)
    on = crossed.rolling_sum(_RAISE_AFTER).over("port") == _RAISE_AFTER
    off = crossed.rolling_sum(_CLEAR_AFTER).over("port") == 0
    here = pl.when(on).then(pl.lit(value=True)).when(off).then(pl.lit(value=False))
    rows = rows.with_columns(state=pl.coalesce("state", here).forward_fill().over("port").fill_null(value=False))
    before = pl.col("state").shift(1).over("port").fill_null(value=False)
    changed = rows.filter(~pl.col("old"), pl.col("state") != before).drop("old")
    kept = rows.filter(pl.col("time").rank("ordinal", descending=True).over("port") <= _CLEAR_AFTER)
    return changed, kept.with_columns(old=pl.lit(value=True))


def _alarms(changes: pl.DataFrame, ports: pl.DataFrame) -> pl.DataFrame:
    """Rises with the fall that follows each."""
    by_quantity = [
        pl.col("quantity").replace_strict({name: str(m[i]) for name, m in _MEANING.items()}).alias(column)
        for i, column in enumerate(("suspect", "failure_type", "action"))
    ]
    return (
        changes.sort("port", "time")
        .with_columns(cleared_at=pl.col("time").shift(-1).over("port"))
        .filter("state")
        .join(ports, on="port")
        .rename({"time": "raised_at", "crossed": "quantity"})
        .with_columns(by_quantity)
        .select(ALARM_SCHEMA.names())
        .cast(ALARM_SCHEMA)
        .sort("raised_at", *PORT)
    )
