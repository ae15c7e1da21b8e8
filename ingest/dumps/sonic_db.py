"""SONiC's databases as JSON: ``sonic-db-dump -n STATE_DB -y``, ``redis-dump``, a tech-support archive, gNMI's answers.

A key's value is its fields, or, as redis-dump has it, an object with ``type`` and ``value``. Keys are ``TABLE|port`` or
``TABLE:port``; nested by table as in ``config_db.json`` they are taken too, and so is an object a key, with ``key`` and
``value``, a list of these, and databases below their names or those of their namespaces (``asic0``). Several documents
of one file are of one device.
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
_NAMES: Final = "COUNTERS_PORT_NAME_MAP"
_DEEPEST: Final = 3  # a namespace, a database, a table


def _knows(value: Json) -> bool:
    return any(str(key).startswith(_MARKS) for part in _parts(value) for key in part)


def _parts(value: object, depth: int = 0) -> Iterator[dict[str, object]]:
    """Databases of a value: itself, or what lies in it below names of namespaces and databases."""
    if isinstance(value, list):
        entries = [each for each in value if isinstance(each, dict) and _of_key(each) is not None]
        yield {str(_of_key(each)): each["value"] for each in entries}
    elif isinstance(value, dict) and (key := _of_key(value)) is not None:
        yield {str(key): value["value"]}
    elif isinstance(value, dict) and any(key in _NESTED or known_key(str(key)) for key in value):
        yield value
    elif isinstance(value, dict) and depth < _DEEPEST:
        for inner in value.values():
            yield from _parts(inner, depth + 1)


def _of_key(value: Mapping[str, object]) -> object:
    return value.get("key") if isinstance(value.get("value"), dict) else None


def together(documents: list[Document]) -> Document:
    """Databases that follow each other in a file as one: ports of one have their names and counters in another."""
    parts = [part for document in documents for part in _parts(document.value)]
    several = sum(_NAMES in part for part in parts) > 1
    rows: dict[str, object] = {}
    for part in parts:
        rows |= _named(part) if several else part
    return Document(documents[0].line, documents[0].before, rows)


def _named(part: dict[str, object]) -> dict[str, object]:
    """Counters under their ports' names: each ASIC of a device numbers its ports anew."""
    names = {str(oid): name for name, oid in (_fields(part.get(_NAMES)) or {}).items()}
    renamed = {}
    for key, value in part.items():
        table, _, oid = key.partition(":")
        renamed[f"{table}:{names[oid]}" if table in ("COUNTERS", "RATES") and oid in names else key] = value
    renamed.pop(_NAMES, None)
    return renamed


def _read(document: Document, dump: Dump) -> Iterator[Reading]:
    assert isinstance(document.value, dict)  # noqa: S101 - what `together` made

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
