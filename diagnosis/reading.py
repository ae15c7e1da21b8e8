"""A question about a link or a job, and all that the lake knows for its answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import polars as pl

from diagnosis.fabric import Device, Fabric, Port
from diagnosis.localizers.glrt import Glrt
from diagnosis.observations import Evidence, Floats, Observations, PortErrors
from diagnosis.probes import Known, ProbeFinding
from diagnosis.readings import changes_of
from diagnosis.traces import any_whole, paths_traced, ports_by_address
from diagnosis.verdict import Case, Verdict, judged
from diagnosis.ways import Span, Ways
from diagnosis.windows import judge
from features.fleet import Fleet
from ingest.errors import DiagnosisError
from ingest.lake import Lake
from ingest.schema import PORT_SAMPLES, PROBES, SCORES

__all__ = ["Question", "answered", "closed_windows", "fabric_of", "links_of"]

_LATE: Final = timedelta(minutes=15)
"""Windows are looked for so far back; older ones are no answer about now."""
_SCORED_WITHIN: Final = timedelta(hours=26)
_COUNTED_WITHIN: Final = timedelta(minutes=10)
_KEY: Final = ("site", "device", "interface", "time")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about.

    Attributes:
        ports: of a link, one end is enough.
        nodes: of a job, as the fabric names them.
        windows: the newest closed ones that are looked at together.
        slowdown: how much slower the job is than it should be.
    """

    ports: tuple[Port, ...] = ()
    nodes: tuple[Device, ...] = ()
    windows: int = 15
    slowdown: float | None = None


def fabric_of(lake: Lake, at: datetime) -> Fabric:
    """The fabric as it was known at a time."""
    fleet = Fleet.load(lake).as_of(at)
    servers = fleet.modules.filter(pl.col("role") == "nic").select("site", "device").unique().rows()
    return Fabric.of(fleet.links, servers)


def answered(lake: Lake, question: Question, at: datetime, fabric: Fabric | None = None) -> Verdict:
    """The verdict on a link or a job at a time.

    Raises:
        DiagnosisError: no link is known there.
    """
    fabric = fabric_of(lake, at) if fabric is None else fabric
    links = links_of(fabric, question)
    rows = closed_windows(lake, at, question.windows)
    noticed, seen, by_way = _windows(lake, fabric, rows, at)
    risk = _risks(lake, fabric, at)
    ports = _port_errors(lake, fabric, links, at)
    told = Glrt().localize(seen, Evidence(_prior(risk, fabric), ports))
    case = Case(
        fabric,
        links,
        told,
        windows=max(rows["time"].n_unique(), 1),
        devices=frozenset(question.nodes) or frozenset(end[:2] for link in links for end in fabric.ends(link)),
        noticed=noticed,
        risk={link: risk[link] for link in links if link in risk},
        seen_layers=_layers(rows, risk, ports, links) | by_way,
        slowdown=question.slowdown,
        of_job=bool(question.nodes),
    )
    blamed = {link for finding in told.findings for link in finding.links if link in links}
    ends = {link: fabric.ends(link)[0] for one in blamed for link in (one, one ^ 1)}
    changes = changes_of(lake, ends, at)
    dom = {"dom"} if changes or not blamed else set()
    return judged(replace(case, changes=changes, seen_layers=case.seen_layers | dom))


def links_of(fabric: Fabric, question: Question) -> frozenset[int]:
    """The directed links that a question is about.

    Raises:
        DiagnosisError: one of its names is not known.
    """
    found: set[int] = set()
    for port in question.ports:
        pair = fabric.at(port)
        if pair is None:
            msg = f"no link is known at {port[1]} {port[2]} of site {port[0]}"
            raise DiagnosisError(msg)
        found.update(pair)
    known = set(fabric.graph)
    if unknown := [name for site, name in question.nodes if (site, name) not in known]:
        msg = f"the fabric has no device {', '.join(unknown)}"
        raise DiagnosisError(msg)
    return frozenset(found | fabric.between(question.nodes))


def closed_windows(lake: Lake, at: datetime, windows: int) -> pl.DataFrame:
    """Probes of the newest windows that were closed by then; counts that contradict each other are none."""
    rows = lake.latest(PROBES, since=at - _LATE * max(1, windows // 15), until=at).collect()
    ends = pl.col("time") + pl.duration(seconds=pl.col("window_s"))
    rows = rows.filter((ends <= at) | pl.col("window_s").is_null(), _adds_up())
    counted = pl.col("refused", "late", "unsent").fill_null(0)  # who tells of none has seen none
    rows = rows.with_columns(counted, pl.col("epoch_changed", "limited").fill_null(value=False))
    newest = rows["time"].unique().sort(descending=True).head(windows)
    return rows.filter(pl.col("time").is_in(newest.implode()))


def _adds_up() -> pl.Expr:
    """Whether no more is lost than was sent, and both directions together are what was lost, or neither is told."""
    forward, reverse, lost = pl.col("forward_lost"), pl.col("reverse_lost"), pl.col("lost")
    neither = forward.is_null() & reverse.is_null()
    both = (forward >= 0) & (reverse >= 0) & (forward + reverse == lost)
    return lost.is_between(0, pl.col("sent")) & (neither | both.fill_null(value=False))


def _windows(
    lake: Lake, fabric: Fabric, rows: pl.DataFrame, at: datetime
) -> tuple[list[ProbeFinding], Observations, frozenset[str]]:
    """What each window shows before links, what is left of all of them, and whether some way was known by its ports."""
    paths = paths_traced(lake, at)
    ports = ports_by_address(lake, rows)
    known = Known(fabric, ports, frozenset(rows.select("site", "source_device").drop_nulls().unique().rows()))
    ways = Ways(known)
    ways.add(paths)
    found: dict[tuple[str, str], ProbeFinding] = {}
    seen: list[Observations] = [Observations.empty(fabric.links)]
    for (start,), window in rows.sort("time").group_by("time", maintain_order=True):
        length = float(window["window_s"].max() or 0.0)  # type: ignore[arg-type]  # a number of seconds
        told = judge(window, ways, Span(start, start + timedelta(seconds=length)))
        found |= {(str(one.cause), one.subject): one for one in told.findings}
        seen.append(told.seen)
    by_way = frozenset({"ways"}) if any_whole(paths, ports) else frozenset[str]()
    return list(found.values()), Observations.joined(seen), by_way


def _risks(lake: Lake, fabric: Fabric, at: datetime) -> dict[int, float]:
    """Of each directed link the risk of its cable's riskier end, as last scored."""
    rows = lake.latest(SCORES, since=at - _SCORED_WITHIN, until=at, columns=[*_KEY, "status", "risk_24h"]).collect()
    rows = rows.filter(pl.col("status") == "scored") if rows.height else rows
    found: dict[int, float] = {}
    for site, device, interface, risk in _newest(rows, "risk_24h"):
        for link in fabric.at((site, device, interface)) or ():
            found[link] = max(found.get(link, 0.0), risk)
    return found


def _newest(rows: pl.DataFrame, value: str) -> Iterable[tuple[str, str, str, float]]:
    if not rows.height:
        return []
    last = rows.sort("time").unique(["site", "device", "interface"], keep="last")
    return last.select("site", "device", "interface", value).drop_nulls().iter_rows()


def _prior(risk: Mapping[int, float], fabric: Fabric) -> Floats | None:
    if not risk:
        return None
    prior = np.full(fabric.links, np.nan)
    prior[list(risk)] = list(risk.values())
    return prior


def _port_errors(lake: Lake, fabric: Fabric, links: frozenset[int], at: datetime) -> PortErrors | None:
    """What the receiving ports counted lately, as far as it is about these links."""
    devices = {fabric.ends(link)[1][:2] for link in links}
    counters = ["crc_errors", "in_packets"]
    columns = [*_KEY, *counters]
    rows = lake.latest(PORT_SAMPLES, since=at - _COUNTED_WITHIN, until=at, columns=columns, devices=devices).collect()
    packets, errors = np.full(fabric.links, np.nan), np.full(fabric.links, np.nan)
    for (site, device, interface), counts in rows.sort("time").group_by("site", "device", "interface"):
        link = fabric.arriving.get((str(site), str(device), str(interface)))
        grown = counts.select(pl.col(counters).drop_nulls().diff().clip(lower_bound=0).sum()).row(0)
        if link is not None and counts["crc_errors"].drop_nulls().len() > 1:
            errors[link], packets[link] = grown
    return PortErrors(packets, errors) if np.isfinite(errors).any() else None


def _layers(
    rows: pl.DataFrame, risk: Mapping[int, float], ports: PortErrors | None, links: frozenset[int]
) -> frozenset[str]:
    said = {"probes": bool(rows.height), "optic risk": bool(links & risk.keys()), "port counters": ports is not None}
    return frozenset(layer for layer, there in said.items() if there)
