"""Prometheus' text of transceiver exporters, one scrape or many (a federation, with times).

Known are wobcom's transceiver-exporter and its forks (``transceiver_…``, ``transceiver_exporter_…``), node_exporter's
collectors ``ethtool``, ``infiniband`` and ``netclass``, and the SONiC exporter of vinted and its forks.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from ingest.dumps.format import TextFormat
from ingest.dumps.prometheus_names import ETHTOOL, METRICS, PORT_METRICS, SONIC, take_transceiver
from ingest.dumps.reading import Reading
from ingest.dumps.sonic_keys import take
from ingest.dumps.source import Dump
from ingest.quarantine import Kind

__all__ = ["TEXT"]

_SAMPLE: Final = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(-?\d+(?:\.\d+)?))?\s*")
_LABEL: Final = re.compile(r'\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_ESCAPED: Final = re.compile(r"\\(.)")
_PREFIXES: Final = ("transceiver_exporter_", "transceiver_")
_MARKS: Final = ("transceiver_", "node_ethtool_", "node_infiniband_", "sonic_transceiver_")
_MILLISECONDS: Final = 1e11  # a time above it is in milliseconds: seconds of that size lie beyond the year 5000
_YEARS: Final = (946_684_800.0, 4_102_444_800.0)

_Key = tuple[str | None, str, datetime | None]


def _knows(head: str) -> bool:
    return any(line.startswith(_MARKS) and _SAMPLE.fullmatch(line) for line in head.splitlines())


def _read(dump: Dump) -> Iterator[Reading]:
    readings: dict[_Key, Reading] = {}
    network: dict[_Key, Reading] = {}  # of any interface: bridges, loopback, containers
    host: str | None = None
    for number, line in dump.lines():
        if not line.strip() or line.startswith("#"):
            continue
        sample = _SAMPLE.fullmatch(line)
        if sample is None:
            dump.doubt(Kind.ROW, number, "not a sample: name, labels, value", line)
            continue
        name, labels = sample[1], _labels(sample[2] or "")
        if name == "node_uname_info":
            host = labels.get("nodename", host)
        try:
            _take(network if name.startswith("node_network_") else readings, number, name, labels, sample)
        except (OverflowError, ValueError):
            dump.doubt(Kind.VALUE, number, "not a value", sample[3], name)
    for key, reading in readings.items():
        reading.device = reading.device or host
        if key in network:
            reading.merge(network[key])
        yield reading


def _labels(text: str) -> dict[str, str]:
    return {
        found[1]: _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], found[2])
        for found in _LABEL.finditer(text)
    }


def _take(
    readings: dict[_Key, Reading], line: int, name: str, labels: Mapping[str, str], sample: re.Match[str]
) -> None:
    """Take a sample of a metric that is known."""
    short = next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), None)
    known = name in METRICS or name in ETHTOOL or name in SONIC or name in PORT_METRICS
    if short is None and not known:
        return
    interface = labels.get("interface" if short is not None else "device")
    if not interface:
        return
    if labels.get("port", "1") != "1":
        interface = f"{interface}/{labels['port']}"
    device = labels.get("instance", "").rpartition(":")[0] or labels.get("instance") or None
    key = (device, interface, _time(sample[4]))
    reading = readings.setdefault(key, Reading(line, device=device, interface=interface, time=key[2]))
    value = float(sample[3])
    if short is not None:
        take_transceiver(reading, short, labels, value)
    elif name in SONIC:
        text = str(int(value)) if value.is_integer() else str(value)
        take(reading, labels.get(SONIC[name], ""), text)
    elif name in PORT_METRICS:
        reading.states[PORT_METRICS[name]] = value == METRICS.get(name, 1.0)
    elif labels.get("method", "ucast") == "ucast":
        reading.count(ETHTOOL.get(name) or str(METRICS[name]), int(value))


def _time(text: str | None) -> datetime | None:
    """A sample's own time: milliseconds, or seconds in OpenMetrics."""
    if text is None:
        return None
    stamp = float(text)
    seconds = stamp / 1000.0 if abs(stamp) > _MILLISECONDS else stamp
    if not _YEARS[0] < seconds < _YEARS[1]:
        msg = "not a time"
        raise ValueError(msg)
    return datetime.fromtimestamp(seconds, UTC)


TEXT: Final = TextFormat("prometheus", _knows, _read)
