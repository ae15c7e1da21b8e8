"""Where heavy work runs: sizes as people write them, and engines for as much work as there is."""

import pytest
from typer.testing import CliRunner

from features.engine import Here, Pool
from ingest.errors import FeatureError
from serving.cli.app import app
from serving.scoring.compute import Compute, memory_size
from serving.settings import Settings

MANY = 100_000_000


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GiB", 2 << 30), ("2g", 2 << 30), ("1.5 GB", 3 << 29), ("512M", 512 << 20), ("1048576", 1 << 20)],
)
def test_a_size_is_read_as_people_write_it(text: str, size: int) -> None:
    assert size == memory_size(text)


def test_memory_that_forelight_itself_does_not_fit_in_is_refused() -> None:
    told = CliRunner().invoke(app, ["train", "--memory", "512MiB"])

    assert 2 == told.exit_code
    assert "too little" in told.output


@pytest.mark.parametrize("text", ["", "GiB", "two", "-1G", "0", "1PiB", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"size|float|integer"):
        memory_size(text)


def test_little_work_is_done_here_and_much_in_a_pool() -> None:
    assert isinstance(Compute(memory=8 << 30).engine(1000), Here)
    assert isinstance(Compute(memory=1 << 29).engine(MANY), Here)
    assert isinstance(Compute(memory=64 << 30).engine(MANY), Pool | Here)


def test_a_scheduler_is_used_however_little_there_is_to_do() -> None:
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")

    with pytest.raises(FeatureError, match="no Dask scheduler answers"):
        Compute(dask="tcp://127.0.0.1:9").engine(1)


def test_the_scheduler_of_the_environment_is_a_setting() -> None:
    assert (
        "tcp://10.0.0.1:8786" == Settings.from_env({"FORELIGHT_DASK_SCHEDULER": "tcp://10.0.0.1:8786"}).dask_scheduler
    )
    assert Settings.from_env({"FORELIGHT_DASK_SCHEDULER": ""}).dask_scheduler is None
