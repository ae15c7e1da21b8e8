"""What of a finding can be mended: lost and broken files leave the table, misplaced rows go where they belong.

Each repair is one commit. A broken file is kept below ``_broken`` in its table, which no reader looks at.
"""

import shutil
from collections.abc import Iterable
from typing import Final

import polars as pl
from deltalake import DeltaTable

from ingest.lake.check import Finding
from ingest.lake.delta import BUCKET, PARTITION, DataFile, buckets_of, canonical, data_files, read, stored
from ingest.lake.files import SortedFile, exchange, file_system, stored_path
from ingest.lake.table import retried
from ingest.schema import Table

__all__ = ["repair"]

_BUFFER_BYTES: Final = 1 << 20


def repair(uri: str, table: Table, finding: Finding) -> bool:
    """Mend one finding; False where there is no way, or nothing to mend any more.

    Raises:
        LakeError: the table cannot be written.
    """

    def mend(handle: DeltaTable) -> bool:
        file = next((file for file in data_files(handle) if file.path == finding.path), None)
        if file is None:
            return False
        if finding.kind == "torn":
            _set_aside(handle, file)
        lost = finding.kind in {"torn", "missing"}
        exchange(handle, [] if lost else list(_placed(handle, table, file)), [file])
        return True

    return finding.kind in {"missing", "torn", "misplaced", "count"} and retried(uri, table, mend)


def _set_aside(handle: DeltaTable, file: DataFile) -> None:
    """Keep a copy for whoever wants to save something of it."""
    files = file_system(handle)
    path = stored_path(file.path)
    kept = f"_broken/{path.replace('/', '~')}"
    # Its copy_file is broken, and so are unbuffered writes from Python.
    with files.open_input_file(path) as source, files.open_output_stream(kept, buffer_size=_BUFFER_BYTES) as copy:
        shutil.copyfileobj(source, copy, _BUFFER_BYTES)


def _placed(handle: DeltaTable, table: Table, file: DataFile) -> Iterable[SortedFile]:
    """The rows of a file in files of the right partitions, in the same place of the commit order."""
    table = stored(table, handle)
    by = handle.metadata().partition_columns
    rows = pl.from_arrow(canonical(table, read(table, [file]).collect(), buckets=buckets_of(handle)))
    assert isinstance(rows, pl.DataFrame)  # noqa: S101 - tells mypy what a table becomes
    for _, part in rows.group_by(by, maintain_order=True) if by else [((), rows)]:
        place = part.select(by).row(0, named=True)
        partition = (place.get(PARTITION), place.get(BUCKET))
        with SortedFile(handle, table, partition, file.modified_ms, prefix="part-") as out:
            out.write(canonical(table, part.select(table.schema.names)).select(table.schema.names))
        yield out
