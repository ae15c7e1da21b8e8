"""The spool between a lake and its writers: rows are kept in order, and each arrives once."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.collect.spool import Spool
from ingest.errors import LakeError
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "spool").iterdir() if path.suffix not in {".json", ""})


def test_while_the_lake_takes_rows_nothing_is_on_disk(spool: Any, lake: Any, rows: Any, tmp_path: Path) -> None:
    one = spool()
    one.append(LANE_SAMPLES, rows("e1"))

    assert ["e1"] == lake.names
    assert [] == _files(tmp_path)
    assert (0, None) == (one.state.rows, one.state.error)


def test_rows_come_back_in_order_and_new_ones_queue_behind(spool: Any, lake: Any, rows: Any, said: Any) -> None:
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


def test_a_panic_of_the_library_is_an_outage(spool: Any, lake: Any, rows: Any) -> None:
    class PanicException(BaseException):
        """As pyo3 raises it: no Exception."""

    one = spool()
    lake.error = PanicException("called `Option::unwrap()` on a `None` value")
    one.append(LANE_SAMPLES, rows("e1"))

    assert 1 == one.state.rows


def test_one_tables_trouble_does_not_hold_up_another(spool: Any, lake: Any, rows: Any) -> None:
    one = spool()
    lake.error, lake.only = LakeError("of another shape"), LANE_SAMPLES
    one.append(LANE_SAMPLES, rows("e1"))
    one.append(PORT_SAMPLES, rows("e2", PORT_SAMPLES))

    assert [("port_samples", "e2")] == lake.kept
    assert 1 == one.state.rows


def test_rows_of_the_wrong_shape_are_the_callers_error_and_never_wait(spool: Any, lake: Any, rows: Any) -> None:
    one = spool()
    lake.error = LakeError("lane_samples has no column colour")
    with pytest.raises(LakeError, match="colour"):
        one.append(LANE_SAMPLES, rows("e1").append_column("colour", pa.array(["red"])))

    assert (0, None) == (one.state.rows, one.state.error)


def test_an_append_whose_answer_was_lost_is_not_repeated(spool: Any, lake: Any, rows: Any) -> None:
    one = spool()
    lake.loses_answers = True
    one.append(LANE_SAMPLES, rows("e1"))
    lake.loses_answers = False
    one.append(LANE_SAMPLES, rows("e2"))

    assert ["e1", "e2"] == lake.names


def test_an_append_that_does_not_end_is_left_to_itself_and_not_repeated(
    spool: Any, lake: Any, rows: Any, tmp_path: Path
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


def test_a_lake_that_stays_away_is_tried_less_and_less(lake: Any, rows: Any, tmp_path: Path) -> None:
    one = Spool(lake, tmp_path / "spool")
    lake.error = OSError("away")
    for number in range(20):
        one.append(LANE_SAMPLES, rows(f"e{number}"))

    assert 1 == lake.attempts
    assert 20 == one.state.rows


def test_a_lake_that_is_away_is_tried_for_one_table_at_a_time(
    lake: Any, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt may take seconds; and when one gets through, the others follow at once."""
    monkeypatch.setattr("ingest.collect.spool._FIRST_WAIT_S", 0.5)
    one = Spool(lake, tmp_path / "spool")
    lake.error = OSError("away")
    for table in (LANE_SAMPLES, PORT_SAMPLES):
        one.append(table, rows("e1", table))

    assert 2 == lake.attempts

    time.sleep(0.6)
    one.replay()

    assert 3 == lake.attempts

    time.sleep(1.1)
    lake.error = None

    assert one.replay()


_STEPS = st.lists(st.sampled_from(["lane", "port", "away", "back", "deaf", "restart", "no disk", "disk"]), max_size=40)


@given(steps=_STEPS)
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_whatever_happens_rows_arrive_once_and_in_order(
    rows: Any,
    another_lake: Callable[[], Any],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[str],
) -> None:
    """Only a restart while there is no disk may lose rows: those that were in memory."""
    monkeypatch.setattr("ingest.collect.spool._FIRST_WAIT_S", 0.0)
    lake, folder = another_lake(), tmp_path_factory.mktemp("spool") / "spool"
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


def test_many_small_files_become_few_commits(spool: Any, lake: Any, rows: Any) -> None:
    one = spool()
    lake.error = OSError("away")
    for number in range(50):
        one.append(LANE_SAMPLES, rows(f"e{number}"))
    lake.error, lake.attempts = None, 0
    one.replay()

    assert 1 == lake.attempts
    assert [f"e{number}" for number in range(50)] == lake.names
