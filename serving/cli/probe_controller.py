"""``forelight probe controller``, ``addresses``, ``stop`` and ``resume``: what agents shall do, into the database."""

import json
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import typer

from diagnosis.fabric import Fabric
from diagnosis.pinglists import Planned, Wishes, planned
from diagnosis.reading import fabric_of
from diagnosis.traces import paths_traced, ports_by_address, traced, unmapped
from ingest.errors import ForelightError
from ingest.lake import Lake
from ingest.probes.addresses import address_table, read_addresses
from ingest.probes.pinglist import Pinglist
from ingest.schema import PORT_ADDRESSES
from serving.access.audit import Entry, note
from serving.alarms import utc_now
from serving.cli.who import user
from serving.pinglists import PinglistStore
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["Turns", "addresses", "control", "resume", "stop"]

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Turns:
    """How often: looks at the fabric and at the file of NICs, and moves of ports."""

    every_s: float
    rotate_s: float
    once: bool


@dataclass(slots=True)
class _Controller:
    """Plans anew where the NICs, the fabric or the period are others than before."""

    lake: Lake
    store: PinglistStore
    nics: Path
    base: Pinglist
    wishes: Wishes
    rotate_s: float
    _before: object = field(default=None, init=False)

    def turn(self, at: datetime) -> tuple[Fabric, Planned, int] | None:
        """The plan, and how many pinglists changed; None where nothing is new.

        Raises:
            ConfigError: the file of NICs is wrong; what was planned before stands.
        """
        nics, fabric = read_addresses(self.nics), fabric_of(self.lake, at)
        period = int(at.timestamp() // self.rotate_s)
        if (nics, fabric, period) == self._before:
            return None
        found = planned(fabric, nics, period, self.base, self.wishes, self._traced(fabric, at))
        changed = self.store.put(found.pinglists)
        self._before = (nics, fabric, period)
        return fabric, found, changed

    def _traced(self, fabric: Fabric, at: datetime) -> dict[tuple[str, int, str], tuple[int, ...]]:
        """Those that are pinned already come first: of equal ones they stay."""
        ways = traced(self.lake, fabric, at)
        flows = (flow for todo in self.store.all().values() for flow in todo.flows if flow.kind == "pinned")
        pinned = [(flow.source_address, flow.source_port, flow.target_address) for flow in flows]
        return {key: ways[key] for key in pinned if key in ways} | ways


def control(nics: Path, base: Pinglist, wishes: Wishes, turns: Turns, *, as_json: bool) -> None:
    """Plan until SIGTERM or Ctrl-C, or once, and tell each new plan.

    Raises:
        ForelightError: once only: the file of NICs is wrong, or lake or database cannot be used.
    """
    settings, ending = Settings.from_env(), threading.Event()
    with AlarmStore(settings.database_url) as alarms:
        store = PinglistStore(alarms.engine)
        todo = Pinglist.of(base.as_json() | {"key": store.key().hex()}, "the options")
        controller = _Controller(Lake(settings.lake_uri), store, nics, todo, wishes, turns.rotate_s)
        if not turns.once:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: ending.set())
        while not ending.is_set():
            try:
                _turn(controller, as_json=as_json)
            except ForelightError as error:
                if turns.once:
                    raise
                typer.echo(f"forelight probe controller: {error}; what was planned before stands", err=True)
            if turns.once:
                return
            ending.wait(turns.every_s)


def _turn(controller: _Controller, *, as_json: bool) -> None:
    if (told := controller.turn(utc_now())) is not None:
        typer.echo(json.dumps(_as_json(*told)) if as_json else "\n".join(_lines(*told)))
    if (halt := controller.store.stopped()) is not None:
        typer.echo(f"probing is stopped since {halt.at:%Y-%m-%d %H:%M} by {halt.who}: {halt.why}", err=True)


def addresses(file: Path | None, *, as_json: bool) -> None:
    """Take a list of addresses, and tell the hops of the last hour that no list names.

    Raises:
        ConfigError: the file is wrong; nothing of it was taken.
    """
    lake, now = Lake(Settings.from_env().lake_uri), utc_now()
    taken = 0
    if file is not None:
        ports = read_addresses(file)
        taken = lake.append(PORT_ADDRESSES, address_table(ports, now))
    paths = paths_traced(lake, now)
    left = unmapped(paths, ports_by_address(lake, paths)).most_common()
    if as_json:
        typer.echo(json.dumps({"taken": taken, "unmapped": [{"address": hop, "ways": ways} for hop, ways in left]}))
        return
    if file is not None:
        typer.echo(f"{taken} addresses taken")
    typer.echo(f"{len(left)} hops of the last hour are of no port that is known" + (":" if left else ""))
    for hop, ways in left:
        typer.echo(f"  {hop} on {ways} ways")


def stop(why: str) -> None:
    """Let nobody probe until `resume`."""
    with AlarmStore(Settings.from_env().database_url) as alarms:
        PinglistStore(alarms.engine).stop(f"cli:{user()}", why)
        _note(alarms, "probe stop", why)
    typer.echo("stopped: agents send and answer nothing as soon as they ask, which is every minute")


def resume() -> None:
    """Let them probe as planned."""
    with AlarmStore(Settings.from_env().database_url) as alarms:
        PinglistStore(alarms.engine).resume()
        _note(alarms, "probe resume", "")
    typer.echo("resumed: agents probe as soon as they ask, which is every minute")


def _note(alarms: AlarmStore, what: str, subject: str) -> None:
    note(alarms.engine, Entry(at=utc_now(), who=f"cli:{user()}", what=what, subject=subject[:500], outcome="done"))


def _as_json(fabric: Fabric, found: Planned, changed: int) -> dict[str, object]:
    pinned = found.pinned
    return {
        "hosts": len(found.pinglists),
        "changed": changed,
        "flows": sum(len(todo.flows) for todo in found.pinglists.values()),
        "least_link_per_s": min(found.link_per_s.values(), default=None),
        "links": len(found.link_per_s),
        "unseen": [fabric.named(link) for link in found.unseen],
        "slowed": [{"site": site, "device": name, "share": share} for (site, name), share in found.slowed.items()],
        "alone": [name for _, name in found.alone],
        "apart": [name for _, name in found.apart],
        "without_tor": [f"{nic.device}:{nic.interface}" for nic in found.homeless],
        "pinned": None
        if pinned is None
        else {
            "flows": len(pinned.chosen),
            "cover": pinned.cover,
            "classes": [sorted(fabric.named(link) for link in alike) for alike in pinned.classes],
        },
    }


def _lines(fabric: Fabric, found: Planned, changed: int) -> Iterator[str]:
    told = _as_json(fabric, found, changed)
    yield f"{told['hosts']} hosts probe by {told['flows']} 5-tuples; {changed} pinglists changed"
    if found.link_per_s:
        yield f"  {told['links']} links are crossed by {min(found.link_per_s.values()):.3g} probes a second at least"
    yield from _some("no probe crosses", [fabric.named(link) for link in found.unseen])
    yield from _some(
        "may not send all that is wished", [f"{name} ({share:.0%})" for (_, name), share in found.slowed.items()]
    )
    yield from _some("one host alone at", [name for _, name in found.alone])
    yield from _some("no other ToR is reached from", [name for _, name in found.apart])
    yield from _some(
        "not probed, since no link tells its ToR:", [f"{nic.device}:{nic.interface}" for nic in found.homeless]
    )
    if found.pinned is None:
        yield "  pinned: none, since no way between ToRs is known by all its ports (`forelight probe addresses`)"
        return
    yield f"  pinned: {len(found.pinned.chosen)} 5-tuples, {found.pinned.cover} or more across each link in reach"
    alike = [" or ".join(sorted(fabric.named(link) for link in links)) for links in found.pinned.classes]
    yield from _some("which do not tell apart", alike)


def _some(what: str, names: list[str]) -> Iterator[str]:
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield f"  {what} {', '.join(names[:_SHOWN])}{more}"
