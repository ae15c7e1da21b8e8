"""The evidence on one module, as vendors ask for it with a return: readings, limits crossed, history; one page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl

from features.fleet import PORT
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, LIMITS, MODULES, PORT_SAMPLES, REPAIRS, REPLACEMENTS, TICKETS
from models.page import write_page
from models.plots import readings
from models.tables import Small

__all__ = ["Subject", "module_evidence", "write_dossier"]

_FACTS: Final = (
    *("serial", "vendor", "part_number", "lot", "media", "form_factor", "speed_gbps", "fec_mode", "firmware"),
    *("installed_at", "removed_at"),
)
_QUANTITIES: Final = {
    "tx_power": ("tx_power_dbm", "lane"),
    "rx_power": ("rx_power_dbm", "lane"),
    "tx_bias": ("tx_bias_ma", "lane"),
    "temperature": ("temperature_c", "port"),
    "voltage": ("voltage_v", "port"),
}
_PLOTTED: Final = {
    "rx_power_dbm": "Received light, dBm",
    "tx_power_dbm": "Launched light, dBm",
    "tx_bias_ma": "Bias current, mA",
    "pre_fec_ber": "Pre-FEC BER, decimal logarithm",
    "temperature_c": "Case temperature, °C",
}
_POINTS: Final = 500
"""A plot is 800 pixels wide."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Which module, and over which time.

    Attributes:
        serial: of the module; readings of another in the same cage are left out.
    """

    site: str
    device: str
    interface: str
    serial: str | None
    since: datetime
    until: datetime


def module_evidence(lake: Lake, subject: Subject) -> tuple[list[Small], list[dict[str, str]]]:
    """Tables and plots on one module from the lake.

    Returns:
        Tables (facts, limits crossed, counters, tickets, repairs and swaps), those without a row left out; plots with
        title, svg and caption.
    """
    lanes, ports = (_read(lake, table, subject) for table in (LANE_SAMPLES, PORT_SAMPLES))
    module = _module(lake, subject)
    tables = [_facts(module), _crossed(module, lanes, ports), _counters(ports), *_history(lake, subject)]
    return [table for table in tables if table.rows], [*_plots(lanes, ports, module)]


def write_dossier(
    path: Path, *, title: str, note: str, tables: Sequence[Small], plots: Sequence[Mapping[str, str]]
) -> None:
    """Write the page; nothing is fetched to read it."""
    write_page(path, "dossier.html", title=title, note=note, tables=tables, plots=plots)


def _read(lake: Lake, table: object, subject: Subject) -> pl.DataFrame:
    """The module's readings in the time, in order."""
    rows = lake.latest(table, since=subject.since, until=subject.until).filter(_place(subject))  # type: ignore[arg-type]  # a table
    rows = rows.filter(pl.col("time").is_between(subject.since, subject.until, closed="left"))
    if subject.serial is not None:
        rows = rows.filter(pl.col("serial").is_null() | (pl.col("serial") == subject.serial))
    return rows.collect().sort("time")


def _place(subject: Subject) -> pl.Expr:
    return pl.all_horizontal(pl.col(name) == getattr(subject, name) for name in PORT)


def _module(lake: Lake, subject: Subject) -> dict[str, object]:
    rows = lake.latest(MODULES).filter(_place(subject)).collect().sort("installed_at", nulls_last=False)
    own = rows.filter(pl.col("serial") == subject.serial) if subject.serial else rows
    found = own if own.height else rows
    return found.row(-1, named=True) if found.height else {}


def _facts(module: Mapping[str, object]) -> Small:
    rows = tuple((name.replace("_", " "), _text(module[name])) for name in _FACTS if module.get(name) is not None)
    return Small("The module", ("", ""), rows)


def _crossed(module: Mapping[str, object], lanes: pl.DataFrame, ports: pl.DataFrame) -> Small:
    """How often each of the module's own limits was crossed, and by how much."""
    rows = tuple(
        row
        for name in LIMITS
        if isinstance(limit := module.get(name), float)
        for row in _crossings(name, limit, lanes, ports)
    )
    header = ("limit", "at", "lane", "readings beyond", "worst", "first", "last")
    return Small("The module's own limits crossed", header, rows, "Limits as the module states them itself.")


def _crossings(name: str, limit: float, lanes: pl.DataFrame, ports: pl.DataFrame) -> Iterator[tuple[str, ...]]:
    quantity, side, _, _ = _parts(name)
    column, kind = _QUANTITIES[quantity]
    frame = lanes if kind == "lane" else ports.with_columns(lane=pl.lit(None, pl.Int8))
    low = side == "low"
    beyond = frame.filter(pl.col(column) < limit if low else pl.col(column) > limit)
    worst = pl.col(column).min() if low else pl.col(column).max()
    found = beyond.group_by("lane").agg(pl.len(), worst, first=pl.col("time").min(), last=pl.col("time").max())
    for lane, count, value, first, last in found.sort("lane").iter_rows():
        told = name.replace("_", " ")
        yield told, f"{limit:g}", _text(lane), f"{count:,}", f"{value:.2f}", _text(first), _text(last)


def _parts(limit: str) -> tuple[str, str, str, str]:
    """rx_power_low_warn_dbm: quantity, side, level and unit."""
    quantity, side, level, unit = limit.rsplit("_", 3)
    return quantity, side, level, unit


def _counters(ports: pl.DataFrame) -> Small:
    """What the counters of the port gained; one that began anew adds nothing for that."""
    names = ("link_flaps", "fec_corrected", "fec_uncorrected", "crc_errors", "symbol_errors", "read_errors")
    gained = ports.select(pl.col(name).drop_nulls().diff().clip(0).sum() for name in names)
    seen = [(name, gained[name].item()) for name in names if ports[name].count()]
    return Small("What the port counted", ("", "gained"), tuple((n.replace("_", " "), f"{v:,}") for n, v in seen))


def _history(lake: Lake, subject: Subject) -> Iterator[Small]:
    """Tickets, repairs and swaps of the port, and tickets of the module wherever it was."""
    own = _place(subject) if subject.serial is None else _place(subject) | (pl.col("serial") == subject.serial)
    tickets = lake.latest(TICKETS).filter(own, pl.col("opened_at") < subject.until).collect().sort("opened_at")
    columns = ("ticket_id", "opened_at", "closed_at", "failure_type", "action", "bench_verdict", "summary")
    yield _table("Tickets", tickets, columns)
    ids = tickets["ticket_id"].to_list()
    repairs = lake.latest(REPAIRS).filter(pl.col("ticket_id").is_in(ids)).collect().sort("ticket_id", "seq")
    yield _table("Repairs", repairs, ("ticket_id", "seq", "at", "action", "old_serial", "new_serial", "outcome"))
    swaps = lake.latest(REPLACEMENTS).filter(_place(subject)).collect().sort("time")
    yield _table("Swaps in the cage", swaps, ("time", "old_serial", "new_serial", "source"))


def _table(title: str, rows: pl.DataFrame, columns: Sequence[str]) -> Small:
    header = tuple(name.replace("_", " ") for name in columns)
    return Small(title, header, tuple(tuple(map(_text, row)) for row in rows.select(columns).iter_rows()))


def _plots(lanes: pl.DataFrame, ports: pl.DataFrame, module: Mapping[str, object]) -> Iterator[dict[str, str]]:
    """Each quantity over the time, a line a lane, with the module's own limits."""
    for column, title in _PLOTTED.items():
        frame = lanes if column in lanes.columns and lanes[column].count() else ports
        if column not in frame.columns or not frame[column].count():
            continue
        values = pl.col(column).log10() if column == "pre_fec_ber" else pl.col(column)
        known = frame.filter(pl.col(column) > 0) if column == "pre_fec_ber" else frame
        lines = {_line(lane): _thin(rows.select("time", values)) for lane, rows in _by_lane(known)}
        limits = [limit for name in LIMITS if _column(name) == column and isinstance(limit := module.get(name), float)]
        yield {"title": title, "svg": readings(lines, limits), "caption": "Dashed: the module's own limits."}


def _by_lane(rows: pl.DataFrame) -> list[tuple[int | None, pl.DataFrame]]:
    if "lane" not in rows.columns:
        return [(None, rows)]
    return [(int(key[0]), part) for key, part in sorted(rows.partition_by("lane", as_dict=True).items())]


def _line(lane: int | None) -> str:
    return "module" if not lane else f"lane {lane}"


def _column(limit: str) -> str:
    return _QUANTITIES[_parts(limit)[0]][0]


def _thin(rows: pl.DataFrame) -> tuple[list[datetime], list[float]]:
    """The least and the greatest of each stretch, so that no spike is lost; at most twice `_POINTS`."""
    rows = rows.drop_nulls()
    every = max(rows.height // _POINTS, 1)
    column = rows.columns[1]
    part = rows.with_row_index("at").with_columns(part=pl.col("at") // every)
    ends = part.group_by("part").agg(
        pl.col("at").get(pl.col(column).arg_min()), high=pl.col("at").get(pl.col(column).arg_max())
    )
    kept = pl.concat([ends["at"], ends["high"]]).unique().sort()
    thin = rows[kept]
    return thin["time"].to_list(), thin[column].to_list()


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}Z"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
