"""Whether a table is whole: its log, its files, what stands in them. What is wrong is named, nothing is changed."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler

from ingest.errors import LakeError
from ingest.lake.delta import BUCKET, PARTITION, DataFile, bucket_of, buckets_of, data_files, same_type, stored
from ingest.lake.files import file_system, stored_path
from ingest.lake.prune import SAFE_AGE, unreferenced
from ingest.lake.table import address, one_line, open_table
from ingest.schema import Table

__all__ = ["Finding", "Kind", "check_table"]

Kind = Literal["log", "missing", "torn", "foreign", "schema", "misplaced", "count"]
_THREADS: Final = 8  # footers on an object store are waited for, not computed
_LOG: Final = "_delta_log"
_VERSION_DIGITS: Final = 20  # of Delta's file names


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        table: in which table.
        kind: log (gaps, unreadable) · missing (in the log, not on disk) · torn (not whole, or not Parquet) ·
            foreign (not of this table) · schema (another type, a column missing or unknown) · misplaced (rows of
            another day or bucket) · count (other rows than the log says).
        path: the file, below the table.
        what: in words.
    """

    table: str
    kind: Kind
    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.table}: {self.kind}: {self.path}: {self.what}" if self.path else f"{self.table}: {self.what}"


def check_table(uri: str, table: Table, *, deep: bool = False) -> list[Finding]:
    """What is wrong with one table; nothing where it does not exist.

    Args:
        uri: of the lake.
        table: which.
        deep: read every value, not only each file's footer.

    Raises:
        LakeError: what holds the table does not answer.
    """
    try:
        return _findings(uri, table, deep=deep)
    except (DeltaError, OSError) as error:
        msg = f"{table.name}: {one_line(error)}; it was not checked"
        raise LakeError(msg) from error


def _findings(uri: str, table: Table, *, deep: bool) -> list[Finding]:
    try:
        handle = open_table(uri, table)
    except LakeError as error:
        gaps = list(_log_findings(table, _listing(uri, table)))
        return gaps or [Finding(table.name, "log", _LOG, f"the table cannot be opened ({error})")]
    if handle is None:
        return _not_a_table(uri, table)
    listing = _listing(uri, table)
    found = [*_log_findings(table, listing), *_foreign(handle, table, listing)]
    try:
        stored(table, handle)
    except LakeError as error:
        found.append(Finding(table.name, "schema", "", str(error).removeprefix(f"{table.name}.")))
    with ThreadPoolExecutor(_THREADS) as pool:
        for each in pool.map(lambda file: _file_findings(handle, table, file, listing, deep=deep), data_files(handle)):
            found.extend(each)
    return found


def _not_a_table(uri: str, table: Table) -> list[Finding]:
    folder = Path(address(uri, table))
    if "://" in uri or not folder.is_dir() or not any(folder.iterdir()):
        return []
    return [Finding(table.name, "foreign", "", "a folder without a Delta log stands where the table would be")]


def _listing(uri: str, table: Table) -> dict[str, pyarrow.fs.FileInfo]:
    """Everything below a table by its path."""
    files = pyarrow.fs.PyFileSystem(DeltaStorageHandler(address(uri, table)))
    found = files.get_file_info(pyarrow.fs.FileSelector("", allow_not_found=True, recursive=True))
    return {info.path.lstrip("/"): info for info in found if info.type == pyarrow.fs.FileType.File}


def _log_findings(table: Table, listing: Mapping[str, pyarrow.fs.FileInfo]) -> Iterator[Finding]:
    """Versions that are missing between two others, and commits of no bytes."""
    commits = {}
    for path, info in listing.items():
        name = path.removeprefix(f"{_LOG}/")
        if path.startswith(f"{_LOG}/") and name.endswith(".json") and name[:_VERSION_DIGITS].isdigit():
            commits[int(name.split(".")[0])] = (path, info)
    for version in range(min(commits, default=0), max(commits, default=-1)):
        if version not in commits:
            yield Finding(table.name, "log", f"{_LOG}/{version:0{_VERSION_DIGITS}}.json", "this commit is missing")
    for path, info in commits.values():
        if not info.size:
            yield Finding(table.name, "log", path, "this commit is empty")


def _foreign(handle: DeltaTable, table: Table, listing: Mapping[str, pyarrow.fs.FileInfo]) -> Iterator[Finding]:
    """Files that the log has never named; young ones may be of a commit that is under way."""
    removed = handle.vacuum(0, dry_run=True, enforce_retention_duration=False)
    ours = {stored_path(path) for path in (*removed, *(file.path for file in data_files(handle)))}
    for path in unreferenced(handle, SAFE_AGE):
        if path not in ours:
            yield Finding(table.name, "foreign", path, "not in the log: left by a writer that died, or put there")
    for path in sorted(listing):
        if not path.startswith("_") and not path.endswith(".parquet") and path not in ours:
            yield Finding(table.name, "foreign", path, "no file of a table")


def _file_findings(
    handle: DeltaTable, table: Table, file: DataFile, listing: Mapping[str, pyarrow.fs.FileInfo], *, deep: bool
) -> list[Finding]:
    info = listing.get(stored_path(file.path))
    if info is None:
        return [Finding(table.name, "missing", file.path, f"{file.rows} rows are in the log and not on disk")]
    if info.size != file.size_bytes:
        return [Finding(table.name, "torn", file.path, f"{info.size} bytes of {file.size_bytes}")]
    files = file_system(handle)
    try:
        with files.open_input_file(stored_path(file.path)) as source:
            return _contents(handle, table, file, source, deep=deep)
    except (OSError, pa.ArrowException) as error:
        if handle.table_uri.startswith("file:"):
            return [_torn(table, file, error)]
    # Of an object store it may be the answer that is torn: then this is raised, for the file may be whole.
    with files.open_input_file(stored_path(file.path)) as source:
        content = source.read()
    try:
        return _contents(handle, table, file, pa.BufferReader(content), deep=deep)
    except (OSError, pa.ArrowException) as error:
        return [_torn(table, file, error)]


def _torn(table: Table, file: DataFile, error: Exception) -> Finding:
    return Finding(table.name, "torn", file.path, str(error).splitlines()[0])


def _contents(handle: DeltaTable, table: Table, file: DataFile, source: pa.NativeFile, *, deep: bool) -> list[Finding]:
    parquet = pq.ParquetFile(source, page_checksum_verification=True)
    return [Finding(table.name, *of) for of in _content(handle, table, file, parquet, deep=deep)]


def _content(
    handle: DeltaTable, table: Table, file: DataFile, parquet: pq.ParquetFile, *, deep: bool
) -> Iterator[tuple[Kind, str, str]]:
    if wrong := _schema_differences(handle, table, parquet.schema_arrow):
        yield "schema", file.path, "; ".join(wrong)
        return
    if parquet.metadata.num_rows != file.rows:
        yield "count", file.path, f"{parquet.metadata.num_rows} rows, {file.rows} in the log"
    if deep:
        for group in range(parquet.num_row_groups):
            parquet.read_row_group(group)
    if table.time is not None and file.day is not None and (days := _days(parquet, table.time)):
        outside = [day for day in days if day != file.day]
        if outside:
            yield "misplaced", file.path, f"rows of {', '.join(map(str, outside))} in {PARTITION}={file.day}"
            return
    if deep and file.bucket is not None and (strays := _strays(parquet, file.bucket, buckets_of(handle))):
        yield "misplaced", file.path, f"rows of {', '.join(strays[:3])} in {BUCKET}={file.bucket}"


def _schema_differences(handle: DeltaTable, table: Table, schema: pa.Schema) -> list[str]:
    known = {field.name for field in handle.schema().fields}
    wrong = [f"no column of the table: {name}" for name in schema.names if name not in known]
    for field in table.schema:
        position = schema.get_field_index(field.name)
        if position < 0:
            wrong += [] if field.nullable else [f"{field.name} is missing"]
        elif not same_type(schema.field(position).type, field.type):
            wrong.append(f"{field.name} is {schema.field(position).type} and not {field.type}")
    return wrong


def _days(parquet: pq.ParquetFile, time: str) -> list[date]:
    """First and last day of a file's rows, from its statistics where it has them."""
    column = parquet.schema_arrow.get_field_index(time)
    bounds: list[datetime] = []
    for group in range(parquet.num_row_groups):
        chunk = parquet.metadata.row_group(group).column(column)
        if chunk.statistics is not None and chunk.statistics.has_min_max and chunk.path_in_schema == time:
            bounds += [chunk.statistics.min, chunk.statistics.max]
        else:
            found = pc.min_max(parquet.read_row_group(group, columns=[time])[time]).as_py()
            bounds += [value for value in found.values() if value is not None]
    days = [bound.astimezone(UTC).date() for bound in bounds]
    return sorted({min(days), max(days)}) if days else []


def _strays(parquet: pq.ParquetFile, bucket: int, buckets: int) -> list[str]:
    rows = parquet.read(columns=["site", "device"])
    pairs = rows.group_by(["site", "device"]).aggregate([]).to_pylist()
    return sorted(p["device"] for p in pairs if bucket_of((p["site"], p["device"]), buckets) != bucket)
