"""``forelight token``: make, list and revoke API tokens, on the store directly."""

import json
from datetime import datetime, timedelta

import typer
from rich.console import Console
from rich.table import Table

from serving.access.audit import Entry, note
from serving.access.tokens import Scope, Token, TokenStore
from serving.alarms import utc_now
from serving.cli.who import user
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["create", "list_tokens", "revoke"]


def create(name: str, *, scope: str, days: int, device: tuple[str, str] | None, as_json: bool) -> None:
    """Make a token and print its text, and nothing else, on stdout.

    Raises:
        ServingError: the name is none, or a device is given with another scope than ingest.
    """
    expires_at = utc_now() + timedelta(days=days) if days else None
    with _store() as store:
        made, text = TokenStore(store.engine).create(
            name, Scope(scope), who=_who(), expires_at=expires_at, device=device
        )
        _note(store, "token create", f"{made.token_id} {made.name} {made.scope}")
    if as_json:
        typer.echo(json.dumps(_as_json(made) | {"token": text}, indent=2))
        return
    until = "does not expire" if made.expires_at is None else f"expires {made.expires_at:%Y-%m-%d}"
    typer.echo(
        f"token {made.token_id} of {name}, scope {scope}{_bound(made)}, {until}; it is shown this once:", err=True
    )
    typer.echo(text)


def list_tokens(*, as_json: bool) -> None:
    """Print all tokens that were ever made."""
    with _store() as store:
        found = TokenStore(store.engine).tokens()
    if as_json:
        typer.echo(json.dumps([_as_json(token) for token in found], indent=2))
        return
    table = Table("id", "name", "scope", "made", "by", "expires", "state")
    for token in found:
        row = (token.token_id, token.name, f"{token.scope}{_bound(token)}", _day(token.created_at), token.created_by)
        table.add_row(*row, _day(token.expires_at), _state(token))
    Console(soft_wrap=True, markup=False, highlight=False).print(table)


def revoke(which: str) -> None:
    """Revoke a token by its id, or all of a name.

    Raises:
        ServingError: there is none.
    """
    with _store() as store:
        for token in TokenStore(store.engine).revoke(which, who=_who()):
            _note(store, "token revoke", f"{token.token_id} {token.name}")
            typer.echo(f"token {token.token_id} of {token.name} is revoked")


def _store() -> AlarmStore:
    return AlarmStore(Settings.from_env().database_url)


def _who() -> str:
    return f"cli:{user()}"


def _note(store: AlarmStore, what: str, subject: str) -> None:
    note(store.engine, Entry(at=utc_now(), who=_who(), what=what, subject=subject, outcome="done"))


def _bound(token: Token) -> str:
    return (
        "" if token.device is None else f" of {token.device}" + ("" if token.site == "default" else f" ({token.site})")
    )


def _state(token: Token) -> str:
    if token.revoked_at is not None:
        return f"revoked {_day(token.revoked_at)} by {token.revoked_by}"
    return "valid" if token.valid(utc_now()) else "expired"


def _as_json(token: Token) -> dict[str, str | bool | None]:
    values = {name: getattr(token, name) for name in Token.__slots__}
    texts = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}
    return texts | {"valid": token.valid(utc_now())}


def _day(time: datetime | None) -> str:
    return "never" if time is None else f"{time:%Y-%m-%d}"
