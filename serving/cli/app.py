"""Every command's name, arguments and help; the work is imported when a command runs."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from serving.cli.access_groups import audit, token
from serving.cli.agent_group import agent
from serving.cli.decision_group import decisions
from serving.cli.diagnose_group import diagnose
from serving.cli.groups import alarms, lake, model
from serving.cli.options import Dask, FoldPlan, Json, Memory, Time, fold_plan, utc_time, whole_hours
from serving.cli.outbox_groups import backup, deliver, outbox, restore
from serving.cli.panels import DATA, EPILOG, KEEP, LEARN, SERVE, START
from serving.cli.probe_group import probe

if TYPE_CHECKING:
    from serving.scoring.compute import Compute

__all__ = ["app"]

app = typer.Typer(
    name="forelight",
    help="Predicts which optical transceivers will fail, and how, about a day ahead.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"forelight {version('forelight')}")
        raise typer.Exit


@app.callback()
def main(
    _: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Predicts which optical transceivers will fail, and how, about a day ahead."""


@app.command(rich_help_panel=START)
def demo(
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the result until Ctrl-C.")] = True,
    port: Annotated[int, typer.Option(help="Port to serve at.")] = 8000,
) -> None:
    """A small synthetic fleet end to end: live polls, history, train, back-test, score, serve."""
    from serving.cli import demo as command

    command.run(serve=serve, port=port)


@app.command(rich_help_panel=START)
def doctor(json: Json = False) -> None:
    """Is everything there, and alive? A line for each part, with what to do next; 1 where something fails."""
    from serving.cli import doctor as command

    command.run(as_json=json)


@app.command(rich_help_panel=DATA)
def collect(
    config: Annotated[Path, typer.Option("-c", "--config", help="Targets and intervals.")] = Path("forelight.toml"),
    once: Annotated[bool, typer.Option("--once", help="One sweep, then exit.")] = False,
    status: Annotated[bool, typer.Option("--status", help="What the collector did last; polls nothing.")] = False,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="DEVICE", help="How one target is read, and what of it is not.")
    ] = None,
    json: Json = False,
) -> None:
    """Poll the switches of a configuration into the lake."""
    if explain is not None:
        from serving.cli import collect_explain

        collect_explain.run(config, explain, as_json=json)
        return
    if status:
        from serving.cli import collect_status

        collect_status.run(as_json=json)
        return
    from serving.cli import collect as command

    command.run(config, once=once, as_json=json)


@app.command("import", rich_help_panel=DATA)
def import_export(  # noqa: PLR0913, PLR0917 - options of the command line
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH…", help="An export (telemetry/, inventory.csv, …); dumps; records (tickets, …)."),
    ],
    map_file: Annotated[
        Path | None, typer.Option("--map", metavar="MAP.toml", help="What the columns of a spreadsheet mean.")
    ] = None,
    zone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="Of records' times that name none, such as Europe/Berlin.")
    ] = None,
    suggest_map: Annotated[
        bool, typer.Option("--suggest-map", help="Print a map to edit for a spreadsheet; nothing is taken.")
    ] = False,
    device: Annotated[str | None, typer.Option(help="Device of dumps that name none.", metavar="NAME")] = None,
    interface: Annotated[str | None, typer.Option(help="Port of dumps that name none.", metavar="NAME")] = None,
    at: Annotated[
        str | None, typer.Option(help="Time of dumps that say none; mtime: that of each file.", metavar="TIME|mtime")
    ] = None,
    names: Annotated[
        str | None, typer.Option(help="How names of dumps tell them: {device}_{interface}.txt", metavar="PATTERN")
    ] = None,
    site: Annotated[str, typer.Option(help="Site of dumps.", metavar="NAME")] = "default",
    json: Json = False,
) -> None:
    """Take an export, what switches, hosts and fabric tools have printed, or tickets and inventories, into the lake."""
    from serving.cli import import_export as command
    from serving.cli import import_records

    if suggest_map:
        import_records.suggest(paths)
        return
    said = command.given(site=site, device=device, interface=interface, at=at, names=names)
    command.run(paths, said, import_records.Said(map_file, zone), as_json=json)


@app.command("export", rich_help_panel=DATA)
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to make.")],
    anonymise: Annotated[bool, typer.Option("--anonymise", help="Hide names by the operator's own key.")] = False,
    key_file: Annotated[
        Path | None, typer.Option(help="Holds the key; else FORELIGHT_EXPORT_KEY does.", metavar="FILE")
    ] = None,
    shift_times: Annotated[bool, typer.Option("--shift-times", help="Also move all times by weeks.")] = False,
    start: Annotated[
        datetime | None, typer.Option("--from", parser=utc_time, metavar="TIME", help="First time.")
    ] = None,
    end: Annotated[datetime | None, typer.Option("--to", parser=utc_time, metavar="TIME", help="End of times.")] = None,
    json: Json = False,
) -> None:
    """Write the lake in the form that `import` takes."""
    from serving.cli import export as command

    command.run(
        out, anonymise=anonymise, key_file=key_file, shift_times=shift_times, since=start, until=end, as_json=json
    )


def _compute(dask: str | None, memory: int | None) -> "Compute":
    from serving.scoring.compute import Compute
    from serving.settings import Settings

    return Compute(dask or Settings.from_env().dask_scheduler, memory)


@app.command(rich_help_panel=LEARN)
def train(
    until: Time = None,
    name: Annotated[str, typer.Option(help="Registered model name.")] = "forelight",
    tune: Annotated[
        int, typer.Option(min=0, max=1000, help="Settings to try on later times and other links; 0: the usual one.")
    ] = 0,
    dask: Dask = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Train on the lake up to a time, log to MLflow, register: as challenger where there is a champion."""
    from serving.cli import train as command

    command.run(until=until, name=name, as_json=json, compute=_compute(dask, memory), tune=tune)


@app.command(rich_help_panel=LEARN)
def backtest(  # noqa: PLR0913, PLR0917 - each is an option of the command
    start: Annotated[datetime, typer.Option("--from", parser=utc_time, metavar="TIME", help="First time.")],
    end: Annotated[datetime, typer.Option("--to", parser=utc_time, metavar="TIME", help="Last time.")],
    alarms: Annotated[Path, typer.Option(help="CSV of the alarms raised.")],
    every: Annotated[int, typer.Option(parser=whole_hours, metavar="1h", help="Step between scores.")] = "1h",  # type: ignore[assignment]
    train_until: Time = None,
    report: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None,
    ablations: Annotated[
        bool, typer.Option("--ablations", help="Judge models that see less beside; they are trained, too.")
    ] = False,
    folds: Annotated[
        FoldPlan | None,
        typer.Option(parser=fold_plan, metavar="time:4|links:3|vendors", help="Judge only what was not learnt from."),
    ] = None,
    embargo: Annotated[
        int | None, typer.Option(parser=whole_hours, metavar="10d", help="Between training and judging, with --folds.")
    ] = None,
    leak: Annotated[
        bool, typer.Option("--leak", help="Judge beside a model that learnt from half of all rows, the span's too.")
    ] = False,
    dask: Dask = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Walk through history as if it were live and write the alarms."""
    from serving.cli import backtest as command

    command.run(
        start,
        end,
        alarms,
        every_h=every,
        train_until=train_until,
        report=report,
        as_json=json,
        ablations=ablations,
        folds=folds,
        embargo_h=embargo,
        leak=leak,
        compute=_compute(dask, memory),
    )


@app.command(rich_help_panel=LEARN)
def evaluate(
    alarms: Annotated[Path, typer.Option(help="CSV of alarms, anybody's.")],
    data: Annotated[Path | None, typer.Option(help="An operator's export; the lake where not given.")] = None,
    start: Annotated[
        datetime | None, typer.Option("--from", parser=utc_time, metavar="TIME", help="First time judged.")
    ] = None,
    end: Annotated[
        datetime | None, typer.Option("--to", parser=utc_time, metavar="TIME", help="Last time judged.")
    ] = None,
    json: Json = False,
) -> None:
    """Judge alarms by event against the tickets."""
    from serving.cli import evaluate as command

    command.run(alarms, data=data, start=start, end=end, as_json=json)


@app.command(rich_help_panel=LEARN)
def labels(json: Json = False) -> None:
    """List every ticket with what was made of it, and why."""
    from serving.cli import labels as command

    command.run(as_json=json)


@app.command(rich_help_panel=SERVE)
def score(
    at: Time = None,
    metrics_textfile: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Metrics of the run for node_exporter's textfile collector.")
    ] = None,
    dask: Dask = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Score the fleet with the champion: the scheduled batch run. Exit code 75: another run is at it."""
    from serving.cli import score as command

    command.run(at=at, as_json=json, metrics_textfile=metrics_textfile, compute=_compute(dask, memory))


@app.command(rich_help_panel=SERVE)
def serve(
    host: Annotated[str, typer.Option(help="Address to bind; loopback unless told otherwise.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to bind.")] = 8000,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate with its chain, PEM; then HTTPS only.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key, PEM.")] = None,
    closed: Annotated[
        bool, typer.Option("--closed", help="Reading needs a token on loopback, too: behind a proxy, for one.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that answer at the port.")] = 1,
) -> None:
    """Serve alarms and risks over HTTP."""
    from serving.cli import serve as command

    command.run(host=host, port=port, tls=command.tls_files(tls_cert, tls_key), closed=closed, workers=workers)


for _command, _panel in ((agent, DATA), (diagnose, SERVE), (deliver, SERVE), (backup, KEEP), (restore, KEEP)):
    app.command(_command.__name__, rich_help_panel=_panel)(_command)
for _group, _name, _panel in (
    (lake, "lake", DATA),
    (probe, "probe", DATA),
    (model, "model", LEARN),
    (alarms, "alarms", SERVE),
    (decisions, "decisions", SERVE),
    (outbox, "outbox", SERVE),
    (token, "token", KEEP),
    (audit, "audit", KEEP),
):
    app.add_typer(_group, name=_name, rich_help_panel=_panel)
