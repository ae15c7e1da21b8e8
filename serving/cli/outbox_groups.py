"""The commands about deliveries and copies of the store: `forelight deliver`, `outbox …`, `backup`, `restore`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from serving.cli.options import Json

__all__ = ["backup", "deliver", "outbox", "restore"]

_State = Literal["open", "dead", "waiting", "standing", "done", "dropped", "all"]
_Names = Annotated[list[str] | None, typer.Argument(metavar="[DELIVERY]...", help="As `list` names them: oncall/17.")]

outbox = typer.Typer(
    help="What waits for consumers, and what is dead: list, retry, drop, forget.", no_args_is_help=True
)


def deliver(
    config: Annotated[
        Path, typer.Option("-c", "--config", metavar="FILE", help="Consumers and how they are told.")
    ] = Path("forelight-deliver.toml"),
    once: Annotated[bool, typer.Option("--once", help="End when nothing is due any more.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent now; send and change nothing.")
    ] = False,
    adapter: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this one; repeatable.")] = None,
) -> None:
    """Deliver alarms to consumers, until SIGTERM or Ctrl-C."""
    from serving.cli import deliver as command

    command.run(config, once=once, dry_run=dry_run, only=adapter or [])


def backup(out: Annotated[Path, typer.Argument(metavar="FILE", help="Must not be there yet.")]) -> None:
    """Copy the alarm store (SQLite) while it is in use."""
    from serving.cli import backup as command

    command.run(out)


def restore(copy: Annotated[Path, typer.Argument(metavar="FILE", help="What `backup` wrote.")]) -> None:
    """Put a copy of the alarm store back; what was there before is kept beside it."""
    from serving.cli import backup as command

    command.restore(copy)


@outbox.command("list")
def outbox_list(
    state: Annotated[_State, typer.Option(help="`open`: what waits and what is dead.")] = "open", json: Json = False
) -> None:
    """List deliveries, the oldest first, and what each consumer has to hear."""
    from serving.cli import outbox as command

    command.list_letters(state=state, as_json=json)


@outbox.command("retry")
def outbox_retry(
    deliveries: _Names = None, every: Annotated[bool, typer.Option("--all", help="All dead ones.")] = False
) -> None:
    """Try dead deliveries again."""
    from serving.cli import outbox as command

    command.retry(deliveries or [], every=every)


@outbox.command("drop")
def outbox_drop(
    deliveries: _Names = None, every: Annotated[bool, typer.Option("--all", help="All dead ones.")] = False
) -> None:
    """Give deliveries up; later ones of their alarms go on."""
    from serving.cli import outbox as command

    command.drop(deliveries or [], every=every)


@outbox.command("forget")
def outbox_forget(adapter: str) -> None:
    """Remove a consumer that is no longer configured, with all that waits for it."""
    from serving.cli import outbox as command

    command.forget(adapter)
