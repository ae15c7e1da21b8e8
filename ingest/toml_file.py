"""A configuration in TOML as a checked value; what is wrong is told with file, place and remedy."""

import difflib
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ingest.errors import ConfigError

__all__ = ["Place", "load_toml", "sentence"]

Place = Sequence[int | str]
"""Where in the file: names of sections and keys, and numbers in lists."""

_Loaded = TypeVar("_Loaded", bound=BaseModel)


def load_toml(path: Path, kind: type[_Loaded], told: Callable[[dict[str, Any], Any], str], manual: str) -> _Loaded:
    """Read and check a file.

    Args:
        path: of the file.
        kind: what it is to be.
        told: one of pydantic's errors, with what was read, in the file's own words; empty where another one says it.
        manual: the page that has one to copy.

    Raises:
        ConfigError: no such file, no TOML, or a key or value that cannot be.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        msg = f"{path}: No such file: name another, or begin with the one in {manual}"
        raise ConfigError(msg) from None
    except OSError as error:
        msg = f"{path}: {error.strerror}"
        raise ConfigError(msg) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path}: {error}"
        raise ConfigError(msg) from None
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        msg = f"{path}: " + "; ".join(filter(None, (told(dict(e), raw) for e in error.errors())))
        if all(each["type"] == "missing" for each in error.errors()):
            msg += f" ({manual} has one to copy)"
        raise ConfigError(msg) from None


def sentence(
    error: dict[str, Any], place: Place, keys: Callable[[Place], Iterable[str]], where: Callable[[Place], str]
) -> str:
    """One of pydantic's errors in words.

    Args:
        error: as pydantic tells it.
        place: where it is.
        keys: that may stand at a place, among which the nearest to an unknown one is named.
        where: a place as a reader knows it.
    """
    *around, key = place or ("",)
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(key), list(keys(around)), n=1, cutoff=0.0)
        return f"{where(around)}: unknown key {str(key)!r}; the nearest is {near[0]!r}"
    if error["type"] == "missing":
        return f"{where(around)}: {key} is missing"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{where(place)}: {message[0].lower()}{message[1:]}"
