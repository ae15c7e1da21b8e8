"""Files of any format through ``forelight import``: what they leave out, what is refused, what is taken again."""

import gzip
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ingest.dumps import DumpReport, Given, NamePattern
from ingest.errors import ExportError
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES, Table
from serving.cli.app import app

Take = Callable[..., DumpReport]
Rows = Callable[[Table], list[dict[str, Any]]]

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODULE = """
\tIdentifier                                : 0x03 (SFP)
\tVendor name                               : Lumora
\tVendor SN                                 : {serial}
\tLaser output power                        : 0.5000 mW / -3.01 dBm
\tModule temperature                        : 41.55 degrees C / 106.78 degrees F
"""


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (Given(interface="eth0", at=AT), "names no device (give --device NAME"),
        (Given(device="gpu1", at=AT), "names no interface (give --interface NAME"),
        (Given(device="gpu1", interface="eth0"), "says no time (give --at TIME"),
        (Given(), "names no interface (give --interface NAME, or --names PATTERN), says no time (give --at TIME"),
    ],
)
def test_what_nobody_says_is_refused_with_the_way_to_say_it(
    take: Take, rows: Rows, tmp_path: Path, given: Given, reason: str
) -> None:
    """A device, port or time is never guessed."""
    path = tmp_path / "module.txt"
    path.write_text(MODULE.format(serial="A1"))

    report = take(path, given=given)

    assert reason in str(report.refused[0])
    assert f"{path}:2" in str(report.refused[0])
    assert [] == rows(LANE_SAMPLES)


def test_names_of_files_tell_device_and_port_only_when_told_how(take: Take, rows: Rows, tmp_path: Path) -> None:
    """Two underscores stand for the slash that no file name can have; the time is the file's own on demand."""
    path = tmp_path / "leaf01" / "swp1__1.txt"
    path.parent.mkdir()
    path.write_text(MODULE.format(serial="A1"))
    os.utime(path, (AT.timestamp(), AT.timestamp()))

    take(path, given=Given(at_mtime=True, names=NamePattern("{device}/{interface}.txt")))

    assert [("leaf01", "swp1/1", AT)] == [(row["device"], row["interface"], row["time"]) for row in rows(PORT_SAMPLES)]


@pytest.mark.parametrize("pattern", ["leaf01.txt", "{devise}.txt", "{device}{device}"])
def test_a_pattern_that_tells_nothing_is_an_error(pattern: str) -> None:
    """So is one with a name that is not known."""
    with pytest.raises(ExportError, match="is no pattern of names"):
        NamePattern(pattern)


def test_a_file_of_no_known_format_is_refused_and_the_others_are_kept(take: Take, rows: Rows, tmp_path: Path) -> None:
    """The refusal names the file, the line and what is known."""
    folder = tmp_path / "dumps"
    folder.mkdir()
    (folder / "notes.txt").write_text("remember the milk\n")
    (folder / "empty.txt").write_text("")
    (folder / "picture.bin").write_bytes(b"\x89PNG\0\0")
    (folder / "other.json").write_text('{"a": 1}')
    (folder / "cut.json").write_text('[{"identifier": 3,\n "vendor_name": ')
    (folder / "good.txt").write_text(MODULE.format(serial="A1"))

    report = take(folder, given=Given(device="d", interface="i", at=AT))

    reasons = {Path(finding.file).name: str(finding) for finding in report.refused}
    assert {"notes.txt", "empty.txt", "picture.bin", "other.json", "cut.json"} == set(reasons)
    assert "notes.txt:1: is none of the formats that are known (" in reasons["notes.txt"]
    assert "is empty" in reasons["empty.txt"]
    assert "is binary" in reasons["picture.bin"]
    assert "it has a" in reasons["other.json"]
    assert "cut.json:2: not JSON" in reasons["cut.json"]
    assert 1 == len(rows(LANE_SAMPLES))


def test_a_file_of_which_no_row_could_be_taken_is_refused(take: Take, tmp_path: Path) -> None:
    """A table that was cut off says nothing, and exit code 0 would be read as done."""
    path = tmp_path / "fec.txt"
    path.write_text("IFACE  STATE  FEC_CORR  FEC_UNCORR\n-----  -----  -----  -----\nEthernet0  U  130\n")

    (refused,) = take(path).refused

    assert "none of its rows could be taken" == refused.reason


def test_the_same_file_is_taken_once(take: Take) -> None:
    """Unless something else is given with it."""
    first, again, later = (
        take("ethtool_module.txt"),
        take("ethtool_module.txt"),
        take("ethtool_module.txt", given=Given(device="other", at=AT)),
    )

    assert (5, 0, 5) == (first.lane_samples, again.lane_samples, later.lane_samples)
    assert (False, True) == (first.files[0].known, again.files[0].known)


def test_another_serial_later_ends_the_installation_before(take: Take, rows: Rows, tmp_path: Path) -> None:
    """A dump that is older than what is known changes nothing."""
    for day, serial in ((1, "A1"), (9, "B2"), (5, "C3")):
        path = tmp_path / f"{serial}.txt"
        path.write_text(MODULE.format(serial=serial))
        take(path, given=Given(device="d", interface="i", at=datetime(2026, 3, day, tzinfo=UTC)))

    modules = {row["serial"]: row for row in rows(MODULES)}
    at = datetime(2026, 3, 9, tzinfo=UTC)
    assert {"A1", "B2"} == set(modules)
    assert (at, at) == (modules["A1"]["removed_at"], modules["B2"]["installed_at"])


def test_the_command_takes_files_and_tells_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``--json`` each file has its format, its readings and what was not taken."""
    monkeypatch.setenv("FORELIGHT_HOME", str(tmp_path / "home"))
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text(MODULE.format(serial="A1"))
    bad.write_text("nothing\n")

    result = CliRunner().invoke(
        app,
        ["import", str(good), str(bad), "--device", "d", "--interface", "i", "--at", "2026-03-01T00:00:00Z", "--json"],
    )

    told = json.loads(result.stdout)["dumps"]
    assert [("ethtool-module", 1), (None, 0)] == [
        (next(iter(file["formats"]), None), file["readings"]) for file in told["files"]
    ]
    assert {"error": 1} == told["files"][1]["counts"]
    assert (1, 1, 1) == (told["lane_samples"], told["port_samples"], told["modules"])
    assert isinstance(result.exception, ExportError)


def test_an_export_brings_its_dumps_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lie in its folder ``dumps``; a wrong option is an error of usage."""
    monkeypatch.setenv("FORELIGHT_HOME", str(tmp_path / "home"))
    export = tmp_path / "export"
    (export / "dumps").mkdir(parents=True)
    (export / "telemetry").mkdir()
    (export / "telemetry" / "part.csv").write_text("time,device,interface,rx_power_dbm\n2026-03-01T00:00:00Z,d,i,-2\n")
    (export / "dumps" / "module.txt").write_text(MODULE.format(serial="A1"))

    result = CliRunner().invoke(app, ["import", str(export), "--device", "d", "--interface", "i", "--at", "mtime"])

    assert 0 == result.exit_code, result.output
    assert "ethtool-module" in result.stdout
    assert "1 telemetry files taken" in result.stdout
    assert 2 == CliRunner().invoke(app, ["import", str(export), "--names", "x"]).exit_code
    assert 2 == CliRunner().invoke(app, ["import", str(export), "--at", "noon"]).exit_code


def test_a_packed_file_is_told_to_be_unpacked(take: Take, tmp_path: Path) -> None:
    """Archives of tech-support are packed when they come."""
    (packed := tmp_path / "sonic_dump.tar.gz").write_bytes(gzip.compress(b"{}"))

    assert "unpack it first (gunzip, tar -xzf, unzip)" in take(packed).refused[0].reason
