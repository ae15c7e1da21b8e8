"""Engines: SQLite as a server's store (WAL, foreign keys, patience), PostgreSQL by URL."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from serving.errors import StoreError

__all__ = ["make_engine", "reading", "writing"]

_BUSY_TIMEOUT_MS: Final = 10_000
"""A score run writes for well under a second; ten wait out a slow disk and several writers."""

_LOCK: Final = 0x666F7265  # "fore": PostgreSQL's advisory lock of whoever writes to the store
_ONE_VIEW: Final = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
_WRITE: Final = {"forelight_write": True}


def make_engine(url: str) -> Engine:
    """An engine for SQLite or PostgreSQL; connects to nothing yet.

    Raises:
        StoreError: the URL is none, its database is another one, or its driver is not installed.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        msg = "FORELIGHT_DATABASE_URL is not a database URL, such as sqlite:////var/lib/forelight/forelight.db"
        raise StoreError(msg) from error
    backend = parsed.get_backend_name()
    if backend not in {"sqlite", "postgresql"}:
        msg = f"the alarm store is kept in SQLite or PostgreSQL, not in {backend}"
        raise StoreError(msg)
    return _sqlite(parsed) if backend == "sqlite" else _postgresql(parsed)


def _postgresql(url: URL) -> Engine:
    try:
        return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 5})
    except ModuleNotFoundError as error:
        msg = f"PostgreSQL needs {error.name}: install forelight[postgres]"
        raise StoreError(msg) from error


def _sqlite(url: URL) -> Engine:
    if url.database and url.database != ":memory:":
        _make_folder(Path(url.database).parent)
    engine = create_engine(url)
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"the alarm store's folder {folder} cannot be made: {error.strerror}"
        raise StoreError(msg) from error


def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # the driver's own BEGIN leaves DDL outside the transaction
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _on_begin(connection: Connection) -> None:
    """Writers take the lock at once: a reader that turns writer would fail instead of waiting."""
    write = connection.get_execution_options().get("forelight_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection to read on, as one consistent view.

    Raises:
        StoreError: the database does not answer.
    """
    options = _ONE_VIEW if engine.dialect.name == "postgresql" else {}
    with _named_errors(engine), engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A connection that alone may write, committed at the end and rolled back on an error.

    Raises:
        StoreError: the database does not answer or refuses.
    """
    with (
        _named_errors(engine),
        engine.connect().execution_options(**_WRITE) as connection,
        connection.begin(),
    ):
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        yield connection


@contextmanager
def _named_errors(engine: Engine) -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        where = engine.url.render_as_string(hide_password=True)
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        msg = f"the alarm store at {where} failed: {reason}"
        raise StoreError(msg) from error
