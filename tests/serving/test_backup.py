"""A copy of the store is whole though others write, and is the store again when it is put back."""

import sqlite3
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.backup import back_up, restore
from serving.database import reading
from serving.errors import StoreError
from serving.settings import Settings
from serving.store import AlarmStore
from serving.tables import outbox

MakeRun = Callable[..., ScoreRun]
MakeAlarm = Callable[..., AlarmRecord]


@pytest.fixture(name="url")
def _url(tmp_path: Path) -> str:
    return Settings.from_env({"FORELIGHT_HOME": str(tmp_path / "home")}).database_url


@pytest.fixture(name="used")
def _used(url: str, make_run: MakeRun, make_alarm: MakeAlarm) -> Any:
    """A store in use: its newest writes are in the log, not yet in the file."""
    with AlarmStore(url) as store:
        store.apply(make_run(), [make_alarm(1), make_alarm(2)])
        yield store


def test_what_was_copied_is_there_again_and_what_came_since_is_kept_beside(
    used: AlarmStore, url: str, tmp_path: Path, make_run: MakeRun, make_alarm: MakeAlarm
) -> None:
    copied = used.open_alarms()
    back_up(url, tmp_path / "copy.db")
    used.transition("alarm-001", Status.CLEARED, "ann", "cleaned")
    used.apply(make_run(make_run().at + timedelta(hours=1)), [make_alarm(3)])

    before = restore(url, tmp_path / "copy.db")

    assert copied == used.open_alarms(), "a service that runs sees it at once"
    with AlarmStore(f"sqlite:///{before}") as kept:
        assert {"alarm-002", "alarm-003"} == {alarm.alarm_id for alarm in kept.open_alarms()}


def test_no_number_of_a_message_is_used_twice(used: AlarmStore, url: str, tmp_path: Path) -> None:
    """A consumer that knows number 3 already would take the new one for it."""
    back_up(url, tmp_path / "copy.db")
    used.transition("alarm-001", Status.ACKED, "ann", "")
    restore(url, tmp_path / "copy.db")

    used.transition("alarm-002", Status.ACKED, "ann", "")

    with reading(used.engine) as connection:
        assert (3, 4) == (
            connection.scalar(select(func.count()).select_from(outbox)),
            connection.scalar(select(func.max(outbox.c.message_id))),
        )


def test_a_copy_made_while_others_write_holds_whole_transactions(
    used: AlarmStore, url: str, tmp_path: Path, make_run: MakeRun, make_alarm: MakeAlarm
) -> None:
    done = threading.Event()

    def write() -> None:
        with AlarmStore(url) as store:
            for number in range(1, 400):
                if done.is_set():
                    return
                at = make_run().at + timedelta(hours=number)
                store.apply(make_run(at), [make_alarm(10 * number + n) for n in range(10)])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            back_up(url, tmp_path / f"copy{number}.db")
    finally:
        done.set()
        writer.join()

    for number in range(5):
        with AlarmStore(f"sqlite:///{tmp_path / f'copy{number}.db'}") as copy:
            raised = len(copy.open_alarms()) - 2
            assert 0 == raised % 10
            assert copy.version()[0] == raised // 10 + 1


def test_a_copy_replaces_a_store_that_is_broken(used: AlarmStore, url: str, tmp_path: Path) -> None:
    """The old log of writes beside it does not come back to life."""
    back_up(url, tmp_path / "copy.db")
    copied = used.open_alarms()
    used.close()
    file = tmp_path / "home" / "forelight.db"
    for each in file.parent.glob("forelight.db*"):
        each.unlink()

    restore(url, tmp_path / "copy.db")

    with AlarmStore(url) as store:
        assert copied == store.open_alarms()


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\1" * 5_000])
def test_what_is_no_copy_is_refused_and_changes_nothing(
    used: AlarmStore, url: str, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "copy.db").write_bytes(content)
    before = used.open_alarms()

    with pytest.raises(StoreError, match="no sound copy"):
        restore(url, tmp_path / "copy.db")

    assert before == used.open_alarms()


def test_another_program_s_database_is_refused(url: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()

    with pytest.raises(StoreError, match="it was never one"):
        restore(url, tmp_path / "other.db")


def test_a_copy_is_never_written_over_and_what_is_not_there_not_copied(
    used: AlarmStore, url: str, tmp_path: Path
) -> None:
    (tmp_path / "copy.db").write_text("mine")

    with pytest.raises(StoreError, match="is there already"):
        back_up(url, tmp_path / "copy.db")
    with pytest.raises(StoreError, match="there is no folder"):
        back_up(url, tmp_path / "nowhere" / "copy.db")
    with pytest.raises(StoreError, match=r"there is no file .*nowhere"):
        restore(url, tmp_path / "nowhere.db")
    with pytest.raises(StoreError, match="there is no file"):
        restore(url, tmp_path)
    with pytest.raises(StoreError, match="no alarm store"):
        back_up(f"sqlite:///{tmp_path / 'nowhere.db'}", tmp_path / "copy2.db")
    with pytest.raises(StoreError, match="pg_dump"):
        back_up("postgresql+psycopg://nobody@127.0.0.1/x", tmp_path / "copy2.db")


def test_the_commands_say_what_they_did(
    console: Callable[..., Any], tmp_path: Path, make_run: MakeRun, make_alarm: MakeAlarm
) -> None:
    home = tmp_path / "home"
    with AlarmStore(Settings.from_env({"FORELIGHT_HOME": str(home)}).database_url) as store:
        store.apply(make_run(), [make_alarm()])

    copied = console(home, "backup", str(tmp_path / "copy.db"))
    restored = console(home, "restore", str(tmp_path / "copy.db"))

    assert f"the alarm store is copied to {tmp_path}/copy.db\n" == copied.out
    assert f"the alarm store is as in {tmp_path}/copy.db; what was there before is in" in restored.out
