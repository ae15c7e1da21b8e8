"""Every command's name, arguments and help; the work is imported when a command runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from serving.compute import Compute

__all__ = ["app"]

app = typer.Typer(
    name="forelight",
    help="Predicts which optical transceivers will fail, and how, about a day ahead.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
alarms = typer.Typer(help="Alarms: list, show, acknowledge, clear, export.", no_args_is_help=True)
model = typer.Typer(help="Models: list, promote, roll back, card.", no_args_is_help=True)
lake = typer.Typer(help="The lake: create, statistics, compaction, retention, check.", no_args_is_help=True)
app.add_typer(alarms, name="alarms")
app.add_typer(model, name="model")
app.add_typer(lake, name="lake")


def _time(text: str) -> datetime:
    """An ISO 8601 time or date, UTC where it names no zone, or a usage error."""
    dated = text.removesuffix("Z") if len(text) == len("2026-03-01Z") else text
    try:
        time = datetime.fromisoformat(dated)
    except ValueError:
        msg = f"{text!r} is not an ISO 8601 time, such as 2026-03-01T00:00:00Z"
        raise typer.BadParameter(msg) from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


_UNITS = {"m": 60, "h": 3600, "d": 86400}


def _hours(text: str) -> int:
    """A whole number of hours written as 1h, 6h or 1d, or a usage error."""
    if text[:-1].isdigit() and text[-1] in _UNITS:
        seconds = int(text[:-1]) * _UNITS[text[-1]]
        if seconds and seconds % 3600 == 0:
            return seconds // 3600
    msg = f"{text!r} is not a whole number of hours, such as 1h, 6h or 1d"
    raise typer.BadParameter(msg)


def _size(text: str) -> int:
    """A size in bytes, or a usage error."""
    from serving.compute import memory_size

    try:
        return memory_size(text)
    except ValueError:
        msg = f"{text!r} is not a size, such as 2GiB or 512M"
        raise typer.BadParameter(msg) from None


Time = Annotated[
    datetime | None, typer.Option(parser=_time, metavar="TIME", help="ISO 8601; UTC where it names no zone.")
]
_Status = Literal["open", "acked", "suppressed", "cleared", "expired"]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="tcp://HOST:PORT", help="Dask scheduler; FORELIGHT_DASK_SCHEDULER where not given."),
]
Memory = Annotated[
    int | None,
    typer.Option("--memory", parser=_size, metavar="2GiB", help="For all processes, or each worker of the cluster."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a machine.")]


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


@app.command()
def demo(
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the result until Ctrl-C.")] = True,
    port: Annotated[int, typer.Option(help="Port to serve at.")] = 8000,
) -> None:
    """A small synthetic fleet end to end: live polls, history, train, back-test, score, serve."""
    from serving.cli import demo as command

    command.run(serve=serve, port=port)


@app.command()
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


@app.command("import")
def import_export(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Holds telemetry/, inventory.csv, links.csv, …")],
    json: Json = False,
) -> None:
    """Take an operator's export into the lake."""
    from serving.cli import import_export as command

    command.run(directory, as_json=json)


@app.command("export")
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to make.")],
    anonymise: Annotated[bool, typer.Option("--anonymise", help="Hide names by the operator's own key.")] = False,
    key_file: Annotated[
        Path | None, typer.Option(help="Holds the key; else FORELIGHT_EXPORT_KEY does.", metavar="FILE")
    ] = None,
    shift_times: Annotated[bool, typer.Option("--shift-times", help="Also move all times by weeks.")] = False,
    start: Annotated[datetime | None, typer.Option("--from", parser=_time, metavar="TIME", help="First time.")] = None,
    end: Annotated[datetime | None, typer.Option("--to", parser=_time, metavar="TIME", help="End of times.")] = None,
    json: Json = False,
) -> None:
    """Write the lake in the form that `import` takes."""
    from serving.cli import export as command

    command.run(
        out, anonymise=anonymise, key_file=key_file, shift_times=shift_times, since=start, until=end, as_json=json
    )


def _compute(dask: str | None, memory: int | None) -> "Compute":
    from serving.compute import Compute
    from serving.settings import Settings

    return Compute(dask or Settings.from_env().dask_scheduler, memory)


@app.command()
def train(
    until: Time = None,
    name: Annotated[str, typer.Option(help="Registered model name.")] = "forelight",
    dask: Dask = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Train on the lake up to a time, log to MLflow, register as champion."""
    from serving.cli import train as command

    command.run(until=until, name=name, as_json=json, compute=_compute(dask, memory))


@app.command()
def backtest(  # noqa: PLR0913, PLR0917 - each is an option of the command
    start: Annotated[datetime, typer.Option("--from", parser=_time, metavar="TIME", help="First time.")],
    end: Annotated[datetime, typer.Option("--to", parser=_time, metavar="TIME", help="Last time.")],
    alarms: Annotated[Path, typer.Option(help="CSV of the alarms raised.")],
    every: Annotated[int, typer.Option(parser=_hours, metavar="1h", help="Step between scores.")] = "1h",  # type: ignore[assignment]
    train_until: Time = None,
    report: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None,
    dask: Dask = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Walk through history as if it were live and write the alarms."""
    from serving.cli import backtest as command

    where = _compute(dask, memory)
    command.run(start, end, alarms, every_h=every, train_until=train_until, report=report, as_json=json, compute=where)


@app.command()
def evaluate(
    alarms: Annotated[Path, typer.Option(help="CSV of alarms, anybody's.")],
    data: Annotated[Path | None, typer.Option(help="An operator's export; the lake where not given.")] = None,
    start: Annotated[
        datetime | None, typer.Option("--from", parser=_time, metavar="TIME", help="First time judged.")
    ] = None,
    end: Annotated[
        datetime | None, typer.Option("--to", parser=_time, metavar="TIME", help="Last time judged.")
    ] = None,
    json: Json = False,
) -> None:
    """Judge alarms by event against the tickets."""
    from serving.cli import evaluate as command

    command.run(alarms, data=data, start=start, end=end, as_json=json)


@app.command()
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


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to bind; loopback unless told otherwise.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to bind.")] = 8000,
) -> None:
    """Serve alarms and risks over HTTP."""
    from serving.cli import serve as command

    command.run(host=host, port=port)


@alarms.command("list")
def alarms_list(
    status: Annotated[_Status | None, typer.Option(help="Only these.")] = None,
    device: Annotated[str | None, typer.Option(help="Only this device.")] = None,
    json: Json = False,
) -> None:
    """List alarms, the newest first."""
    from serving.cli import alarms as command

    command.list_alarms(status=status, device=device, as_json=json)


@alarms.command("show")
def alarms_show(alarm_id: str, json: Json = False) -> None:
    """Show one alarm with its history."""
    from serving.cli import alarms as command

    command.show(alarm_id, as_json=json)


@alarms.command("ack")
def alarms_ack(alarm_id: str, reason: Annotated[str, typer.Option(help="Why.")] = "") -> None:
    """Acknowledge an alarm."""
    from serving.cli import alarms as command

    command.acknowledge(alarm_id, reason=reason)


@alarms.command("clear")
def alarms_clear(alarm_id: str, reason: Annotated[str, typer.Option(help="Why.")] = "") -> None:
    """Clear an alarm."""
    from serving.cli import alarms as command

    command.clear(alarm_id, reason=reason)


@alarms.command("export")
def alarms_export(out: Annotated[Path, typer.Argument(metavar="OUT.csv")]) -> None:
    """Write all alarms as CSV, in the form that `evaluate` takes."""
    from serving.cli import alarms as command

    command.export(out)


@model.command("list")
def model_list(json: Json = False) -> None:
    """List registered versions and their aliases."""
    from serving.cli import model as command

    command.list_versions(as_json=json)


@model.command("promote")
def model_promote(version: str) -> None:
    """Make a version the champion."""
    from serving.cli import model as command

    command.promote(version)


@model.command("rollback")
def model_rollback() -> None:
    """Make the previous champion the champion again."""
    from serving.cli import model as command

    command.rollback()


@model.command("card")
def model_card(version: Annotated[str | None, typer.Argument()] = None) -> None:
    """Print a version's card: what it was trained on and how it did."""
    from serving.cli import model as command

    command.card(version)


@lake.command("stats")
def lake_stats(json: Json = False) -> None:
    """Rows, files and bytes by table."""
    from serving.cli import lake as command

    command.stats(as_json=json)


@lake.command("create")
def lake_create(
    buckets: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Divide devices of the large tables; cannot be changed later.")
    ] = None,
) -> None:
    """Make the tables before the first rows come; needed only for buckets."""
    from serving.cli import lake as command

    command.create(buckets=buckets)


@lake.command("compact")
def lake_compact() -> None:
    """Sort and deduplicate closed days into few files."""
    from serving.cli import lake as command

    command.compact()


@lake.command("prune")
def lake_prune(
    keep: Annotated[
        list[str] | None, typer.Option(metavar="TABLE=30d", help="Drop older days of a table; may be repeated.")
    ] = None,
    safe_age: Annotated[str, typer.Option(metavar="24h", help="Keep files that readers may still hold.")] = "24h",
    json: Json = False,
) -> None:
    """Drop days that are over and delete files that nobody reads any more."""
    from serving.cli import lake as command

    command.prune(keep=keep or [], safe_age=safe_age, as_json=json)


@lake.command("check")
def lake_check(
    deep: Annotated[bool, typer.Option("--deep", help="Read every value.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    json: Json = False,
) -> None:
    """Name torn, lost, foreign and misplaced files, wrong schemas and gaps in the log."""
    from serving.cli import lake as command

    command.check(deep=deep, repair=repair, as_json=json)
