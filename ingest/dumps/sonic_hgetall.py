"""SONiC's databases as shells show them: ``redis-cli -n 6 hgetall KEY`` and ``sonic-db-cli STATE_DB hgetall KEY``.

Each key stands in the command's line, or by itself. Its fields follow as numbered lines, as lines in turn (output of
redis-cli that goes to a file), or as one dictionary.
"""

import re
from collections.abc import Iterator
from typing import Final

from ingest.dumps.format import TextFormat
from ingest.dumps.reading import Reading
from ingest.dumps.sonic_ports import SonicPorts, known_key
from ingest.dumps.source import Dump
from ingest.quarantine import Kind

__all__ = ["TEXT"]

_KEY: Final = re.compile(
    r"""(?:^|[\s"'])((?:TRANSCEIVER_[A-Z_]+|PORT_TABLE|PORT|COUNTERS|RATES|DEVICE_METADATA)[|:][\w:./-]+|COUNTERS_PORT_NAME_MAP)["']?\s*$""",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(r"\s*\d+\)\s+(.*)")
_PAIR: Final = re.compile(r"""(['"])([\w ./-]+)\1\s*:\s*(?:(['"])(.{0,8000}?)\3|([-\w.+]+))(?=\s*[,}])""")
_LONGEST: Final = 1 << 16
_LONGEST_KEY: Final = 1000
_MOST_FIELDS: Final = 10_000


def _knows(head: str) -> bool:
    lines = head.splitlines()
    if any("hgetall" in line.lower() and _key(line) for line in lines):
        return True
    return any(_KEY.fullmatch(line.strip()) and known_key(line.strip().strip("\"'")) for line in lines[:5])


def _read(dump: Dump) -> Iterator[Reading]:
    lines: dict[str, int] = {}

    def doubt(kind: Kind, key: str, field: str, reason: str, raw: object) -> None:
        dump.doubt(kind, lines.get(key, 1), reason, raw, field)

    ports = SonicPorts(1, doubt)
    for number, key, texts in _rows(dump):
        lines[key] = number
        known, fields = known_key(key), _fields(texts)
        if known and fields is None:
            doubt(Kind.ROW, key, "", "a field without a value", texts[-1])
        elif known and fields:
            ports.add(*known, fields, line=number)
    yield from ports.readings()


def _key(line: str) -> re.Match[str] | None:
    return _KEY.search(line) if len(line) < _LONGEST_KEY else None


def _rows(dump: Dump) -> Iterator[tuple[int, str, list[str]]]:
    """Line of the key, key, and the lines that follow it up to the next one."""
    key, at, texts = None, 0, list[str]()
    for number, line in dump.lines():
        if found := _key(line):
            if key is not None:
                yield at, key, texts
            key, at, texts = found[1], number, []
        elif key is not None and line.strip() and len(texts) < _MOST_FIELDS:
            texts.append(line)
    if key is not None:
        yield at, key, texts


def _fields(texts: list[str]) -> dict[str, str] | None:
    """Fields and values; None where the last field has none."""
    if texts and texts[0].lstrip().startswith("{"):
        return {found[2]: found[4] or found[5] or "" for found in _PAIR.finditer(texts[0][:_LONGEST])}
    cells = [found[1] for text in texts if (found := _NUMBERED.match(text))]
    if not cells:
        cells = [text for text in texts if not _is_prompt(text)]
    cells = [cell.strip().strip('"') for cell in cells]
    if len(cells) % 2:
        return None
    return dict(zip(cells[::2], cells[1::2], strict=True))


def _is_prompt(text: str) -> bool:
    return bool(re.match(r"\S+@\S+[$#]|\(empty", text))


TEXT: Final = TextFormat("sonic-hgetall", _knows, _read)
