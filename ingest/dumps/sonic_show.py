"""What SONiC's commands print: ``show interfaces transceiver eeprom -d``, ``info``, ``status``, ``pm``; sfputil's same.

``show interfaces counters fec-stats`` is a table of its own (`ingest.dumps.sonic_fec`).
"""

import re
from collections.abc import Iterator
from typing import Final

from ingest.dumps.format import TextFormat
from ingest.dumps.reading import Reading
from ingest.dumps.sonic_keys import UnreadError, take
from ingest.dumps.source import Dump
from ingest.quarantine import Kind

__all__ = ["TEXT"]

_DETECTED: Final = re.compile(r"(\S+?)\s*:\s*SFP EEPROM (detected|not detected)\s*", re.IGNORECASE)
_PORT: Final = re.compile(r"(Ethernet\S*?|\S*Eth\S*?\d\S*?)\s*:\s*(Transceiver .*)?")
_KEYS: Final = {
    "vendor sn": "serial",
    "vendor serial number": "serial",
    "vendor part number": "model",
    "vendor name": "manufacturer",
    "vendor pn": "model",
    "active firmware": "active_firmware",
    "active firmware version": "active_firmware",
    "application advertisement": "advertised",
    "identifier": "type",
    "rxpower": "rx1power",  # a module of one lane
    "txpower": "tx1power",
    "txbias": "tx1bias",
}
_FLAGS: Final = (
    (re.compile(r"rx loss of signal flag on media lane (\d+)"), "rx{}los"),
    (re.compile(r"tx fault flag on media lane (\d+)"), "tx{}fault"),
    (re.compile(r"rx clock and data recovery loss of lock on media lane (\d+)"), "rx{}cdrlol"),
)
_BER: Final = re.compile(r"Pre-FEC BER\s+N/A\s+\S+\s+(\S+)\s")
_LONGEST: Final = 200  # characters of a line that names a port
_STATUS: Final = "flag on media lane"
_MONITOR: Final = re.compile(r"\s+(?:ChannelMonitorValues|ModuleMonitorValues|MonitorData|RX\d?Power|Vendor SN)\s*:.*")
_TITLE: Final = re.compile(r"(Ethernet\d\S*?)\s*:\s+\D{3,60}", re.ASCII)


def _begins(line: str) -> re.Match[str] | None:
    """The line with which a port begins."""
    if len(line) > _LONGEST:
        return None
    return _DETECTED.fullmatch(line.strip()) or _PORT.fullmatch(line.rstrip()) or _TITLE.fullmatch(line.rstrip())


def _knows(head: str) -> bool:
    lines = head.splitlines()
    if any("SFP EEPROM" in line and _begins(line) for line in lines):
        return True
    ports = any(_begins(line) for line in lines)
    return ports and any(
        _STATUS in line.lower() or _MONITOR.fullmatch(line[:_LONGEST]) or _BER.search(f"{line[:_LONGEST]} ")
        for line in lines
    )


def _read(dump: Dump) -> Iterator[Reading]:
    reading: Reading | None = None
    for number, line in dump.lines():
        if found := _begins(line):
            if reading is not None:
                yield reading
            reading = Reading(number, interface=found[1])
        elif reading is not None and ":" in line and line[:1].isspace():
            _take(reading, number, line, dump)
        elif reading is not None and (ber := _BER.search(f"{line[:_LONGEST]} ")):
            _take_field(reading, number, "prefec_ber_avg", ber[1], dump)
    if reading is not None:
        yield reading


def _take(reading: Reading, number: int, line: str, dump: Dump) -> None:
    name, _, value = line.partition(":")
    name = name.strip().lower()
    key = _KEYS.get(name, name)
    for pattern, flag in _FLAGS:
        if found := pattern.fullmatch(name):
            key = flag.format(found[1])
    _take_field(reading, number, key, value.strip(), dump)


def _take_field(reading: Reading, number: int, key: str, value: str, dump: Dump) -> None:
    try:
        take(reading, key, value)
    except UnreadError as error:
        dump.doubt(Kind.VALUE, number, str(error), value, key)


TEXT: Final = TextFormat("sonic-show", _knows, _read)
