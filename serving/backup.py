"""Copies of the alarm store in SQLite, made and put back while others read and write: SQLite's own online backup.

A file that is copied by hand misses what still lies in the write-ahead log, and one that is put back by hand meets the
old log. PostgreSQL has tools of its own for it.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy import make_url

from serving.errors import StoreError
from serving.store import AlarmStore

__all__ = ["back_up", "restore"]

_BUSY_S: Final = 30.0
_OURS: Final = "SELECT count(*) FROM sqlite_master WHERE name = 'alembic_version'"
_NUMBERS: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"


def back_up(url: str, to: Path) -> None:
    """Write a copy of the store as of now, whole or not at all.

    Raises:
        StoreError: the store is not in SQLite, is not there, or the copy is not sound.
    """
    if to.exists():
        msg = f"{to} is there already: name another file"
        raise StoreError(msg)
    if not to.parent.is_dir():
        msg = f"there is no folder {to.parent}: make it, or name another"
        raise StoreError(msg)
    partial = to.with_name(f".{to.name}.partial")
    try:
        _copy(_file(url), partial)
        partial.replace(to)
    finally:
        partial.unlink(missing_ok=True)


def restore(url: str, copy: Path) -> Path:
    """Put a copy in the store's place; what was there before is kept beside it, under the name that is returned.

    Messages get numbers that were never used before, so that no consumer takes a new one for an old one.

    Raises:
        StoreError: the store is not in SQLite, or the copy is none, damaged, or of a newer forelight.
    """
    store = _file(url, there=False)
    _check(copy)
    before = store.with_name(f"{store.name}.before-restore")
    number = 0
    if store.exists():
        before.unlink(missing_ok=True)
        _copy(store, before)
        number = _last_number(store)
    _copy(copy, store)
    with AlarmStore(url):
        pass  # at this version's schema
    _go_on_from(store, number)
    return before


def _file(url: str, *, there: bool = True) -> Path:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        msg = "only a store in SQLite is copied by forelight; for PostgreSQL use pg_dump and pg_restore"
        raise StoreError(msg)
    file = Path(parsed.database)
    if there and not file.exists():
        msg = f"there is no alarm store at {file}"
        raise StoreError(msg)
    return file


def _copy(source: Path, target: Path) -> None:
    """All pages, in one step: whoever writes meanwhile waits, and no half of a transaction is in the copy."""
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as one,
            closing(sqlite3.connect(target, timeout=_BUSY_S)) as other,
        ):
            one.backup(other)
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        msg = f"{source} cannot be copied to {target}: {error}"
        raise StoreError(msg) from error
    _check(target)


def _check(file: Path) -> None:
    if not file.is_file():
        msg = f"there is no file {file}: name one that `forelight backup` wrote"
        raise StoreError(msg)
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as connection:
            said = connection.execute("PRAGMA integrity_check").fetchone()[0]
            found = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'alembic_version'").fetchone()[
                0
            ]
    except sqlite3.Error as error:
        msg = f"{file} is no sound copy of an alarm store: {error}"
        raise StoreError(msg) from error
    if said != "ok" or not found:
        msg = f"{file} is no sound copy of an alarm store: {said if said != 'ok' else 'it was never one'}"
        raise StoreError(msg)


def _last_number(store: Path) -> int:
    with closing(sqlite3.connect(store, timeout=_BUSY_S)) as connection:
        there = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'outbox'").fetchone()[0]
        found = connection.execute(_NUMBERS).fetchone() if there else None
    return int(found[0]) if found else 0


def _go_on_from(store: Path, number: int) -> None:
    last = _last_number(store)
    if number <= last:
        return
    with closing(sqlite3.connect(store, timeout=_BUSY_S)) as connection, connection:
        known = connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'outbox'", (number,)).rowcount
        if not known:
            connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('outbox', ?)", (number,))
