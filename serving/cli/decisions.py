"""``forelight decisions``: what was decided, what is out, and the switches that people hold."""

import difflib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

import typer
from rich.console import Console
from rich.table import Table

from features.fleet import Fleet
from features.labels import failure_events
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES
from serving.alarms import utc_now
from serving.cli.progress import step
from serving.cli.who import user
from serving.drains.activation import refused_activation, shadow_of
from serving.drains.advice import Mode
from serving.drains.config import load_drain_config
from serving.drains.desk import Desk
from serving.drains.fabric import LinkClass
from serving.drains.guard import Code
from serving.drains.log import LogFilter, LogPage, read_log
from serving.drains.records import Exclusion, Kind
from serving.drains.replay import Period, Replay, replay
from serving.drains.sight import look
from serving.drains.store import ALL, DrainStore
from serving.errors import ServingError
from serving.scoring.training import newest_hour
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["exclude", "include", "list_decisions", "run_replay", "set_mode", "status", "stop"]

_WIDTH: Final = 160
_ADVICE: Final = 1_000_000
_FORCE: Final = "--force excludes it all the same"


def list_decisions(*, kind: str | None, since: datetime | None, before: int | None, limit: int, as_json: bool) -> None:
    """Print the log, the newest first."""
    where = LogFilter(None if kind is None else Kind(kind), since=since)
    with AlarmStore(Settings.from_env().database_url) as store:
        cursor = None if before is None else str(before)
        found = read_log(store.engine, where, cursor=cursor, limit=limit)
    if as_json:
        _print_json([{"decision_id": line.number} | asdict(line.entry) for line in found.lines])
        return
    _tell_log(found)


def _tell_log(found: LogPage) -> None:
    table = Table("at", "what", "outcome", "code", "where", "by", "why")
    for one in (line.entry for line in found.lines):
        where = " ".join(part for part in (one.device, one.interface) if part)
        table.add_row(_minute(one.at), one.kind, one.outcome, one.code or "", where, one.who, one.why)
    _print(table)
    if found.next_cursor is not None:
        typer.echo(f"there are older ones: --before {found.next_cursor}")


def status(*, as_json: bool) -> None:
    """Print modes, what is out and what is excluded."""
    with _drains() as (_, drains):
        now = drains.standing()
    modes = {str(kind): str(now.mode(kind)) for kind in LinkClass}
    told = {
        "stopped": None if now.stopped is None else asdict(now.stopped),
        "modes": modes,
        "out": [asdict(one) | {"ended_at": one.end(now.now)} for one in now.out],
        "exclusions": [asdict(one) for one in now.exclusions],
    }
    if as_json:
        _print_json(told)
        return
    if now.stopped is not None:
        typer.echo(f"all drains are stopped by {now.stopped.who}: {now.stopped.why}")
    typer.echo(", ".join(f"{kind} links: {mode}" for kind, mode in modes.items()))
    table = Table("link", "state", "holder", "since", "until", title=f"{len(now.out)} drains hold capacity")
    for one in now.out:
        end = one.end(now.now) or one.expires_at
        table.add_row(one.link_id, one.state, one.holder, _minute(one.granted_at), "" if end is None else _minute(end))
    _print(table)
    excluded = Table("number", "where", "until", "by", "why", title="excluded")
    for no in now.exclusions:
        where = " ".join(part for part in (no.device, no.interface) if part)
        excluded.add_row(str(no.exclusion_id), where, _minute(no.until), no.who, no.why)
    _print(excluded)


def set_mode(kind: LinkClass, mode: Mode, why: str) -> None:
    """Put a class of links into shadow, or make it active where shadow has shown that it may be.

    Raises:
        ServingError: shadow was too short, or its drains were not right often enough.
    """
    with _drains() as (settings, drains):
        told = ""
        if mode is Mode.ACTIVE:
            asked = load_drain_config(settings.drains_config).activation
            if kind is LinkClass.ACCESS:
                msg = "a server's link has no other beside it: no lease is ever given for one, active or not"
                raise ServingError(msg)
            before = drains.standing().switches.get(kind)
            since = None if before is None else before.since
            shadow = shadow_of(drains.log(kind=Kind.ADVICE, limit=_ADVICE), _events(settings), kind, utc_now(), since)
            if refusal := refused_activation(shadow, asked):
                msg = f"{kind} links stay in shadow: {refusal}"
                raise ServingError(msg)
            told = (
                f"{shadow.right} of {shadow.advised} advised drains were right, at least {shadow.least_precision:.2f}"
            )
        _switch(drains, kind, mode, "; ".join(part for part in (told, why) if part))
    typer.echo(f"{kind} links: {mode}")


def stop(*, stopped: bool, why: str) -> None:
    """Stop every lease at once, or let them be given again."""
    with _drains() as (_, drains):
        _switch(drains, ALL, Code.STOPPED if stopped else "running", why)
    typer.echo("no lease is given until `forelight decisions resume`" if stopped else "leases are given again")


def exclude(device: str, interface: str | None, *, site: str, hours: float, why: str, force: bool) -> None:
    """Let nothing be drained at a port or a device for some hours.

    Raises:
        ServingError: no link is known there, and it was not forced: a name that is mistyped would protect nothing.
    """
    if not force and (unknown := _unknown(site, device, interface)):
        raise ServingError(unknown)
    place = {"site": site, "device": device, "interface": interface}
    with _drains() as (_, drains), drains.writing() as writing:
        until = writing.now + timedelta(hours=hours)
        writing.exclude(Exclusion(exclusion_id=0, until=until, who=f"cli:{user()}", why=why, **place))  # type: ignore[arg-type]  # as named
    typer.echo(f"{' '.join(part for part in (device, interface) if part)} is excluded until {_minute(until)}")


def _unknown(site: str, device: str, interface: str | None) -> str:
    """Why nothing would be excluded; empty where there is a link at that place."""
    settings = Settings.from_env()
    ports = look(Lake(settings.lake_uri), load_drain_config(settings.drains_config).guard, utc_now()).fabric.at_port
    here = {port for port in ports if port[0] == site}
    if not any(name == device for _, name, _ in here):
        return f"no link is known at {device} of site {site}{_nearest(device, {name for _, name, _ in here})}; {_FORCE}"
    names = {port for _, name, port in here if name == device}
    if interface is not None and interface not in names:
        return f"no link is known at {interface} of {device}{_nearest(interface, names)}; {_FORCE}"
    return ""


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.0)
    return f"; the nearest is {near[0]}" if near else ", nor anywhere"


def include(number: int) -> None:
    """End an exclusion.

    Raises:
        ServingError: there is none of this number.
    """
    with _drains() as (_, drains), drains.writing() as writing:
        if not writing.include(number, f"cli:{user()}"):
            msg = f"there is no exclusion {number}: `forelight decisions status` lists them"
            raise ServingError(msg)
    typer.echo(f"exclusion {number} has ended")


def run_replay(start: datetime, end: datetime, *, as_json: bool) -> None:
    """Print what would have been drained, and what it would have saved."""
    if start >= end:
        msg = f"nothing to ask about: {start.isoformat()} is not before {end.isoformat()}"
        raise ServingError(msg)
    with _drains() as (settings, drains):
        desk = Desk(drains, load_drain_config(settings.drains_config))
        with AlarmStore(settings.database_url) as store:
            alarms = list(store.walk())
        events = _events(settings)
        with step("asking again") as progress:
            lake = Lake(settings.lake_uri)
            found = replay(lake, desk, alarms, events, Period(start, end, newest_hour(lake)), progress)
    if as_json:
        head = {"saved_gpu_h": found.saved_gpu_h, "failures": found.failures, "missed": found.missed}
        _print_json(head | {"counts": dict(found.counts), "answers": [asdict(one) for one in found.answers]})
        return
    _tell(found)


def _tell(found: Replay) -> None:
    table = Table("at", "link", "advice", "code", "failed", "saved, GPU h", title="level act, as it would have been")
    for one in found.answers:
        failed = "" if one.failed_at is None else _minute(one.failed_at)
        saved = "not known yet" if one.saved_gpu_h is None else f"{one.saved_gpu_h:+.1f}"
        table.add_row(_minute(one.at), one.link_id, one.advice, one.code or "", failed, saved)
    _print(table)
    counts = ", ".join(f"{count} {name}" for name, count in sorted(found.counts.items())) or "no alarm of level act"
    typer.echo(f"{counts}; {found.saved_gpu_h:+.1f} GPU hours saved in all")
    typer.echo(f"{found.failures} failures in the time, {found.missed} of them without an alarm of level act before")


def _events(settings: Settings) -> Any:
    lake = Lake(settings.lake_uri)
    with step("dating failures"):
        return failure_events(Fleet.load(lake), lake.scan(PORT_SAMPLES), lake.scan(LANE_SAMPLES))


def _switch(drains: DrainStore, name: str, mode: str, why: str) -> None:
    with drains.writing() as writing:
        writing.switch(name, mode, f"cli:{user()}", why)


@contextmanager
def _drains() -> Iterator[tuple[Settings, DrainStore]]:
    settings = Settings.from_env()
    with AlarmStore(settings.database_url) as store:
        yield settings, DrainStore(store.engine)


def _minute(time: datetime) -> str:
    return time.isoformat(timespec="minutes")


def _print(table: Table) -> None:
    width = max(Console().width, _WIDTH)
    Console(width=width, soft_wrap=True, markup=False, highlight=False).print(table)


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, allow_nan=False, default=lambda one: one.isoformat()))
