"""What a file leaves out: its device, its port and its time, as the user gives them."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ingest.dumps.reading import LONGEST_NAME, Reading
from ingest.errors import ExportError
from ingest.plain import is_plain

__all__ = ["Given", "NamePattern"]

_FIELDS: Final = {"device": r"(?P<device>[^/]+?)", "interface": r"(?P<interface>[^/]+?)"}
_SLASH: Final = "__"
_ANY: Final = r"[^/]*"


class NamePattern:
    """A pattern of file names that tell device and port: ``{device}/{interface}.txt``, ``{device}_*.json``.

    It is held against the end of a file's path; ``__`` in a name stands for a slash, which no file name can have.

    Raises:
        ExportError: it names neither device nor interface, or something else.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        parts = re.split(r"(\{[^}]*\}|\*)", text)
        fields = [part[1:-1] for part in parts if part.startswith("{")]
        if not fields or len(set(fields)) < len(fields) or not set(fields) <= _FIELDS.keys():
            msg = f"{text!r} is no pattern of names: it holds {{device}} or {{interface}}, once, and no other braces"
            raise ExportError(msg)
        made = [_ANY if part == "*" else _FIELDS[part[1:-1]] if part[:1] == "{" else re.escape(part) for part in parts]
        self._pattern = re.compile(r"(?:^|.*/)" + "".join(made) + "$")

    def match(self, path: Path) -> dict[str, str]:
        """What the path tells; nothing where it does not fit."""
        found = self._pattern.match(path.as_posix())
        return {name: text.replace(_SLASH, "/") for name, text in found.groupdict().items()} if found else {}


@dataclass(frozen=True, slots=True)
class Given:
    """What the user says of files that do not say it themselves.

    Attributes:
        site: of all of them.
        device: of files that name none.
        interface: likewise; for files of one port.
        at: when they were taken; None where nothing is given.
        at_mtime: take each file's time of modification for that.
        names: how file names tell device and port.
    """

    site: str = "default"
    device: str | None = None
    interface: str | None = None
    at: datetime | None = None
    at_mtime: bool = False
    names: NamePattern | None = None

    def of_file(self, path: Path) -> "Given":
        """The same for one file, with what its name and its time of modification tell."""
        told = self.names.match(path) if self.names else {}
        at = datetime.fromtimestamp(path.stat().st_mtime, UTC) if self.at_mtime else self.at
        return replace(
            self, device=told.get("device", self.device), interface=told.get("interface", self.interface), at=at
        )

    def complete(self, reading: Reading) -> str | None:
        """Fill in what the reading lacks; the reason where it stays incomplete.

        What the file says stands over what is given.
        """
        reading.device = reading.device or self.device
        reading.interface = reading.interface or self.interface
        reading.time = reading.time or self.at
        lacks = {
            "names no device (give --device NAME, or --names PATTERN)": not reading.device,
            "names no interface (give --interface NAME, or --names PATTERN)": not reading.interface,
            "says no time (give --at TIME, or --at mtime)": reading.time is None,
        }
        if any(lacks.values()):
            return f"the file {', '.join(reason for reason, lacking in lacks.items() if lacking)}"
        if max(len(reading.device or ""), len(reading.interface or "")) > LONGEST_NAME:
            return f"a device or interface of more than {LONGEST_NAME} characters"
        if not all(is_plain(name) for name in (reading.device, reading.interface, reading.sub_interface) if name):
            return "control characters in the name of a device or interface"
        return None
