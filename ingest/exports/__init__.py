"""An operator's export into the lake: ``forelight import DIR``.

Telemetry files are streamed in batches, and each file's SHA-256 is recorded as the
transaction of the commit that completes it, so that a second import skips it. Of the
small tables only rows that changed are appended. What cannot be taken is quarantined
and reported; everything else is kept.
"""

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa

from ingest.errors import ExportError
from ingest.exports.records import Port, Records, add_new
from ingest.exports.seen import Seen, inferred
from ingest.exports.telemetry import TelemetryFile
from ingest.inventory import read_inventory, read_links
from ingest.lake import Lake
from ingest.ports import Ports
from ingest.quarantine import Kind, Quarantine, Report, quarantine_of
from ingest.replacements import record_records
from ingest.schema import LANE_SAMPLES, LINKS, MODULES, PORT_SAMPLES, REPLACEMENTS, TICKETS
from ingest.tickets import read_maintenance, read_repairs, read_tickets

__all__ = ["ImportReport", "Progress", "import_export"]

Progress = Callable[[str, float, float], None]
"""Called with the file being read, bytes done and bytes in all."""

_SUFFIXES: Final = (".parquet", ".csv")
_FLUSH_ROWS: Final = 500_000  # lane rows a commit: small files share one; a million cost 400 MB more, no time less
_PORT: Final = ["site", "device", "interface"]


@dataclass
class ImportReport(Report):
    """What an import took and what it did not.

    Attributes:
        files: telemetry files taken.
        known_files: telemetry files that were in the lake already.
        lane_rows: rows read of the files taken.
        lane_samples: rows written to ``lane_samples``.
        port_samples: rows written to ``port_samples``.
        records: by small table, rows that are new or changed, and rows that were known as they are.
        inferred: rows of ``modules`` for ports that telemetry shows and no inventory lists.
    """

    files: int = 0
    known_files: int = 0
    lane_rows: int = 0
    lane_samples: int = 0
    port_samples: int = 0
    records: dict[str, tuple[int, int]] = field(default_factory=dict)
    inferred: int = 0


def import_export(
    directory: Path, lake: Lake, *, quarantine: Path | None = None, progress: Progress | None = None
) -> ImportReport:
    """Take an export (design.md section 2) into the lake.

    Args:
        directory: holds ``telemetry/``, and ``inventory.csv``, ``links.csv``, ``tickets.csv``,
            ``repairs.csv``, ``maintenance.csv`` where they exist.
        lake: where to.
        quarantine: folder for what is not taken; beside the lake where not given.
        progress: called as bytes are read.

    Raises:
        ExportError: there is no such directory, or no telemetry in it. Files and rows that
            cannot be taken are in the report instead.
    """
    telemetry = _telemetry(directory)
    folder = quarantine or Path("quarantine" if "://" in lake.uri else Path(lake.uri).parent / "quarantine")
    report = ImportReport()
    with quarantine_of(report, folder, datetime.now(UTC)) as kept:
        with ThreadPoolExecutor(1) as writer:
            work = _Import(directory, lake, report, kept, writer)
            work.telemetry(telemetry, progress or (lambda *_: None))
        work.all_records()
    return report


def _telemetry(directory: Path) -> list[Path]:
    if not directory.is_dir():
        msg = f"{directory}: there is no such directory"
        raise ExportError(msg)
    found = sorted(path for path in (directory / "telemetry").rglob("*") if path.suffix in _SUFFIXES)
    files = [path for path in found if path.is_file() and not path.name.startswith((".", "_"))]
    if not files:
        msg = f"{directory}: holds no telemetry (telemetry/*.parquet or telemetry/*.csv)"
        raise ExportError(msg)
    return files


class _Import:
    """One run over one directory."""

    def __init__(
        self, directory: Path, lake: Lake, report: ImportReport, quarantine: Quarantine, writer: ThreadPoolExecutor
    ) -> None:
        self.report = report
        self._directory, self._lake, self._quarantine, self._now = directory, lake, quarantine, datetime.now(UTC)
        self._writer = writer
        self._writing: Future[tuple[int, int]] | None = None
        self._lanes: list[pl.DataFrame] = []
        self._ports: list[pl.DataFrame] = []
        self._complete: list[str] = []  # transactions of files whose last batch is pending
        self._seen = Seen()
        self._by_serial: Ports | None = None

    def telemetry(self, files: list[Path], progress: Progress) -> None:
        """Stream all files into the two sample tables."""
        sizes = {path: path.stat().st_size for path in files}
        total, done = float(sum(sizes.values())), 0.0
        names = {path: f"import:{_sha256(path)}" for path in files}
        known = self._lake.recorded(PORT_SAMPLES, names.values())
        for path in files:
            name = path.relative_to(self._directory).as_posix()
            progress(name, done, total)
            if names[path] in known:
                self.report.known_files += 1
            else:
                file = TelemetryFile(path, name, self._quarantine)
                for fraction in self._take(file, names[path]):
                    progress(name, done + fraction * sizes[path], total)
                known.add(names[path])
            done += sizes[path]
        self._flush(last=True)
        self._written()
        progress("", total, total)

    def _take(self, file: TelemetryFile, transaction: str) -> Iterator[float]:
        """Take one file, as far as it can be read."""
        samples = 0
        try:
            for lanes, ports in file.batches():
                self._lanes.append(lanes)
                self._ports.append(ports)
                samples += ports.height
                self._seen.add(ports)
                if max(_height(self._lanes), _height(self._ports)) >= _FLUSH_ROWS:
                    self._flush()
                yield file.done
        except ExportError as error:
            self._quarantine.add(Kind.ERROR, file.name, str(error).removeprefix(f"{file.name}: "))
        else:
            self.report.files += 1
            if samples:
                self._complete.append(transaction)
        self.report.lane_rows += file.rows

    def _flush(self, *, last: bool = False) -> None:
        """Hand what is pending to the writer; one commit is under way while the next rows are read.

        Ports are fewer, and a commit of many days costs much however few its rows: theirs wait until they are many.
        """
        self._written()
        ports, complete = [], []
        if last or _height(self._ports) >= _FLUSH_ROWS:
            ports, complete = self._ports, self._complete
            self._ports, self._complete = [], []
        if self._lanes or ports or complete:
            self._writing = self._writer.submit(self._commit, self._lanes, ports, complete)
        self._lanes = []

    def _written(self) -> None:
        """Wait for the commit that is under way."""
        if self._writing is not None:
            lanes, ports = self._writing.result()
            self.report.lane_samples += lanes
            self.report.port_samples += ports
            self._writing = None

    def _commit(self, lanes: list[pl.DataFrame], ports: list[pl.DataFrame], transactions: list[str]) -> tuple[int, int]:
        """Ports last, since their table carries the transactions."""
        written = self._lake.append(LANE_SAMPLES, _arrow(lanes)) if lanes else 0
        if not (ports or transactions):
            return written, 0
        rows = _arrow(ports) if ports else PORT_SAMPLES.schema.empty_table()
        return written, self._lake.append(PORT_SAMPLES, rows, transaction=transactions)

    def all_records(self) -> None:
        """Take the small tables, tickets after what tells which ports there are."""
        directory, quarantine = self._directory, self._quarantine
        self._records(lambda: read_inventory(directory, quarantine))
        self._infer()
        self._records(lambda: read_links(directory, quarantine))
        self._records(lambda: read_tickets(directory, quarantine, self._known, self._of_serial))
        known = self._lake.scan(TICKETS, columns=["ticket_id"]).collect().get_column("ticket_id").to_list()
        self._records(lambda: read_repairs(directory, quarantine, frozenset(known)))
        self._records(lambda: read_maintenance(directory, quarantine))
        swaps = record_records(self._lake, self._now)
        if any(swaps):
            self.report.records[REPLACEMENTS.name] = swaps

    def _infer(self) -> None:
        """Ports that no inventory lists are known by their readings."""
        rows = inferred(self._seen, self._lake.latest(MODULES).collect().iter_rows(named=True))
        if rows:
            table = pa.Table.from_pylist([row | {"received_at": self._now} for row in rows], schema=MODULES.schema)
            self.report.inferred = self._lake.append(MODULES, table)

    def _records(self, read: Callable[[], Records | None]) -> None:
        try:
            records = read()
        except ExportError as error:
            file, _, reason = str(error).partition(": ")
            self._quarantine.add(Kind.ERROR, file, reason)
            return
        if records is not None:
            frame = records.frame()
            new = add_new(self._lake, records.layout.table, frame, self._now)
            self.report.records[records.layout.table.name] = (new, frame.height - new)

    def _of_serial(self, serial: str, at: datetime) -> Port | None:
        """As `Ports` has it; they are read when the first ticket asks, which seldom one does."""
        if self._by_serial is None:
            self._by_serial = Ports.of(self._lake)
        return self._by_serial.of_serial(serial, at)

    def _known(self, asked: set[Port]) -> set[Port]:
        """Of the ports asked for, those known from this export or the lake; the largest table is asked last."""
        found = asked & self._seen.ports()
        sources = [(MODULES, _PORT)]
        sources += [(LINKS, [f"{end}_{name}" for name in _PORT]) for end in ("a", "z")]
        sources += [(PORT_SAMPLES, _PORT)]
        for table, columns in sources:
            if found == asked:
                break
            ports = self._lake.scan(table, columns=columns).unique().collect(engine="streaming")
            found |= asked & set(ports.iter_rows())
        return found


def _height(frames: list[pl.DataFrame]) -> int:
    return sum(frame.height for frame in frames)


def _arrow(frames: list[pl.DataFrame]) -> pa.Table:
    """The rows in one piece, names as plain text: made of them piece by piece by the lake they cost twice as much."""
    rows = pl.concat(frames, how="diagonal", rechunk=True).to_arrow(compat_level=pl.CompatLevel.oldest())
    return pa.table({name: _plain(rows.column(name).combine_chunks()) for name in rows.column_names})


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary.cast(pa.string()).take(column.indices) if pa.types.is_dictionary(column.type) else column


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
