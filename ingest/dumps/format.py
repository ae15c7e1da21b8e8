"""What a format is: how it is known by its content, and how it is read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ingest.dumps.reading import Cable, Probed, Reading
from ingest.dumps.source import Document, Dump, Json

__all__ = ["JsonFormat", "Said", "TextFormat"]

Said = Reading | Cable | Probed


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A format of lines.

    Attributes:
        name: as reports and `docs/dumps.md` call it.
        knows: whether a file's beginning is of this format.
        read: what it says, line by line.
    """

    name: str
    knows: Callable[[str], bool]
    read: Callable[[Dump], Iterator[Said]]


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """A format of JSON documents; a file may hold several, and of several formats.

    Attributes:
        name: as reports and `docs/dumps.md` call it.
        knows: whether a document is of this format.
        read: what it says.
    """

    name: str
    knows: Callable[[Json], bool]
    read: Callable[[Document, Dump], Iterator[Said]]
