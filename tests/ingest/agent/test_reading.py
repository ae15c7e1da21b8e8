"""What the agent reads: the kernel's files and the tools of a made host, since no NIC is here."""

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.agent.loop import Agent, Options
from ingest.agent.pushing import Service
from ingest.agent.reading import Round, as_sample
from ingest.agent.running import run
from ingest.agent.spool import Spool
from ingest.agent.sysfs import found
from ingest.errors import BusyError, ConfigError

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
Host = Any


def only_sample(host: Host, reader: Round | None = None) -> dict[str, Any]:
    reader = reader or Round(host.sys, 10.0)
    (reading,) = reader.read(found(host.sys), AT)
    return as_sample(reading)


class TestRound:
    def test_kernel_ethtool_and_mlxlink_make_one_reading(self, host: Host) -> None:
        host.nic("eth0")

        sample = only_sample(host)

        assert ("eth0", AT.isoformat(), True, True) == (
            sample["interface"],
            sample["time"],
            sample["oper_up"],
            sample["admin_up"],
        )
        assert ("LM0000400", "Lumora", "2.1") == tuple(
            sample["module"][name] for name in ("serial", "vendor", "firmware")
        )
        assert [1, 2, 3] == [lane["lane"] for lane in sample["lanes"]][:3]
        assert 51.5 == sample["temperature_c"]
        assert 1.0 == pytest.approx(sample["lanes"][0]["tx_power_dbm"], abs=0.01)
        assert 3 == sample["crc_errors"]  # of ethtool, before the kernel's 5

    def test_one_port_is_read_by_one_tool_at_a_time(self, host: Host, tmp_path: Path) -> None:
        """Two readers of one module's EEPROM disturb each other, and take each other's latched flags (rows 33, 55)."""
        log = tmp_path / "log"
        for tool in ("ethtool", "mlxlink"):
            host.tool(tool, f'echo begin >> "{log}"', "sleep 0.1", f'echo end >> "{log}"', "exit 1")
        host.nic("eth0", rdma="mlx5_0")
        host.infiniband("mlx5_0")

        only_sample(host)

        told = log.read_text().split()
        assert len(told) >= 6, "ethtool -m, ethtool -S and mlxlink"
        assert ["begin", "end"] * (len(told) // 2) == told

    def test_an_infiniband_port_is_read_by_mlxlink_and_its_counters(self, host: Host) -> None:
        host.infiniband("mlx5_3", symbol_error="9", link_downed="4", port_rcv_packets="100")

        sample = only_sample(host)

        assert ("mlx5_3", True, 100) == (sample["interface"], sample["oper_up"], sample["in_packets"])
        assert "LM0000801" == sample["module"]["serial"]
        assert 3 == sample["link_flaps"]  # of mlxlink, before the kernel's 4

    def test_no_light_goes_out_as_the_floor(self, host: Host) -> None:
        host.nic("eth0")

        lanes = only_sample(host)["lanes"]

        assert -40.0 == min(lane["tx_power_dbm"] for lane in lanes)

    def test_a_tool_that_knows_no_json_is_read_as_text_and_asked_so_from_then_on(
        self, host: Host, tmp_path: Path
    ) -> None:
        samples = Path(__file__).parents[1] / "dumps" / "samples"
        log = tmp_path / "asked"
        host.tool(
            "ethtool",
            f'echo "$*" >> {log}',
            f'case "$*" in "-m "*) cat "{samples}/ethtool_module.txt";; *) exit 1;; esac',
        )
        host.nic("eth0")
        reader = Round(host.sys, 10.0)

        first, again = only_sample(host, reader), only_sample(host, reader)

        assert first == again
        assert first["module"]["serial"]
        assert 1 == log.read_text().splitlines().count("--json -m eth0")
        assert 2 == log.read_text().splitlines().count("-m eth0")

    def test_a_host_without_tools_still_tells_what_the_kernel_says(self, host: Host) -> None:
        host.nic("eth0")
        (host.bin / "ethtool").unlink()
        reader = Round(host.sys, 10.0)

        sample = only_sample(host, reader)

        assert ({"interface", "time", "oper_up", "admin_up", "link_flaps", "crc_errors", "module"}) == set(sample)
        assert ["ethtool: not on this host"] == reader.errors

    def test_virtual_interfaces_are_none(self, host: Host) -> None:
        host.nic("eth0")
        (host.sys / "class" / "net" / "docker0").mkdir()

        assert ["eth0"] == [nic.name for nic in found(host.sys)]
        assert [] == found(host.sys, ["eth1"])


class TestCommands:
    def test_one_that_does_not_end_is_killed_with_its_children(self, host: Host, tmp_path: Path) -> None:
        host.tool("ethtool", f"(sleep 3; touch {tmp_path}/alive) &", "sleep 60")
        began = time.monotonic()

        ran = run(["ethtool", "-m", "eth0"], 0.3)

        assert "no end in time" in str(ran.error)
        assert 2.0 > time.monotonic() - began
        time.sleep(3.2)
        assert not (tmp_path / "alive").exists()

    def test_one_that_prints_without_end_is_killed(self, host: Host) -> None:
        host.tool("ethtool", "yes")

        assert "prints more than 4 MB" in str(run(["ethtool"], 20.0).error)

    def test_one_that_is_not_there_or_fails_is_told(self, host: Host) -> None:
        host.tool("ethtool", "exit 3")

        assert run(["no-such-tool"], 1.0).missing
        assert "exit code 3" in str(run(["ethtool"], 5.0).error)

    def test_nothing_is_made_of_a_name_by_a_shell(self, host: Host, tmp_path: Path) -> None:
        host.tool("ethtool", 'echo "$2"')

        assert f"$(touch {tmp_path}/x)" == run(["ethtool", "-m", f"$(touch {tmp_path}/x)"], 5.0).text.strip()
        assert not (tmp_path / "x").exists()


class TestSpool:
    def test_what_was_put_is_there_after_a_restart_in_its_order(self, tmp_path: Path) -> None:
        spool = Spool(tmp_path, 1_000_000, print)
        for number in range(3):
            spool.put({"readings": [number]})
        spool.close()

        again = Spool(tmp_path, 1_000_000, print)

        assert [[0], [1], [2]] == [said["readings"] for _, said in again.oldest(1_000_000)]

    def test_the_oldest_make_room_and_that_is_said(self, tmp_path: Path) -> None:
        said: list[str] = []
        spool = Spool(tmp_path, 150, said.append)

        for number in range(5):
            spool.put({"readings": [number]})

        assert [4] == spool.oldest(1)[-1][1]["readings"] or spool.files < 5
        assert "dropped" in said[0]
        assert 150 >= sum(path.stat().st_size for path in tmp_path.glob("*.gz"))

    def test_a_torn_file_does_not_hold_up_the_others(self, tmp_path: Path) -> None:
        said: list[str] = []
        spool = Spool(tmp_path, 1_000_000, said.append)
        for number in range(2):
            spool.put({"readings": [number]})
        first = min(tmp_path.glob("*.gz"))
        first.write_bytes(first.read_bytes()[:-5])

        found = spool.oldest(1_000_000)

        assert [[1]] == [each["readings"] for _, each in found]
        assert "cannot be read" in said[0]

    def test_one_agent_has_it(self, tmp_path: Path) -> None:
        spool = Spool(tmp_path, 1_000_000, print)

        with pytest.raises(BusyError, match="another agent"):
            Spool(tmp_path, 1_000_000, print)
        spool.close()


class TestService:
    @pytest.mark.parametrize(
        ("url", "told"),
        [
            ("http://forelight.example:8000", "in the clear"),
            ("forelight.example", "no address"),
            ("https://x:99999", "no address"),
        ],
    )
    def test_an_address_that_gives_the_token_away_is_refused(self, url: str, told: str) -> None:
        with pytest.raises(ConfigError, match=told):
            Service(url, "t", None)

    def test_a_service_that_is_not_there_is_an_answer(self, host: Host, tmp_path: Path) -> None:
        host.nic("eth0")
        said: list[str] = []
        options = Options("gpu1", tmp_path / "spool", sys=host.sys)
        agent = Agent(options, Service("http://127.0.0.1:9", "t", None, 2.0), said.append)

        assert not agent.once()

        assert "service: the service does not take what is sent (not reached" in said[-1]
        assert 1 == len(list((tmp_path / "spool").glob("*.json.gz")))


def test_the_agent_imports_none_of_the_heavy_libraries() -> None:
    """It would not fit into its memory otherwise."""
    heavy = ("polars", "pyarrow", "fastapi", "pydantic", "numpy", "deltalake", "rich", "sqlalchemy", "httpx2")
    code = f"import sys, serving.cli.app, serving.cli.agent; print([n for n in {heavy!r} if n in sys.modules])"

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]" == ran.stdout.strip()


def test_a_carrier_that_went_between_two_rounds_is_an_event(
    host: Host, tmp_path: Path, make_host: Callable[[Path], Host]
) -> None:
    host.nic("eth0")
    agent = Agent(Options("gpu1", tmp_path / "spool", sys=host.sys), Service("http://127.0.0.1:9", "t", None), print)
    agent._watch()
    net = host.sys / "class" / "net" / "eth0"
    (net / "carrier_down_count").write_text("4\n")
    (net / "carrier_up_count").write_text("4\n")

    agent._watch()

    assert [("down", "carrier, 2 times within a second"), ("up", "carrier")] == [
        (event["kind"], event["cause"]) for event in agent._events
    ]
