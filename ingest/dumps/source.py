"""A dump as its readers see it: numbered lines or JSON documents, with bounds, and a way to say what is wrong."""

import codecs
import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import BinaryIO, Final

from ingest.errors import ExportError
from ingest.quarantine import Kind, Quarantine

__all__ = ["HEAD_BYTES", "Document", "Dump", "Json"]

Json = dict[str, object] | list[object] | str | float | bool | None

HEAD_BYTES: Final = 1 << 16
_LONGEST_LINE: Final = 1 << 16
_LARGEST_JSON: Final = 256 << 20
_MOST_DOCUMENTS: Final = 100_000
_OPENING: Final = re.compile(r"""^[ \t]*(?=\[\s*[\[{"\]\d-]|\{\s*["}])""", re.MULTILINE)  # not [user@host ~]#
_MOST_SEARCHES: Final = 100
_PACKED: Final = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_RAW: Final = 200  # characters of what was refused that the quarantine keeps


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON document of a file.

    Attributes:
        line: where it begins.
        before: the text since the document before, such as the command that printed this one.
        value: what it holds.
    """

    line: int
    before: str
    value: Json


class Dump:
    """One file, or text that stands for one.

    Attributes:
        name: how the file is called when something is said of it.
        rows: readings and cables taken of it so far; readers do not touch it.
    """

    def __init__(self, name: str, open_: Callable[[], BinaryIO], quarantine: Quarantine) -> None:
        self.name, self.rows = name, 0
        self._open, self._quarantine = open_, quarantine
        self._documents: list[Document] | None = None
        self._searches = 0
        with open_() as file:
            self._head = file.read(HEAD_BYTES)
        self._encoding = _encoding(self._head)

    @classmethod
    def of_file(cls, path: Path, name: str, quarantine: Quarantine) -> "Dump":
        """A file on disk."""
        return cls(name, lambda: path.open("rb"), quarantine)

    @classmethod
    def of_text(cls, text: str, quarantine: Quarantine, name: str = "(text)") -> "Dump":
        """What a command printed."""
        data = text.encode("utf-8", errors="replace")
        return cls(name, lambda: BytesIO(data), quarantine)

    @property
    def head(self) -> str:
        """The beginning, by which formats know it."""
        return self._head.decode(self._encoding, errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")

    @property
    def packed(self) -> bool:
        """Whether it begins as gzip, zip, bzip2, xz or zstd do."""
        return self._head.startswith(_PACKED)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number, from 1, and text of each line, without its end.

        Raises:
            ExportError: a line is longer than any that a tool prints.
        """
        with TextIOWrapper(self._open(), self._encoding, errors="replace") as file:
            number = 0
            while text := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(text) > _LONGEST_LINE:
                    msg = f"{self.name}:{number}: a line of more than {_LONGEST_LINE:,} characters"
                    raise ExportError(msg)
                yield number, text.rstrip("\r\n").removeprefix("\ufeff") if number == 1 else text.rstrip("\r\n")

    def documents(self) -> list[Document]:
        """The JSON documents of the file, one after the other, whatever stands between them.

        Raises:
            ExportError: it is too large to be held, or a document is broken.
        """
        if self._documents is None:
            self._documents = list(self._read_documents())
        return self._documents

    def doubt(self, kind: Kind, line: int, reason: str, raw: object = None, column: str = "") -> None:
        """Say what is wrong at one place; the words of `reason` are the same for every case alike."""
        kept = raw[:_RAW] if isinstance(raw, str) else raw
        self._quarantine.add(kind, self.name, reason, column=column, examples=[(f"{self.name}:{line}", kept)])

    def line_of(self, document: Document, *words: str) -> int:
        """The line of a JSON document on which the words follow each other, each in quotes; its first where none is.

        It is searched for the first cases only: a broken file may have a million.
        """
        if self._searches >= _MOST_SEARCHES:
            return document.line
        self._searches += 1
        left = [json.dumps(word) for word in words]
        with contextlib.suppress(ExportError):  # a document on one line may be longer than lines are
            for number, line in self.lines():
                rest = line if number >= document.line else ""
                while left and left[0] in rest:
                    rest = rest.partition(left.pop(0))[2]
                if not left:
                    return number
        return document.line

    def refuse(self, line: int, reason: str) -> ExportError:
        """The error that says why the file cannot be taken from here on."""
        return ExportError(f"{self.name}:{line}: {reason}")

    def _text(self) -> str:
        with self._open() as file:
            data = file.read(_LARGEST_JSON + 1)
        if len(data) > _LARGEST_JSON:
            msg = f"{self.name}: JSON of more than {_LARGEST_JSON >> 20} MiB; split it by device"
            raise ExportError(msg)
        return data.decode(self._encoding, errors="replace").removeprefix("\ufeff")

    def _read_documents(self) -> Iterator[Document]:
        text, decoder, end, found = self._text(), json.JSONDecoder(object_pairs_hook=_object), 0, 0
        line, counted = 1, 0
        while opening := _OPENING.search(text, end):
            start = opening.end()
            line, counted = line + text.count("\n", counted, start), start
            before = text[end:start]
            try:
                value, end = decoder.raw_decode(text, start)
            except json.JSONDecodeError as error:
                raise self.refuse(line + text.count("\n", start, error.pos), f"not JSON: {error.msg}") from None
            except (RecursionError, ValueError) as error:
                raise self.refuse(line, f"not JSON that can be read: {str(error).splitlines()[0]}") from None
            found += 1
            if found > _MOST_DOCUMENTS:
                raise self.refuse(line, f"more than {_MOST_DOCUMENTS:,} JSON documents")
            yield Document(line, before, value)


def _object(pairs: list[tuple[str, Json]]) -> dict[str, object]:
    """An object; of a name that stands twice, once with a value and once with its limits (ethtool), both are kept."""
    found: dict[str, object] = {}
    for name, value in pairs:
        before = found.get(name)
        if isinstance(before, dict) and not isinstance(value, dict):
            found[name] = before | {"value": value}
        elif isinstance(value, dict) and before is not None and not isinstance(before, dict):
            found[name] = value | {"value": before}
        else:
            found[name] = value
    return found


def _encoding(head: bytes) -> str:
    """UTF-8, unless a mark says UTF-16, which PowerShell writes where output is redirected."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8"
