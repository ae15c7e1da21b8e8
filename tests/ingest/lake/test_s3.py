"""The same lake on S3: a real server, moto's, and the same code."""

from collections.abc import Callable
from datetime import datetime, timedelta

import polars as pl
import pytest

from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.lake.delta import data_files
from ingest.lake.files import file_system
from ingest.lake.lease import FileLease
from ingest.lake.table import open_table
from ingest.schema import LANE_SAMPLES, MODULES

Rows = Callable[..., pl.DataFrame]
DAY = timedelta(days=1)

pytestmark = pytest.mark.slow


@pytest.fixture(name="remote")
def _remote(s3: str) -> Lake:
    return Lake(s3, buckets=2)


def test_a_lake_on_s3_is_appended_to_read_compacted_pruned_and_checked(
    remote: Lake, lease: FileLease, rows: Rows, t0: datetime
) -> None:
    assert not remote.exists(LANE_SAMPLES)
    for device in ("leaf01", "leaf02", "leaf03"):
        assert 72 == remote.append(LANE_SAMPLES, rows(72, device=device), transaction=f"import-{device}")
    assert 0 == remote.append(LANE_SAMPLES, rows(72, device="leaf01"), transaction="import-leaf01")
    remote.append(LANE_SAMPLES, rows(2, rx_power_dbm=-9.0, received=timedelta(hours=1)))
    before = remote.latest(LANE_SAMPLES).sort(LANE_SAMPLES.key).collect()

    assert 3 == remote.compact(LANE_SAMPLES, lease=lease)

    assert before.equals(remote.scan(LANE_SAMPLES).sort(LANE_SAMPLES.key).collect())
    assert 72 == remote.latest(LANE_SAMPLES, devices=[("default", "leaf02")]).collect().height
    assert [] == remote.check(deep=True)
    pruned = remote.prune(LANE_SAMPLES, lease=lease, keep=DAY, safe_age=timedelta(), now=t0 + 3 * DAY)
    assert 2 == pruned.days
    assert pruned.files > 0
    assert 72 == remote.scan(LANE_SAMPLES).collect().height
    assert [] == remote.check(deep=True)


def test_a_lost_and_a_torn_object_are_named_and_taken_out(remote: Lake, lease: FileLease, rows: Rows) -> None:
    remote.append(LANE_SAMPLES, rows(72))
    handle = open_table(remote.uri, LANE_SAMPLES)
    assert handle is not None
    lost, torn, _ = data_files(handle)
    file_system(handle).delete_file(lost.path)
    with file_system(handle).open_output_stream(torn.path, buffer_size=100) as out:
        out.write(b"nonsense")

    findings = remote.check()
    remote.repair(findings, lease=lease)

    assert {"missing", "torn"} == {finding.kind for finding in findings}
    assert [] == remote.check(deep=True)
    assert 24 == remote.scan(LANE_SAMPLES).collect().height


def test_tables_without_days_work_on_s3(remote: Lake, rows: Rows) -> None:
    remote.append(MODULES, rows(1).select("received_at", "site", "device", "interface"))

    assert 1 == remote.latest(MODULES).collect().height
    assert [] == remote.check(deep=True)


def test_a_server_that_does_not_answer_is_an_error_with_one_line(
    remote: Lake, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")

    with pytest.raises(LakeError, match="lane_samples: ") as caught:
        Lake(remote.uri.replace("lake-", "away-")).append(LANE_SAMPLES, rows(1))

    assert 1 == len(str(caught.value).splitlines())
