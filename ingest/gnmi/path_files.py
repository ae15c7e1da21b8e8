"""What a file of paths may say, and the files there are: one family of devices each, or a part of one."""

import functools
from pathlib import Path
from typing import Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from ingest.errors import ProfileError

__all__ = ["Leaves", "PathFile", "Stream", "path_files"]

_FOLDER: Final = Path(__file__).parent / "paths"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Stream(_Strict):
    """What one subscription asks for.

    Attributes:
        target: of the prefix, where a device keeps several databases.
        models: any of which a device must say that it has; none is needed where none is said.
        sample: paths that are read at every interval.
        on_change: paths that are sent when they change.
    """

    target: str = ""
    models: tuple[str, ...] = ()
    sample: tuple[str, ...] = ()
    on_change: tuple[str, ...] = ()


class Leaves(_Strict):
    """Leaves below one path: their names and columns, and what the path's key is the name of."""

    at: str
    of: Literal["component", "interface", "channel", "device"] | None = None
    fields: dict[str, str]


class PathFile(_Strict):
    """A whole file."""

    family: str
    models: tuple[str, ...] = ()
    part_of: str | None = None  # leaves of another family's devices, where they have these models, too
    first_lane: Literal[0, 1] | None = None  # as the device counts; told by its channels where not given
    streams: tuple[Stream, ...]
    leaves: tuple[Leaves, ...]

    @property
    def asked(self) -> tuple[Stream, ...]:
        """Streams; those of a part only where a device has its models."""
        if self.part_of is None:
            return self.streams
        return tuple(stream.model_copy(update={"models": self.models}) for stream in self.streams)


@functools.cache
def path_files() -> dict[str, PathFile]:
    """All files, by name.

    Raises:
        ProfileError: one says what it may not.
    """
    found = {}
    for path in _FOLDER.glob("*.yaml"):
        try:
            found[path.stem] = PathFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        except (ValidationError, yaml.YAMLError) as error:
            msg = f"{path.name}: {error}"
            raise ProfileError(msg) from None
    return found
