"""Import of an operator's export, the whole path: read, checked, split, quarantined, committed; ``make bench`` runs it.

The export is a fleet of `data_samples`. Prints lane rows a second, CPU seconds per million of them and the peak of
memory, and beside them what a bare ``write_deltalake`` takes for the same lane and port rows, lying ready in memory.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl
import pyarrow as pa
from deltalake import WriterProperties, write_deltalake

from ingest.exports import import_export
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Table

T = TypeVar("T")
CHUNK_ROWS = 1_000_000
WRITER = WriterProperties(compression="ZSTD", compression_level=3, max_row_group_size=262_144)  # as the lake appends


def timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """What it gives, and its wall and CPU seconds."""
    wall, cpu = time.monotonic(), time.process_time()
    result = work()
    return result, time.monotonic() - wall, time.process_time() - cpu


def show(name: str, rows: int, wall_s: float, cpu_s: float) -> None:
    """Print one line."""
    print(f"  {name:24s} {rows / wall_s / 1e6:5.2f} M lane rows/s   {cpu_s / rows * 1e6:5.2f} CPU s per million")


def ready(lake: Lake, table: Table) -> Iterator[pa.Table]:
    """The table's rows as a writer takes them."""
    rows = lake.scan(table).with_columns(date=pl.col("time").dt.date()).collect()
    schema = pa.schema([*table.schema, ("date", pa.date32())])
    for start in range(0, rows.height, CHUNK_ROWS):
        chunk = rows.slice(start, CHUNK_ROWS).to_arrow(compat_level=pl.CompatLevel.oldest())
        yield chunk.cast(schema).combine_chunks()


def bare(folder: str, lake: Lake) -> tuple[float, float]:
    """Wall and CPU seconds of writing both tables, and of nothing else."""
    wall_s = cpu_s = 0.0
    for table in (LANE_SAMPLES, PORT_SAMPLES):
        append = partial(
            write_deltalake, f"{folder}/{table.name}", mode="append", partition_by=["date"], writer_properties=WRITER
        )
        for chunk in ready(lake, table):
            _, wall, cpu = timed(partial(append, data=chunk))
            wall_s, cpu_s = wall_s + wall, cpu_s + cpu
    return wall_s, cpu_s


def main() -> None:
    """One import, and its peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=150)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--export", type=Path, help="an export to import instead of a made one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        export = options.export or Path(folder, "export")
        if options.export is None:
            fleet = ("--links", str(options.links), "--days", str(options.days), "--out", str(export))
            subprocess.run([sys.executable, "-m", "data_samples", *fleet], check=True, stdout=subprocess.DEVNULL)
        lake = Lake(f"{folder}/lake")
        report, wall_s, cpu_s = timed(lambda: import_export(export, lake))
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows = report.lane_rows
        print(f"import of {rows:,} lane rows in {report.files} files: {report.port_samples:,} port samples")
        show("forelight import", rows, wall_s, cpu_s)
        bare_wall_s, bare_cpu_s = bare(f"{folder}/bare", lake)
        show("bare write_deltalake", rows, bare_wall_s, bare_cpu_s)
    print(
        f"  wall {wall_s / bare_wall_s:.2f} and CPU {cpu_s / bare_cpu_s:.2f} times the bare write; {peak_mib:,.0f} MiB"
    )


if __name__ == "__main__":
    main()
