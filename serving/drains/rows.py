"""Rows of the tables of drains as values, and back."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final, TypeVar

from serving.drains.advice import Mode
from serving.drains.fabric import LinkClass
from serving.drains.guard import Code
from serving.drains.records import Drain, DrainState, Entry, Kind, Verdict

__all__ = ["drain_of", "entry_of", "row"]

_T = TypeVar("_T")


def row(value: Any, kind: type[Any]) -> dict[str, Any]:
    """A value as the columns that hold it."""
    plain = {field.name: getattr(value, field.name) for field in fields(kind)}
    return {name: _plain(one) for name, one in plain.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    return [str(part) for part in value] if isinstance(value, tuple | list) else value


def drain_of(found: Mapping[Any, Any]) -> Drain:
    """A row of ``drains``."""
    values = {name: found[name] for name in _DRAIN}
    verdict = values["verdict"]
    return Drain(
        **values
        | {
            "links": tuple(values["links"]),
            "actions": tuple(values["actions"]),
            "link_class": LinkClass(values["link_class"]),
            "state": DrainState(values["state"]),
            "verdict": None if verdict is None else Verdict(verdict),
        }
    )


def entry_of(found: Mapping[Any, Any]) -> Entry:
    """A row of ``decisions``."""
    values = {name: found[name] for name in _ENTRY}
    words = {"kind": Kind, "code": Code, "link_class": LinkClass, "mode": Mode}
    return Entry(**{name: _word(words, name, value) for name, value in values.items()})


def _word(words: Mapping[str, Callable[[Any], _T]], name: str, value: Any) -> Any:
    return words[name](value) if value is not None and name in words else value


_DRAIN: Final = tuple(field.name for field in fields(Drain))
_ENTRY: Final = tuple(field.name for field in fields(Entry))
