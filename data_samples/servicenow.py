"""A made ServiceNow export: incidents about optics with the free text of many hands, in local time without a zone.

Names of devices and ports are written as people write them, resolution codes are the system's own, and what failed
stands in the notes. Beside each incident lies what really happened, so that a map of words can be judged.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from ingest.schema import Action, FailureType

__all__ = ["ZONE", "Incident", "write_incidents"]

ZONE: Final = "Europe/Berlin"
_HEADER: Final = (
    *("Number", "Short description", "Configuration item", "Port", "Module serial", "Opened", "Resolved", "State"),
    *("Priority", "Assignment group", "Resolution code", "Resolution notes", "Work notes"),
)
_ALIVE: Final = (
    "link down",
    "flapping all night",
    "CRC errors climbing",
    "FEC uncorrectables",
    "job lost NCCL ring",
    "high BER",
)
_PEOPLE: Final = ("Jo Doe", "A. Nowak", "Mia Chen", "dc-hands-2")
_CODES: Final = (
    "Hardware replaced",
    "Solved (Permanently)",
    "Solved (Work Around)",
    "Resolved by vendor",
    "Closed/Resolved by Caller",
)

_SAID: Final[dict[FailureType, tuple[str, ...]]] = {
    FailureType.LASER_DEGRADATION: (
        "Tx power low on lane 2, bias at max",
        "laser EOL per DOM, bias current climbing",
        "low light out of our side, tx -7 dBm on two lanes",
        "Laser dying. tx bias high alarm",
        "transmit power low, replaced",
    ),
    FailureType.CONTAMINATION: (
        "end face dirty, scope shows residue",
        "contaminated connector at panel B12",
        "MPO was filthy, wiped",
        "dust on the LC",
        "Fingerprint on ferrule - seen with scope",
    ),
    FailureType.FIBER_DAMAGE: (
        "fibre kinked behind the rack door",
        "patch cord bent below min radius",
        "Broken fiber in trunk 7, moved to spare pair",
        "jumper crushed by cable tray",
        "OTDR shows break at 31m",
    ),
    FailureType.RECEIVER_DEGRADATION: (
        "rx side deaf: far end light is fine, we see errors at -4",
        "receiver sensitivity gone, loopback ok on far side",
        "ROSA bad acc. to vendor",
        "Rx path of module faulty",
    ),
    FailureType.MODULE_ELECTRONICS: (
        "module not recognised, i2c timeouts",
        "EEPROM unreadable",
        "optic hung, DSP needs reset",
        "overtemp shutdown of optic",
        "Transceiver dead on arrival of new fw (no power draw)",
    ),
    FailureType.LOOSE_SEATING: (
        "module was not seated properly",
        "optic half out of the cage",
        "loose in cage, latch open",
        "pushed in until click, came up",
    ),
    FailureType.NO_FAULT_FOUND: (
        "NTF, link fine since",
        "No fault found.",
        "could not reproduce, closing",
        "cleared by itself before we got there",
        "False alarm, planned work of server team",
    ),
    FailureType.OTHER: ("see parent ticket", "done", "vendor to advise", "duplicate?", "handed over to shift B", "ok"),
}
_DID: Final[dict[Action, tuple[str, ...]]] = {
    Action.REPLACE_TRANSCEIVER: (
        "swapped the optic (old SN: {old}, new SN: {new})",
        "Replaced transceiver, old serial {old}",
        "new QSFP in, {new}",
        "RMA {old}; installed: {new}",
    ),
    Action.CLEAN_CONNECTOR: ("cleaned both ends w/ one-click", "Cleaned LC and inspected", "wiped MPO, re-scoped"),
    Action.RESEAT: ("reseated module", "pulled and re-inserted optic", "Re-seat done"),
    Action.RESET: ("bounced port (shut/no shut)", "reset module via cli", "power cycled cage"),
    Action.REPLACE_FIBER: ("replaced patch cord", "new jumper laid", "moved to spare fiber pair"),
    Action.NONE: ("no action",),
}
_CURES: Final = {
    FailureType.LASER_DEGRADATION: Action.REPLACE_TRANSCEIVER,
    FailureType.CONTAMINATION: Action.CLEAN_CONNECTOR,
    FailureType.FIBER_DAMAGE: Action.REPLACE_FIBER,
    FailureType.RECEIVER_DEGRADATION: Action.REPLACE_TRANSCEIVER,
    FailureType.MODULE_ELECTRONICS: Action.REPLACE_TRANSCEIVER,
    FailureType.LOOSE_SEATING: Action.RESEAT,
}
_SHARES: Final = (0.22, 0.24, 0.12, 0.06, 0.1, 0.08, 0.13, 0.05)
"""Of causes, in the order of `_SAID`: connectors first, as CorrOpt found (SIGCOMM 2017) [judgement]."""
_TRIED: Final = (Action.RESEAT, Action.CLEAN_CONNECTOR, Action.RESET)


@dataclass(frozen=True, slots=True)
class Incident:
    """What an incident was really about.

    Attributes:
        port: device and interface; None where what is written names none that there is.
        repairs: all that was done, in order.
    """

    number: str
    port: tuple[str, str] | None
    failure_type: FailureType
    repairs: tuple[Action, ...]
    opened_at: datetime


def write_incidents(
    out: Path, ports: Sequence[tuple[str, str, str]], start: datetime, *, count: int = 500, seed: int = 7
) -> list[Incident]:
    """Write an export.

    Args:
        out: the file.
        ports: device, interface and serial of modules.
        start: the first incident is opened some time after it; they come over 120 days.
        count: of incidents.
        seed: of all that is drawn.

    Returns:
        What each was about.
    """
    rng = np.random.default_rng([seed, 41])
    opened = sorted(start + timedelta(minutes=int(each)) for each in rng.integers(0, 120 * 1440, count))
    rows, truths = [], []
    for number, at in enumerate(opened):
        row, truth = _incident(rng, f"INC{10_000 + number:07d}", ports[int(rng.integers(len(ports)))], at)
        rows.append(row)
        truths.append(truth)
    with out.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(_HEADER)
        writer.writerows(rows)
    return truths


def _incident(
    rng: np.random.Generator, number: str, port: tuple[str, str, str], opened: datetime
) -> tuple[list[str], Incident]:
    device, interface, serial = port
    kind = list(_SAID)[int(rng.choice(len(_SAID), p=_SHARES))]
    cure = _CURES.get(kind)
    tried = [_TRIED[int(rng.integers(len(_TRIED)))]] if cure and rng.random() < 0.3 else []  # noqa: PLR2004 - [judgement]
    done = tuple(dict.fromkeys([*tried, *([cure] if cure else [])]))
    known = bool(rng.random() >= 0.03)  # noqa: PLR2004 - hand-typed names are wrong in 3 % [judgement]
    written = (device if known else f"{device}x", interface)
    resolved = opened + timedelta(minutes=int(rng.integers(40, 3_000)))
    said = _pick(rng, _SAID[kind])
    row = [
        number,
        f"{written[0]} {_typed(rng, interface)} {_pick(rng, _ALIVE)}",
        f"{written[0]}.fab1.example.net" if rng.random() < 0.5 else written[0].upper(),  # noqa: PLR2004 - either
        "" if rng.random() < 0.25 else _typed(rng, interface),  # noqa: PLR2004 - then only the text names it
        serial if known and rng.random() < 0.6 else "",  # noqa: PLR2004 - a field that is often left empty
        _local(opened),
        _local(resolved),
        "Closed",
        "3 - Moderate",
        "DC Network",
        _pick(rng, _CODES),
        said,
        _notes(rng, opened, resolved, done, serial),
    ]
    return row, Incident(number, (device, interface) if known else None, kind, done, opened)


def _pick(rng: np.random.Generator, texts: Sequence[str]) -> str:
    return texts[int(rng.integers(len(texts)))]


def _typed(rng: np.random.Generator, interface: str) -> str:
    """A port's name as somebody types it."""
    if interface.startswith("Ethernet") and "/" in interface:
        return _pick(rng, (interface, interface.replace("Ethernet", "Eth"), interface.replace("Ethernet", "Ethernet ")))
    return interface if rng.random() < 0.8 else interface.upper()  # noqa: PLR2004 - some shout


def _local(at: datetime) -> str:
    return f"{at.astimezone(ZoneInfo(ZONE)):%Y-%m-%d %H:%M:%S}"


def _notes(
    rng: np.random.Generator, opened: datetime, resolved: datetime, done: tuple[Action, ...], serial: str
) -> str:
    """The journal, the newest entry first."""
    entries = [(opened + timedelta(minutes=5), "Picked up, looking at counters")]
    for place, action in enumerate(done, 1):
        at = opened + (resolved - opened) * place / (len(done) + 1)
        did = _pick(rng, _DID[action]).format(old=serial, new=f"{serial[:-1]}Z9")
        entries.append((at, f"{did}. " + ("Link up, errors gone." if place == len(done) else "No change.")))
    return "\n\n".join(f"{_local(at)} - {_pick(rng, _PEOPLE)} (Work notes)\n{text}" for at, text in reversed(entries))
