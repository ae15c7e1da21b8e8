"""What is said where a database is none of ours, or not to be had."""

import sqlite3
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy.dialects.sqlite import dialect

from serving.alarms import AlarmRecord, ScoreRun
from serving.database import make_engine, reading, writing
from serving.errors import StoreError
from serving.store import AlarmStore
from serving.tables import UtcTime


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "is not a database URL"),
        ("mysql://localhost/forelight", "SQLite or PostgreSQL, not in mysql"),
    ],
)
def test_only_sqlite_and_postgresql_hold_the_store(url: str, says: str) -> None:
    with pytest.raises(StoreError, match=says):
        AlarmStore(url)


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed (extra: postgres)")
    store = AlarmStore("postgresql+psycopg://ann:topsecret@127.0.0.1:1/forelight")

    with pytest.raises(StoreError, match=r"ann:\*\*\*@127\.0\.0\.1:1") as caught:
        store.open()

    assert "topsecret" not in str(caught.value)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "forelight.db").write_text("this is a text, long enough to be read as a header" * 50)

    with pytest.raises(StoreError, match=r"forelight\.db failed: file is not a database"):
        AlarmStore(f"sqlite:///{tmp_path / 'forelight.db'}").open()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match=r"folder .* cannot be made"):
        AlarmStore(f"sqlite:///{tmp_path / 'file' / 'below' / 'forelight.db'}")


def test_sqlite_keeps_a_log_ahead_and_checks_foreign_keys(tmp_path: Path) -> None:
    with AlarmStore(f"sqlite:///{tmp_path / 'a' / 'forelight.db'}") as store, reading(store._engine) as connection:
        assert "wal" == connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
        assert 1 == connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one()


def test_readers_do_not_wait_for_a_writer(
    tmp_path: Path, make_run: Callable[..., ScoreRun], make_alarm: Callable[..., AlarmRecord]
) -> None:
    with AlarmStore(f"sqlite:///{tmp_path / 'forelight.db'}") as store:
        store.apply(make_run(), [make_alarm()])
        with writing(store._engine):
            assert 1 == len(store.open_alarms())


def test_a_writer_waits_for_another(tmp_path: Path, make_run: Callable[..., ScoreRun]) -> None:
    url = f"sqlite:///{tmp_path / 'forelight.db'}"
    with AlarmStore(url) as store, AlarmStore(url) as other:
        thread = threading.Thread(target=lambda: other.apply(make_run()))
        with writing(store._engine):
            thread.start()
            thread.join(0.2)
            assert thread.is_alive()
        thread.join(10)

        assert make_run() == store.latest_run()


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    engine = make_engine(f"sqlite:///{tmp_path / 'x.db'}")

    def fail() -> None:
        with writing(engine) as connection:
            connection.exec_driver_sql("CREATE TABLE a (b)")
            connection.exec_driver_sql("INSERT INTO c VALUES (1)")

    with pytest.raises(StoreError, match="no such table"):
        fail()
    engine.dispose()

    plain = sqlite3.connect(tmp_path / "x.db")
    tables = plain.execute("SELECT name FROM sqlite_master").fetchall()
    plain.close()
    assert [] == tables


def test_without_its_driver_postgresql_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(StoreError, match=r"PostgreSQL needs psycopg: install forelight\[postgres\]"):
        AlarmStore("postgresql+psycopg://localhost/forelight")


def test_a_naive_time_never_reaches_the_database(now: datetime) -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        UtcTime().process_bind_param(now.replace(tzinfo=None), dialect())
