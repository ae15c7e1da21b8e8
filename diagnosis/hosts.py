"""What of a window the hosts explain: silence, restarts, dead NICs, starved processors. The rest is the fabric's.

R-Pingmesh's own figures say why this comes first: of its fifty "RNIC" findings thirty were responders without a
processor. Loss on a host's cable that is not total stays for the localiser, to which that cable is one like any other.
"""

import polars as pl

from diagnosis.fabric import Device
from diagnosis.probes import TELLERS, Cause, Known, Limits, ProbeFinding, confidence, sure_of

__all__ = ["explained_by_hosts"]

_MOST: float = 0.5
_SEVERAL: int = 2
_NIC_LOSS: float = 0.1
_HOST = ("site", "target_device")
_SHARE = pl.col("lost").sum() / pl.col("sent").sum()

Told = tuple[list[ProbeFinding], pl.DataFrame]


def explained_by_hosts(rows: pl.DataFrame, known: Known, limits: Limits) -> Told:
    """Findings about hosts, and the rows that none of them explains."""
    rest = rows.filter(~pl.col("limited").fill_null(value=False), pl.col("sent") > 0)
    silent, rest = _silent(rest, known, limits)
    restarted, rest = _restarted(rest)
    dead, rest = _dead_nics(rest, known, limits)
    starved, rest = _starved(rest, limits)
    return [*silent, *restarted, *dead, *starved], rest


def _silent(rows: pl.DataFrame, known: Known, limits: Limits) -> Told:
    """Hosts that told nothing, and those of which nothing is heard though they speak."""
    spoke = set(rows.select("site", "source_device").unique().rows())
    to = _by_host(rows).agg(
        pl.len().alias("rows"),
        TELLERS.alias("tellers"),
        _SHARE.alias("lost"),
        pl.col("refused").sum(),
        pl.col("kernel_answers").any().alias("alive"),
        pl.col("epoch_changed").any().alias("changed"),
        (pl.col("target_max_ns") >= limits.starved_ns).any().alias("slow"),
    )
    findings, gone = [], []
    for site, host, count, tellers, *said in to.iter_rows():
        cause = _cause_of_silence(*said, told=(site, host) in spoke, limits=limits)
        if cause is not None:
            findings.append(_about(cause, host, count, sure_of(tellers)))
            gone.append((site, host))
    unheard = sorted(known.agents - spoke - set(to.select(_HOST).rows()))
    findings += [_about(Cause.AGENT_SILENT, host, 0, sure_of(0)) for _, host in unheard]
    return findings, _without(rows, gone)


def _cause_of_silence(
    lost: float,
    refused: int,
    alive: bool,
    changed: bool,
    slow: bool,
    *,
    told: bool,
    limits: Limits,
) -> Cause | None:
    if refused:
        return Cause.AGENT_RESTARTED if changed else Cause.AGENT_DOWN
    if lost >= limits.dead and alive:
        return Cause.HOST_STALLED
    if told:
        return None
    silence = (
        (changed, Cause.AGENT_RESTARTED),
        (lost >= limits.dead, Cause.HOST_DOWN),
        (alive or slow, Cause.HOST_STALLED),
    )
    return next((cause for holds, cause in silence if holds), Cause.AGENT_SILENT)


def _restarted(rows: pl.DataFrame) -> Told:
    """Rows whose responder's counts began anew say nothing; where most agree, it was started anew."""
    changed = pl.col("epoch_changed").fill_null(value=False)
    to = _by_host(rows).agg(
        changed.sum().alias("changed"),
        pl.struct("site", "source_device").filter(changed).n_unique().alias("tellers"),
        pl.len().alias("rows"),
    )
    anew = to.filter(pl.col("changed") > _MOST * pl.col("rows"))
    findings = [
        _about(Cause.AGENT_RESTARTED, host, count, sure_of(tellers)) for _, host, count, tellers, _ in anew.iter_rows()
    ]
    return findings, rows.filter(~changed)


def _dead_nics(rows: pl.DataFrame, known: Known, limits: Limits) -> Told:
    """NICs that nothing comes to nor leaves, while their host's agent speaks."""
    dead = pl.col("lost") >= limits.dead
    to = rows.group_by("target_address", maintain_order=True).agg(
        _SHARE.alias("lost"), pl.first("target_device", "target_interface")
    )
    by = rows.group_by(target_address="source_address").agg(_SHARE.alias("lost"))
    both = to.filter(dead).join(by.filter(dead), on="target_address", how="semi", maintain_order="left")
    findings = []
    for address, _, host, interface in both.iter_rows():
        port = known.ports.get(address)
        link = known.fabric.at(port) if port is not None else None
        where = f"{host}:{interface}"
        detail = f"nothing comes to or leaves {where}; its host's agent speaks"
        about = rows.filter((pl.col("target_address") == address) | (pl.col("source_address") == address))
        score = confidence(about.filter(pl.col("target_address") == address))
        findings.append(ProbeFinding(Cause.NIC_DOWN, where, about.height, score, detail, link or ()))
    gone = both["target_address"].implode()
    return findings, rows.filter(~pl.col("target_address").is_in(gone), ~pl.col("source_address").is_in(gone))


def _starved(rows: pl.DataFrame, limits: Limits) -> Told:
    """Hosts that answer late, or of which several NICs lose at once."""
    slow = (pl.col("target_p99_ns") >= limits.starved_ns).fill_null(value=False)
    nics = rows.group_by(*_HOST, "target_address").agg((_SHARE > _NIC_LOSS).alias("loses"))
    at_once = nics.group_by(_HOST).agg(((pl.len() >= _SEVERAL) & pl.col("loses").all()).alias("at_once"))
    to = _by_host(rows).agg(
        slow.sum().alias("slow"),
        pl.len().alias("rows"),
        TELLERS.alias("tellers"),
        pl.struct("site", "source_device").filter(slow).n_unique().alias("of_slow"),
    )
    late = pl.col("slow") > _MOST * pl.col("rows")
    starved = to.join(at_once, on=_HOST, maintain_order="left").filter(late | pl.col("at_once"))
    findings = [
        _about(Cause.HOST_STARVED, host, slow or count, sure_of(of_slow or tellers))
        for _, host, slow, count, tellers, of_slow, _ in starved.iter_rows()
    ]
    return findings, _without(rows, starved.select(_HOST).rows())


_SAID = {
    Cause.HOST_DOWN: "neither its agent nor its kernel answers, and it tells nothing: down, or its only cable is cut",
    Cause.HOST_STALLED: "its kernel answers and its agent does not: stopped, or without a processor",
    Cause.HOST_STARVED: "it answers long after the questions came, or loses at several NICs at once: its processor",
    Cause.AGENT_DOWN: "its kernel says that no agent runs",
    Cause.AGENT_SILENT: "it answers probes and tells nothing: its rows do not come through",
    Cause.AGENT_RESTARTED: "its agent was started anew: what was lost meanwhile says nothing of the network",
}


def _about(cause: Cause, host: str, rows: int, score: float) -> ProbeFinding:
    return ProbeFinding(cause, host, rows, score, _SAID[cause])


def _by_host(rows: pl.DataFrame) -> "pl.dataframe.group_by.GroupBy":
    """Rows by the host that should answer, where it is known which that is."""
    return rows.filter(pl.col("target_device").is_not_null()).group_by(_HOST, maintain_order=True)


def _without(rows: pl.DataFrame, hosts: list[Device]) -> pl.DataFrame:
    """Rows from and to other hosts."""
    for end in ("source", "target") if hosts else ():
        gone = pl.DataFrame(hosts, schema=["site", f"{end}_device"], orient="row")
        rows = rows.join(gone, on=gone.columns, how="anti", maintain_order="left")
    return rows
