"""The spool alone: rows are kept in order within bounds, and nothing that lies in its folder holds it up."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.errors import LakeError
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Table
from ingest.spool import Spool

T0 = datetime(2026, 3, 1, tzinfo=UTC)
Rows = Callable[..., pa.Table]


class Away:
    """A lake in memory that goes away and comes back, and remembers marks as Delta does."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.only: Table | None = None
        self.hold = threading.Event()
        self.hold.set()
        self.loses_answers = False
        self.kept: list[tuple[str, str]] = []
        self.marks: dict[tuple[str, str], int] = {}
        self.attempts = 0

    def append(self, table: Table, rows: pa.Table, *, mark: tuple[str, int] | None = None) -> None:
        self.attempts += 1
        self.hold.wait(30)
        if self.error is not None and self.only in {None, table}:
            raise self.error
        self.kept += [(table.name, name) for name in rows["interface"].to_pylist()]
        if mark:
            self.marks[table.name, mark[0]] = mark[1]
        if self.loses_answers:
            msg = "connection reset"
            raise OSError(msg)

    def mark(self, table: Table, writer: str) -> int:
        return self.marks.get((table.name, writer), 0)

    @property
    def names(self) -> list[str]:
        return [name for _, name in self.kept]


@pytest.fixture(name="lake")
def _lake() -> Away:
    return Away()


@pytest.fixture(name="rows")
def _rows() -> Rows:
    def make(name: str, table: Table = LANE_SAMPLES, count: int = 1) -> pa.Table:
        row = {"site": "default", "device": "leaf01", "interface": name, "quality": 0, "source": "snmp"}
        lane = {"lane": 1} if table is LANE_SAMPLES else {}
        times = [T0 + timedelta(seconds=i) for i in range(count)]
        return pa.Table.from_pylist([row | lane | {"time": t, "received_at": t} for t in times], schema=table.schema)

    return make


class Said(list[str]):
    def __call__(self, line: str) -> None:
        self.append(line)


@pytest.fixture(name="said")
def _said() -> Said:
    return Said()


@pytest.fixture(name="spool")
def _spool(lake: Away, tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Spool]:
    """Opens spools on one folder; a failure is followed by no wait, so that tests need none."""
    monkeypatch.setattr("ingest.spool._FIRST_WAIT_S", 0.0)

    def open_one(**options: Any) -> Spool:
        return Spool(lake, tmp_path / "spool", say=said, **options)

    return open_one


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "spool").iterdir() if path.suffix not in {".json", ""})


def test_while_the_lake_takes_rows_nothing_is_on_disk(spool: Any, lake: Away, rows: Rows, tmp_path: Path) -> None:
    one = spool()
    one.append(LANE_SAMPLES, rows("e1"))

    assert ["e1"] == lake.names
    assert [] == _files(tmp_path)
    assert (0, None) == (one.state.rows, one.state.error)


def test_rows_come_back_in_order_and_new_ones_queue_behind(spool: Any, lake: Away, rows: Rows, said: Said) -> None:
    one = spool()
    lake.error = LakeError("no space")
    for name in ("e1", "e2", "e3"):
        one.append(LANE_SAMPLES, rows(name))

    assert (3, 3, "no space") == (one.state.files, one.state.rows, one.state.error)

    lake.error = None
    one.append(LANE_SAMPLES, rows("e4"))

    assert ["e1", "e2", "e3", "e4"] == lake.names
    assert (0, 0, None) == (one.state.files, one.state.rows, one.state.error)
    assert [
        "the lake cannot be written (no space): rows wait in the spool",
        "4 rows went from the spool into the lake",
    ] == said


def test_a_panic_of_the_library_is_an_outage(spool: Any, lake: Away, rows: Rows) -> None:
    class PanicException(BaseException):
        """As pyo3 raises it: no Exception."""

    one = spool()
    lake.error = PanicException("called `Option::unwrap()` on a `None` value")
    one.append(LANE_SAMPLES, rows("e1"))

    assert 1 == one.state.rows


def test_one_tables_trouble_does_not_hold_up_another(spool: Any, lake: Away, rows: Rows) -> None:
    one = spool()
    lake.error, lake.only = LakeError("of another shape"), LANE_SAMPLES
    one.append(LANE_SAMPLES, rows("e1"))
    one.append(PORT_SAMPLES, rows("e2", PORT_SAMPLES))

    assert [("port_samples", "e2")] == lake.kept
    assert 1 == one.state.rows


def test_rows_of_the_wrong_shape_are_the_callers_error_and_never_wait(spool: Any, lake: Away, rows: Rows) -> None:
    one = spool()
    lake.error = LakeError("lane_samples has no column colour")
    with pytest.raises(LakeError, match="colour"):
        one.append(LANE_SAMPLES, rows("e1").append_column("colour", pa.array(["red"])))

    assert (0, None) == (one.state.rows, one.state.error)


def test_what_waits_survives_a_restart(spool: Any, lake: Away, rows: Rows, said: Said) -> None:
    lake.error = OSError("away")
    first = spool()
    for name in ("e1", "e2"):
        first.append(LANE_SAMPLES, rows(name))
    first.close()

    second = spool()

    assert "2 rows wait in the spool since the last run" == said[-1]
    assert [["e1"], ["e2"]] == [table["interface"].to_pylist() for table in second.pending(LANE_SAMPLES)]

    lake.error = None
    second.append(LANE_SAMPLES, rows("e3"))

    assert ["e1", "e2", "e3"] == lake.names


def test_an_append_whose_answer_was_lost_is_not_repeated(spool: Any, lake: Away, rows: Rows) -> None:
    one = spool()
    lake.loses_answers = True
    one.append(LANE_SAMPLES, rows("e1"))
    lake.loses_answers = False
    one.append(LANE_SAMPLES, rows("e2"))

    assert ["e1", "e2"] == lake.names


def test_numbers_rise_over_restarts_so_that_no_mark_hides_new_rows(spool: Any, lake: Away, rows: Rows) -> None:
    for name in ("e1", "e2", "e3"):
        one = spool()
        one.append(LANE_SAMPLES, rows(name))
        lake.error = OSError("away")
        one.append(LANE_SAMPLES, rows(name + "w"))
        lake.error = None
        one.close()
    spool().replay()

    assert ["e1", "e1w", "e2", "e2w", "e3", "e3w"] == lake.names
    assert 1 == len(lake.marks)


def test_a_copy_of_the_folder_on_another_machine_numbers_anew(
    spool: Any, lake: Away, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host in ("here", "there"):
        monkeypatch.setattr("ingest.spool_files.gethostname", lambda host=host: host)
        one = spool()
        one.append(LANE_SAMPLES, rows("e1"))
        one.close()

    assert 2 == len(lake.marks)


def test_a_full_spool_drops_its_oldest_rows_and_says_so(
    spool: Any, lake: Away, rows: Rows, said: Said, tmp_path: Path
) -> None:
    one = spool(max_mb=0.03)
    lake.error = OSError("away")
    for number in range(12):
        one.append(LANE_SAMPLES, rows(f"e{number}", count=100))
    state = one.state

    assert state.size_bytes <= 30_000
    assert 1200 == state.rows + state.dropped_rows
    assert 0 < state.dropped_rows < 1200
    assert f"the spool is full: its oldest 100 rows were dropped, {state.dropped_rows} so far" == said[-1]

    lake.error = None
    one.replay()

    assert [f"e{number}" for number in range(state.dropped_rows // 100, 12)] == list(dict.fromkeys(lake.names))


def test_where_the_spool_cannot_be_written_the_newest_rows_are_kept_in_memory(
    spool: Any, lake: Away, rows: Rows, said: Said, tmp_path: Path
) -> None:
    one = spool(memory_bytes=3 * rows("e1").nbytes + 10)
    lake.error = OSError("away")
    (tmp_path / "spool").rename(tmp_path / "gone")
    for number in range(1, 6):
        one.append(LANE_SAMPLES, rows(f"e{number}"))

    assert (0, 3, 3, 2) == (one.state.files, one.state.rows, one.state.memory_rows, one.state.dropped_rows)
    assert 1 == sum("cannot be written (" in line and "kept in memory" in line for line in said)

    (tmp_path / "gone").rename(tmp_path / "spool")
    one.append(LANE_SAMPLES, rows("e6"))

    assert (4, 0) == (one.state.files, one.state.memory_rows)

    lake.error = None
    one.replay()

    assert ["e3", "e4", "e5", "e6"] == lake.names


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _garbled(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 3)
    path.write_bytes(content)


def _foreign(path: Path) -> None:
    path.write_text("not Arrow")


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [_torn, _garbled, _foreign, _empty])
def test_a_file_that_cannot_be_read_is_named_and_set_aside(
    spool: Any, lake: Away, rows: Rows, said: Said, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    first = spool()
    lake.error = OSError("away")
    for name in ("e1", "e2", "e3"):
        first.append(LANE_SAMPLES, rows(name))
    first.close()
    victim = sorted((tmp_path / "spool").glob("*.arrow"))[1]
    damage(victim)
    lake.error = None

    second = spool()
    second.replay()

    assert ["e1", "e3"] == lake.names
    assert [victim.name + ".bad"] == _files(tmp_path)
    assert (1, 0) == (second.state.bad_files, second.state.rows)
    assert any(victim.name in line and "set aside" in line for line in said)


def test_what_does_not_belong_there_is_left_alone_or_set_aside(
    spool: Any, lake: Away, rows: Rows, tmp_path: Path
) -> None:
    folder = tmp_path / "spool"
    folder.mkdir()
    (folder / "mine.arrow").write_text("?")
    (folder / "000000000000000001-0123456789ab-no_table-1.arrow").write_text("?")
    (folder / "000000000000000002-0123456789ab-lane_samples-1.arrow.tmp").write_text("half")
    (folder / "README").write_text("?")
    (folder / "numbers.json").write_text("{")
    one = spool()
    one.append(LANE_SAMPLES, rows("e1"))

    assert ["e1"] == lake.names
    assert ["000000000000000001-0123456789ab-no_table-1.arrow.bad", "mine.arrow.bad"] == _files(tmp_path)
    assert 2 == one.state.bad_files


def test_a_file_can_be_set_aside_only_for_so_long(spool: Any, lake: Away, rows: Rows, tmp_path: Path) -> None:
    """Bad files count to the bound, and go before rows do."""
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "old.arrow").write_bytes(bytes(25_000))
    one = spool(max_mb=0.03)
    lake.error = OSError("away")
    one.append(LANE_SAMPLES, rows("e1", count=100))
    one.append(LANE_SAMPLES, rows("e2", count=100))

    assert (0, 200) == (one.state.bad_files, one.state.rows)


def test_rows_that_are_lost_with_the_process_are_said(
    spool: Any, lake: Away, rows: Rows, said: Said, tmp_path: Path
) -> None:
    one = spool()
    lake.error = OSError("away")
    (tmp_path / "spool").rename(tmp_path / "gone")
    one.append(LANE_SAMPLES, rows("e1", count=3))
    one.close()

    assert "3 rows that could not be written anywhere are lost" == said[-1]


def test_a_folder_that_cannot_be_made_leaves_the_memory(lake: Away, rows: Rows, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    one = Spool(lake, tmp_path / "file" / "spool")
    lake.error = OSError("away")
    one.append(LANE_SAMPLES, rows("e1"))

    assert (True, 1) == (one.owned, one.state.memory_rows)


def test_without_the_folder_what_the_lake_raises_is_one_line(spool: Any, lake: Away, rows: Rows) -> None:
    spool()
    second = spool()
    lake.error = OSError("Kernel error\n   Generic S3 error")

    with pytest.raises(LakeError, match="lane_samples: Kernel error Generic S3 error"):
        second.append(LANE_SAMPLES, rows("e1"))

    lake.error = None

    assert 1 == second.append(LANE_SAMPLES, rows("e2"))


def test_two_processes_do_not_share_a_folder(spool: Any, lake: Away, rows: Rows, tmp_path: Path) -> None:
    first, second = spool(), spool()
    lake.error = LakeError("away")
    with pytest.raises(LakeError, match="away"):
        second.append(LANE_SAMPLES, rows("e1"))

    assert (True, False) == (first.owned, second.owned)
    assert [] == _files(tmp_path)

    first.append(LANE_SAMPLES, rows("e2"))
    first.close()
    second.append(LANE_SAMPLES, rows("e3"))
    lake.error = None
    second.replay()

    assert second.owned
    assert ["e2", "e3"] == lake.names


def test_an_append_that_does_not_end_is_left_to_itself_and_not_repeated(
    spool: Any, lake: Away, rows: Rows, tmp_path: Path
) -> None:
    one = spool(patience_s=0.1)
    lake.hold.clear()
    began = time.monotonic()
    for name in ("e1", "e2", "e3"):
        one.append(LANE_SAMPLES, rows(name))

    assert time.monotonic() - began < 2
    assert (1, 3) == (lake.attempts, one.state.rows)
    assert "no end of the append within 0.1 s" == one.state.error

    lake.hold.set()
    until = time.monotonic() + 10
    while not one.replay() and time.monotonic() < until:
        time.sleep(0.01)

    assert ["e1", "e2", "e3"] == lake.names


def test_a_lake_that_stays_away_is_tried_less_and_less(lake: Away, rows: Rows, tmp_path: Path) -> None:
    one = Spool(lake, tmp_path / "spool")
    lake.error = OSError("away")
    for number in range(20):
        one.append(LANE_SAMPLES, rows(f"e{number}"))

    assert 1 == lake.attempts
    assert 20 == one.state.rows


def test_a_lake_that_is_away_is_tried_for_one_table_at_a_time(
    lake: Away, rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt may take seconds; and when one gets through, the others follow at once."""
    monkeypatch.setattr("ingest.spool._FIRST_WAIT_S", 0.05)
    one = Spool(lake, tmp_path / "spool")
    lake.error = OSError("away")
    for table in (LANE_SAMPLES, PORT_SAMPLES):
        one.append(table, rows("e1", table))

    assert 2 == lake.attempts

    time.sleep(0.06)
    one.replay()

    assert 3 == lake.attempts

    time.sleep(0.11)
    lake.error = None

    assert one.replay()


_STEPS = st.lists(st.sampled_from(["lane", "port", "away", "back", "deaf", "restart", "no disk", "disk"]), max_size=40)


@given(steps=_STEPS)
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_whatever_happens_rows_arrive_once_and_in_order(
    rows: Rows, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, steps: list[str]
) -> None:
    """Only a restart while there is no disk may lose rows: those that were in memory."""
    monkeypatch.setattr("ingest.spool._FIRST_WAIT_S", 0.0)
    lake, folder = Away(), tmp_path_factory.mktemp("spool") / "spool"
    one = Spool(lake, folder)
    sent: list[tuple[str, str]] = []
    for number, step in enumerate(steps):
        if step in {"lane", "port"}:
            table = LANE_SAMPLES if step == "lane" else PORT_SAMPLES
            one.append(table, rows(f"e{number}", table))
            sent.append((table.name, f"e{number}"))
        elif step == "restart" and folder.exists():
            one.replay()  # what is in memory reaches the disk at an append only
            if one.state.memory_rows == 0:
                one.close()
                one = Spool(lake, folder)
        elif step in {"away", "back", "deaf"}:
            lake.error = OSError("away") if step == "away" else None
            lake.loses_answers = step == "deaf"
        elif step == "no disk" and folder.exists() and not one.state.files:
            folder.rename(folder.with_name("gone"))
        elif step == "disk" and not folder.exists():
            folder.with_name("gone").rename(folder)
    lake.error, lake.loses_answers = None, False
    while not one.replay():
        pass

    for table in (LANE_SAMPLES, PORT_SAMPLES):
        assert [row for row in sent if row[0] == table.name] == [row for row in lake.kept if row[0] == table.name]


def test_many_small_files_become_few_commits(spool: Any, lake: Away, rows: Rows) -> None:
    one = spool()
    lake.error = OSError("away")
    for number in range(50):
        one.append(LANE_SAMPLES, rows(f"e{number}"))
    lake.error, lake.attempts = None, 0
    one.replay()

    assert 1 == lake.attempts
    assert [f"e{number}" for number in range(50)] == lake.names
