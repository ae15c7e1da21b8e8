"""Commits whose answer is lost: whether they came through is told by the log, and by nothing else."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError

from ingest.lake import Lake
from ingest.lake.delta import canonical, data_files
from ingest.lake.files import SortedFile, add, certainly, exchange
from ingest.schema import LANE_SAMPLES

Rows = Callable[..., pl.DataFrame]


@pytest.fixture(name="handle")
def _handle(lake: Lake, rows: Rows) -> DeltaTable:
    lake.append(LANE_SAMPLES, rows(24))
    return DeltaTable(f"{lake.uri}/{LANE_SAMPLES.name}")


def sorted_file(handle: DeltaTable, rows: pl.DataFrame) -> SortedFile:
    with SortedFile(handle, LANE_SAMPLES, (rows["time"][0].date(), None), 1) as out:
        out.write(canonical(LANE_SAMPLES, rows).select(LANE_SAMPLES.schema.names))
    return out


def test_a_commit_that_came_through_is_done_whatever_its_answer_was(handle: DeltaTable, lake: Lake, rows: Rows) -> None:
    file = sorted_file(handle, rows(24, device="leaf02"))

    def commit(properties: CommitProperties) -> None:
        add(handle, [file], properties)
        lake.append(LANE_SAMPLES, rows(24, device="leaf03"))
        raise CommitFailedError

    certainly(handle, commit)

    assert 72 == lake.scan(LANE_SAMPLES).collect().height


def test_a_commit_that_another_came_before_did_not_come_through(handle: DeltaTable, lake: Lake, rows: Rows) -> None:
    def commit(_: CommitProperties) -> None:
        lake.append(LANE_SAMPLES, rows(24, device="leaf03"))
        raise CommitFailedError

    with pytest.raises(CommitFailedError):
        certainly(handle, commit)


def test_of_two_exchanges_the_second_fails_and_its_files_are_deleted(
    handle: DeltaTable, lake: Lake, rows: Rows, tmp_path: Path
) -> None:
    before = data_files(handle)
    late = DeltaTable(handle.table_uri)
    first, second = (sorted_file(handle, rows(24)) for _ in range(2))
    exchange(handle, [first], before)

    with pytest.raises(CommitFailedError):
        exchange(late, [second], before)

    assert [first.path] == [file.path for file in lake.files(LANE_SAMPLES)]
    assert [Path(first.path).name] == [path.name for path in tmp_path.rglob("compacted-*")]
    assert [] == lake.check(deep=True)
