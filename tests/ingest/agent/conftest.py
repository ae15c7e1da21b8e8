"""A host without hardware: a made ``/sys``, and executables that print what ``ethtool`` and ``mlxlink`` do."""

from collections.abc import Callable
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[1] / "dumps" / "samples"


class Host:
    """A made host; no real NIC is behind it."""

    def __init__(self, root: Path) -> None:
        self.sys, self.bin = root / "sys", root / "bin"
        self.bin.mkdir(parents=True)
        self.tool(
            "ethtool",
            'case "$*" in',
            f'"--json -m "*) cat "{SAMPLES}/ethtool_module.json";;',
            f'"-S "*) cat "{SAMPLES}/ethtool_statistics.txt";;',
            "*) exit 1;;",
            "esac",
        )
        self.tool("mlxlink", f'cat "{SAMPLES}/mlxlink.json"')

    def tool(self, name: str, *lines: str) -> None:
        path = self.bin / name
        path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
        path.chmod(0o755)

    def nic(self, name: str, rdma: str | None = None, **files: str) -> None:
        """A physical port; `files` are written below its folder, ``__`` standing for a slash."""
        net = self.sys / "class" / "net" / name
        (net / "device").mkdir(parents=True)
        told = {"type": "1", "operstate": "up", "flags": "0x1003", "speed": "400000"}
        told |= {"carrier_up_count": "3", "carrier_down_count": "2", "statistics__rx_crc_errors": "5"}
        for file, text in (told | files).items():
            path = net / file.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        if rdma:
            (net / "device" / "infiniband" / rdma).mkdir(parents=True)

    def infiniband(self, device: str, **counters: str) -> None:
        port = self.sys / "class" / "infiniband" / device / "ports" / "1"
        (port / "counters").mkdir(parents=True)
        (port / "link_layer").write_text("InfiniBand\n")
        (port / "state").write_text("4: ACTIVE\n")
        for name, text in counters.items():
            (port / "counters" / name).write_text(text + "\n")


@pytest.fixture(name="host")
def _host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """With its tools first on the path, and no port yet."""
    host = Host(tmp_path / "host")
    monkeypatch.setenv("PATH", f"{host.bin}:/usr/bin:/bin")
    return host


@pytest.fixture(name="make_host")
def _make_host() -> Callable[[Path], Host]:
    return Host
