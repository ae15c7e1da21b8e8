"""The lease in the database: one holder at a time, on both databases, gone when its holder is."""

import contextlib
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import Connection, select, update

from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES
from serving.database import make_engine, writing
from serving.leases import DatabaseLease, rewrite_lease
from serving.settings import Settings
from serving.tables import leases

NAME = "lake:s3://bucket/lake"


@contextlib.contextmanager
def _sql(url: str) -> Iterator[Connection]:
    engine = make_engine(url)
    with writing(engine) as connection:
        yield connection
    engine.dispose()


def test_it_is_held_by_one_at_a_time(database_url: str) -> None:
    with (
        DatabaseLease(database_url, NAME),
        pytest.raises(LakeError, match=r"another rewrite of the lake is running \(process \d+ on "),
    ):
        DatabaseLease(database_url, NAME).__enter__()


def test_it_is_free_again_when_given_back_and_its_token_rises(database_url: str) -> None:
    for _ in range(3):
        with DatabaseLease(database_url, NAME) as lease:
            lease.check()

    with _sql(database_url) as connection:
        assert [3] == list(connection.execute(select(leases.c.token)).scalars())


def test_leases_of_two_lakes_do_not_meet(database_url: str) -> None:
    with DatabaseLease(database_url, NAME) as one, DatabaseLease(database_url, "lake:other") as other:
        one.check()
        other.check()


def test_it_is_renewed_for_as_long_as_its_holder_lives(database_url: str) -> None:
    with DatabaseLease(database_url, NAME, ttl_s=1.5) as lease:
        time.sleep(2.5)

        lease.check()
        with pytest.raises(LakeError, match="another rewrite"):
            DatabaseLease(database_url, NAME).__enter__()


def _expire(url: str) -> None:
    """As if its holder had been asleep for longer than it lasts."""
    with _sql(url) as connection:
        connection.execute(update(leases).values(expires_at=datetime.now(UTC) - timedelta(seconds=1)))


def test_a_holder_that_is_gone_holds_nobody_up_for_long(database_url: str) -> None:
    with DatabaseLease(database_url, NAME):
        _expire(database_url)

        with DatabaseLease(database_url, NAME) as other:
            other.check()


def test_a_holder_whose_lease_was_taken_finds_out_before_it_commits(database_url: str) -> None:
    with DatabaseLease(database_url, NAME, ttl_s=0.9) as sleeper:
        _expire(database_url)
        with DatabaseLease(database_url, NAME) as other:
            time.sleep(1.0)

            with pytest.raises(LakeError, match="was lost"):
                sleeper.check()
            other.check()


def test_giving_a_lost_lease_back_leaves_the_new_holders_alone(database_url: str) -> None:
    with DatabaseLease(database_url, NAME):
        _expire(database_url)
        other = DatabaseLease(database_url, NAME)
        other.__enter__()

    with pytest.raises(LakeError, match="another rewrite"):
        DatabaseLease(database_url, NAME).__enter__()
    other.__exit__(None, None, None)


def test_of_many_at_once_one_gets_it(database_url: str) -> None:
    got: list[bool] = []
    holders: list[DatabaseLease] = []
    start = threading.Barrier(5)

    def take() -> None:
        lease = DatabaseLease(database_url, NAME)
        start.wait()
        try:
            lease.__enter__()
        except LakeError:
            got.append(False)
        else:
            got.append(True)
            holders.append(lease)

    threads = [threading.Thread(target=take) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for lease in holders:
        lease.__exit__(None, None, None)

    assert [False] * 4 + [True] == sorted(got)


def test_a_lease_that_was_never_taken_is_not_held(database_url: str) -> None:
    with pytest.raises(LakeError, match="was lost"):
        DatabaseLease(database_url, NAME).check()


def test_a_compaction_whose_lease_is_lost_commits_nothing(tmp_path: Path) -> None:
    """Its holder slept while another took it."""
    lake = Lake(str(tmp_path / "lake"))
    times = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in range(4)]
    rows = pl.DataFrame({"time": times, "received_at": times, "lane": 1, "quality": 0}).with_columns(
        *(pl.lit("x").alias(name) for name in ("site", "device", "interface", "source"))
    )
    lake.append(LANE_SAMPLES, rows)
    url = f"sqlite:///{tmp_path / 'forelight.db'}"

    class Sleeper(DatabaseLease):
        def check(self) -> None:
            self._good_until = 0.0
            super().check()

    with pytest.raises(LakeError, match="was lost"):
        lake.compact(LANE_SAMPLES, lease=Sleeper(url, NAME))

    assert [1] == [entry.waiting_files for entry in lake.stats()]
    assert not list(tmp_path.rglob("compacted-*"))


@pytest.mark.parametrize(
    ("lake_uri", "database_url", "kind"),
    [
        ("/data/lake", "sqlite:////data/forelight.db", FileLease),
        ("s3://bucket/lake", "sqlite:////data/forelight.db", DatabaseLease),
        ("/nfs/lake", "postgresql+psycopg://db/forelight", DatabaseLease),
    ],
)
def test_a_lake_that_machines_share_is_leased_in_the_database(
    tmp_path: Path, lake_uri: str, database_url: str, kind: type
) -> None:
    if "sqlite" in database_url:
        database_url = f"sqlite:///{tmp_path / 'forelight.db'}"
    else:
        pytest.importorskip("psycopg", reason="psycopg is not installed (extra: postgres)")
    settings = Settings(tmp_path, lake_uri, database_url, "sqlite://")

    assert kind is type(rewrite_lease(settings))
