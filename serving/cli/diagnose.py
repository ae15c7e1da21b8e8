"""``forelight diagnose``: the verdict on a link or a job, and what the network gave, from the lake."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from diagnosis.sla import Tier
from ingest.lake import Lake
from serving.alarms import utc_now
from serving.errors import ServingError
from serving.settings import Settings
from serving.verdicts import answer, sla_answer
from serving.wire.sla import SlaAnswer, SlaQuery, SlaRow
from serving.wire.verdicts import VerdictAnswer, VerdictQuery

__all__ = ["run", "tell_sla"]

_SHOWN: Final = 20
_MARKS: Final = {-1: " ", 0: ".", 1: "x", 2: "o"}


def run(asked: Mapping[str, object], at: datetime | None, *, as_json: bool) -> None:
    """Print the verdict.

    Raises:
        ServingError: the question names what is not known, or asks for neither a link nor a job.
    """
    if not asked.get("link") and not asked.get("node"):
        msg = "name a link by one of its ports (leaf01/Ethernet1/1), or a job with --job and two or more --node"
        raise typer.BadParameter(msg)
    try:
        query = VerdictQuery.model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        msg = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise ServingError(msg) from error
    told = answer(Lake(Settings.from_env().lake_uri), query.question(), at or utc_now(), query.job)
    typer.echo(told.model_dump_json(indent=2) if as_json else "\n".join(_lines(told)))


def tell_sla(site: str, windows: int, at: datetime | None, *, as_json: bool) -> None:
    """Print what the network gave: of each window the fleet, of the newest the pods and ToRs, the worst first.

    Raises:
        ServingError: no window was probed lately.
    """
    query = SlaQuery(site=site, windows=min(windows, 15))
    told = sla_answer(Lake(Settings.from_env().lake_uri), query, at or utc_now())
    if as_json:
        typer.echo(told.model_dump_json(indent=2))
        return
    if not told.slas:
        msg = f"no window of site {site} was probed in the last quarter of an hour"
        raise ServingError(msg)
    table = Table("window", "of", "reach", "sent", "loss", "RTT p50", "p99", "processing p99", "")
    newest = told.slas[0].time
    rows = [row for row in told.slas if row.tier is Tier.FLEET or row.time == newest]
    rows.sort(key=lambda row: (row.tier is not Tier.FLEET, not row.breached, -row.loss))
    for row in rows[: _SHOWN + windows]:
        table.add_row(f"{row.time:%H:%M:%S}", f"{row.tier} {row.name}", row.reach, f"{row.sent:,}", *_numbers(row))
    console = Console(soft_wrap=True, highlight=False)
    console.print(table)
    for line in _map_lines(told):
        console.print(line, markup=False)


def _numbers(row: SlaRow) -> tuple[str, ...]:
    times = (row.rtt_p50_ns, row.rtt_p99_ns, row.processing_p99_ns)
    return f"{row.loss:.3%}", *("" if ns is None else f"{ns / 1e3:,.0f} µs" for ns in times), ", ".join(row.breached)


def _map_lines(told: SlaAnswer) -> Iterator[str]:
    """The pattern, and the map where it is small enough to read."""
    about = f" of {', '.join(told.map.pods)}" if told.map.pods else ""
    yield f"ToR against ToR: {told.map.pattern}{about}"
    if 1 < len(told.map.tors) <= _SHOWN:
        yield "  from row to column: . well, x lossy or slow, o unanswered, blank not probed"
        width = max(map(len, told.map.tors))
        for tor, cells in zip(told.map.tors, told.map.cells, strict=True):
            yield f"  {tor:>{width}} {''.join(_MARKS[cell] for cell in cells)}"


def _lines(told: VerdictAnswer) -> list[str]:
    """The verdict, what speaks for it, and how well it was looked for."""
    head = f"{told.kind}: {told.why}" + (f" ({told.priority})" if told.priority else "")
    lines = [head, *(f"  {step.layer}: {step.says}" for step in told.chain)]
    if told.part is not None:
        lines.append(f"  part: {told.part.part}")
    lines += [f"  elsewhere: {' or '.join(fault.links)} loses {fault.loss:.2%}" for fault in told.elsewhere]
    lines.append(
        f"  power: a loss of {told.power.least_loss:.2%} of any of {told.power.links} links would have been found"
    )
    if told.power.more_windows:
        lines.append(f"  needed: {told.power.more_windows} more windows like these")
    if told.missing:
        lines.append(f"  not looked at: {', '.join(told.missing)}")
    return lines
