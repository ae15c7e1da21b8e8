"""Options that several commands share, and how their values are read."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer

__all__ = ["Dask", "FoldPlan", "Json", "Memory", "Time", "fold_plan", "utc_time", "whole_hours"]


def utc_time(text: str) -> datetime:
    """An ISO 8601 time or date, UTC where it names no zone, or a usage error."""
    dated = text.removesuffix("Z") if len(text) == len("2026-03-01Z") else text
    try:
        time = datetime.fromisoformat(dated)
    except ValueError:
        msg = f"{text!r} is not an ISO 8601 time, such as 2026-03-01T00:00:00Z"
        raise typer.BadParameter(msg) from None
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:
        msg = f"{text!r} is out of range"
        raise typer.BadParameter(msg) from None


_MOST_FOLDS = 20


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """How a back-test is divided: by ``time`` or ``links`` into so many parts, or by ``vendors``."""

    kind: str
    count: int


_UNITS = {"m": 60, "h": 3600, "d": 86400}


def whole_hours(text: str) -> int:
    """A whole number of hours written as 1h, 6h or 1d, or a usage error."""
    if text[:-1].isdigit() and text[-1] in _UNITS:
        seconds = int(text[:-1]) * _UNITS[text[-1]]
        if seconds and seconds % 3600 == 0:
            return seconds // 3600
    msg = f"{text!r} is not a whole number of hours, such as 1h, 6h or 1d"
    raise typer.BadParameter(msg)


def fold_plan(text: str) -> FoldPlan:
    """`time:4`, `links:3` or `vendors`, or a usage error."""
    kind, _, count = text.partition(":")
    if (kind, count) == ("vendors", ""):
        return FoldPlan("vendors", 0)
    if kind in {"time", "links"} and count.isdigit() and 2 <= int(count) <= _MOST_FOLDS:  # noqa: PLR2004 - one is none
        return FoldPlan(kind, int(count))
    msg = f"{text!r} is none of time:N, links:N (N from 2 to {_MOST_FOLDS}) and vendors"
    raise typer.BadParameter(msg)


def _size(text: str) -> int:
    """A size in bytes, or a usage error."""
    from features.engine import LEAST_MEMORY
    from serving.scoring.compute import memory_size

    try:
        size = memory_size(text)
    except ValueError:
        msg = f"{text!r} is not a size, such as 2GiB or 900M"
        raise typer.BadParameter(msg) from None
    if size < LEAST_MEMORY:
        msg = f"{text} is too little: forelight itself takes most of {LEAST_MEMORY >> 20}M"
        raise typer.BadParameter(msg)
    return size


Time = Annotated[
    datetime | None, typer.Option(parser=utc_time, metavar="TIME", help="ISO 8601; UTC where it names no zone.")
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="tcp://HOST:PORT", help="Dask scheduler; FORELIGHT_DASK_SCHEDULER where not given."),
]
Memory = Annotated[
    int | None,
    typer.Option("--memory", parser=_size, metavar="2GiB", help="For all processes, or each worker of the cluster."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a machine.")]
