"""Options that several commands share, and how their values are read."""

from datetime import UTC, datetime
from typing import Annotated

import typer

__all__ = ["Dask", "Json", "Memory", "Time", "utc_time", "whole_hours"]


def utc_time(text: str) -> datetime:
    """An ISO 8601 time or date, UTC where it names no zone, or a usage error."""
    dated = text.removesuffix("Z") if len(text) == len("2026-03-01Z") else text
    try:
        time = datetime.fromisoformat(dated)
    except ValueError:
        msg = f"{text!r} is not an ISO 8601 time, such as 2026-03-01T00:00:00Z"
        raise typer.BadParameter(msg) from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


_UNITS = {"m": 60, "h": 3600, "d": 86400}


def whole_hours(text: str) -> int:
    """A whole number of hours written as 1h, 6h or 1d, or a usage error."""
    if text[:-1].isdigit() and text[-1] in _UNITS:
        seconds = int(text[:-1]) * _UNITS[text[-1]]
        if seconds and seconds % 3600 == 0:
            return seconds // 3600
    msg = f"{text!r} is not a whole number of hours, such as 1h, 6h or 1d"
    raise typer.BadParameter(msg)


def _size(text: str) -> int:
    """A size in bytes, or a usage error."""
    from serving.compute import memory_size

    try:
        return memory_size(text)
    except ValueError:
        msg = f"{text!r} is not a size, such as 2GiB or 512M"
        raise typer.BadParameter(msg) from None


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
