"""UFM's packet-drop-rate rules (PDR), as a detector: which ports they complain of in each round, and of what.

Written from a description of the plugin, not from its code. Three rule sets: ``as_shipped``, whose bit-error check
compares a ratio with limits that are counts and so can never fire; ``as_documented``, with the limits that were
meant, for links of any speed; and ``fixed_rate``, which besides counts a step from 0.

Receive errors are ``crc_errors`` (and ``in_errors`` where the samples have them), remote physical errors
``remote_physical_errors`` where they have them, symbol errors what FEC could not correct, link-downs ``link_flaps``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import polars as pl

from features.fleet import PORT, Fleet
from ingest.schema import Quality
from models.baselines.issues import ISSUE_SCHEMA

__all__ = ["AS_DOCUMENTED", "AS_SHIPPED", "FIXED_RATE", "ROUND", "RULE_SETS", "PdrRules", "pdr_issues", "pdr_news"]

ROUND: Final = timedelta(minutes=5)
"""The plugin's period; where polls are rarer, theirs."""
TMAX_C: Final = 70.0
_STEP_C: Final = 10.0
_MOST_LOSS: Final = 1e-12
_SAME_TIME_S: Final = 1.8  # relative 1e-9 of today's epoch, within which times are taken for equal
_LANE_GBPS, _NDR_GBPS = 100.0, 400.0
_CLEAN_S: Final = 7501
_WINDOWS: Final = ((7500, 7500e-15, 3.0), (720, 720e-14, 2.88), (_CLEAN_S, 7500e-15, 3.0))
"""Of the bit-error check: window (s), errors allowed a bit/s of the link, and what the plugin compares a ratio with.
The last one decides on the return."""
_COUNTERS: Final = ("packets", "errors", "remote", "downs")
_SOURCES: Final = {
    "packets": ("in_packets",),
    "errors": ("in_errors", "crc_errors"),
    "remote": ("remote_physical_errors",),
    "downs": ("link_flaps",),
    "symbols": ("fec_uncorrected",),
}


@dataclass(frozen=True, slots=True)
class PdrRules:
    """A rule set.

    Attributes:
        name: of the baseline.
        documented: the bit-error check by the limits that were meant, else by the plugin's arithmetic.
        from_zero: a counter that steps from 0 has a rate.
        isolated_share: of all ports, how many the manager may isolate where that is more than ten.
    """

    name: str
    documented: bool = True
    from_zero: bool = False
    isolated_share: float = 0.005


AS_SHIPPED: Final = PdrRules("as_shipped", documented=False, isolated_share=0.0)
AS_DOCUMENTED: Final = PdrRules("as_documented")
FIXED_RATE: Final = PdrRules("fixed_rate", from_zero=True)
RULE_SETS: Final = (AS_SHIPPED, AS_DOCUMENTED, FIXED_RATE)


def pdr_news(
    port_samples: Iterable[pl.LazyFrame],
    fleet: Fleet,
    *,
    rule_sets: Sequence[PdrRules] = RULE_SETS,
    excluded: pl.DataFrame | None = None,
) -> dict[str, pl.DataFrame]:
    """By rule set what its manager would have heard of: rows in order of round and port.

    Args:
        port_samples: canonical port samples, each frame of some devices, whole: memory is bounded by the largest.
        fleet: ports, their speed and their peers; other ports are not looked at.
        rule_sets: which.
        excluded: site, device, interface, start, end (null: for ever): ports that are not looked at then.

    Returns:
        site, device, interface, time, round, quantity (``pdr``, ``oonoc``, ``link_down``, ``ber`` or null), and what
        has changed where it is null: hot (the last temperature is above 70 °C), dirty (too many bit errors in the
        last two hours to return).
    """
    ports = _ports(fleet)
    found: dict[str, list[pl.DataFrame]] = {rules.name: [] for rules in rule_sets}
    every_s: int | None = None
    for samples in port_samples:
        rows = _rows(samples, ports, excluded)
        every_s = every_s or _round_s(rows)
        rows = _in_rounds(rows, every_s)
        grown = _errors_grown(rows, every_s)
        for rules in rule_sets:
            found[rules.name].append(_checked(rows, _bit_errors(grown, rules), rules))
    nothing = pl.DataFrame(schema=_CHECKED)
    return {name: _news(pl.concat([nothing, *parts]), ports, fleet) for name, parts in found.items()}


def pdr_issues(news: pl.DataFrame) -> pl.DataFrame:
    """The complaints of ``ISSUE_SCHEMA`` among the news."""
    return news.drop_nulls("quantity").select(ISSUE_SCHEMA.names()).cast(ISSUE_SCHEMA)


def _ports(fleet: Fleet) -> pl.DataFrame:
    """Every port with a number for its name, and the speed of its newest module."""
    newest = fleet.modules.sort("installed_at", nulls_last=False).unique(PORT, keep="last")
    ports = fleet.ends().select(PORT).unique().sort(PORT).with_row_index("port")
    return ports.join(newest.select(*PORT, "speed_gbps"), on=list(PORT), how="left", maintain_order="left")


def _rows(samples: pl.LazyFrame, ports: pl.DataFrame, excluded: pl.DataFrame | None) -> pl.DataFrame:
    """What the rules read, in order of port and time; no count is null."""
    there = samples.collect_schema().names()

    def given(name: str, kind: type[pl.DataType]) -> pl.Expr:
        return pl.col(name).cast(kind) if name in there else pl.lit(None, kind)

    counts = {name: _sum([column for column in columns if column in there]) for name, columns in _SOURCES.items()}
    sure = (pl.col("quality") & int(Quality.GLITCH)) == 0
    order = ["received_at"] if "received_at" in there else []
    rows = samples.filter(sure).join(ports.lazy(), on=list(PORT))
    if excluded is not None:
        out = rows.join(excluded.lazy(), on=list(PORT)).filter(
            pl.col("time") >= pl.col("start"), pl.col("end").is_null() | (pl.col("time") < pl.col("end"))
        )
        rows = rows.join(out.select("port", "time"), on=["port", "time"], how="anti")
    columns = [
        given("temperature_c", pl.Float32).fill_nan(None).alias("temp"),
        given("oper_up", pl.Boolean).alias("up"),
    ]
    taken = rows.select("port", "time", "speed_gbps", *order, *columns, **counts).collect(engine="streaming")
    return taken.sort("port", "time", *order).drop(order)


def _sum(columns: list[str]) -> pl.Expr:
    """The counts as one; null where the samples have none of them."""
    if len(columns) < 2:  # noqa: PLR2004 - one or none needs no sum
        return pl.col(columns[0]).cast(pl.Int64) if columns else pl.lit(None, pl.Int64)
    return pl.sum_horizontal(columns).cast(pl.Int64)


def _round_s(rows: pl.DataFrame) -> int | None:
    """Length of a round: the plugin's, or whole ones of it up to the time between polls."""
    between = rows.select((pl.col("time") - pl.col("time").shift(1).over("port")).median().dt.total_seconds()).item()
    period = int(ROUND.total_seconds())
    return None if between is None else max(period, -(-round(between) // period) * period)


def _in_rounds(rows: pl.DataFrame, every_s: int | None) -> pl.DataFrame:
    """The last sample of each port and round, with the seconds since the one before."""
    number = pl.col("time").dt.epoch("s") // (every_s or int(ROUND.total_seconds()))
    rows = rows.with_columns(round=number)
    later = (pl.col("port") == pl.col("port").shift(-1)) & (pl.col("round") == pl.col("round").shift(-1))
    rows = rows.filter(~later.fill_null(value=False))
    since_s = (pl.col("time") - pl.col("time").shift(1).over("port")).dt.total_milliseconds() / 1000.0
    rows = rows.with_columns(since_s=since_s)
    return rows.filter(pl.col("since_s").is_null() | (pl.col("since_s") > _SAME_TIME_S))


def _before(what: pl.Expr) -> pl.Expr:
    """The port's value a sample before; rows in order of port and time. Cheaper than a window over ports."""
    return pl.when(pl.col("since_s").is_not_null()).then(what.shift(1))


_FLAGS: Final = ("pdr", "oonoc", "falls", "ber", "hot", "dirty")
_CHECKED: Final = {"port": pl.UInt32(), "time": pl.Datetime("us", "UTC"), "round": pl.Int64()} | dict.fromkeys(
    _FLAGS, pl.Boolean()
)


def _checked(rows: pl.DataFrame, errors: pl.DataFrame, rules: PdrRules) -> pl.DataFrame:
    """The rows with news, of ``_CHECKED``; ``falls`` is that its own link-downs have a rate."""
    rates = [_rate(name, rules).alias(f"{name}_rate") for name in _COUNTERS]
    temp = pl.col("temp").forward_fill().over("port")
    rows = rows.with_columns(*rates, told=temp)
    before = _before(pl.col("told"))
    step = (before != 0) & ((before - pl.col("temp")).abs() > _STEP_C)
    lost = (pl.col("errors_rate") + pl.col("remote_rate")) / pl.col("packets_rate")
    rows = rows.with_columns(
        pdr=(pl.col("packets_rate") != 0) & (lost > _MOST_LOSS),
        oonoc=((pl.col("temp") > TMAX_C) | step).fill_null(value=False),
        falls=pl.col("downs_rate") > 0,
        hot=(pl.col("told") > TMAX_C).fill_null(value=False),
    )
    rows = rows.join(errors, on=["port", "time"], how="left", maintain_order="left")
    rows = rows.with_columns(pl.col("ber", "dirty").fill_null(value=False))
    same = [pl.col(flag) == _before(pl.col(flag)).fill_null(value=False) for flag in ("hot", "dirty")]
    some = pl.any_horizontal("pdr", "oonoc", "falls", "ber") | ~pl.all_horizontal(same)
    return rows.filter(some).select(list(_CHECKED)).cast(pl.Schema(_CHECKED))


def _rate(counter: str, rules: PdrRules) -> pl.Expr:
    """Growth a second since the sample before; a first sample, a reset and, but in ``fixed_rate``, a step from 0 are 0.

    The plugin takes a missing count for 0; where a step from 0 counts, that would be a false one.
    """
    value = pl.col(counter).forward_fill().over("port") if rules.from_zero else pl.col(counter).fill_null(0)
    old = _before(value)
    grown = (value > old) if rules.from_zero else (old != 0) & (value > old)
    return pl.when(grown).then((value - old) / pl.col("since_s")).otherwise(0.0)


def _errors_grown(rows: pl.DataFrame, every_s: int | None) -> pl.DataFrame:
    """Rows whose port lost codewords lately: how many more than when a window began, and over how many seconds.

    Few ports have errors at all, so only their rows are looked at closely.
    """
    every_s = every_s or int(ROUND.total_seconds())
    reach = -(-_CLEAN_S // every_s) + 2  # samples within the longest window
    known = rows.filter(pl.col("symbols") > 0).select("port").unique()
    mine = rows.select("port", "time", "speed_gbps", "symbols", "up").join(known, on="port", how="semi")
    mine = mine.sort("port", "time")
    moved = (pl.col("symbols") != pl.col("symbols").shift(reach).over("port")).fill_null(value=True)
    close = mine.filter(moved, pl.col("symbols") > 0)
    past = mine.join(close.select("port").unique(), on="port", how="semi")
    past = past.select("port", was="symbols", at="time").drop_nulls().sort("at", "port")
    for window_s, *_ in _WINDOWS:
        lag_s = -(-window_s // every_s) * every_s
        close = (
            close.with_columns(then=pl.col("time") - pl.duration(seconds=lag_s))
            .sort("then", "port")
            .join_asof(past, left_on="then", right_on="at", by="port", check_sortedness=False)
            .with_columns(
                (pl.col("symbols") - pl.col("was")).alias(f"grown_{window_s}"),
                (pl.col("time") - pl.col("at")).dt.total_seconds().alias(f"over_{window_s}"),
            )
            .drop("then", "was", "at")
        )
    return close


def _bit_errors(grown: pl.DataFrame, rules: PdrRules) -> pl.DataFrame:
    """``ber`` and ``dirty`` of the rows of `_errors_grown`."""
    long, short, clean = (_beyond(rules, *window).fill_null(value=False) for window in _WINDOWS)
    return grown.select("port", "time", ber=long | short, dirty=clean)


def _beyond(rules: PdrRules, window_s: int, allowed: float, ratio: float) -> pl.Expr:
    """Whether errors grew beyond a window's limit; the link must carry a signal for the documented one."""
    grown, over_s = pl.col(f"grown_{window_s}"), pl.col(f"over_{window_s}")
    if rules.documented:
        limit = allowed * 1e9 * pl.col("speed_gbps")
        return (grown > limit) & pl.col("up").fill_null(value=True)
    width = pl.col("speed_gbps") / _LANE_GBPS
    bits = over_s * 100.0 * width * 2.0**30
    return (pl.col("speed_gbps") == _NDR_GBPS) & (grown / bits > ratio)


def _news(checked: pl.DataFrame, ports: pl.DataFrame, fleet: Fleet) -> pl.DataFrame:
    """One cause a port and round, in the plugin's order; link-downs need both ends of a link in the same round."""
    falls = checked.filter("falls").select("port", "round", "time")
    numbers = ports.select("port", *PORT)
    far = numbers.rename({"port": "peer"} | {name: f"peer_{name}" for name in PORT})
    ends = fleet.ends().join(numbers, on=list(PORT)).join(far, on=[f"peer_{name}" for name in PORT])
    both = (
        falls.join(ends.select("port", "peer", "valid_from", "valid_to"), on="port")
        .filter((pl.col("valid_from") <= pl.col("time")).fill_null(value=True))
        .filter((pl.col("valid_to") > pl.col("time")).fill_null(value=True))
        .join(falls.select(peer="port", round="round"), on=["peer", "round"])
        .select("port", "round", link_down=pl.lit(value=True))
        .unique()
    )
    rows = checked.join(both, on=["port", "round"], how="left").with_columns(pl.col("link_down").fill_null(value=False))
    causes = ("pdr", "oonoc", "link_down", "ber")
    cause = pl.coalesce(pl.when(name).then(pl.lit(name)) for name in causes)
    cause = pl.when(cause.is_not_null() & pl.col("hot")).then(pl.lit("oonoc")).otherwise(cause)
    return (
        rows.with_columns(quantity=cause)
        .join(numbers, on="port")
        .sort("round", "port")
        .select(*PORT, "time", "round", "quantity", "hot", "dirty")
    )
