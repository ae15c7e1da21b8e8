"""Progress on stderr: bars with rate and time left on a terminal; of long steps a line each everywhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

__all__ = ["bars", "step"]

_WHOLE: Final = 10.0
"""From so many a second on, a rate is told without decimals."""


class _Rate(ProgressColumn):
    """How much is done in a second, in a unit; nothing where that is not known yet."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if speed is None:
            return Text("")
        if not self._unit:
            return Text(f"{100 * speed:.1f} %/s", "cyan")
        return Text(f"{speed:,.0f} {self._unit}/s" if speed >= _WHOLE else f"{speed:.1f} {self._unit}/s", "cyan")


@contextmanager
def bars(unit: str = "") -> Iterator[Progress]:
    """Bars of steps that are counted in a unit, or whose total is 1 where none is named; gone when they end."""
    console = Console(stderr=True)
    columns = (
        *(TextColumn("{task.description:<32}"), BarColumn(), TaskProgressColumn(), _Rate(unit)),
        *(TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as found:
        yield found


@contextmanager
def step(name: str) -> Iterator[Callable[[float], None]]:
    """Show one long step; what it gives takes the fraction done."""
    began = time.monotonic()
    with bars() as shown:
        task = shown.add_task(name, total=1.0)
        yield lambda done: shown.update(task, completed=done)
        console = shown.console
    console.print(f"{name:<32} {time.monotonic() - began:6.1f} s", markup=False, highlight=False)
