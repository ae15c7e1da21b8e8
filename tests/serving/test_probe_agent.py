"""`forelight probe controller`, the service, and real agents on loopback: planned, probed, stopped, cut off."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.agent.pushing import Service
from ingest.lake import Lake
from ingest.probes.following import Follower
from ingest.probes.pinglist import Flow, Pinglist
from ingest.schema import LINKS, PROBES
from serving.access.auth import OperatorToken
from serving.access.tokens import Scope, TokenStore
from serving.cli import main
from serving.pinglists import PinglistStore
from serving.settings import Settings
from serving.store import AlarmStore

TOKEN = "correct horse battery staple"
ADDRESSES = {"gpu1": "127.78.1.1", "gpu2": "127.78.1.2"}
START = "from serving.cli import main\nmain()"
Run = Callable[..., Any]


@dataclass
class Site:
    """A service, its lake and database, and agents."""

    home: Path
    url: str
    store: AlarmStore
    lake: Lake
    lists: PinglistStore = field(init=False)
    agents: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lists = PinglistStore(self.store.engine)

    def start(self, device: str, *words: str) -> None:
        """The agent of a host, with the host's own token."""
        _, text = TokenStore(self.store.engine).create(
            device, Scope.INGEST, who="test", expires_at=None, device=("default", device)
        )
        env = os.environ | {"FORELIGHT_HOME": str(self.home), "FORELIGHT_AGENT_TOKEN": text}
        own = ["--url", self.url, "--device", device, "--spool", str(self.home / device), *words]
        with (self.home / f"{device}.log").open("ab") as log:
            process = subprocess.Popen([sys.executable, "-c", START, "probe", "agent", *own], stderr=log, env=env)
        self.agents[device] = process

    def rows(self, least: int) -> list[dict[str, Any]]:
        """Rows that agents have pushed, as soon as there are so many."""
        until = time.monotonic() + 60.0
        while True:
            found = self.lake.latest(PROBES).collect().to_dicts()
            if len(found) >= least:
                return found
            assert time.monotonic() < until, [file.read_text() for file in self.home.glob("*.log")]
            time.sleep(0.3)


@pytest.fixture(name="command")
def _command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command; gives what it printed."""

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["forelight", *words])
        with contextlib.suppress(SystemExit):
            main()
        told = capsys.readouterr()
        assert "" == told.err
        return told.out

    return run


@pytest.fixture(name="site")
def _site(tmp_path: Path, live: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    settings = Settings.from_env({"FORELIGHT_HOME": str(tmp_path)})
    monkeypatch.setenv("FORELIGHT_HOME", str(tmp_path))
    with AlarmStore(settings.database_url) as store:
        site = Site(tmp_path, live(settings, store, OperatorToken.of(TOKEN)), store, Lake(settings.lake_uri))
        yield site
        for agent in site.agents.values():
            agent.send_signal(signal.SIGTERM)
            agent.wait(10.0)


@pytest.fixture(name="nics")
def _nics(site: Site) -> Path:
    """Two hosts on one ToR, by the links of the lake."""
    now = datetime.now(UTC)
    ends = [
        {"a_device": "leaf1", "a_interface": f"Ethernet{number}", "z_device": device, "z_interface": "eth0"}
        for number, device in enumerate(ADDRESSES)
    ]
    same = {"received_at": now, "a_site": "default", "z_site": "default", "source": "file"}
    site.lake.append(LINKS, LINKS.of([end | same for end in ends]))
    path = site.home / "nics.csv"
    lines = [f"{device},eth0,{address}" for device, address in ADDRESSES.items()]
    path.write_text("\n".join(["device,interface,address", *lines, ""]))
    return path


PLAN = ("probe", "controller", "--once", "--window-s", "1", "--port", "47910", "--mesh-per-s", "20")


class TestFromPlanToRows:
    def test_agents_probe_what_is_planned_until_they_are_stopped(self, site: Site, nics: Path, command: Run) -> None:
        told = json.loads(command(*PLAN, "--nics", str(nics), "--json"))
        assert (2, 2, 2) == (told["hosts"], told["changed"], told["flows"])
        for device in ADDRESSES:
            site.start(device)

        rows = site.rows(6)

        assert {("gpu1", "gpu2"), ("gpu2", "gpu1")} == {(row["source_device"], row["target_device"]) for row in rows}
        assert {"tor_mesh"} == {row["kind"] for row in rows}
        settled = [row for row in rows if not row["epoch_changed"] and row["target_epoch"] is not None]
        assert settled
        assert 0 == sum(row["lost"] for row in settled)
        kept = site.home / "gpu1" / "pinglist.json"
        assert 0o600 == kept.stat().st_mode & 0o777  # it holds the key of the probes

    def test_an_unchanged_plan_is_not_written_again(self, site: Site, nics: Path, command: Run) -> None:
        command(*PLAN, "--nics", str(nics))

        assert "0 pinglists changed" in command(*PLAN, "--nics", str(nics))

    def test_a_stop_and_its_end_are_in_the_audit_log(self, site: Site, nics: Path, command: Run) -> None:
        command(*PLAN, "--nics", str(nics))
        command("probe", "stop", "--reason", "maintenance")
        stopped = site.lists.get("default", "gpu1").body
        command("probe", "resume")

        assert '"flows":[]' in stopped
        assert '"flows":[]' not in site.lists.get("default", "gpu1").body
        assert "probe stop" in command("audit", "list")


class TestFollower:
    """What an agent makes of what the service says, or does not say."""

    @pytest.fixture(name="follower")
    def _follower(self, site: Site, tmp_path: Path) -> Callable[[str], Follower]:
        site.lists.put({("default", "gpu1"): TODO})
        said: list[str] = []
        self.said = said

        def make(url: str = site.url) -> Follower:
            return Follower(Service(url, TOKEN, None), HEAD, tmp_path / "kept.json", said.append)

        return make

    def test_it_has_what_is_planned(self, follower: Callable[..., Follower], site: Site) -> None:
        found = follower()
        assert found.newest() is None
        assert found.look()
        first = found.newest()
        assert found.look()

        assert TODO == first
        assert found.newest() is first  # the very same: nothing to go over to
        site.lists.put({("default", "gpu1"): replace(TODO, window_s=5.0)})
        assert found.look()
        assert 5.0 == getattr(found.newest(), "window_s", None)

    def test_it_goes_on_with_the_last_while_the_service_is_away(self, follower: Callable[..., Follower]) -> None:
        assert follower().look()

        later = follower("http://127.0.0.1:9")
        assert not later.look()

        assert TODO == later.newest()
        assert ["no pinglist from the service (not reached: [Errno 111] Connection refused)"] == self.said

    def test_a_last_one_that_nobody_confirmed_for_a_day_is_none(
        self, follower: Callable[..., Follower], tmp_path: Path
    ) -> None:
        assert follower().look()
        old = time.time() - 86_401.0
        os.utime(tmp_path / "kept.json", (old, old))

        assert follower("http://127.0.0.1:9").newest() is None

    def test_a_service_that_says_the_same_confirms_it(self, follower: Callable[..., Follower], tmp_path: Path) -> None:
        assert follower().look()
        old = time.time() - 80_000.0
        os.utime(tmp_path / "kept.json", (old, old))

        assert follower().look()

        assert time.time() - (tmp_path / "kept.json").stat().st_mtime < 60.0

    @pytest.mark.parametrize("how", ["stopped", "empty", "gone"])
    def test_it_stops_when_it_is_told(self, follower: Callable[..., Follower], site: Site, how: str) -> None:
        found = follower()
        assert found.look()
        if how == "stopped":
            site.lists.stop("test", "flood")
        else:
            site.lists.put({("default", "gpu1"): replace(TODO, flows=())} if how == "empty" else {})

        assert found.look()
        assert (None, None) == (found.newest(), follower("http://127.0.0.1:9").newest())

    def test_a_kept_file_that_is_damaged_is_said_and_asked_for_anew(
        self, follower: Callable[..., Follower], tmp_path: Path
    ) -> None:
        (tmp_path / "kept.json").write_text("{")
        found = follower()

        assert found.newest() is None
        assert "is not read" in self.said[0]
        assert found.look()
        assert TODO == found.newest()

    def test_it_asks_again_and_again(self, follower: Callable[..., Follower], site: Site) -> None:
        found, stop = follower(), threading.Event()
        found._every_s = 0.1
        thread = threading.Thread(target=found.run, args=(stop,))
        thread.start()
        until = time.monotonic() + 10.0
        while found.newest() is None and time.monotonic() < until:
            time.sleep(0.05)
        site.lists.stop("test", "")
        while found.newest() is not None and time.monotonic() < until:
            time.sleep(0.05)
        stop.set()
        thread.join(10.0)

        assert found.newest() is None
        assert time.monotonic() < until


HEAD = {"site": "default", "device": "gpu1"}
TODO = Pinglist((Flow("eth0", "127.78.9.1", 61_000, "gpu2", "eth0", "127.78.9.2", "tor_mesh", 5.0),), (), bytes(16))
