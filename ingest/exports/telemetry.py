"""Telemetry files of an export, Parquet or CSV, as bounded batches of lane and port samples."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from ingest.errors import ExportError
from ingest.exports.split import Splitter
from ingest.exports.values import ROW_COLUMNS, TYPES, Check, checks, lossy, raw_name, settled, typed, unplain
from ingest.quarantine import EXAMPLES, Kind, Quarantine
from ingest.schema import Quality

__all__ = ["TelemetryFile"]

_BATCH_ROWS: Final = 250_000
_CSV_BLOCK_BYTES: Final = 32 << 20
_NEEDED: Final = ("time", "device", "interface")
_OVERWRITTEN: Final = ("received_at", "source")  # an import sets them; no reason to complain of them


class TelemetryFile:
    """One file below ``telemetry/``: read once, in batches.

    Attributes:
        rows: lane rows read so far.
        done: fraction of the file read so far.
    """

    def __init__(self, path: Path, name: str, quarantine: Quarantine) -> None:
        self.path, self.name = path, name
        self.rows, self.done = 0, 0.0
        self._quarantine = quarantine
        self._skipped: list[int] = []  # lines of a CSV that have more or fewer cells than its header

    def batches(self) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        """Lane samples and port samples, batch by batch.

        Raises:
            ExportError: the file is not what its name says, is cut off, or has no usable columns.
        """
        splitter = Splitter()
        damage: Exception | None = None
        try:
            for batch in self._csv() if self.path.suffix == ".csv" else self._parquet():
                batch.validate(full=True)  # polars aborts on text that is not UTF-8
                frame = pl.from_arrow(batch)
                assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table becomes a frame, not a series
                coded = [n for n, kind in frame.schema.items() if kind == pl.Categorical and TYPES[n] != pl.String]
                clean = self._clean(frame.with_columns(pl.col(coded).cast(pl.String)))
                self.rows += frame.height
                yield splitter.split(clean)
        except (pa.ArrowException, pl.exceptions.PolarsError, OSError) as error:
            damage = error
        if splitter.held.height:
            yield splitter.rest()
        if damage is not None:
            kept = f", of which {self.rows:,} rows were taken" if self.rows else ""
            msg = f"{self.name}: cannot be read{kept}: {str(damage).splitlines()[0]}"
            raise ExportError(msg) from damage

    def _parquet(self) -> Iterator[pa.Table]:
        schema = pq.read_schema(self.path)
        columns = self._columns(schema.names)
        self._check_time(schema.field("time").type)
        names = [name for name in columns if TYPES[name] == pl.String and _is_text(schema.field(name).type)]
        with pq.ParquetFile(self.path, buffer_size=1 << 20, pre_buffer=False, read_dictionary=names) as file:
            total, done = max(file.metadata.num_rows, 1), 0
            for batch in _joined(file.iter_batches(_BATCH_ROWS, columns=columns)):
                done += batch.num_rows
                yield batch
                self.done = done / total

    def _check_time(self, kind: pa.DataType) -> None:
        if pa.types.is_timestamp(kind) and kind.tz is None:
            msg = f"{self.name} row 1: its column 'time' is {kind}: times without a zone"
            raise ExportError(msg)
        if not (pa.types.is_timestamp(kind) or _is_text(kind)):
            msg = f"{self.name}: its column 'time' is {kind}; it must be a timestamp with a zone, or ISO 8601 text"
            raise ExportError(msg)

    def _csv(self) -> Iterator[pa.RecordBatch]:
        with self.path.open(encoding="utf-8-sig", errors="replace", newline="") as text:
            columns = self._columns(next(csv.reader(text), []))
        size = max(self.path.stat().st_size, 1)
        with self.path.open("rb") as file:
            reader = pa_csv.open_csv(
                file,
                read_options=pa_csv.ReadOptions(use_threads=False, block_size=_CSV_BLOCK_BYTES),
                parse_options=pa_csv.ParseOptions(invalid_row_handler=self._skip),
                convert_options=pa_csv.ConvertOptions(
                    column_types=dict.fromkeys(columns, pa.string()),
                    include_columns=columns,
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
            for batch in reader:
                yield batch
                self.done = file.tell() / size

    def _skip(self, row: pa_csv.InvalidRow) -> str:
        self._skipped.append(row.number)
        reason = f"not {row.expected_columns} cells, as the header has"
        self._quarantine.add(Kind.ROW, self.name, reason, examples=[(f"{self.name}:{row.number}", row.text)])
        return "skip"

    def _columns(self, header: list[str]) -> list[str]:
        missing = [name for name in _NEEDED if name not in header]
        if missing:
            msg = f"{self.name}: has no column {', '.join(missing)}"
            raise ExportError(msg)
        if twice := sorted({name for name in header if name in TYPES and header.count(name) > 1}):
            msg = f"{self.name}: column {', '.join(twice)} stands there more than once"
            raise ExportError(msg)
        for name in header:
            if name not in TYPES and name not in _OVERWRITTEN:
                self._quarantine.add(Kind.NOTE, self.name, "not a column of telemetry; left out", column=name)
        return [name for name in header if name in TYPES]

    def _clean(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Canonical columns of the rows that can be taken; what is wrong goes to the quarantine."""
        sound = batch.select(settled(batch))
        doubtful = batch.drop(sound.columns)
        rows = typed(doubtful)
        found = checks(doubtful.schema, lossy(doubtful, rows), unplain(rows))
        rows = rows.hstack(sound) if rows.width else sound
        names = [str(i) for i in range(len(found))]
        rows = rows.with_columns(
            check.wrong.fill_null(value=False).alias(name) for name, check in zip(names, found, strict=True)
        )
        wrong = [(check, name) for name, check in zip(names, found, strict=True) if rows.get_column(name).any()]
        for check, name in wrong:
            self._report(check, rows, rows.get_column(name))
        return _kept(rows, batch.columns, wrong)

    def _report(self, check: Check, rows: pl.DataFrame, mask: pl.Series) -> None:
        places = mask.arg_true()
        raw = rows.get_column(raw_name(check.column))
        examples = [(self._where(place), raw[place]) for place in places.head(EXAMPLES)]
        self._quarantine.add(
            check.kind, self.name, check.reason, column=check.column, count=len(places), examples=examples
        )

    def _where(self, place: int) -> str:
        """Place of a batch's row: the line of a CSV, the row (from 1) of a Parquet file."""
        row = self.rows + place + 1
        if self.path.suffix != ".csv":
            return f"{self.name} row {row}"
        line = row + 1
        for skipped in self._skipped:
            line += skipped <= line
        return f"{self.name}:{line}"


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Small row groups as larger batches: what each batch costs is more than what a row does."""
    small: list[pa.RecordBatch] = []
    for batch in batches:
        if small and sum(part.num_rows for part in small) + batch.num_rows > _BATCH_ROWS:
            yield pa.Table.from_batches(small)
            small = []
        small.append(batch)
    if small:
        yield pa.Table.from_batches(small)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _kept(rows: pl.DataFrame, columns: list[str], wrong: list[tuple[Check, str]]) -> pl.DataFrame:
    """The rows without a fault of their own, impossible values null and marked as glitches."""
    values = [(check, name) for check, name in wrong if check.kind is Kind.VALUE]
    dropped = [name for check, name in wrong if check.kind is not Kind.VALUE]
    if dropped:
        rows = rows.filter(~pl.any_horizontal(dropped))
    quality = pl.col("quality").fill_null(0) if "quality" in columns else pl.lit(0, pl.Int16)
    if values:
        glitch = pl.any_horizontal([name for _, name in values])
        quality = quality | pl.when(glitch).then(int(Quality.GLITCH)).otherwise(0).cast(pl.Int16)
    nulled: dict[str, list[str]] = {}
    for check, name in values:
        nulled.setdefault(check.column, []).append(name)
    rows = rows.with_columns(
        pl.when(~pl.any_horizontal(names)).then(pl.col(column)).alias(column) for column, names in nulled.items()
    )
    default = pl.lit("default").cast(pl.Categorical())
    site = pl.col("site").fill_null(default) if "site" in columns else default
    lane = pl.col("lane").fill_null(0) if "lane" in columns else pl.lit(0, pl.Int8)
    others = [name for name in columns if name not in (*ROW_COLUMNS, "quality")]
    return rows.select("time", "device", "interface", *others, site=site, lane=lane, quality=quality)
