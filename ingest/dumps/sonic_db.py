"""SONiC's databases as JSON: ``sonic-db-dump -n STATE_DB -y``, ``redis-dump``, a tech-support archive, gNMI's answers.

A key's value is its fields, or, as redis-dump has it, an object with ``type`` and ``value``. Keys are ``TABLE|port`` or
``TABLE:port``; nested by table as in ``config_db.json`` they are taken too, and so is an object a key, with ``key`` and
``value``. Several documents of one file are of one device.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ingest.dumps.format import JsonFormat
from ingest.dumps.reading import Reading
from ingest.dumps.sonic_keys import TABLES
from ingest.dumps.sonic_ports import SonicPorts, known_key
from ingest.dumps.source import Document, Dump, Json
from ingest.quarantine import Kind

__all__ = ["JSON", "together"]

_MARKS: Final = ("TRANSCEIVER_", "COUNTERS_PORT_NAME_MAP", "COUNTERS:oid:", "PORT_TABLE:", "PORT_TABLE|")
_NESTED: Final = (*TABLES, "COUNTERS", "RATES", "DEVICE_METADATA")


def _knows(value: Json) -> bool:
    return isinstance(value, dict) and (
        any(str(key).startswith(_MARKS) for key in value) or str(_of_key(value)).startswith(_MARKS)
    )


def _of_key(value: Mapping[str, object]) -> object:
    return value.get("key") if isinstance(value.get("value"), dict) else None


def together(documents: list[Document]) -> Document:
    """Databases that follow each other in a file as one: ports of one have their names and counters in another."""
    rows: dict[str, object] = {}
    for document in documents:
        assert isinstance(document.value, dict)  # noqa: S101 - or it would not be known
        key = _of_key(document.value)
        rows |= document.value if key is None else {str(key): document.value["value"]}
    return Document(documents[0].line, documents[0].before, rows)


def _read(document: Document, dump: Dump) -> Iterator[Reading]:
    assert isinstance(document.value, dict)  # noqa: S101 - or it would not be known

    def doubt(kind: Kind, key: str, field: str, reason: str, raw: object) -> None:
        line = dump.line_of(document, *(word for word in (key, field) if word))
        dump.doubt(kind, line, reason, raw, field)

    ports = SonicPorts(document.line, doubt)
    for key, value in document.value.items():
        if key in _NESTED and isinstance(value, dict):
            rows = [(key, str(rest), fields) for rest, fields in value.items()]
        elif known := known_key(str(key)):
            rows = [(*known, value)]
        else:
            continue
        for table, rest, row in rows:
            fields = _fields(row)
            if fields is None:
                doubt(Kind.ROW, str(key), "", "not fields and values", row)
            else:
                ports.add(table, rest, fields)
    yield from ports.readings()


def _fields(value: object) -> Mapping[str, object] | None:
    if not isinstance(value, dict):
        return None
    inner = value.get("value")
    fields = inner if isinstance(inner, dict) and ("type" in value or "ttl" in value) else value
    return {str(name): field for name, field in fields.items()}


JSON: Final = JsonFormat("sonic-db", _knows, _read)
