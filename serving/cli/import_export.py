"""``forelight import PATH…``: take an operator's export, dumps or records into the lake and say what became of it."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table
from sqlalchemy import make_url
from typer import BadParameter

from ingest.dumps import DumpReport, Given, NamePattern, import_dumps
from ingest.errors import ExportError
from ingest.exports import ImportReport, import_export
from ingest.lake import Lake
from ingest.quarantine import Finding, Kind
from ingest.records import import_records
from serving.alarms import utc_now
from serving.cli.import_records import Said, opened, record_files
from serving.cli.options import utc_time
from serving.confirming import confirm
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["given", "run"]

_SHOWN = 20  # findings printed; all are in the JSON report
_EXPORT = ("telemetry", "inventory.csv", "links.csv", "tickets.csv", "repairs.csv", "maintenance.csv")
_DUMPS = "dumps"  # folder of an export that holds foreign files


def given(*, site: str, device: str | None, interface: str | None, at: str | None, names: str | None) -> Given:
    """What the options say of dumps that do not say it, or a usage error."""
    try:
        pattern = None if names is None else NamePattern(names)
    except ExportError as error:
        raise BadParameter(str(error), param_hint="--names") from None
    mtime = at == "mtime"
    time = None if at is None or mtime else utc_time(at)
    return Given(site=site, device=device, interface=interface, at=time, at_mtime=mtime, names=pattern)


def run(paths: Sequence[Path], said: Given, told: Said, *, as_json: bool) -> None:
    """Import, print the report, and fail where a file or row had to be refused.

    Raises:
        ExportError: nothing could be imported, or something was refused; the rest was kept.
    """
    exports = [path for path in paths if any((path / name).exists() for name in _EXPORT)]
    if len(exports) > 1:
        msg = f"{exports[0]} and {exports[1]} are both exports; import one after the other"
        raise ExportError(msg)
    named = paths
    if not exports:
        paths = opened(paths, mapped=told.map_file is not None)
    records = [] if exports else record_files(paths, told, named=named)
    dumps = [path for path in paths if path not in (*exports, *records)]
    dumps += [path / _DUMPS for path in exports if (path / _DUMPS).is_dir()]
    settings = Settings.from_env()
    lake, quarantine = Lake(settings.lake_uri), settings.home / "quarantine"
    with _progress() as progress:
        export = import_export(exports[0], lake, quarantine=quarantine, progress=progress) if exports else None
        if records:
            export = import_records(
                records, lake, map_file=told.map_file, zone=told.zone, site=said.site, quarantine=quarantine
            )
        foreign = import_dumps(dumps, lake, given=said, quarantine=quarantine, progress=progress) if dumps else None
    _confirm(settings)
    _say(export, foreign, as_json=as_json)
    _fail([*(export.refused if export else []), *(foreign.refused if foreign else [])])


@contextmanager
def _progress() -> Iterator[Callable[[str, float, float], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("reading", total=None)
        yield lambda file, done, total: bars.update(task, description=file, completed=done, total=total)


def _say(export: ImportReport | None, foreign: DumpReport | None, *, as_json: bool) -> None:
    if as_json:
        found = _as_json(export) if export else {}
        print(json.dumps(found | ({"dumps": _dumps_json(foreign)} if foreign else {}), indent=2))  # noqa: T201 - the answer
        return
    if export:
        _print(export)
    if foreign:
        _print_dumps(foreign)


def _fail(refused: list[Finding]) -> None:
    if refused:
        first, *others = refused
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
        **_found_json(report),
    }


def _print(report: ImportReport) -> None:
    out = Console(highlight=False, soft_wrap=True)
    table = Table("table", "new rows", "known already", title="Imported", title_justify="left")
    telemetry = report.files or report.known_files or not report.records
    if telemetry:
        table.add_row("lane_samples", f"{report.lane_samples:,}", "")
        table.add_row("port_samples", f"{report.port_samples:,}", "")
    for name, (new, known) in report.records.items():
        table.add_row(name, f"{new:,}", f"{known:,}")
    out.print(table)
    if telemetry:
        taken = f"{report.files:,} telemetry files taken ({report.lane_rows:,} lane rows)"
        out.print(f"{taken}, {report.known_files:,} known already")
    if report.inferred:
        out.print(f"{report.inferred:,} modules are known by their telemetry alone: no inventory lists their ports")
    _print_findings(out, report)


def _print_dumps(report: DumpReport) -> None:
    out = Console(highlight=False, soft_wrap=True)
    table = Table("file", "format", "readings", "links", "probes", title="Dumps", title_justify="left")
    for file in report.files[:_SHOWN]:
        format_ = "known already" if file.known else ", ".join(file.formats) or "refused"
        table.add_row(file.name, format_, f"{file.readings:,}", f"{file.cables:,}", f"{file.probes:,}")
    out.print(table)
    if len(report.files) > _SHOWN:
        out.print(f"  … and {len(report.files) - _SHOWN:,} files more")
    out.print(
        f"new rows: lane_samples {report.lane_samples:,}, port_samples {report.port_samples:,}, "
        f"modules {report.modules:,}, links {report.links:,}, probes {report.probes:,}"
    )
    _print_findings(out, report)


def _print_findings(out: Console, report: ImportReport | DumpReport) -> None:
    for kind in Kind:
        if count := report.count(kind):
            out.print(f"{kind}: {count:,}")
    for finding in report.findings[:_SHOWN]:
        out.print(f"  {finding.kind}: {finding}", markup=False)
    if len(report.findings) > _SHOWN:
        out.print(f"  … and {len(report.findings) - _SHOWN:,} more")
    if report.quarantine is not None:
        out.print(f"What was not taken is listed in {report.quarantine}", markup=False)


def _dumps_json(report: DumpReport) -> dict[str, object]:
    """Each file with its format, rows and what was not taken of it."""
    counts: dict[str, dict[str, int]] = {}
    for finding in report.findings:
        of_file = counts.setdefault(finding.file, {})
        of_file[finding.kind.name.lower()] = of_file.get(finding.kind.name.lower(), 0) + finding.count
    return {
        "files": [dataclasses.asdict(file) | {"counts": counts.get(file.name, {})} for file in report.files],
        "lane_samples": report.lane_samples,
        "port_samples": report.port_samples,
        "modules": report.modules,
        "links": report.links,
        "probes": report.probes,
        **_found_json(report),
    }


def _found_json(report: ImportReport | DumpReport) -> dict[str, object]:
    return {
        "counts": {kind.name.lower(): report.count(kind) for kind in Kind},
        "findings": [{**dataclasses.asdict(f), "kind": f.kind.name.lower()} for f in report.findings],
        "quarantine": None if report.quarantine is None else str(report.quarantine),
    }
