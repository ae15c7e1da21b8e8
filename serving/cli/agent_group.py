"""The command of a host: `forelight agent`."""

import socket
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["agent"]


def agent(  # noqa: PLR0913, PLR0917 - options of the command line
    url: Annotated[str, typer.Option(help="Of the service.", metavar="https://HOST:PORT")],
    spool: Annotated[Path, typer.Option(help="Folder for what is not acknowledged yet.", metavar="DIR")] = Path(
        "/var/lib/forelight-agent"
    ),
    device: Annotated[
        str | None, typer.Option(help="This host as inventory calls it; its host name where not given.", metavar="NAME")
    ] = None,
    site: Annotated[str, typer.Option(help="Of this host.", metavar="NAME")] = "default",
    interval: Annotated[float, typer.Option(help="Seconds between two rounds.", min=5.0)] = 60.0,
    interface: Annotated[
        list[str] | None, typer.Option(help="Read this one (repeatable); all physical ones by default.", metavar="NAME")
    ] = None,
    spool_max_mb: Annotated[float, typer.Option(help="Then the oldest rounds are dropped.", min=1.0)] = 256.0,
    ca_file: Annotated[Path | None, typer.Option(help="Certificates to verify the service by.", metavar="PEM")] = None,
    sys: Annotated[Path, typer.Option(help="Where sysfs is, as a container mounts it.", metavar="DIR")] = Path("/sys"),
    timeout: Annotated[float, typer.Option(help="Seconds for one ethtool or mlxlink.", min=1.0)] = 20.0,
    once: Annotated[bool, typer.Option("--once", help="One round, then exit.")] = False,
) -> None:
    """Read the ports of this host and push samples to the service; token: FORELIGHT_AGENT_TOKEN or …_FILE."""
    from ingest.agent.loop import Options
    from serving.cli import agent as command

    options = Options(
        device or socket.gethostname(),
        spool,
        site=site,
        interval_s=interval,
        spool_max_mb=spool_max_mb,
        interfaces=tuple(interface or ()),
        sys=sys,
        timeout_s=timeout,
    )
    command.run(url, options, ca_file, once=once)
