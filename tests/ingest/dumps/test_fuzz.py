"""Every format's samples, broken in every way that comes to mind: nothing crashes, nothing leaves its range."""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from ingest.dumps import FORMATS, Given, join, module_rows, rows_of, tables_of
from ingest.dumps.formats import detect
from ingest.dumps.reading import Cable, Probed, Reading
from ingest.dumps.source import Dump
from ingest.errors import ExportError
from ingest.lake import Lake
from ingest.quarantine import Quarantine
from ingest.schema import PROBES
from ingest.units import NO_LIGHT_DBM

SAMPLES = sorted(path for path in (Path(__file__).parent / "samples").iterdir() if path.name != "README.md")
GIVEN = Given(device="d", interface="i", at=datetime(2026, 3, 1, tzinfo=UTC))
ROUNDS = 60
HOSTILE = (
    *(
        "",
        "N/A",
        "-",
        "nan",
        "inf",
        "-inf",
        "-1",
        "0",
        "1e999",
        "-1e999",
        "9" * 40,
        "9" * 5000,
        "1.5e-300",
        "0x",
        "0xzz",
    ),
    *(
        "\0",
        "\ud7ff",
        "٣",
        "true",
        "null",
        "[]",
        "{}",
        '"',
        "'",
        ",",
        ":",
        "[[[[",
        "{{{{",
        "-40.0 dBm",
        "1 mW",
        "1 W / x",
    ),
    *("Ethernet99999999999999999999", "a" * 3000, "2026-03-01T00:00:00", "1772366400000000", "\u2028", "\x1b[31m"),
)
NODES: tuple[Any, ...] = (
    None,
    True,
    [],
    {},
    "",
    "N/A",
    -1,
    0,
    1e308,
    float("nan"),
    float("inf"),
    10**400,
    [[[]]],
    {"value": {}},
)


def _read(text: str, quarantine: Quarantine) -> None:
    """All that an import does to a file but the lake."""
    dump = Dump.of_text(text, quarantine)
    readings = []
    for said in detect(dump).read():
        if isinstance(said, Cable):
            assert all(isinstance(name, str) and name for end in (said.a, said.z) for name in end)
        elif isinstance(said, Probed):
            _is_a_window(said.row)
        elif not said.empty and GIVEN.complete(said) is None:
            readings.append(said)
    _judge(join(readings))


def _is_a_window(row: dict[str, Any]) -> None:
    now, ends = GIVEN.at, {"source_device": "a", "target_device": "b"}
    PROBES.of([row | ends | {"site": "default", "received_at": now, "source": "file"}]).validate(full=True)
    assert 0 <= row["lost"] <= row["sent"]
    assert all(row.get(f"rtt_{name}_ns") is None or row[f"rtt_{name}_ns"] >= 0 for name in ("min", "p50", "p99", "max"))
    for end in ("source", "target"):
        assert str(ip_address(row[f"{end}_address"])) == row[f"{end}_address"]


def _survives(text: str, quarantine: Quarantine) -> None:
    """It is read, or refused by the one error that names the file."""
    reason = "(text)"
    try:
        _read(text, quarantine)
    except ExportError as error:
        reason = str(error)
    assert reason.startswith("(text)")


def _judge(readings: list[Reading]) -> None:
    judged = rows_of(readings)
    lanes, ports = tables_of(judged)
    module_rows(readings, [], "default")
    for table in (lanes, ports):
        table.validate(full=True)
    for row in lanes.to_pylist():
        assert 0 <= row["lane"] <= 16
        assert all(row[name] is None or NO_LIGHT_DBM <= row[name] <= 15.0 for name in ("rx_power_dbm", "tx_power_dbm"))
        assert row["pre_fec_ber"] is None or 0.0 <= row["pre_fec_ber"] <= 1.0
    for row in ports.to_pylist():
        assert all(row[name] is None or row[name] >= 0 for name in ("crc_errors", "fec_corrected", "in_packets"))


def _broken_text(text: str, chance: random.Random) -> str:
    """Lines and cells cut, swapped, doubled, replaced."""
    lines = text.splitlines(keepends=True)
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(lines))
        match chance.randrange(7):
            case 0:
                del lines[place]
            case 1:
                lines.insert(chance.randrange(len(lines)), lines[place])
            case 2:
                lines[place] = lines[place][: chance.randrange(len(lines[place]) + 1)]
            case 3:
                cells = lines[place].replace(",", ", ").split(" ")
                cells[chance.randrange(len(cells))] = chance.choice(HOSTILE)
                lines[place] = " ".join(cells)
            case 4:
                start, _, rest = lines[place].partition(chance.choice([":", ",", '"', "="]))
                lines[place] = start + chance.choice(HOSTILE) + rest
            case 5:
                other = chance.randrange(len(lines))
                lines[place], lines[other] = lines[other], lines[place]
            case _:
                lines = lines[: place + 1]
        lines = lines or ["\n"]
    return "".join(lines)


def _broken_json(value: Any, chance: random.Random) -> Any:
    """Nodes of the tree replaced, dropped, renamed."""
    if chance.random() < 0.03:
        return chance.choice(NODES) if chance.random() < 0.5 else chance.choice(HOSTILE)
    if isinstance(value, dict):
        items = [(key, _broken_json(item, chance)) for key, item in value.items() if chance.random() > 0.01]
        return {(chance.choice(HOSTILE) if chance.random() < 0.01 else key): item for key, item in items}
    if isinstance(value, list):
        return [_broken_json(item, chance) for item in value]
    return value


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_broken_files_are_refused_and_never_crash(path: Path, quarantine: Quarantine) -> None:
    """The only error is the one that names the file; no value leaves its range on the way to the tables."""
    text = path.read_text(encoding="utf-8")
    chance = random.Random(path.name)
    for _ in range(ROUNDS):
        _survives(_broken_text(text, chance), quarantine)


@pytest.mark.parametrize("path", [path for path in SAMPLES if path.suffix == ".json"], ids=lambda path: path.name)
def test_json_with_anything_in_any_place_never_crashes(path: Path, quarantine: Quarantine) -> None:
    """A tool's next release has an object where there was a number."""
    text = path.read_text(encoding="utf-8")
    value = json.loads(text[min(text.index(mark) for mark in "[{" if mark in text) :])
    chance = random.Random(path.name)
    for _ in range(ROUNDS):
        _survives(json.dumps(_broken_json(value, chance)), quarantine)


def test_every_format_has_a_sample(quarantine: Quarantine) -> None:
    """A reader without one would not be fuzzed."""
    found = {name for path in SAMPLES for name in detect(Dump.of_file(path, path.name, quarantine)).names}

    assert set(FORMATS) == found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "not JSON"),
        ('{"TRANSCEIVER_INFO|Ethernet0": ' + '{"a":' * 100_000, "not JSON"),
        ('{"TRANSCEIVER_INFO|Ethernet0": {"serial": ' + "9" * 10_000 + "}}", "not JSON that can be read"),
        ("NIC statistics:\n" + " " * (2 << 20), "a line of more than 65,536 characters"),
    ],
)
def test_hostile_files_are_refused_within_bounds(text: str, reason: str, quarantine: Quarantine) -> None:
    """Depth, digits and lines have limits."""
    with pytest.raises(ExportError, match=reason):
        _read(text, quarantine)


def test_text_in_utf_16_is_read(tmp_path: Path, quarantine: Quarantine) -> None:
    """PowerShell writes it where output is redirected to a file."""
    path = tmp_path / "dump.txt"
    path.write_text("Ethernet0: SFP EEPROM detected\r\n        Vendor SN: LM1\r\n", encoding="utf-16")

    (reading,) = detect(Dump.of_file(path, "dump.txt", quarantine)).read()

    assert isinstance(reading, Reading)
    assert ("Ethernet0", "LM1") == (reading.interface, reading.module["serial"])


def test_a_broken_file_leaves_the_lake_whole(take: Callable[..., Any], lake: Lake, tmp_path: Path) -> None:
    """What was read before the break is kept, and the file is taken again once it is mended."""
    path = tmp_path / "cut.txt"
    path.write_text("Ethernet0: SFP EEPROM detected\n        Vendor SN: LM1\n" + "x" * (2 << 20))

    first = take(path, given=GIVEN)
    path.write_text("Ethernet0: SFP EEPROM detected\n        Vendor SN: LM1\n")
    second = take(path, given=GIVEN)

    assert (1, 0) == (len(first.refused), len(second.refused))
    assert (False, False) == (first.files[0].known, second.files[0].known)
    assert lake.uri
