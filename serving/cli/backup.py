"""``forelight backup`` and ``forelight restore``: copies of the alarm store."""

from pathlib import Path

import typer

from serving.backup import back_up
from serving.backup import restore as put_back
from serving.settings import Settings

__all__ = ["restore", "run"]


def run(to: Path) -> None:
    """Copy the alarm store while it is in use.

    Raises:
        StoreError: it cannot be copied.
    """
    back_up(Settings.from_env().database_url, to)
    typer.echo(f"the alarm store is copied to {to}")


def restore(copy: Path) -> None:
    """Put a copy back.

    Raises:
        StoreError: the copy is not sound.
    """
    before = put_back(Settings.from_env().database_url, copy)
    kept = f"; what was there before is in {before}" if before.exists() else ""
    typer.echo(f"the alarm store is as in {copy}{kept}")
