"""The tables beside the telemetry: inventory, links, tickets with their noise, repairs, maintenance, and the truth."""

import csv
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from data_samples.faults import Fault
from data_samples.history import Failure, History
from data_samples.modules import limits
from data_samples.physics import State, healthy_margin
from data_samples.repair import Repair
from ingest.schema import Action, FailureType

__all__ = ["has_precursor", "visible_step", "write_tables"]

_TYPES: Final = [kind for kind in FailureType if kind not in (FailureType.NO_FAULT_FOUND, FailureType.OTHER)]
_SUMMARIES: Final = ("link down / high FER", "flapping", "CRC errors", "job reports slow NIC", "port err-disabled")
_SEEN_DB: Final = 0.3
"""Loss of light can be seen from this level on (bias moves 3 % at half of it) [judgement]."""
_EXPLODES_DB, _SEEN_HOST = 2.0, {True: 0.5, False: 0.1}
"""Errors leave their floor at this margin (2.4e-8 PAM4, 3.5e-10 NRZ by `fec`), those behind the optics at this part
of a lost margin, by PAM4."""
_PLANNED: Final = 0.6
"""Reboots that were announced maintenance [judgement]."""
_PRECURSOR_H: Final = 1.0
"""A precursor is something to see at least an hour before."""

Row = Mapping[str, object]


def write_tables(out: Path, history: History) -> int:
    """Write every CSV file beside the telemetry; returns the number of tickets."""
    tickets, repairs = _tickets(history)
    _write(out / "inventory.csv", _inventory(history))
    _write(out / "links.csv", _links(history))
    _write(out / "tickets.csv", tickets)
    _write(out / "repairs.csv", repairs)
    _write(out / "maintenance.csv", _maintenance(history))
    _write(out / "truth.csv", _truth(history))
    return len(tickets)


_HEADERS: Final = {
    "tickets.csv": "ticket_id,device,interface,serial,opened_at,closed_at,failure_type,action,bench_verdict,summary",
    "repairs.csv": "ticket_id,seq,at,end,action,old_serial,new_serial,outcome",
    "maintenance.csv": "device,interface,start,end,kind,announced_at",
    "truth.csv": "cable_id,device,interface,serial,suspect,failure_type,mode,onset_at,visible_at,failed_at,precursor,"
    "stalled,ticket_id",
}


def _write(path: Path, rows: Iterable[Row]) -> None:
    rows = list(rows)
    names = list(rows[0]) if rows else _HEADERS[path.name].split(",")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)


def _text(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return "" if value is None else value


def _inventory(history: History) -> Iterable[Row]:
    for state in history.states:
        link = state.link
        for place, modules in zip(link.ends, state.modules, strict=True):
            if not place.listed:
                continue
            for module in modules:
                removed = history.config.time(module.last) if module.last < history.config.steps else None
                known = limits(module, link)
                yield {
                    "serial": module.serial,
                    "vendor": module.vendor.name,
                    "part_number": module.part_number,
                    "lot": module.lot,
                    "media": link.media.name,
                    "form_factor": link.media.form_factor,
                    "speed_gbps": link.media.speed_gbps,
                    "fec_mode": link.media.fec,
                    "device": place.device,
                    "interface": place.interface,
                    "role": place.role,
                    "installed_at": module.installed_at,
                    "removed_at": removed,
                    **(known if link.kind == "fiber" else dict.fromkeys(known)),
                }


def _links(history: History) -> Iterable[Row]:
    for state in history.states:
        link = state.link
        yield {
            "a_device": link.ends[0].device,
            "a_interface": link.ends[0].interface,
            "z_device": link.ends[1].device,
            "z_interface": link.ends[1].interface,
            "cable_id": link.cable_id,
            "kind": link.kind,
        }


def _serial(history: History, index: int, end: int, step: int) -> str:
    """Serial in the cage just before a step."""
    return history.states[index].module(end, min(max(step - 1, 0), history.config.steps - 1)).serial


def _tickets(history: History) -> tuple[list[Row], list[Row]]:
    config = history.config
    rng = np.random.default_rng([config.seed, 11])
    tickets: list[Row] = []
    repairs: list[Row] = []
    for number, failure in enumerate(history.failures):
        visit = failure.visit
        if visit.opened >= config.steps:
            continue
        ticket_id = f"INC{1000 + number}"
        tickets.append(_ticket(history, rng, failure, ticket_id))
        repairs += [
            _repair(history, failure, ticket_id, seq, repair)
            for seq, repair in enumerate(visit.repairs, 1)
            if repair.step < config.steps
        ]
    tickets += _false_tickets(history, rng, len(history.failures))
    tickets.sort(key=lambda row: str(row["opened_at"]))
    return tickets, repairs


def _ticket(history: History, rng: np.random.Generator, failure: Failure, ticket_id: str) -> Row:
    config, fault, visit = history.config, failure.fault, failure.visit
    end = fault.end if rng.random() >= config.wrong_end else 1 - fault.end
    place = failure.link.ends[end]
    kind, verdict = fault.kind, str(rng.choice(["confirmed", "unknown"], p=[0.6, 0.4]))
    if not visit.cured:
        kind, verdict = FailureType.NO_FAULT_FOUND, "no_trouble_found"
    elif rng.random() < config.wrong_type:
        others = [other for other in _TYPES if other is not kind]
        kind = others[int(rng.integers(len(others)))]
    device = place.device
    if rng.random() < config.unknown_port:
        device = device[:-1]  # a hand-typed name loses its last digit
    serial = _serial(history, failure.link.index, end, visit.opened)
    closed = config.time(visit.closed) if visit.closed < config.steps else None
    return {
        "ticket_id": ticket_id,
        "device": device,
        "interface": place.interface,
        "serial": None if rng.random() < config.missing_serial or not place.listed else serial,
        "opened_at": config.time(visit.opened),
        "closed_at": closed,
        "failure_type": kind.value,
        "action": visit.repairs[-1].action.value if closed else None,
        "bench_verdict": verdict if closed else None,
        "summary": str(rng.choice(_SUMMARIES)),
    }


def _false_tickets(history: History, rng: np.random.Generator, count: int) -> list[Row]:
    """Tickets about nothing: somebody saw a flap, somebody looked."""
    config = history.config
    rows: list[Row] = []
    for number in range(rng.poisson(config.false_tickets * count)):
        state = history.states[int(rng.integers(len(history.states)))]
        place, opened = state.link.ends[0], int(rng.integers(config.steps))
        closed = opened + int(rng.uniform(2, 40) * config.steps_per_day / 24)
        rows.append(
            {
                "ticket_id": f"INC{1000 + count + number}",
                "device": place.device,
                "interface": place.interface,
                "serial": _serial(history, state.link.index, 0, opened),
                "opened_at": config.time(opened),
                "closed_at": config.time(closed) if closed < config.steps else None,
                "failure_type": FailureType.NO_FAULT_FOUND.value,
                "action": Action.NONE.value,
                "bench_verdict": "no_trouble_found",
                "summary": str(rng.choice(_SUMMARIES)),
            }
        )
    return rows


def _repair(history: History, failure: Failure, ticket_id: str, seq: int, repair: Repair) -> Row:
    place = failure.link.ends[repair.end]
    index, swapped = failure.link.index, repair.swapped
    return {
        "ticket_id": ticket_id,
        "seq": seq,
        "at": history.config.time(repair.step),
        "end": f"{place.device}/{place.interface}",
        "action": repair.action.value,
        "old_serial": _serial(history, index, repair.end, repair.step),
        "new_serial": _serial(history, index, repair.end, repair.step + 1) if swapped else None,
        "outcome": "fixed" if repair.cures else "no_change",
    }


def _maintenance(history: History) -> Iterable[Row]:
    """Drains of ports, announced days before or not at all, and the planned part of the reboots."""
    config = history.config
    rng = np.random.default_rng([config.seed, 13])
    yield from _planned_reboots(history, rng)
    for (index, end), spans in sorted(history.drained.items()):
        place = history.states[index].link.ends[end]
        for first, last, kind in spans:
            yield {
                "device": place.device,
                "interface": place.interface,
                "start": config.time(first),
                "end": config.time(last),
                "kind": kind,
                "announced_at": config.time(first - int(rng.uniform(0, 3) * config.steps_per_day)),
            }


def _planned_reboots(history: History, rng: np.random.Generator) -> Iterable[Row]:
    config = history.config
    ends = {end.device: end for state in history.states for end in state.link.ends}
    for device, end in sorted(ends.items()):
        for step in history.env.device(end).reboots:
            if rng.random() < _PLANNED:
                yield {
                    "device": device,
                    "interface": None,
                    "start": config.time(int(step)),
                    "end": config.time(int(step) + 2),
                    "kind": "firmware",
                    "announced_at": config.time(int(step - rng.uniform(1, 5) * config.steps_per_day)),
                }


def _seen_db(state: State, fault: Fault) -> float:
    """The level from which a fault can be told from health."""
    media = state.link.media
    if fault.mode == "host":
        return _SEEN_HOST[media.pam4] * media.margin_db
    if fault.mode in ("eye", "receiver"):
        direction = fault.end if fault.mode == "eye" else 1 - fault.end
        margin = healthy_margin(state, max(fault.onset, 0), direction)[fault.lanes].min()
        return max(float(margin) - _EXPLODES_DB, _SEEN_DB)
    return _SEEN_DB / 2 if fault.mode == "laser" and media.laser != "vcsel" else _SEEN_DB


def visible_step(state: State, fault: Fault, since: int = 0) -> int | None:
    """The first step from `since` on at which a fault can be told from health; None for never."""
    seen = _seen_db(state, fault)
    begin = max(fault.onset, since)
    over = fault.level_db[begin - fault.onset :] >= seen
    return begin + int(np.argmax(over)) if over.any() else None


def has_precursor(history: History, failure: Failure) -> bool:
    """Whether there was something to see at least an hour before a failure."""
    visible = visible_step(history.states[failure.link.index], failure.fault, failure.since)
    return visible is not None and (failure.failed - visible) * history.config.interval_minutes >= _PRECURSOR_H * 60


def _truth(history: History) -> Iterable[Row]:
    failed = {id(failure.fault) for failure in history.failures}
    for number, failure in enumerate(history.failures):
        yield _true_row(history, failure.link.index, failure.fault, failure.since) | {
            "failed_at": history.config.time(failure.failed),
            "precursor": has_precursor(history, failure),
            "stalled": False,
            "ticket_id": f"INC{1000 + number}",
        }
    for state in history.states:
        for fault in state.faults:
            if id(fault) not in failed and not fault.benign and fault.onset < history.config.steps:
                yield _true_row(history, state.link.index, fault)


def _true_row(history: History, index: int, fault: Fault, since: int = 0) -> dict[str, object]:
    config, state = history.config, history.states[index]
    place, step = state.link.ends[fault.end], max(fault.onset, 0)
    module = state.module(fault.end, step)
    visible = visible_step(state, fault, since)
    return {
        "cable_id": state.link.cable_id,
        "device": place.device,
        "interface": place.interface,
        "serial": module.serial,
        "suspect": "fiber" if fault.kind in (FailureType.CONTAMINATION, FailureType.FIBER_DAMAGE) else "module",
        "failure_type": fault.kind.value,
        "mode": fault.mode,
        "onset_at": config.time(fault.onset),
        "visible_at": config.time(visible) if visible is not None else None,
        "failed_at": None,
        "precursor": None,
        "stalled": fault.stalled,
        "ticket_id": None,
    }
