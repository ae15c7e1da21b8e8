"""`forelight decisions …`: what was decided about links, and the switches that people hold."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from serving.cli.options import Json, utc_time

__all__ = ["decisions"]

_Class = Literal["fabric", "access"]
_Kind = Literal["advice", "lease", "released", "drained", "undrained", "verified", "freed", "mode", "exclusion"]
_Why = Annotated[str, typer.Option("--reason", help="Why.")]

decisions = typer.Typer(
    help="What drains were advised, granted and refused; modes, exclusions, replay.", no_args_is_help=True
)


@decisions.command("list")
def decisions_list(
    kind: Annotated[_Kind | None, typer.Option(help="Only these.")] = None,
    since: Annotated[
        datetime | None, typer.Option(parser=utc_time, metavar="TIME", help="Written at or after that time.")
    ] = None,
    before: Annotated[int | None, typer.Option(min=1, metavar="NUMBER", help="Older than that decision_id.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="So many at most.")] = 100,
    json: Json = False,
) -> None:
    """What was advised, granted, refused and reported, the newest first."""
    from serving.cli import decisions as command

    command.list_decisions(kind=kind, since=since, before=before, limit=limit, as_json=json)


@decisions.command("status")
def decisions_status(json: Json = False) -> None:
    """Modes, what holds capacity now, what is excluded."""
    from serving.cli import decisions as command

    command.status(as_json=json)


@decisions.command("activate")
def decisions_activate(kind: Annotated[_Class, typer.Argument()], reason: _Why = "") -> None:
    """Let leases be given for a class of links, where shadow has shown that its drains would have been right."""
    from serving.cli import decisions as command
    from serving.drains.advice import Mode
    from serving.drains.fabric import LinkClass

    command.set_mode(LinkClass(kind), Mode.ACTIVE, reason)


@decisions.command("shadow")
def decisions_shadow(kind: Annotated[_Class, typer.Argument()], reason: _Why = "") -> None:
    """Give no leases for a class of links; what would be done is recorded."""
    from serving.cli import decisions as command
    from serving.drains.advice import Mode
    from serving.drains.fabric import LinkClass

    command.set_mode(LinkClass(kind), Mode.SHADOW, reason)


@decisions.command("stop")
def decisions_stop(reason: _Why = "") -> None:
    """The kill switch: no lease is given from now on."""
    from serving.cli import decisions as command

    command.stop(stopped=True, why=reason)


@decisions.command("resume")
def decisions_resume(reason: _Why = "") -> None:
    """Take the kill switch back."""
    from serving.cli import decisions as command

    command.stop(stopped=False, why=reason)


@decisions.command("exclude")
def decisions_exclude(
    device: str,
    interface: Annotated[str | None, typer.Argument(help="The whole device where not given.")] = None,
    hours: Annotated[float, typer.Option(min=0.1, max=8_760.0, help="For so long.")] = 24.0,
    site: Annotated[str, typer.Option(help="Which site.")] = "default",
    reason: _Why = "",
    force: Annotated[bool, typer.Option("--force", help="Though no link is known there.")] = False,
) -> None:
    """Let nothing be drained at a port or a device for some hours."""
    from serving.cli import decisions as command

    command.exclude(device, interface, site=site, hours=hours, why=reason, force=force)


@decisions.command("include")
def decisions_include(number: int) -> None:
    """End an exclusion, by its number in `status`."""
    from serving.cli import decisions as command

    command.include(number)


@decisions.command("replay")
def decisions_replay(
    start: Annotated[str, typer.Option("--from", metavar="TIME", help="First time asked about.")],
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="The period ends before it.")],
    json: Json = False,
) -> None:
    """What would have been drained in a time that is past, and what it would have saved."""
    from serving.cli import decisions as command

    command.run_replay(utc_time(start), utc_time(end), as_json=json)


@decisions.command("evidence")
def decisions_evidence(
    alarm_id: str,
    out: Annotated[Path, typer.Argument(metavar="OUT.html")],
    days: Annotated[int, typer.Option(min=1, max=365, help="Readings of so many days before the alarm.")] = 30,
) -> None:
    """The evidence on an alarm's module for its return: facts, limits crossed, history, plots, in one HTML file."""
    from serving.cli import evidence as command

    command.run(alarm_id, out, days=days)
