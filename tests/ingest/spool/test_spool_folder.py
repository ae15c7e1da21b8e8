"""The folder of a spool: what lies in it over restarts, within bounds, damaged, or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingest.collect.spool import Spool
from ingest.errors import LakeError
from ingest.schema import LANE_SAMPLES


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "spool").iterdir() if path.suffix not in {".json", ""})


def test_what_waits_survives_a_restart(spool: Any, lake: Any, rows: Any, said: Any) -> None:
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


def test_numbers_rise_over_restarts_so_that_no_mark_hides_new_rows(spool: Any, lake: Any, rows: Any) -> None:
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
    spool: Any, lake: Any, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host in ("here", "there"):
        monkeypatch.setattr("ingest.collect.spool_files.gethostname", lambda host=host: host)
        one = spool()
        one.append(LANE_SAMPLES, rows("e1"))
        one.close()

    assert 2 == len(lake.marks)


def test_a_full_spool_drops_its_oldest_rows_and_says_so(
    spool: Any, lake: Any, rows: Any, said: Any, tmp_path: Path
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
    spool: Any, lake: Any, rows: Any, said: Any, tmp_path: Path
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
    spool: Any, lake: Any, rows: Any, said: Any, tmp_path: Path, damage: Callable[[Path], None]
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
    spool: Any, lake: Any, rows: Any, tmp_path: Path
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


def test_a_file_can_be_set_aside_only_for_so_long(spool: Any, lake: Any, rows: Any, tmp_path: Path) -> None:
    """Bad files count to the bound, and go before rows do."""
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "old.arrow").write_bytes(bytes(25_000))
    one = spool(max_mb=0.03)
    lake.error = OSError("away")
    one.append(LANE_SAMPLES, rows("e1", count=100))
    one.append(LANE_SAMPLES, rows("e2", count=100))

    assert (0, 200) == (one.state.bad_files, one.state.rows)


def test_rows_that_are_lost_with_the_process_are_said(
    spool: Any, lake: Any, rows: Any, said: Any, tmp_path: Path
) -> None:
    one = spool()
    lake.error = OSError("away")
    (tmp_path / "spool").rename(tmp_path / "gone")
    one.append(LANE_SAMPLES, rows("e1", count=3))
    one.close()

    assert "3 rows that could not be written anywhere are lost" == said[-1]


def test_a_folder_that_cannot_be_made_leaves_the_memory(lake: Any, rows: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    one = Spool(lake, tmp_path / "file" / "spool")
    lake.error = OSError("away")
    one.append(LANE_SAMPLES, rows("e1"))

    assert (True, 1) == (one.owned, one.state.memory_rows)


def test_without_the_folder_what_the_lake_raises_is_one_line(spool: Any, lake: Any, rows: Any) -> None:
    spool()
    second = spool()
    lake.error = OSError("Kernel error\n   Generic S3 error")

    with pytest.raises(LakeError, match="lane_samples: Kernel error Generic S3 error"):
        second.append(LANE_SAMPLES, rows("e1"))

    lake.error = None

    assert 1 == second.append(LANE_SAMPLES, rows("e2"))


def test_two_processes_do_not_share_a_folder(spool: Any, lake: Any, rows: Any, tmp_path: Path) -> None:
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
