"""Every foreign format that can be read, and which of them a file is."""

from collections.abc import Iterator
from typing import Final

from ingest.dumps import (
    eos,
    ethtool_module,
    ethtool_stats,
    ibdiagnet,
    ibnetdiscover,
    mlxlink,
    nxos,
    probe_logs,
    prometheus,
    sonic_db,
    sonic_fec,
    sonic_hgetall,
    sonic_show,
    ufm,
)
from ingest.dumps.format import JsonFormat, Said, TextFormat
from ingest.dumps.source import Document, Dump
from ingest.errors import ExportError

__all__ = ["FORMATS", "Found", "detect"]

_TEXT: Final[tuple[TextFormat, ...]] = (
    ethtool_stats.TEXT,
    ibdiagnet.TEXT,
    ibnetdiscover.TEXT,
    ufm.TEXT,
    sonic_fec.TEXT,
    sonic_hgetall.TEXT,
    sonic_show.TEXT,
    mlxlink.TEXT,
    prometheus.TEXT,
    probe_logs.PINGMESH,
    ethtool_module.TEXT,  # the eeprom of SONiC's commands has the same names in it
)
_JSON: Final[tuple[JsonFormat, ...]] = (
    ethtool_module.JSON,
    ethtool_stats.JSON,
    mlxlink.JSON,
    sonic_db.JSON,
    nxos.JSON,
    eos.JSON,
    probe_logs.RPINGMESH,
)
FORMATS: Final = tuple(sorted([text.name for text in _TEXT] + [known.name for known in _JSON]))
"""Their names, as `forelight import --json` tells them."""


class Found:
    """What a file is, and what it says.

    Attributes:
        names: of its formats; JSON documents of several may follow each other.
    """

    def __init__(self, dump: Dump, text: TextFormat | None, documents: list[tuple[Document, JsonFormat]]) -> None:
        self._dump, self._text, self._documents = dump, text, documents
        names = [text.name] if text else [known.name for _, known in documents]
        self.names = tuple(dict.fromkeys(names))

    def read(self) -> Iterator[Said]:
        """Readings, cables and windows of probes.

        Raises:
            ExportError: the file breaks off being what it began as.
        """
        if self._text is not None:
            yield from self._text.read(self._dump)
        for document, known in self._documents:
            yield from known.read(document, self._dump)


def detect(dump: Dump) -> Found:
    """Which format a file is, by its content.

    Raises:
        ExportError: none that is known, with what it looks like.
    """
    head = dump.head
    if dump.packed:
        msg = f"{dump.name}: is packed; unpack it first (gunzip, tar -xzf, unzip) and give the files or their folder"
        raise ExportError(msg)
    if "\0" in head:
        msg = f"{dump.name}: is binary, and no dump that is known"
        raise ExportError(msg)
    for text in _TEXT:
        if text.knows(head):
            return Found(dump, text, [])
    if not any(line.lstrip().startswith(("{", "[")) for line in head.splitlines()):
        what = "is empty" if not head.strip() else "is none of the formats that are known"
        sheet = f"; `forelight import --suggest-map {dump.name}` writes a map for a spreadsheet"
        msg = f"{dump.name}:1: {what} ({', '.join(FORMATS)}){sheet if dump.name.lower().endswith('.csv') else ''}"
        raise ExportError(msg)
    found = [(document, known) for document in dump.documents() for known in _JSON if known.knows(document.value)]
    if not found:
        first = dump.documents()[0] if dump.documents() else None
        keys = ", ".join(sorted(map(str, first.value))[:5]) if first and isinstance(first.value, dict) else "no object"
        msg = f"{dump.name}:{first.line if first else 1}: JSON of none of the formats that are known (it has {keys})"
        raise ExportError(msg)
    if any(known is sonic_db.JSON for _, known in found):
        found = [pair for pair in found if pair[1] is not sonic_db.JSON]
        found.append((sonic_db.together(dump.documents()), sonic_db.JSON))
    return Found(dump, None, found)
