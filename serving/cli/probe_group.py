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
def agent(  # noqa: PLR0913, PLR0917 - options of the command line
    pinglist: Annotated[Path, typer.Option(help="What to probe.", metavar="FILE")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the rows of each window, instead of --url.", metavar="DIR")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Of the service.", metavar="https://HOST:PORT")] = None,
    spool: Annotated[Path, typer.Option(help="Folder for what is not acknowledged yet.", metavar="DIR")] = Path(
        "/var/lib/forelight-probe"
    ),
    spool_max_mb: Annotated[float, typer.Option(help="Then the oldest windows are dropped.", min=1.0)] = 256.0,
    ca_file: Annotated[Path | None, typer.Option(help="Certificates to verify the service by.", metavar="PEM")] = None,
    device: Annotated[
        str | None, typer.Option(help="This host as inventory calls it; its host name where not given.", metavar="NAME")
    ] = None,
    site: Annotated[str, typer.Option(help="Of this host.", metavar="NAME")] = "default",
) -> None:
    """Probe other hosts and answer their probes; a row a 5-tuple and window. Token: as `forelight agent`."""
    from serving.cli import probe as command

    head = {"site": site, "device": device or socket.gethostname()}
    command.run_agent(head, pinglist, command.Way(out, url, spool, spool_max_mb, ca_file))
