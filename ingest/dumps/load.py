"""Dumps into the lake: files found, each read by its format, and what they say of one port at one time joined."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa

from ingest.dumps.formats import detect
from ingest.dumps.known import Known
from ingest.dumps.links import link_rows
from ingest.dumps.modules import module_rows
from ingest.dumps.names import Given
from ingest.dumps.probed import probe_rows
from ingest.dumps.reading import Cable, Probed, Reading
from ingest.dumps.rows import Judged, rows_of, tables_of
from ingest.dumps.source import Dump
from ingest.errors import ExportError
from ingest.lake import Lake
from ingest.quarantine import Kind, Quarantine, Report, quarantine_of
from ingest.schema import LANE_SAMPLES, LINKS, MODULES, PORT_SAMPLES, PROBES
from ingest.utc import END, FIRST

__all__ = ["DumpFile", "DumpReport", "import_dumps"]

_MOST_READINGS: Final = 10_000  # held at a time, and written as one commit
_PORT: Final = ["site", "device", "interface"]

Progress = Callable[[str, float, float], None]


@dataclass(slots=True)
class DumpFile:
    """What became of one file.

    Attributes:
        name: its path.
        formats: what it is; empty where it is none that is known.
        readings: ports, and times, that it told of.
        cables: links that it told of.
        probes: windows of 5-tuples that it told of.
        known: whether the same content was taken before.
    """

    name: str
    formats: tuple[str, ...] = ()
    readings: int = 0
    cables: int = 0
    probes: int = 0
    known: bool = False


@dataclass
class DumpReport(Report):
    """What an import of dumps took and what it did not.

    Attributes:
        files: each of them.
        lane_samples: rows written to ``lane_samples``.
        port_samples: rows written to ``port_samples``.
        modules: rows written to ``modules``.
        links: rows written to ``links``.
        probes: rows written to ``probes``.
    """

    files: list[DumpFile] = field(default_factory=list)
    lane_samples: int = 0
    port_samples: int = 0
    modules: int = 0
    links: int = 0
    probes: int = 0


def import_dumps(
    paths: Iterable[Path], lake: Lake, *, given: Given, quarantine: Path, progress: Progress | None = None
) -> DumpReport:
    """Take dumps into the lake.

    Args:
        paths: files, or folders of nothing but dumps.
        lake: where to.
        given: what the files may leave out.
        quarantine: folder for what is not taken.
        progress: called with the file being read, bytes done and bytes in all.

    Raises:
        ExportError: there are no such files. A file that cannot be taken is in the report instead.
    """
    files = list(_files(paths))
    now = datetime.now(UTC)
    report = DumpReport()
    with quarantine_of(report, quarantine, now) as kept:
        _Import(lake, given, report, kept, now).all(files, progress or (lambda *_: None))
    return report


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_file():
            yield path
        elif path.is_dir():
            found = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
            if not found:
                msg = f"{path}: holds no files"
                raise ExportError(msg)
            yield from found
        else:
            msg = f"{path}: there is no such file or directory"
            raise ExportError(msg)


class _Import:
    """One run over some files."""

    def __init__(self, lake: Lake, given: Given, report: DumpReport, quarantine: Quarantine, now: datetime) -> None:
        self.report = report
        self._known = Known(lake)
        self._lake, self._given, self._quarantine, self._now = lake, given, quarantine, now
        self._held: dict[tuple[str, str, datetime], Reading] = {}
        self._said_by: dict[int, str] = {}  # file of each reading held, for what is said of it later
        self._cables: dict[tuple[tuple[str, str], tuple[str, str]], Cable] = {}
        self._probed: list[Probed] = []
        self._strange: set[str] = set()
        self._complete: list[str] = []

    def all(self, files: list[Path], progress: Progress) -> None:
        """Read all files, and write what they say."""
        sizes = [float(path.stat().st_size) for path in files]
        done, total = 0.0, sum(sizes)
        for path, size in zip(files, sizes, strict=True):
            progress(path.name, done, total)
            self._one(path)
            done += size
        self._flush()
        self._links()
        if self._strange:
            reason = "the end of probes is of no port that is known: `forelight probe addresses` takes a list"
            first = [(min(self._strange), None)]
            self._quarantine.add(Kind.NOTE, "", reason, count=len(self._strange), examples=first)
        progress("", total, total)

    def _one(self, path: Path) -> None:
        file = DumpFile(path.as_posix())
        self.report.files.append(file)
        try:
            given = self._given.of_file(path)
            transaction = _transaction(path, given)
            if transaction in self._complete or self._lake.recorded(PORT_SAMPLES, [transaction]):
                file.known = True
                return
            self._take(Dump.of_file(path, file.name, self._quarantine), file, given)
        except ExportError as error:
            where, _, reason = str(error).removeprefix(file.name).partition(": ")
            self._quarantine.add(Kind.ERROR, file.name, reason, examples=[(f"{file.name}{where}", None)])
        except OSError as error:
            self._quarantine.add(Kind.ERROR, file.name, f"cannot be read: {error.strerror}")
        else:
            self._complete.append(transaction)

    def _take(self, dump: Dump, file: DumpFile, given: Given) -> None:
        found = detect(dump)
        file.formats = found.names
        for said in found.read():
            if isinstance(said, Cable):
                file.cables += self._cable(said, given)
            elif isinstance(said, Probed):
                file.probes += self._window(said, dump)
            elif not said.empty:
                file.readings += self._reading(said, dump, given)
        if not file.readings and not file.cables and not file.probes:
            lost = any(each.kind is Kind.ROW and each.file == file.name for each in self._quarantine.findings)
            nothing = "none of its rows could be taken" if lost else "nothing in it is of a transceiver or a probe"
            dump.doubt(Kind.ERROR if lost else Kind.NOTE, 1, nothing)

    def _reading(self, reading: Reading, dump: Dump, given: Given) -> int:
        reason = given.complete(reading)
        if reason is None and not FIRST <= _time(reading) <= END:
            reason = "not a time between 2000 and 2100"
        if reason is not None:
            dump.doubt(Kind.ERROR, reading.line, reason)
            return 0
        key = (str(reading.device), str(reading.interface), _time(reading))
        held = self._held.setdefault(key, reading)
        if held is not reading:
            held.merge(reading)
        else:
            self._said_by[id(reading)] = dump.name
        if len(self._held) >= _MOST_READINGS:
            self._flush()
        return 1

    def _window(self, probed: Probed, dump: Dump) -> int:
        if not FIRST <= probed.row["time"] <= END:
            dump.doubt(Kind.ERROR, probed.line, "not a time between 2000 and 2100")
            return 0
        self._probed.append(probed)
        if len(self._probed) >= _MOST_READINGS:
            self._flush()
        return 1

    def _cable(self, cable: Cable, given: Given) -> int:
        if cable.time is None and given.at is not None:
            cable = replace(cable, time=given.at)
        ends = (cable.a, cable.z) if cable.a <= cable.z else (cable.z, cable.a)
        if cable.a == cable.z:
            return 0
        new = ends not in self._cables
        self._cables.setdefault(ends, cable)
        return int(new)

    def _flush(self) -> None:
        """Write what is held; ports last, since their table carries the transactions."""
        readings = list(self._held.values())
        judged = rows_of(readings, site=self._given.site)
        self._refused(judged)
        judged = replace(
            judged,
            lanes=self._known.join(LANE_SAMPLES, judged.lanes),
            ports=self._known.join(PORT_SAMPLES, judged.ports),
        )
        lanes, ports = tables_of(judged)
        if readings:
            self.report.lane_samples += self._lake.append(LANE_SAMPLES, lanes)
            self._modules(readings)
        if self._probed:
            rows, strange = probe_rows(self._probed, self._lake, self._given.site, self._now)
            self.report.probes += self._lake.append(PROBES, PROBES.of(rows))
            self._strange |= strange
        if readings or self._complete:
            self.report.port_samples += self._lake.append(PORT_SAMPLES, ports, transaction=self._complete)
        self._held, self._said_by, self._probed, self._complete = {}, {}, [], []

    def _refused(self, judged: Judged) -> None:
        for refused in judged.refused:
            name = self._said_by.get(id(refused.reading), "")
            where = f"{name}:{refused.reading.line} {refused.reading.interface} lane {refused.lane}"
            self._quarantine.add(
                Kind.VALUE,
                name,
                "no module can give this value",
                column=refused.quantity,
                examples=[(where, refused.value)],
            )

    def _modules(self, readings: list[Reading]) -> None:
        told = [reading for reading in readings if reading.module or reading.limits]
        if not told:
            return
        devices = sorted({str(reading.device) for reading in told})
        known = self._lake.latest(MODULES).filter(pl.col("site") == self._given.site, pl.col("device").is_in(devices))
        rows = module_rows(told, known.collect().iter_rows(named=True), self._given.site)
        if rows:
            table = pa.Table.from_pylist([row | {"received_at": self._now} for row in rows], schema=MODULES.schema)
            self.report.modules += self._lake.append(MODULES, table)

    def _links(self) -> None:
        if not self._cables:
            return
        known = self._lake.latest(LINKS).collect().iter_rows(named=True)
        rows = link_rows(self._cables, known, self._given.site, self._now)
        if rows:
            table = pa.Table.from_pylist([row | {"received_at": self._now} for row in rows], schema=LINKS.schema)
            self.report.links = self._lake.append(LINKS, table)


def _time(reading: Reading) -> datetime:
    assert reading.time is not None  # noqa: S101 - asked after `complete` said that nothing is missing
    return reading.time


def _transaction(path: Path, given: Given) -> str:
    """The same file with the same device, port and time given is taken once."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    said = json.dumps([given.site, given.device, given.interface, None if given.at is None else given.at.isoformat()])
    return f"dump:{digest}:{hashlib.sha256(said.encode()).hexdigest()[:16]}"
