"""``mlxlink -m -c -e --json`` and the same as text: a port of an NVIDIA adapter or switch, its module and its counters.

Bit error ratios are of the port's receiver: raw is before FEC. ``15E-255`` is how a ratio that was not measured reads.
Values with the module's limits behind them are ``1.05,0.98 [-8.4..5.0]``: low and high alarm.
"""

import re
from collections.abc import Iterator
from typing import Final

from ingest.decode.slots import Quantity
from ingest.dumps.ethtool_names import LONGEST_COMMAND
from ingest.dumps.format import JsonFormat, TextFormat
from ingest.dumps.numbers import decimal, flag, lanes_of, told, whole
from ingest.dumps.reading import Reading
from ingest.dumps.source import Document, Dump, Json
from ingest.quarantine import Kind
from ingest.units import NOT_MEASURED_BER

__all__ = ["JSON", "TEXT"]

_SECTIONS: Final = ("Operational Info", "Module Info", "Physical Counters and BER Info")
_COMMAND: Final = re.compile(r"mlxlink\b.*?\s-(?:d|-device)[= ]\s*(\S+)")
_LANES: Final[dict[str, tuple[Quantity, float]]] = {
    "Bias Current [mA]": ("tx_bias_ma", 1.0),
    "Rx Power Current [dBm]": ("rx_power_dbm", 1.0),
    "Tx Power Current [dBm]": ("tx_power_dbm", 1.0),
    "SNR Media Lanes [dB]": ("snr_db", 1.0),
    "SNR Host Lanes [dB]": ("host_snr_db", 1.0),
}
_OF_MODULE: Final[dict[str, tuple[Quantity, float]]] = {
    "Temperature [C]": ("temperature_c", 1.0),
    "Voltage [mV]": ("voltage_v", 1e-3),
}
_TEXTS: Final = {
    "Identifier": "form_factor",
    "Vendor Name": "vendor",
    "Vendor Part Number": "part_number",
    "Vendor Serial Number": "serial",
    "FW Version": "firmware",
    "FEC": "fec_mode",
}
_COUNTERS: Final = {
    "Symbol Errors": "symbol_errors",
    "Link Down Counter": "link_flaps",
    "RS-FEC Corrected Blocks": "fec_corrected",
    "RS-FEC Uncorrectable Blocks": "fec_uncorrected",
    "FC-FEC Corrected Blocks": "fec_corrected",
    "FC-FEC Uncorrectable Blocks": "fec_uncorrected",
}
_FLAGS: Final = {"Rx LOS [per lane]": "rx_los", "Tx Fault [per lane]": "tx_fault", "Rx CDR LOL [per lane]": "cdr_lol"}
_BER, _BER_PER_LANE = "Raw Physical BER", "Raw Physical BER Per Lane"
_RANGE: Final = re.compile(r"\[\s*([-+\d.]+)\s*\.\.\s*([-+\d.]+)\s*\]")
_LONGEST: Final = 1000  # characters of a cell
_SPEED: Final = re.compile(r"(\d{1,5})\s*G")
_INFINIBAND: Final = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}


def _knows_json(value: Json) -> bool:
    return _output(value) is not None


def _output(value: object) -> dict[str, object] | None:
    """The sections of a document: those of ``result.output``, or its own."""
    for name in ("result", "output"):
        if isinstance(value, dict) and isinstance(value.get(name), dict):
            value = value[name]
    if isinstance(value, dict) and any(isinstance(value.get(section), dict) for section in _SECTIONS):
        return value
    return None


def _read_json(document: Document, dump: Dump) -> Iterator[Reading]:
    reading = Reading(document.line, interface=_named(document.before))
    fields: dict[str, object] = {}
    for section in (_output(document.value) or {}).values():
        if isinstance(section, dict):
            fields |= {str(key).strip(): value for key, value in section.items()}
    _take(reading, fields, dump)
    yield reading


def _named(text: str) -> str | None:
    """The device of the command that a shell's protocol shows before its output."""
    found = [match[1] for line in text.splitlines() if (match := _COMMAND.search(line[:LONGEST_COMMAND]))]
    return found[-1].removeprefix("/dev/mst/") if found else None


def _knows_text(head: str) -> bool:
    lines = [line.strip() for line in head.splitlines()]
    return any(section in lines for section in _SECTIONS) and any(set(line) == {"-"} for line in lines if line)


def _read_text(dump: Dump) -> Iterator[Reading]:
    """Ports one after the other: each begins with what is operational."""
    interface: str | None = None
    reading: Reading | None = None
    fields: dict[str, object] = {}
    for number, line in dump.lines():
        interface = _named(line) or interface
        if line.strip() == _SECTIONS[0] or (reading is None and line.strip() in _SECTIONS):
            if reading is not None:
                _take(reading, fields, dump)
                yield reading
            reading, interface, fields = Reading(number, interface=interface), None, {}
        key, colon, value = line.partition(" : ")
        if reading is not None and colon:
            fields.setdefault(key.strip(), value.strip())
    if reading is not None:
        _take(reading, fields, dump)
        yield reading


def _take(reading: Reading, fields: dict[str, object], dump: Dump) -> None:
    for key, value in fields.items():
        if not told(value):
            continue
        if key in _LANES or key in _OF_MODULE:
            _measure(reading, key, value, dump)
        elif key in _TEXTS:
            reading.say(_TEXTS[key], str(value))
        elif key in _COUNTERS:
            reading.count(_COUNTERS[key], whole(value))
        elif key in _FLAGS:
            for _, cell in lanes_of(value):
                reading.flag(_FLAGS[key], value=flag(cell))
    if told(fields.get("State")):
        reading.states["oper_up"] = str(fields["State"]).strip().lower() == "active"
    reading.say("speed_gbps", _speed(str(fields.get("Speed", "")), str(fields.get("Width", ""))))
    _ratios(reading, fields)


def _measure(reading: Reading, key: str, value: object, dump: Dump) -> None:
    """A value of each lane, or one of the module, and the limits behind it."""
    quantity, scale = (_LANES | _OF_MODULE)[key]
    for lane, cell in lanes_of(value):
        number = decimal(cell)
        if number is None:
            if told(cell):
                dump.doubt(Kind.VALUE, reading.line, "not a number", cell, key)
            continue
        reading.put(quantity, number * scale, lane if key in _LANES else 0)
    if isinstance(value, str) and (found := _RANGE.search(value[:_LONGEST])):
        for name, limit in zip(("low_alarm", "high_alarm"), found.groups(), strict=True):
            number = decimal(limit)
            reading.limit(quantity, name, None if number is None else number * scale)


def _ratios(reading: Reading, fields: dict[str, object]) -> None:
    """The raw BER of the port, and of its lanes where they are the module's: as many as have a bias."""
    reading.put("pre_fec_ber", _measured(fields.get(_BER)))
    lanes = list(lanes_of(fields.get(_BER_PER_LANE)))
    if len(lanes) == sum(quantity == "tx_bias_ma" for _, quantity in reading.values):
        for lane, cell in lanes:
            reading.put("pre_fec_ber", _measured(cell), lane)


def _measured(cell: object) -> float | None:
    ratio = decimal(cell)
    return None if ratio is None or 0.0 < ratio < NOT_MEASURED_BER else ratio


def _speed(speed: str, width: str) -> float | None:
    """Gigabits a second: 400G of Ethernet; of InfiniBand a lane's rate times its width."""
    if found := _SPEED.search(speed):
        return float(found[1])
    rate = next((rate for name, rate in _INFINIBAND.items() if name in speed.upper()), None)
    lanes = whole(width.lower().removesuffix("x"))
    return rate * lanes if rate and lanes else None


TEXT: Final = TextFormat("mlxlink", _knows_text, _read_text)
JSON: Final = JsonFormat("mlxlink-json", _knows_json, _read_json)
