"""The commands in groups: `forelight alarms …`, `forelight model …`, `forelight lake …`; declared as those of `app`."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from serving.cli.options import Json, utc_time

__all__ = ["alarms", "lake", "model"]

_Status = Literal["open", "acked", "suppressed", "cleared", "expired", "confirmed"]

alarms = typer.Typer(help="Look at alarms; acknowledge, suppress, clear, export, prune them.", no_args_is_help=True)
model = typer.Typer(
    help="Registered models: list, compare and promote, roll back, watch them drift.", no_args_is_help=True
)
lake = typer.Typer(
    help="The tables on disk: what they hold, compact, prune, check and mend them.", no_args_is_help=True
)


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


@alarms.command("suppress")
def alarms_suppress(
    alarm_id: str,
    hours: Annotated[float, typer.Option(min=0.1, max=2160.0, help="Then it opens again by itself.")],
    reason: Annotated[str, typer.Option(help="Why.")] = "",
) -> None:
    """Leave an alarm alone for a while."""
    from serving.cli import alarms as command

    command.suppress(alarm_id, hours=hours, reason=reason)


@alarms.command("reopen")
def alarms_reopen(alarm_id: str, reason: Annotated[str, typer.Option(help="Why.")] = "") -> None:
    """Suppress an alarm no longer."""
    from serving.cli import alarms as command

    command.reopen(alarm_id, reason=reason)


@alarms.command("prune")
def alarms_prune(
    keep_days: Annotated[int, typer.Option(min=30, max=36_500, help="Keep what ended within so many.")] = 730,
    json: Json = False,
) -> None:
    """Delete alarms that ended long ago, with their events, and runs, decisions and audit entries as old."""
    from serving.cli import alarms as command

    command.delete_old(keep_days=keep_days, as_json=json)


@alarms.command("storms")
def alarms_storms(
    device: Annotated[str | None, typer.Option(help="Only this device, at either end.")] = None,
    since: Annotated[
        datetime | None, typer.Option(parser=utc_time, metavar="TIME", help="Of runs at or after that time.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="So many at most.")] = 100,
    json: Json = False,
) -> None:
    """Alarms that were held back because too many came up on one device at once."""
    from serving.cli import storms as command

    command.list_storms(device=device, since=since, limit=limit, as_json=json)


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
def model_promote(
    version: str,
    force: Annotated[
        str | None, typer.Option("--force", metavar="REASON", help="Do not compare; the reason is kept.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a version the champion if it is better than the one there is, on the same failures."""
    from serving.cli import model as command

    command.promote(version, force=force, as_json=json)


@model.command("rollback")
def model_rollback(reason: Annotated[str, typer.Option(help="Why.")] = "") -> None:
    """Make the previous champion the champion again."""
    from serving.cli import model as command

    command.rollback(reason=reason)


@model.command("card")
def model_card(version: Annotated[str | None, typer.Argument()] = None) -> None:
    """Print a version's card: what it was trained on and how it did."""
    from serving.cli import model as command

    command.card(version)


@model.command("watch")
def model_watch(
    days: Annotated[int, typer.Option(min=1, max=90, help="So many of the last days.")] = 7, json: Json = False
) -> None:
    """Drift since training, what alarms are worth before tickets tell, and whether to train again."""
    from serving.cli import model_watch as command

    command.run(days=days, as_json=json)


@model.command("shadow")
def model_shadow(
    days: Annotated[int, typer.Option(min=1, max=90, help="So many of the last days.")] = 7, json: Json = False
) -> None:
    """What the challenger said beside the champion, on the same hours, and what came of it."""
    from serving.cli import model_shadow as command

    command.run(days=days, as_json=json)


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
    config: Annotated[
        Path | None,
        typer.Option("-c", "--config", metavar="FILE", help="Its [retention] says so; forelight.toml where it is."),
    ] = None,
    safe_age: Annotated[str, typer.Option(metavar="24h", help="Keep files that readers may still hold.")] = "24h",
    json: Json = False,
) -> None:
    """Drop days that are over and delete files that nobody reads any more."""
    from serving.cli import lake as command

    command.prune(keep=keep or [], config=config, safe_age=safe_age, as_json=json)


@lake.command("check")
def lake_check(
    deep: Annotated[bool, typer.Option("--deep", help="Read every value.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    json: Json = False,
) -> None:
    """Name torn, lost, foreign and misplaced files, wrong schemas and gaps in the log."""
    from serving.cli import lake as command

    command.check(deep=deep, repair=repair, as_json=json)
