"""What of a window the hosts explain: silence, restarts, dead NICs, starved processors. The rest is the fabric's.

R-Pingmesh's own figures say why this comes first: of its fifty "RNIC" findings thirty were responders without a
processor. Loss on a host's cable that is not total stays for the localiser, to which that cable is one like any other.
"""

from collections import defaultdict
from collections.abc import Iterable

from diagnosis.fabric import Device
from diagnosis.probes import Cause, Known, Limits, ProbeFinding, Row, confidence, share_lost

__all__ = ["explained_by_hosts"]

Rest = list[Row]
_MOST: float = 0.5
_SEVERAL: int = 2
_NIC_LOSS: float = 0.1


def explained_by_hosts(rows: Iterable[Row], known: Known, limits: Limits) -> tuple[list[ProbeFinding], Rest]:
    """Findings about hosts, and the rows that none of them explains."""
    rest = [row for row in rows if not row["limited"] and row["sent"]]
    silent, rest = _silent(rest, known, limits)
    restarted, rest = _restarted(rest)
    dead, rest = _dead_nics(rest, known, limits)
    starved, rest = _starved(rest, limits)
    return [*silent, *restarted, *dead, *starved], rest


def _silent(rows: Rest, known: Known, limits: Limits) -> tuple[list[ProbeFinding], Rest]:
    """Hosts that told nothing, and those of which nothing is heard though they speak."""
    spoke = {(row["site"], row["source_device"]) for row in rows}
    findings, gone = [], set()
    for host, to in _by_target(rows, known.agents).items():
        cause = _cause_of_silence(to, told=host in spoke, limits=limits)
        if cause is not None:
            findings.append(_about(cause, host, to))
            gone.add(host)
    return findings, _without(rows, gone)


def _cause_of_silence(to: Rest, *, told: bool, limits: Limits) -> Cause | None:
    lost = share_lost(to)
    refused = sum(row["refused"] for row in to)
    alive = any(row["kernel_answers"] for row in to)
    changed = any(row["epoch_changed"] for row in to)
    if refused:
        return Cause.AGENT_RESTARTED if changed else Cause.AGENT_DOWN
    if lost >= limits.dead and alive:
        return Cause.HOST_STALLED
    if told:
        return None
    slow = any((row["target_max_ns"] or 0) >= limits.starved_ns for row in to)
    silence = (
        (changed, Cause.AGENT_RESTARTED),
        (lost >= limits.dead, Cause.HOST_DOWN),
        (alive or slow, Cause.HOST_STALLED),
    )
    return next((cause for holds, cause in silence if holds), Cause.AGENT_SILENT)


def _restarted(rows: Rest) -> tuple[list[ProbeFinding], Rest]:
    """Rows whose responder's counts began anew say nothing; where most agree, it was started anew."""
    findings = []
    for host, to in _by_target(rows, ()).items():
        changed = [row for row in to if row["epoch_changed"]]
        if len(changed) > _MOST * len(to):
            findings.append(_about(Cause.AGENT_RESTARTED, host, changed))
    return findings, [row for row in rows if not row["epoch_changed"]]


def _dead_nics(rows: Rest, known: Known, limits: Limits) -> tuple[list[ProbeFinding], Rest]:
    """NICs that nothing comes to nor leaves, while their host's agent speaks."""
    findings, gone = [], set()
    for address in dict.fromkeys(row["target_address"] for row in rows):
        to = [row for row in rows if row["target_address"] == address]
        by = [row for row in rows if row["source_address"] == address]
        if share_lost(to) >= limits.dead and by and share_lost(by) >= limits.dead:
            port = known.ports.get(address)
            link = known.fabric.at(port) if port is not None else None
            where = f"{to[0]['target_device']}:{to[0]['target_interface']}"
            detail = f"nothing comes to or leaves {where}; its host's agent speaks"
            findings.append(ProbeFinding(Cause.NIC_DOWN, where, len(to) + len(by), confidence(to), detail, link or ()))
            gone.add(address)
    return findings, [row for row in rows if not {row["source_address"], row["target_address"]} & gone]


def _starved(rows: Rest, limits: Limits) -> tuple[list[ProbeFinding], Rest]:
    """Hosts that answer late, or of which several NICs lose at once."""
    findings, gone = [], set()
    for host, to in _by_target(rows, ()).items():
        slow = [row for row in to if (row["target_p99_ns"] or 0) >= limits.starved_ns]
        nics = {address: [row for row in to if row["target_address"] == address] for address in _targets(to)}
        at_once = len(nics) >= _SEVERAL and all(share_lost(each) > _NIC_LOSS for each in nics.values())
        if len(slow) > _MOST * len(to) or at_once:
            findings.append(_about(Cause.HOST_STARVED, host, slow or to))
            gone.add(host)
    return findings, _without(rows, gone)


_SAID = {
    Cause.HOST_DOWN: "neither its agent nor its kernel answers, and it tells nothing: down, or its only cable is cut",
    Cause.HOST_STALLED: "its kernel answers and its agent does not: stopped, or without a processor",
    Cause.HOST_STARVED: "it answers long after the questions came, or loses at several NICs at once: its processor",
    Cause.AGENT_DOWN: "its kernel says that no agent runs",
    Cause.AGENT_SILENT: "it answers probes and tells nothing: its rows do not come through",
    Cause.AGENT_RESTARTED: "its agent was started anew: what was lost meanwhile says nothing of the network",
}


def _about(cause: Cause, host: Device, rows: Rest) -> ProbeFinding:
    return ProbeFinding(cause, host[1], len(rows), confidence(rows), _SAID[cause])


def _by_target(rows: Rest, also: Iterable[Device]) -> dict[Device, Rest]:
    found: dict[Device, Rest] = defaultdict(list)
    for row in rows:
        found[row["site"], row["target_device"]].append(row)
    for host in also:
        found.setdefault(host, [])
    return found


def _targets(rows: Rest) -> set[str]:
    return {row["target_address"] for row in rows}


def _without(rows: Rest, hosts: set[Device]) -> Rest:
    """Rows from and to other hosts."""
    return [
        row
        for row in rows
        if (row["site"], row["source_device"]) not in hosts and (row["site"], row["target_device"]) not in hosts
    ]
