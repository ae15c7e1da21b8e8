"""Records that people have already: tickets, inventories, cables and calendars, each in its own form, into the lake.

What a file is, is told from its columns; a spreadsheet of tickets needs a map (``ingest.records.mapping``). Nothing is
lost: a row that cannot be taken is in the quarantine with its file, its line and the reason, and a ticket whose port
or words are not known is kept and told.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ingest.errors import ConfigError, ExportError
from ingest.exports import ImportReport
from ingest.exports.records import add_new
from ingest.lake import Lake
from ingest.ports import Ports
from ingest.quarantine import Kind, Quarantine, quarantine_of
from ingest.records.calendars import calendar_grid, is_calendar, read_calendar
from ingest.records.grid import Grid, read_grid, refuse_what_is_no_file
from ingest.records.links import read_links, read_modules
from ingest.records.mapping import OURS, RecordMap, checked, fits, load_map
from ingest.records.netbox import Devices, netbox_kind, read_netbox, refuse_unknown
from ingest.records.reading import Reading
from ingest.records.syslog import add_events, is_syslog, now_of, read_syslog, syslog_grid
from ingest.records.tickets import read_repairs, read_tickets
from ingest.records.windows import read_windows
from ingest.replacements import record_records, record_seen
from ingest.schema import MAINTENANCE, MODULES, PORT_EVENTS, REPLACEMENTS

__all__ = ["import_records", "is_record", "suggested_map"]

_FIRST: Final = ("devices", "modules", "items", "interfaces", "cables")
"""NetBox's files in the order in which they are read: each makes names known to those after it."""

_LISTED: Final = {"reason": "listed", "source": "file"}


def is_record(path: Path) -> bool:
    """Whether a file is a record that is taken without a map."""
    try:
        return is_calendar(path) or is_syslog(path) or _told(read_grid(path)) is not None
    except (ExportError, OSError):
        return False


def suggested_map(path: Path) -> str:
    """A starter map for a file.

    Raises:
        ExportError: it cannot be read.
    """
    from ingest.records.suggest import suggest_map

    return suggest_map(read_grid(path))


def import_records(
    paths: Iterable[Path],
    lake: Lake,
    *,
    map_file: Path | None = None,
    zone: str | None = None,
    site: str = "default",
    quarantine: Path | None = None,
) -> ImportReport:
    """Take files into the lake.

    Args:
        paths: the files.
        lake: where to.
        map_file: what the columns of those that are no NetBox export and no calendar mean.
        zone: of times that name none, before what the map says.
        site: of rows that name none, where the map says none.
        quarantine: folder for what is not taken; beside the lake where not given.

    Raises:
        ConfigError: the map or the zone is wrong.
        ExportError: a file is nothing that is known, or lacks a column.
    """
    mapped = load_map(map_file) if map_file else None
    folder = quarantine or Path("quarantine" if "://" in lake.uri else Path(lake.uri).parent / "quarantine")
    report = ImportReport()
    with quarantine_of(report, folder, datetime.now(UTC)) as kept:
        work = _Work(lake, report, kept, zone, site)
        work.take(list(paths), mapped, map_file.name if map_file else "")
    return report


def _told(grid: Grid) -> str | None:
    """What a file is by its columns: a kind of NetBox's, or one of ours whose names it uses."""
    if kind := netbox_kind(grid):
        return f"netbox {kind}"
    header = set(grid.header)
    for kind, needed in (
        ("links", {"a_device", "a_interface", "z_device", "z_interface"}),
        ("tickets", {"ticket_id", "device", "interface", "opened_at"}),
        ("repairs", {"ticket_id", "at", "action"}),
        ("maintenance", {"device", "start", "end"}),
        ("links", {"cable_id", "kind", "shared_risk"}),
        ("modules", {"device", "interface", "serial"}),
    ):
        if needed <= header:
            return kind
    return None


class _Work:
    """One run over some files."""

    def __init__(self, lake: Lake, report: ImportReport, quarantine: Quarantine, zone: str | None, site: str) -> None:
        self.report = report
        self._lake, self._quarantine, self._now, self._zone = lake, quarantine, datetime.now(UTC), zone
        self._ports = Ports.of(lake)
        self._devices: Devices = {}
        self._site = site
        self._swaps = 0

    def take(self, paths: list[Path], mapped: RecordMap | None, map_name: str) -> None:
        """All files, what makes names known before what uses them."""
        for path in paths:
            refuse_what_is_no_file(path)
        logs = [path for path in paths if not _calendar(path) and is_syslog(path)]
        for path in logs:
            self._syslog(path)
        files: list[tuple[Path, Grid | None]] = []
        alone = len(paths) == 1
        for path in (path for path in paths if path not in logs):
            with self._refusing(path, alone=alone):
                files.append((path, None if _calendar(path) else read_grid(path)))
        for path, grid in sorted(files, key=lambda file: _order(file[1])):
            with self._refusing(path, alone=alone):
                self._one(path, grid, mapped, map_name)
        new, known = record_records(self._lake, self._now)
        if new or known or self._swaps:
            self.report.records[REPLACEMENTS.name] = new + self._swaps, known

    def _one(self, path: Path, grid: Grid | None, mapped: RecordMap | None, map_name: str) -> None:
        """One file; what the map does not fit is taken as what its own columns say that it is."""
        kind = netbox_kind(grid) if grid is not None else None
        if grid is not None and mapped is not None and not fits(mapped, grid) and (kind or _told(grid)):
            mapped = None
        if grid is None:
            self._calendar(path, mapped)
        elif kind is not None and (mapped is None or kind == "devices"):
            reading = self._reading(grid, mapped or RecordMap(columns={}, site=self._site))
            read_netbox(reading, kind, self._lake, self._devices)
            self._write(reading)
        else:
            self._mapped(grid, mapped or _own(grid, self._site), map_name if mapped else "its header")

    @contextmanager
    def _refusing(self, path: Path, *, alone: bool) -> Iterator[None]:
        """Of several files one that cannot be taken is refused, and the others are taken.

        Raises:
            ExportError: it is the only one.
        """
        try:
            yield
        except ExportError as error:
            if alone:
                raise
            where, _, reason = str(error).removeprefix(path.name).partition(": ")
            self._quarantine.add(Kind.ERROR, path.name, reason or where, examples=[(f"{path.name}{where}", None)])

    def _mapped(self, grid: Grid, mapped: RecordMap, map_name: str) -> None:
        checked(mapped, grid, map_name)
        reading = self._reading(grid, mapped)
        if mapped.kind == "links":
            read_links(reading, self._lake)
        elif mapped.kind == "modules":
            read_modules(reading, self._lake)
        else:
            {"tickets": read_tickets, "repairs": read_repairs, "maintenance": read_windows}[mapped.kind](reading)
        reading.refuse_nothing()
        self._write(reading)

    def _syslog(self, path: Path) -> None:
        reading = self._reading(syslog_grid(path), RecordMap(columns={}, site=self._site))
        rows = read_syslog(reading, self._lake, now_of(path))
        new, known = add_events(self._lake, rows)
        before = self.report.records.get(PORT_EVENTS.name, (0, 0))
        self.report.records[PORT_EVENTS.name] = before[0] + new, before[1] + known

    def _calendar(self, path: Path, mapped: RecordMap | None) -> None:
        grid, calendars = calendar_grid(path)
        reading = self._reading(grid, mapped or RecordMap(kind="maintenance", columns={}, site=self._site))
        read_calendar(reading, calendars)
        records = reading.records("maintenance")
        known = {tuple(row) for row in self._lake.latest(MAINTENANCE, columns=MAINTENANCE.key).collect().rows()}
        records.rows = [
            record
            for record in records.rows
            if record.cells["start"] != record.cells["end"] or tuple(map(record.cells.get, MAINTENANCE.key)) in known
        ]
        self._write(reading)

    def _reading(self, grid: Grid, mapped: RecordMap) -> Reading:
        try:
            times = mapped.reader(self._zone)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        return Reading(grid, mapped, times, self._ports, self._quarantine, self._now)

    def _write(self, reading: Reading) -> None:
        for records in reading.made.values():
            frame = records.frame()
            table = records.layout.table
            new = add_new(self._lake, table, frame, self._now) if frame.height else 0
            if table is MODULES and (swaps := record_seen(self._lake, frame.to_dicts(), self._now, **_LISTED)):
                self._swaps += swaps
            before = self.report.records.get(table.name, (0, 0))
            self.report.records[table.name] = (before[0] + new, before[1] + frame.height - new)


def _calendar(path: Path) -> bool:
    try:
        return is_calendar(path)
    except OSError as error:
        msg = f"{path}: {error.strerror}"
        raise ExportError(msg) from None


def _order(grid: Grid | None) -> int:
    kind = netbox_kind(grid) if grid is not None else None
    return _FIRST.index(kind) if kind else len(_FIRST)


def _own(grid: Grid, site: str) -> RecordMap:
    """The map of a file that has our own names.

    Raises:
        ExportError: it has not.
    """
    kind = _told(grid)
    if kind is None:
        raise refuse_unknown(grid)
    return RecordMap.model_validate(
        {"kind": kind, "site": site, "columns": {name: (name,) for name in OURS[kind] if name in grid.header}}
    )
