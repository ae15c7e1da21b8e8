"""One batch run at a time: a locked file on one machine, a row of the database where machines share something."""

from pathlib import Path

import pytest

from ingest.errors import BusyError
from ingest.lake.lease import FileLease
from serving.leases import DatabaseLease, rewrite_lease, score_lease
from serving.settings import Settings


def _settings(home: Path, **env: str) -> Settings:
    return Settings.from_env({"FORELIGHT_HOME": str(home), **env})


@pytest.mark.parametrize(
    ("env", "kind"),
    [
        ({}, FileLease),
        ({"FORELIGHT_LAKE_URI": "s3://bucket/lake"}, DatabaseLease),
    ],
)
def test_where_machines_share_the_lake_the_lease_is_a_row(tmp_path: Path, env: dict[str, str], kind: type) -> None:
    settings = _settings(tmp_path, **env)
    tmp_path.joinpath("forelight.db").touch()

    with (
        score_lease(settings) as lease,
        pytest.raises(BusyError, match="another run of forelight score is running"),
        score_lease(settings),
    ):
        pass

    assert isinstance(lease, kind)
    with score_lease(settings) as again:
        again.check()


def test_machines_that_share_the_alarms_share_the_lease(tmp_path: Path, database_url: str) -> None:
    settings = [
        _settings(tmp_path / name, FORELIGHT_LAKE_URI="s3://bucket/lake", FORELIGHT_DATABASE_URL=database_url)
        for name in ("one", "another")
    ]

    with score_lease(settings[0]), pytest.raises(BusyError, match=r"process \d+ on "), score_lease(settings[1]):
        pass


def test_a_run_and_a_compaction_do_not_wait_for_each_other(tmp_path: Path) -> None:
    settings = _settings(tmp_path)

    with score_lease(settings), rewrite_lease(settings) as lease:
        lease.check()
