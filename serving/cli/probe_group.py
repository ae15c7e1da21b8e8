"""Probes between hosts: `forelight probe agent` on each of them, `forelight probe controller` beside the service."""

import socket
from pathlib import Path
from typing import Annotated

import typer

from serving.cli.options import Json

__all__ = ["probe"]

probe = typer.Typer(help="Probe the network between hosts.")


@probe.callback()
def _group() -> None:
    """Probe the network between hosts."""


@probe.command()
def agent(  # noqa: PLR0913, PLR0917 - options of the command line
    pinglist: Annotated[
        Path | None, typer.Option(help="What to probe; where not given, as the service at --url plans.", metavar="FILE")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the rows of each window, instead of --url.", metavar="DIR")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Of the service.", metavar="https://HOST:PORT")] = None,
    spool: Annotated[Path, typer.Option(help="Folder for what is not acknowledged yet.", metavar="DIR")] = Path(
        "/var/lib/forelight-probe"
    ),
    spool_max_mb: Annotated[float, typer.Option(help="Then the oldest windows are dropped.", min=1.0)] = 256.0,
    ca_file: Annotated[Path | None, typer.Option(help="Certificates to verify the service by.", metavar="PEM")] = None,
    max_per_s: Annotated[
        float, typer.Option(help="Packets that this host sends of its own accord, whatever it is told.", min=4.0)
    ] = 200.0,
    network: Annotated[
        list[str] | None, typer.Option(help="May be probed beside private ones; repeatable.", metavar="CIDR")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="This host as inventory calls it; its host name where not given.", metavar="NAME")
    ] = None,
    site: Annotated[str, typer.Option(help="Of this host.", metavar="NAME")] = "default",
) -> None:
    """Probe other hosts and answer their probes; a row a 5-tuple and window. Token: as `forelight agent`."""
    from ingest.probes.limits import Limits
    from serving.cli import probe as command

    limits = Limits.of(max_per_s, network or [])
    head = {"site": site, "device": device or socket.gethostname()}
    command.run_agent(head, pinglist, command.Way(out, url, spool, spool_max_mb, ca_file, limits))


@probe.command()
def controller(  # noqa: PLR0913, PLR0917 - options of the command line
    nics: Annotated[
        Path, typer.Option(help="CSV of what may probe: device, interface, address; site, tor.", metavar="FILE")
    ],
    once: Annotated[bool, typer.Option("--once", help="Plan once and end.")] = False,
    every_s: Annotated[float, typer.Option(help="Between looks at the fabric and the file.", min=1.0)] = 300.0,
    rotate_s: Annotated[
        float, typer.Option(help="After it a fifth of the source ports is replaced.", min=60.0)
    ] = 3600.0,
    mesh_per_s: Annotated[float, typer.Option(help="Probes of each NIC within its ToR.", min=0.0)] = 10.0,
    link_per_s: Annotated[float, typer.Option(help="Probes across each link between switches.", min=0.01)] = 10.0,
    agent_per_s: Annotated[float, typer.Option(help="Probes of one host, at most.", min=1.0)] = 100.0,
    alpha: Annotated[int, typer.Option(help="Pinned 5-tuples across each link; 0 pins none.", min=0)] = 1,
    beta: Annotated[int, typer.Option(help="Faults at once that they tell apart.", min=0, max=2)] = 1,
    window_s: Annotated[float, typer.Option(help="Of a row.", min=1.0, max=3600.0)] = 20.0,
    port: Annotated[int, typer.Option(help="Where agents answer; 4791 is RoCEv2's.", min=1024, max=65_535)] = 4791,
    json: Json = False,
) -> None:
    """Plan who probes whom, and hand it to the agents by way of the service."""
    from diagnosis.pinglists import Wishes
    from ingest.probes.pinglist import Pinglist
    from serving.cli import probe_controller as command

    wishes = Wishes(mesh_per_s, link_per_s, agent_per_s, alpha=alpha, beta=beta)
    base = Pinglist((), (), b"", port=port, window_s=window_s, timeout_s=min(0.5, window_s / 4))
    command.control(nics, base, wishes, command.Turns(every_s, rotate_s, once), as_json=json)


@probe.command()
def addresses(
    file: Annotated[Path | None, typer.Argument(help="CSV: device, interface, address; site.", metavar="FILE")] = None,
    json: Json = False,
) -> None:
    """Take which port has which address, so that traced hops are ports; tell the hops that no list names."""
    from serving.cli import probe_controller as command

    command.addresses(file, as_json=json)


@probe.command()
def stop(reason: Annotated[str, typer.Option(help="Why.")] = "") -> None:
    """Let no agent that asks the service probe or answer, until `resume`."""
    from serving.cli import probe_controller as command

    command.stop(reason)


@probe.command()
def resume() -> None:
    """Let agents probe as planned."""
    from serving.cli import probe_controller as command

    command.resume()
