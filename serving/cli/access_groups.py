"""The commands about access: `forelight token …` and `forelight audit …`; declared as those of `app`."""

from datetime import datetime
from typing import Annotated, Literal

import typer

from serving.cli.options import Json, utc_time

__all__ = ["audit", "token"]

_Scope = Literal["read", "operate", "admin", "ingest"]

token = typer.Typer(help="Create, list and revoke API tokens.", no_args_is_help=True)
audit = typer.Typer(help="Read the audit log: who changed what, when, and how it ended.", no_args_is_help=True)


@token.command("create")
def token_create(
    name: Annotated[str, typer.Argument(help="Whoever will use it; changes are noted under it.")],
    scope: Annotated[
        _Scope, typer.Option(help="Each allows what those before it do; ingest: to push samples, and nothing else.")
    ] = "read",
    days: Annotated[int, typer.Option(min=0, max=3650, help="Expires after so many; 0: never.")] = 365,
    device: Annotated[
        str | None, typer.Option(help="With --scope ingest: the one host whose samples it may push; any by default.")
    ] = None,
    site: Annotated[str, typer.Option(help="Of that host.")] = "default",
    json: Json = False,
) -> None:
    """Make a token and print it, this once."""
    from serving.cli import token as command

    command.create(name, scope=scope, days=days, device=None if device is None else (site, device), as_json=json)


@token.command("list")
def token_list(json: Json = False) -> None:
    """List tokens, those that are no longer valid, too; their texts are not known."""
    from serving.cli import token as command

    command.list_tokens(as_json=json)


@token.command("revoke")
def token_revoke(which: Annotated[str, typer.Argument(metavar="ID|NAME")]) -> None:
    """Revoke a token by its id, or all of a name; running services refuse it within seconds."""
    from serving.cli import token as command

    command.revoke(which)


@audit.command("list")
def audit_list(
    who: Annotated[str | None, typer.Option(help="Only this token's or user's.")] = None,
    since: Annotated[datetime | None, typer.Option(parser=utc_time, metavar="TIME", help="Only from then on.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000)] = 100,
    json: Json = False,
) -> None:
    """List entries of the audit log, the newest first."""
    from serving.cli import audit as command

    command.list_entries(who=who, since=since, limit=limit, as_json=json)
