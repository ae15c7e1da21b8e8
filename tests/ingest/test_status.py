"""The status: what polls and sweeps leave of each target, over restarts, in a file that is whole or not there."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.collect.book import Book
from ingest.collect.poll import Poll
from ingest.collect.poller import Sweep
from ingest.collect.status import SpoolState, read_status, write_status
from ingest.config import Config
from ingest.errors import IngestError
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

T0 = datetime(2026, 3, 1, tzinfo=UTC)
T1, T2 = T0 + timedelta(minutes=1), T0 + timedelta(minutes=2)


@pytest.fixture(name="config")
def _config() -> Config:
    targets = [{"device": name, "address": "192.0.2.1", "snmp": {"community": "x"}} for name in ("leaf01", "leaf02")]
    return Config.model_validate({"target": targets})


@pytest.fixture(name="book")
def _book(config: Config) -> Book:
    return Book(config, at=T0)


def _good(config: Config, **more: Any) -> Poll:
    return Poll(
        config.target[0],
        profile="entity_sensor",
        lanes=LANE_SAMPLES.schema.empty_table(),
        ports=PORT_SAMPLES.schema.empty_table(),
        coverage=0.5,
        duration_s=2.5,
        **more,
    )


def test_a_target_that_was_not_polled_yet_is_there(book: Book) -> None:
    assert [("leaf01", None), ("leaf02", None)] == [(t.device, t.last_attempt) for t in book.status.targets]


def test_a_failure_keeps_what_was_known_and_counts(book: Book, config: Config) -> None:
    book.polled(_good(config), T0)
    book.polled(Poll(config.target[0], error="no answer", duration_s=9.0), T1)
    book.polled(Poll(config.target[0], error="no answer", duration_s=9.0), T2)
    (leaf, _) = book.swept(Sweep([], 9.0), SpoolState(), T2).targets

    assert (T2, T0) == (leaf.last_attempt, leaf.last_success)
    assert ("entity_sensor", 0.5, 2, 2, "no answer") == (
        leaf.profile,
        leaf.coverage,
        leaf.failures,
        leaf.errors,
        leaf.error,
    )


def test_an_answer_ends_the_failures_and_not_their_count(book: Book, config: Config) -> None:
    book.polled(Poll(config.target[0], error="no answer"), T0)
    book.polled(_good(config, partial=True, error="partial: rows are missing"), T1)
    (leaf, _) = book.swept(Sweep([], 1.0), SpoolState(), T1).targets

    assert (0, 1, T1) == (leaf.failures, leaf.errors, leaf.last_success)
    assert (True, "partial: rows are missing") == (leaf.partial, leaf.error)


def test_a_target_that_is_left_alone_says_until_when(book: Book, config: Config) -> None:
    status = book.swept(Sweep([], 1.0, waiting=[(config.target[1], 30.0)]), SpoolState(), T0)

    assert [None, T0 + timedelta(seconds=30)] == [target.retry_at for target in status.targets]
    assert [None, None] == [t.retry_at for t in book.swept(Sweep([], 1.0), SpoolState(), T1).targets]


def test_sweeps_and_overruns_are_counted(book: Book) -> None:
    for overrun_s in (0.0, 5.0, 0.0):
        status = book.swept(Sweep([], 60.0 + overrun_s, overrun_s=overrun_s), SpoolState(rows=3), T1)

    assert (3, 1, 60.0, 3) == (status.sweeps, status.overruns, status.sweep_s, status.spool.rows)


def test_a_restart_goes_on_with_the_targets_and_counts_its_own_sweeps(book: Book, config: Config) -> None:
    book.polled(_good(config), T0)
    before = book.swept(Sweep([], 1.0), SpoolState(dropped_rows=7), T0)
    only = config.model_copy(update={"target": config.target[:1]})
    after = Book(only, before, T2).status

    assert ([T0], 0, 0, T2) == (
        [target.last_success for target in after.targets],
        after.sweeps,
        after.spool.dropped_rows,
        after.started_at,
    )


def test_it_is_stale_when_the_next_should_have_come(book: Book) -> None:
    status = book.swept(Sweep([], 3.0), SpoolState(), T0)

    assert not status.stale(T0 + timedelta(seconds=125))
    assert status.stale(T0 + timedelta(seconds=131))
    assert not replace(status, sweep_s=300.0).stale(T0 + timedelta(seconds=600))


def test_the_file_gives_what_was_written(book: Book, config: Config, tmp_path: Path) -> None:
    book.polled(_good(config), T0)
    status = book.swept(Sweep([], 1.0, waiting=[(config.target[1], 30.0)]), SpoolState(error="away"), T1)
    path = tmp_path / "home" / "collect.json"
    write_status(path, status)

    assert status == read_status(path)
    assert [path] == list(path.parent.iterdir())


def test_no_file_is_no_status(tmp_path: Path) -> None:
    assert read_status(tmp_path / "collect.json") is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"written_at": "yesterday"}'])
def test_a_file_that_is_no_status_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "collect.json").write_text(content)

    with pytest.raises(IngestError, match=r"collect\.json: .*the next sweep writes it anew"):
        read_status(tmp_path / "collect.json")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "collect.json").mkdir()

    with pytest.raises(IngestError, match=r"collect\.json: Is a directory"):
        read_status(tmp_path / "collect.json")
