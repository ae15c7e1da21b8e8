"""``ethtool -S``: a driver's statistics, as text and as JSON (``ethtool --json -S``).

Drivers name the same counter in their own ways; what is taken is named below, by driver. A counter that a driver tells
by priority or by queue is not added up: nothing says that the parts are all there are.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ingest.dumps.ethtool_names import command_of
from ingest.dumps.format import JsonFormat, TextFormat
from ingest.dumps.numbers import whole
from ingest.dumps.reading import Reading
from ingest.dumps.source import Document, Dump, Json
from ingest.quarantine import Kind

__all__ = ["COUNTERS", "JSON", "TEXT", "take_counter"]

COUNTERS: Final[Mapping[str, str]] = {
    # mlx5
    "rx_packets_phy": "in_packets",
    "tx_packets_phy": "out_packets",
    "rx_crc_errors_phy": "crc_errors",
    "rx_symbol_err_phy": "symbol_errors",
    "rx_pcs_symbol_err_phy": "symbol_errors",
    "link_down_events_phy": "link_flaps",
    "module_bus_stuck": "read_errors",  # the I2C bus to the module
    # bnxt_en
    "rx_fcs_err_frames": "crc_errors",
    "rx_total_frames": "in_packets",
    "tx_total_frames": "out_packets",
    "link_down_events": "link_flaps",
    "rx_fec_corrected_blocks": "fec_corrected",
    "rx_fec_uncorrectable_blocks": "fec_uncorrected",
    "fec_corrected_blocks": "fec_corrected",
    "fec_uncorrectable_blocks": "fec_uncorrected",
    # ice, i40e
    "rx_crc_errors.nic": "crc_errors",
    "port.rx_crc_errors": "crc_errors",
    "link_down_events.nic": "link_flaps",
    # what several drivers share; Cumulus' switchd
    "rx_crc_errors": "crc_errors",
    "rx_fcs_errors": "crc_errors",
    "HwIfInFcsErrors": "crc_errors",
    "rx_packets": "in_packets",
    "tx_packets": "out_packets",
    "rx_symbol_errors": "symbol_errors",
    "fec_corrected_errors": "fec_corrected",
    "fec_uncorrected_errors": "fec_uncorrected",
}
"""Counters by the driver's name; of two that mean the same the one named first here counts."""

_ORDER: Final = {name: place for place, name in enumerate(COUNTERS)}
_LINE: Final = re.compile(r"^\s+([\w.\[\]:-]+(?: [\w.\[\]:-]+)*)\s*:\s*(-?\d+)\s*$")
_BIN: Final = re.compile(r"(?:rx_)?fec_bin[_s]?(\d{1,2})|rs_fec_hist_bin_?(\d{1,2})|rx_rs_fec_bin_(\d{1,2})")
_BINS: Final = 16


def _knows_text(head: str) -> bool:
    return any(line.strip() in ("NIC statistics:", "Port statistics:") for line in head.splitlines())


def _read_text(dump: Dump) -> Iterator[Reading]:
    interface: str | None = None
    reading: Reading | None = None
    taken: dict[str, int] = {}
    for number, line in dump.lines():
        if named := command_of(line):
            interface = named
        elif line.strip() in ("NIC statistics:", "Port statistics:"):
            if reading is not None:
                yield reading
            reading, interface, taken = Reading(number, interface=interface), None, {}
        elif reading is not None and (found := _LINE.match(line)):
            take_counter(reading, found[1], whole(found[2]), taken)
        elif reading is not None and ":" in line and line[:1].isspace():
            dump.doubt(Kind.VALUE, number, "a statistic that is not a whole number", line)
    if reading is not None:
        yield reading


def take_counter(reading: Reading, name: str, value: int | None, taken: dict[str, int]) -> None:
    """Take one statistic.

    Args:
        reading: of the port.
        name: as the driver has it.
        value: what it counts.
        taken: by column, the place in `COUNTERS` of the name that it was taken from; kept up to date.
    """
    if found := _BIN.fullmatch(name):
        _bin(reading, int(next(filter(None, found.groups()))), value)
        return
    column = COUNTERS.get(name)
    if column and value is not None and value >= 0 and _ORDER[name] < taken.get(column, len(_ORDER)):
        reading.count(column, value)
        taken[column] = _ORDER[name]


def _bin(reading: Reading, place: int, value: int | None) -> None:
    if place < _BINS and value is not None and 0 <= value < 2**63:
        bins = reading.fec_bins = reading.fec_bins or [0] * _BINS
        bins[place] = value


def _knows_json(value: Json) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(_is_statistics(item) for item in items[:8])


def _is_statistics(item: object) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("ifname"), str):
        return False
    return len(item.keys() & COUNTERS.keys()) > 0 or isinstance(item.get("statistics"), dict)


def _read_json(document: Document, dump: Dump) -> Iterator[Reading]:
    items = document.value if isinstance(document.value, list) else [document.value]
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("ifname"), str):
            dump.doubt(Kind.ROW, document.line, "statistics without ifname", item)
            continue
        reading, taken = Reading(document.line, interface=item["ifname"]), dict[str, int]()
        told = item["statistics"] if isinstance(item.get("statistics"), dict) else item
        for name, value in told.items():
            take_counter(reading, str(name), whole(value), taken)
        yield reading


TEXT: Final = TextFormat("ethtool-statistics", _knows_text, _read_text)
JSON: Final = JsonFormat("ethtool-statistics-json", _knows_json, _read_json)
