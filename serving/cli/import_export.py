"""``forelight import DIR``: take an operator's export into the lake and say what became of it."""

import dataclasses
import json
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from sqlalchemy import make_url

from ingest.errors import ExportError
from ingest.exports import ImportReport, import_export
from ingest.lake import Lake
from ingest.quarantine import Kind
from serving.alarms import utc_now
from serving.confirming import confirm
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["run"]

_SHOWN = 20  # findings printed; all are in the JSON report


def run(directory: Path, *, as_json: bool) -> None:
    """Import, print the report, and fail where a file or row had to be refused.

    Raises:
        ExportError: nothing could be imported, or something was refused; the rest was kept.
    """
    settings = Settings.from_env()
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("reading", total=None)
        report = import_export(
            directory,
            Lake(settings.lake_uri),
            quarantine=settings.home / "quarantine",
            progress=lambda file, done, total: bars.update(task, description=file, completed=done, total=total),
        )
    _confirm(settings)
    if as_json:
        print(json.dumps(_as_json(report), indent=2))  # noqa: T201 - the answer
    else:
        _print(report)
    if report.refused:
        first, *others = report.refused
        more = f"; and {len(others)} more" if others else ""
        msg = f"{first}{more} (everything else was kept)"
        raise ExportError(msg)


def _confirm(settings: Settings) -> None:
    """Let tickets that have come confirm alarms, where there are any."""
    path = make_url(settings.database_url).database
    if settings.database_url.startswith("sqlite") and not Path(path or "").exists():
        return
    with AlarmStore(settings.database_url) as store:
        confirm(store, Lake(settings.lake_uri), utc_now())


def _as_json(report: ImportReport) -> dict[str, object]:
    return {
        "files": report.files,
        "known_files": report.known_files,
        "lane_rows": report.lane_rows,
        "lane_samples": report.lane_samples,
        "port_samples": report.port_samples,
        "records": {name: {"new": new, "known": known} for name, (new, known) in report.records.items()},
        "inferred": report.inferred,
        "counts": {kind.name.lower(): report.count(kind) for kind in Kind},
        "findings": [{**dataclasses.asdict(f), "kind": f.kind.name.lower()} for f in report.findings],
        "quarantine": None if report.quarantine is None else str(report.quarantine),
    }


def _print(report: ImportReport) -> None:
    out = Console(highlight=False, soft_wrap=True)
    table = Table("table", "new rows", "known already", title="Imported", title_justify="left")
    table.add_row("lane_samples", f"{report.lane_samples:,}", "")
    table.add_row("port_samples", f"{report.port_samples:,}", "")
    for name, (new, known) in report.records.items():
        table.add_row(name, f"{new:,}", f"{known:,}")
    out.print(table)
    out.print(
        f"{report.files:,} telemetry files taken ({report.lane_rows:,} lane rows), {report.known_files:,} known already"
    )
    if report.inferred:
        out.print(f"{report.inferred:,} modules are known by their telemetry alone: no inventory lists their ports")
    for kind in Kind:
        if count := report.count(kind):
            out.print(f"{kind}: {count:,}")
    for finding in report.findings[:_SHOWN]:
        out.print(f"  {finding.kind}: {finding}", markup=False)
    if len(report.findings) > _SHOWN:
        out.print(f"  … and {len(report.findings) - _SHOWN:,} more")
    if report.quarantine is not None:
        out.print(f"What was not taken is listed in {report.quarantine}", markup=False)
