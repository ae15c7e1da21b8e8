"""Progress of long steps on stderr: a bar on a terminal, a line a step everywhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

__all__ = ["step"]


@contextmanager
def step(name: str) -> Iterator[Callable[[float], None]]:
    """Show one long step; what it gives takes the fraction done."""
    console = Console(stderr=True)
    began = time.monotonic()
    columns = (TextColumn("{task.description:<32}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(name, total=1.0)
        yield lambda done: bars.update(task, completed=done)
    console.print(f"{name:<32} {time.monotonic() - began:6.1f} s", markup=False, highlight=False)
