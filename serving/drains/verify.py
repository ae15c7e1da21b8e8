"""Whether a repair cured: what the link's ends say since it came back.

UFM's port health rules look at the longest BER window (125 minutes) and no sooner than 300 s after a change; a link
that flaps again within a day was not cured.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from features.fleet import PORT
from features.physics import fec_limit_log10
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES, Action, FailureType, Table
from models.actions import HOURS, ranked
from serving.drains.fabric import Port
from serving.drains.records import Verdict

__all__ = ["ESCALATION", "Verification", "next_action", "verify"]

_SETTLING: Final = timedelta(seconds=300)
_BER_WINDOW: Final = timedelta(minutes=125)
_NO_FLAP: Final = timedelta(hours=24)
_MARGIN_DECADES: Final = 1.0
"""Below the FEC's limit by a factor of ten: what a healthy optic has at the least [judgement]."""

ESCALATION: Final = (
    Action.CLEAN_CONNECTOR,
    Action.RESEAT,
    Action.REPLACE_TRANSCEIVER,
    Action.REPLACE_FIBER,
)
"""Cheapest first, where nothing is known of the fault."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdict, and what it rests on in words."""

    verdict: Verdict
    findings: tuple[str, ...]


def verify(lake: Lake, ends: Sequence[Port], since: datetime, now: datetime) -> Verification:
    """Look at both ends since the link came back.

    Args:
        lake: with the readings since.
        ends: of the link; one without telemetry says nothing.
        since: when it came back.
        now: until when.
    """
    start = since + _SETTLING
    until = min(now, since + _NO_FLAP) + timedelta(microseconds=1)
    ports = _read(lake, PORT_SAMPLES, ends, start, until).sort(*PORT, "time")
    lanes = _read(lake, LANE_SAMPLES, ends, start, until)
    if ports.is_empty():
        return Verification(Verdict.PENDING, ("no reading of either end since it came back",))
    limits = lake.latest(MODULES).filter(pl.col("device").is_in([device for _, device, _ in ends])).collect()
    wrong = [*_states(ports), *_counters(ports), *_bit_errors(ports, lanes, limits), *_light(lanes, limits)]
    if wrong:
        return Verification(Verdict.FAILED, tuple(wrong))
    up = ports.filter("oper_up")["time"].max()
    if not isinstance(up, datetime) or up < ports["time"].max():  # type: ignore[operator]  # both are times
        return Verification(Verdict.PENDING, ("it is not seen up",))
    return _waited(up - since)


def next_action(types: dict[FailureType, float], tried: Sequence[Action]) -> Action | None:
    """What to try after what did not cure; None where everything was tried."""
    order = [step.action for step in ranked(types)] if types else list(ESCALATION)
    rest = [action for action in (*order, *ESCALATION) if action not in tried and action in HOURS]
    return rest[0] if rest else None


def _waited(span: timedelta) -> Verification:
    """Good so far, or good for long enough."""
    if span >= _NO_FLAP - _BER_WINDOW / 25:  # the last poll of a day comes some minutes before its end
        return Verification(Verdict.PASSED, ("up, without flaps and lost codewords for 24 h",))
    told = "bit errors are clean over 125 min" if span >= _BER_WINDOW else "bit errors were not watched for 125 min yet"
    return Verification(Verdict.PENDING, (f"{told}; {span / timedelta(hours=1):.1f} of 24 h without a flap",))


def _read(lake: Lake, table: Table, ends: Sequence[Port], since: datetime, until: datetime) -> pl.DataFrame:
    names = pl.DataFrame(ends, schema=dict.fromkeys(PORT, pl.String), orient="row")
    rows = lake.latest(table, since=since, until=until).filter(
        pl.col("device").is_in(names["device"].implode()), pl.col("time") >= since
    )
    return rows.join(names.lazy(), on=PORT, how="semi").collect()


def _states(ports: pl.DataFrame) -> Iterator[str]:
    down = ports.filter(~pl.col("oper_up"), pl.col("admin_up").fill_null(value=True))
    for device, interface, time in down.unique([*PORT], keep="first").select("device", "interface", "time").iter_rows():
        yield f"{device} {interface} was down at {time:%Y-%m-%d %H:%M}Z"


def _counters(ports: pl.DataFrame) -> Iterator[str]:
    """Flaps and lost codewords since; a counter that began anew adds nothing for that."""
    for name, what in (("link_flaps", "flaps"), ("fec_uncorrected", "lost codewords"), ("crc_errors", "CRC errors")):
        grown = ports.group_by(PORT).agg(pl.col(name).drop_nulls().diff().clip(0).sum().alias("by"))
        for device, interface, by in (
            grown.filter(pl.col("by") > 0).sort(PORT).select("device", "interface", "by").iter_rows()
        ):
            yield f"{by} {what} at {device} {interface}"


def _bit_errors(ports: pl.DataFrame, lanes: pl.DataFrame, modules: pl.DataFrame) -> Iterator[str]:
    """The median BER of the worst lane against the FEC's limit."""
    ber = pl.col("pre_fec_ber").cast(pl.Float64)
    own = ports.with_columns(lane=pl.lit(None, pl.Int8))
    rows = pl.concat([frame.select(*PORT, "lane", ber) for frame in (own, lanes)]).drop_nulls("pre_fec_ber")
    middle = rows.group_by(*PORT, "lane").agg(pl.col("pre_fec_ber").median())
    worst = middle.group_by(PORT).agg(pl.col("pre_fec_ber").max().clip(1e-18).log10())
    known = _last(modules).select(*PORT, "fec_mode", "speed_gbps", "media")
    for _, device, interface, ber, fec, speed, media in (
        worst.sort(PORT).join(known, on=PORT, how="left", maintain_order="left").iter_rows()
    ):
        if ber > fec_limit_log10(media, speed, fec) - _MARGIN_DECADES:
            yield f"pre-FEC BER of {device} {interface} is {10**ber:.1e}, within a decade of the FEC's limit"


def _light(lanes: pl.DataFrame, modules: pl.DataFrame) -> Iterator[str]:
    """Received light below the module's own warning."""
    median = lanes.group_by(*PORT, "lane").agg(pl.col("rx_power_dbm").median())
    limits = _last(modules).select(*PORT, "rx_power_low_warn_dbm")
    low = median.join(limits, on=PORT).filter(pl.col("rx_power_dbm") < pl.col("rx_power_low_warn_dbm"))
    for device, interface, lane, power in (
        low.sort(*PORT, "lane").select("device", "interface", "lane", "rx_power_dbm").iter_rows()
    ):
        yield f"lane {lane} of {device} {interface} receives {power:.1f} dBm, below its warning limit"


def _last(modules: pl.DataFrame) -> pl.DataFrame:
    return (
        modules.filter(pl.col("removed_at").is_null()).sort("installed_at", nulls_last=False).unique(PORT, keep="last")
    )
