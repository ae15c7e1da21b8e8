"""Which file is at fault, where a reader fails: polars does not always say."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from ingest.errors import LakeError
from ingest.lake.delta import DataFile
from ingest.lake.files import file_system, stored_path
from ingest.lake.table import one_line
from ingest.schema import Table

__all__ = ["named"]


def named(handle: DeltaTable, table: Table, files: Sequence[DataFile], error: Exception) -> LakeError | None:
    """The error with the first file that cannot be read; None where all can."""
    for file in files:
        try:
            with file_system(handle).open_input_file(stored_path(file.path)) as source:
                pq.ParquetFile(source, page_checksum_verification=True).read()
        except (OSError, pa.ArrowException):
            reason = one_line(error)
            return LakeError(f"{table.name}: {file.path} cannot be read ({reason}); see forelight lake check")
    return None
