"""Real outages of a real lake: a full disk, files that may not grow, object stores that are away or silent, kill -9."""

import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from ingest.collect.spool import Spool
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES

pytestmark = pytest.mark.slow

T0 = datetime(2026, 3, 1, tzinfo=UTC)
COUNT = 2_000  # rows of one append, of some 20 kB

_PREPARE = """
    import os, resource, signal, sys, time
    from datetime import UTC, datetime, timedelta
    from pathlib import Path
    import numpy as np, pyarrow as pa
    from ingest.collect import spool
    from ingest.lake import Lake
    from ingest.schema import LANE_SAMPLES
    spool._FIRST_WAIT_S = 0.0

    def rows(number, count=2000):
        noise = np.random.default_rng(number).normal(size=count).astype("float32")
        times = pa.array([datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=i) for i in range(count)],
                         LANE_SAMPLES.schema.field("time").type)
        same = {"site": "s", "device": "d", "interface": f"e{number}", "source": "snmp"}
        return pa.table({"time": times, "received_at": times, "lane": pa.array([1] * count, pa.int8()),
                         "quality": pa.array([0] * count, pa.int16()), "rx_power_dbm": noise,
                         **{name: [value] * count for name, value in same.items()}})
"""

_LEAVE = """
    from ingest.collect.attempt import leave
    leave(0)
"""

Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(name="program")
def _program() -> Program:
    """Runs a few lines in a process of their own."""

    def run(lines: str, *args: object, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", "".join(map(textwrap.dedent, (_PREPARE, lines, _LEAVE))), *map(str, args)],
            env=os.environ | env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def _order(lake: Lake) -> list[str]:
    """Interfaces of appends as the lake has them, each of which must be whole and there once."""
    rows = lake.scan(LANE_SAMPLES).collect()
    counts = rows.group_by("interface", maintain_order=True).len()

    assert {COUNT} == set(counts["len"])
    return list(counts["interface"])


@pytest.mark.parametrize("same_disk", [True, False], ids=["spool on the full disk", "spool on another disk"])
def test_a_full_disk_costs_no_rows(program: Program, small_disk: Path, tmp_path: Path, *, same_disk: bool) -> None:
    folder = (small_disk if same_disk else tmp_path) / "spool"
    done = program(
        """
        import subprocess
        lake, disk = Lake(sys.argv[1] + "/lake"), sys.argv[1]
        one = spool.Spool(lake, Path(sys.argv[2]), say=print)
        for number in range(20):
            one.append(LANE_SAMPLES, rows(number))
        assert one.state.error, one.state
        print("memory" if one.state.memory_rows else "disk", one.state.rows)
        assert lake.scan(LANE_SAMPLES).collect().height + one.state.rows == 20 * 2000
        subprocess.run(["mount", "-o", "remount,size=16m", disk], check=True)
        one.append(LANE_SAMPLES, rows(20))
        assert one.state.rows == one.state.files == one.state.dropped_rows == 0, one.state
        """,
        small_disk,
        folder,
    )

    assert 0 == done.returncode, done.stderr[-2000:]
    assert ("memory " if same_disk else "disk ") in done.stdout
    assert "No space left on device" in done.stdout
    assert [f"e{number}" for number in range(21)] == _order(Lake(str(small_disk / "lake")))
    assert [] == list(folder.glob("*.arrow*"))


def test_files_that_may_not_grow_cost_no_rows(program: Program, tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for a quota, and needs no root."""
    done = program(
        """
        lake = Lake(sys.argv[1] + "/lake")
        one = spool.Spool(lake, Path(sys.argv[1], "spool"), say=print)
        one.append(LANE_SAMPLES, rows(0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
        for number in range(1, 4):
            one.append(LANE_SAMPLES, rows(number))
        assert one.state.memory_rows == 3 * 2000, one.state
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        one.append(LANE_SAMPLES, rows(4))
        assert one.state.rows == 0, one.state
        """,
        tmp_path,
    )

    assert 0 == done.returncode, done.stderr[-2000:]
    assert "File too large" in done.stdout
    assert ["e0", "e1", "e2", "e3", "e4"] == _order(Lake(str(tmp_path / "lake")))


def _s3(port: int) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
    }


@pytest.fixture(name="silent_port")
def _silent_port() -> Iterator[int]:
    """Takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield int(listening.getsockname()[1])


@pytest.fixture(name="closed_port")
def _closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.parametrize("kind", ["closed_port", "silent_port"])
def test_an_object_store_that_is_away_costs_no_rows_and_little_time(
    program: Program, tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    """The rows of the outage are replayed by the next process, into a lake that answers."""
    began = time.monotonic()
    done = program(
        """
        spool._FIRST_WAIT_S = 2.0
        one = spool.Spool(Lake("s3://bucket/lake"), Path(sys.argv[1]), patience_s=2.0, say=print)
        longest = 0.0
        for number in range(6):
            began = time.monotonic()
            one.append(LANE_SAMPLES, rows(number))
            longest = max(longest, time.monotonic() - began)
        assert longest < 12.0, longest  # of a machine with much else to do; the silent one takes minutes to give up
        assert one.state.files == 6, one.state
        """,
        tmp_path / "spool",
        **_s3(request.getfixturevalue(kind)),
    )

    assert 0 == done.returncode, done.stderr[-2000:]
    assert 1 == done.stdout.count("the lake cannot be written")
    assert time.monotonic() - began < 60, "a hanging attempt must not keep the process from its end"

    lake = Lake(str(tmp_path / "lake"))
    one = Spool(lake, tmp_path / "spool")

    assert one.replay()
    assert [f"e{number}" for number in range(6)] == _order(lake)


def test_a_kill_between_commit_and_unlink_repeats_nothing(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    for start in (0, 10):
        done = program(
            """
            class Killed(Lake):
                away = True

                def append(self, table, rows, *, mark=None):
                    if self.away:
                        raise OSError("away")
                    super().append(table, rows, mark=mark)
                    os.kill(os.getpid(), signal.SIGKILL)

            lake, start = Killed(sys.argv[1]), int(sys.argv[3])
            one = spool.Spool(lake, Path(sys.argv[2]))
            for number in range(start, start + 3):
                one.append(LANE_SAMPLES, rows(number))
            lake.away = False
            one.append(LANE_SAMPLES, rows(start + 3))
            """,
            tmp_path / "lake",
            folder,
            start,
        )

        assert -9 == done.returncode, done.stderr[-2000:]
    assert [] != list(folder.glob("*.arrow"))

    lake = Lake(str(tmp_path / "lake"))
    one = Spool(lake, folder)
    one.append(LANE_SAMPLES, _some("last").to_arrow())

    assert one.replay()
    assert ["e0", "e1", "e2", "e3", "e10", "e11", "e12", "e13", "last"] == _order(lake)


def test_a_write_that_is_killed_leaves_no_torn_file(program: Program, tmp_path: Path) -> None:
    """SIGKILL at any moment of a spooling process; whatever it said it kept is there."""
    kept = 0
    for delay_s in (0.0, 0.01, 0.03, 0.06, 0.1):
        done = program(
            """
            class Away(Lake):
                def append(self, table, rows, *, mark=None):
                    raise OSError("away")

            import threading
            start, delay_s = int(sys.argv[2]), float(sys.argv[3])
            one = spool.Spool(Away("nowhere"), Path(sys.argv[1]))
            one.append(LANE_SAMPLES, rows(start))
            print(start, flush=True)
            threading.Timer(delay_s, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
            for number in range(start + 1, start + 200):
                one.append(LANE_SAMPLES, rows(number))
                print(number, flush=True)
            time.sleep(10)
            """,
            tmp_path / "spool",
            kept,
            delay_s,
        )
        assert -9 == done.returncode, done.stderr[-2000:]
        kept = int(done.stdout.split()[-1]) + 1
    lake = Lake(str(tmp_path / "lake"))
    one = Spool(lake, tmp_path / "spool")

    assert 0 == one.state.bad_files
    assert one.replay(limit_s=60)
    assert {f"e{number}" for number in range(kept)} <= set(lake.scan(LANE_SAMPLES).collect()["interface"])
    assert one.state.bad_files == one.state.rows == 0


def _some(interface: str) -> pl.DataFrame:
    times = [T0 + timedelta(seconds=i) for i in range(COUNT)]
    return pl.DataFrame({"time": times, "received_at": times}).with_columns(
        site=pl.lit("s"),
        device=pl.lit("d"),
        interface=pl.lit(interface),
        lane=pl.lit(1, pl.Int8),
        quality=pl.lit(0, pl.Int16),
        source=pl.lit("snmp"),
    )
