"""``forelight outbox``: what waits for consumers and what is dead, tried again or dropped by hand."""

import json
from collections.abc import Callable, Sequence
from typing import Final

import typer
from rich.console import Console
from rich.table import Table

from serving.deliveries.errors import LetterError
from serving.deliveries.letters import Letter, Letters
from serving.deliveries.rows import DEAD, DONE, DROPPED, STANDING, WAITING
from serving.errors import ServingError
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["drop", "forget", "list_letters", "retry"]

_STATES: Final = {"open": (WAITING, DEAD), "all": (WAITING, STANDING, DONE, DEAD, DROPPED)}


def list_letters(*, state: str, as_json: bool) -> None:
    """Print deliveries, the oldest first, and what each adapter has to do."""
    with _letters() as letters:
        counts, found = letters.counts(), letters.listed(_STATES.get(state, (state,)))
    if as_json:
        adapters = {name: {"waiting": c.waiting, "dead": c.dead, "oldest_s": c.oldest_s} for name, c in counts.items()}
        print(json.dumps({"adapters": adapters, "deliveries": [_as_json(each) for each in found]}, indent=2))  # noqa: T201 - the answer
        return
    table = Table("delivery", "state", "alarm", "what", "at", "tries", "error")
    for each in found:
        at = each.at.isoformat(timespec="minutes")
        table.add_row(each.name, each.state, each.subject, each.kind, at, str(each.tries), each.error or "")
    console = Console(soft_wrap=True, markup=False, highlight=False)
    console.print(table)
    for name, count in counts.items():
        console.print(f"{name}: {count.waiting} waiting (the oldest for {count.oldest_s:.0f} s), {count.dead} dead")


def retry(names: Sequence[str], *, every: bool) -> None:
    """Have dead deliveries tried again.

    Raises:
        ServingError: there is no such delivery, or newer news was delivered; the others are tried again.
    """
    _each(names, every=every, do=Letters.retry, said="will be tried again")


def drop(names: Sequence[str], *, every: bool) -> None:
    """Give deliveries up.

    Raises:
        ServingError: there is no such delivery; the others are dropped.
    """
    _each(names, every=every, do=Letters.drop, said="is dropped")


def forget(adapter: str) -> None:
    """Remove an adapter that is no longer configured, with all that waits for it."""
    with _letters() as letters:
        if adapter not in letters.counts():
            known = ", ".join(sorted(letters.counts())) or "none yet"
            msg = f"the outbox knows no adapter {adapter!r}; it knows {known}"
            raise LetterError(msg)
        typer.echo(f"{adapter} is forgotten, with {letters.forget(adapter)} deliveries")


def _each(names: Sequence[str], *, every: bool, do: Callable[[Letters, str, int], None], said: str) -> None:
    if bool(names) == every:
        msg = "name deliveries as `forelight outbox list` shows them, or give --all for all dead ones"
        raise typer.BadParameter(msg)
    failed = []
    with _letters() as letters:
        for name in names or [letter.name for letter in letters.listed((DEAD,))]:
            try:
                do(letters, *_parts(name))
            except LetterError as error:
                failed.append(str(error))
            else:
                typer.echo(f"{name} {said}")
    if failed:
        raise ServingError("; ".join(failed))


def _parts(name: str) -> tuple[str, int]:
    adapter, _, number = name.rpartition("/")
    if not adapter or not number.isdigit():
        msg = f"{name!r} is no delivery; they are named as in `forelight outbox list`: oncall/17"
        raise LetterError(msg)
    return adapter, int(number)


def _letters() -> Letters:
    url = Settings.from_env().database_url
    with AlarmStore(url):  # at the newest schema
        return Letters(url)


def _as_json(letter: Letter) -> dict[str, object]:
    return {
        "delivery": letter.name,
        "state": letter.state,
        "subject": letter.subject,
        "kind": letter.kind,
        "at": letter.at.isoformat(),
        "tries": letter.tries,
        "due_at": letter.due_at.isoformat(),
        "error": letter.error,
    }
