"""``forelight audit``: what the audit log holds."""

import json
from dataclasses import asdict
from datetime import datetime

import typer
from rich.console import Console
from rich.table import Table

from serving.access.audit import entries
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["list_entries"]


def list_entries(*, who: str | None, since: datetime | None, limit: int, as_json: bool) -> None:
    """Print entries of the audit log, the newest first."""
    with AlarmStore(Settings.from_env().database_url) as store:
        found = entries(store.engine, who=who, since=since, limit=limit)
    if as_json:
        typer.echo(json.dumps([asdict(entry) | {"at": entry.at.isoformat()} for entry in found], indent=2))
        return
    table = Table("at", "who", "from", "what", "to", "outcome")
    for entry in found:
        row = (entry.at.isoformat(timespec="seconds"), entry.who or "nobody", entry.address or "", entry.what)
        table.add_row(*row, entry.subject, entry.outcome)
    Console(soft_wrap=True, markup=False, highlight=False).print(table)
