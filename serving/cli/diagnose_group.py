"""`forelight diagnose`: its options."""

from typing import Annotated

import typer

from serving.cli.options import Json, Time

__all__ = ["diagnose"]


def diagnose(  # noqa: PLR0913, PLR0917 - options of the command line
    link: Annotated[str | None, typer.Argument(metavar="DEVICE/INTERFACE", help="A port of the link.")] = None,
    job: Annotated[str | None, typer.Option(help="What the job is called.")] = None,
    node: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A server of the job; repeatable.")] = None,
    site: Annotated[str, typer.Option(help="Which site.")] = "default",
    windows: Annotated[int, typer.Option(min=1, max=240, help="Newest closed windows, looked at together.")] = 15,
    slowdown: Annotated[
        float | None, typer.Option(help="Share by which the job is slower than it should be, such as 0.1.")
    ] = None,
    sla: Annotated[
        bool, typer.Option("--sla", help="Loss, round trips and processing by ToR, pod and fleet, instead.")
    ] = False,
    at: Time = None,
    json: Json = False,
) -> None:
    """Is it the network, a host, congestion, or is the network innocent? Of a link, or of a job's nodes."""
    from serving.cli import diagnose as command

    if sla:
        command.tell_sla(site, windows, at, as_json=json)
        return
    asked = {"link": link, "job": job, "node": node or [], "site": site, "windows": windows, "slowdown": slowdown}
    command.run(asked, at, as_json=json)
