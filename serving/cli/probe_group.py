"""Probes between hosts: `forelight probe agent` on each of them."""

import socket
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["probe"]

probe = typer.Typer(help="Probe the network between hosts.")


@probe.callback()
def _group() -> None:
    """Probe the network between hosts."""


@probe.command()
def agent(
    pinglist: Annotated[Path, typer.Option(help="What to probe.", metavar="FILE")],
    out: Annotated[Path, typer.Option(help="Folder for the rows of each window.", metavar="DIR")],
    device: Annotated[
        str | None, typer.Option(help="This host as inventory calls it; its host name where not given.", metavar="NAME")
    ] = None,
    site: Annotated[str, typer.Option(help="Of this host.", metavar="NAME")] = "default",
) -> None:
    """Probe other hosts and answer their probes; a row a 5-tuple and window."""
    from serving.cli import probe as command

    command.run_agent({"site": site, "device": device or socket.gethostname()}, pinglist, out)
