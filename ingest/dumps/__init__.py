"""Foreign dumps: what people already have of their transceivers, one format a file, into the canonical tables.

Files go to the lake by `import_dumps`. Text that a program holds becomes readings by `read_text`, those rows of the
tables by `rows_of` and `module_rows`.
"""

from ingest.dumps.formats import FORMATS
from ingest.dumps.load import DumpFile, DumpReport, import_dumps
from ingest.dumps.modules import module_rows
from ingest.dumps.names import Given, NamePattern
from ingest.dumps.reading import Reading
from ingest.dumps.rows import rows_of, tables_of
from ingest.dumps.text import join, read_text

__all__ = [
    "FORMATS",
    "DumpFile",
    "DumpReport",
    "Given",
    "NamePattern",
    "Reading",
    "import_dumps",
    "join",
    "module_rows",
    "read_text",
    "rows_of",
    "tables_of",
]
