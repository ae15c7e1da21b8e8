"""Foreign dumps: what people already have of their transceivers, one format a file, into the canonical tables.

Files go to the lake by `import_dumps`. Text that a program holds becomes readings by `read_text`, those rows of the
tables by `rows_of` and `module_rows`. Each name is imported when it is asked for: the host agent reads text without
the libraries that make tables.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
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

_HOMES: Final = {
    "FORMATS": "formats",
    "DumpFile": "load",
    "DumpReport": "load",
    "import_dumps": "load",
    "module_rows": "modules",
    "Given": "names",
    "NamePattern": "names",
    "Reading": "reading",
    "rows_of": "rows",
    "tables_of": "rows",
    "join": "text",
    "read_text": "text",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
