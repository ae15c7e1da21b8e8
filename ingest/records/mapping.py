"""The map of a spreadsheet: which of its columns is which of ours, how its times are written, what its words mean.

A TOML file; ``forelight import --suggest-map FILE`` writes one from a file's header. What is wrong with it is told
with the nearest right name and the line to write.
"""

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ingest.errors import ExportError
from ingest.records.default_words import ACTIONS, BENCH, FAILURES, OUTCOMES, WORK
from ingest.records.grid import Grid
from ingest.records.times import TimeReader
from ingest.records.words import Phrases
from ingest.schema import LINKS, MAINTENANCE, MODULES, REPAIRS, TICKETS, Action, FailureType, Table
from ingest.toml_file import Place, load_toml, sentence
from ingest.utc import zone_name

__all__ = ["NEEDED", "OURS", "RecordMap", "checked", "fits", "load_map", "nearest"]

_Kind = Literal["tickets", "repairs", "maintenance", "links", "modules"]
TABLES: Final[Mapping[str, Table]] = {
    "tickets": TICKETS,
    "repairs": REPAIRS,
    "maintenance": MAINTENANCE,
    "links": LINKS,
    "modules": MODULES,
}
_MORE: Final[Mapping[str, tuple[str, ...]]] = {
    "tickets": ("port", "steps"),
    "maintenance": ("port",),
    "links": ("site",),
}
"""Columns that a table has not: text that names a port, and the journal of what was done."""

OURS: Final[Mapping[str, tuple[str, ...]]] = {
    kind: (*(name for name in table.schema.names if name not in ("received_at", "source")), *_MORE.get(kind, ()))
    for kind, table in TABLES.items()
}
"""What a map of each kind may have under ``[columns]``."""

NEEDED: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "tickets": (("opened_at",), ("device", "port", "serial")),
    "repairs": (("ticket_id",), ("at",)),
    "maintenance": (("start",), ("end",), ("device", "port")),
    "links": (("cable_id", "a_device"), ("cable_id", "z_device")),
    "modules": (("device",), ("interface",)),
}
"""Of each of these one at least must be there."""

_Texts = Annotated[tuple[str, ...], Field(max_length=200)]


def _columns(value: object) -> object:
    """One column may be written without brackets."""
    if isinstance(value, dict):
        return {name: (each,) if isinstance(each, str) else each for name, each in value.items()}
    return value


_WORDS: Final[Mapping[str, list[str]]] = {
    "failure_type": [str(word) for word in FailureType],
    "action": [str(word) for word in Action],
    "bench_verdict": ["confirmed", "no_trouble_found", "unknown"],
    "outcome": ["fixed", "no_change"],
    "work": ["drain", "firmware", "recable", "power"],
}


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordMap(_Strict):
    """What a map may say.

    Attributes:
        kind: which table the rows are for.
        zone: of times that name none.
        times: how times are written, where that cannot be told from them.
        site: of rows that name none.
        fill_down: columns whose empty cells mean what stands above them, as merged cells are saved.
        columns: ours to theirs; of several the first one that is not empty counts, and for ``port``, ``steps``,
            ``failure_type`` and ``action`` each is looked at in turn.
        failure_type: phrases that mean each; the built-in ones where nothing is said, and so for the rest.
    """

    kind: _Kind = "tickets"
    zone: Annotated[str, AfterValidator(zone_name)] | None = None
    times: tuple[str, ...] = ()
    site: Annotated[str, Field(min_length=1)] = "default"
    fill_down: _Texts = ()
    columns: dict[str, _Texts]
    failure_type: dict[FailureType, _Texts] = FAILURES
    action: dict[Action, _Texts] = ACTIONS
    bench_verdict: dict[Literal["confirmed", "no_trouble_found", "unknown"], _Texts] = BENCH
    outcome: dict[Literal["fixed", "no_change"], _Texts] = OUTCOMES
    work: dict[Literal["drain", "firmware", "recable", "power"], _Texts] = WORK

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, raw: object) -> object:
        if not isinstance(raw, dict):
            return raw
        for section, words in _WORDS.items():
            for word in raw.get(section, {}) if isinstance(raw.get(section, {}), dict) else ():
                if word not in words:
                    near = difflib.get_close_matches(word, words, n=1, cutoff=0.0)[0]
                    msg = f"[{section}]: {word!r} is none of its words; the nearest is {near!r}"
                    raise ValueError(msg)
        return {name: _columns(value) if name in (*_WORDS, "columns") else value for name, value in raw.items()}

    @model_validator(mode="after")
    def _columns_are_ours(self) -> Self:
        for name in self.columns:
            if name not in OURS[self.kind]:
                near = difflib.get_close_matches(name, OURS[self.kind], n=1, cutoff=0.0)[0]
                msg = f"[columns]: {name!r} is no column of {self.kind}; the nearest is {near!r}"
                raise ValueError(msg)
        return self

    def reader(self, zone: str | None = None) -> TimeReader:
        """Of the file's times."""
        name = zone or self.zone
        return TimeReader(ZoneInfo(zone_name(name)) if name else None, self.times)

    def phrases(self, name: str) -> Phrases:
        """The table of one kind of word."""
        return Phrases({str(word): phrases for word, phrases in getattr(self, name).items()})


def load_map(path: Path) -> RecordMap:
    """Read and check a map.

    Raises:
        ConfigError: no such file, no TOML, or a key or value that cannot be.
    """
    return load_toml(path, RecordMap, lambda error, _: sentence(error, error["loc"], _keys, _where), "docs/records.md")


def _keys(place: Place) -> list[str]:
    return list(RecordMap.model_fields) if not place else list(OURS["tickets"])


def _where(place: Place) -> str:
    names = [str(part) for part in place if isinstance(part, str) and part != "[key]"]
    return f"[{'.'.join(names)}]" if names else "the file"


def checked(mapped: RecordMap, grid: Grid, name: str) -> None:
    """See that the file has the columns that the map names, and the map those that are needed.

    Args:
        mapped: the map.
        grid: the file.
        name: of the map, to be told.

    Raises:
        ExportError: one is not there; the nearest is named, with the line to write.
    """
    for ours, theirs in mapped.columns.items():
        absent = [each for each in theirs if each not in grid.header]
        if absent and len(absent) == len(theirs):
            near = nearest(absent[0], grid.header)
            msg = f"{grid.file}: has no column {absent[0]!r}, which {name} calls {ours}; the nearest is {near!r}: "
            msg += f'write {ours} = "{near}"'
            raise ExportError(msg)
    for column in mapped.fill_down:
        if column not in grid.header:
            msg = f"{grid.file}: has no column {column!r} to fill down, as {name} says; the nearest is "
            msg += repr(nearest(column, grid.header))
            raise ExportError(msg)
    for choices in NEEDED[mapped.kind]:
        if not any(ours in mapped.columns for ours in choices):
            near = nearest(choices[0], grid.header)
            msg = f"{name}: says for no column of {grid.file} that it is {' or '.join(choices)}; "
            msg += f'write under [columns]: {choices[0]} = "{near}" (its columns: {", ".join(grid.header[:40])})'
            raise ExportError(msg)


def fits(mapped: RecordMap, grid: Grid) -> bool:
    """Whether a file has the columns that a map names."""
    return all(any(each in grid.header for each in theirs) for theirs in mapped.columns.values())


def nearest(name: str, header: Iterable[str]) -> str:
    """The column whose name is most alike, by what people call such columns."""
    from ingest.records.suggest import guess

    header = list(header)
    if (found := guess(name, header)) is not None:
        return found
    lowered = {each.casefold(): each for each in header}
    close = difflib.get_close_matches(name.casefold(), list(lowered), n=1, cutoff=0.0)
    return lowered[close[0]] if close else ""
