"""What other probers wrote: rpingmesh's summaries of paths, and logs after Pingmesh, into rows of ``probes``.

rpingmesh (yuuki/rpingmesh): ``PathSummary`` of its ``controller_agent.proto`` as JSON, alone or in a report.
Pingmesh (SIGCOMM 2015), as miqianmimi/pingmesh-graduate-project-2018 logs it: a JSON object a line, whose entries are
``[time, source, port, target, port, protocol, tier, length, rtt, error]``. They become windows of 20 s.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

from ingest.dumps.format import JsonFormat, TextFormat
from ingest.dumps.numbers import decimal, whole
from ingest.dumps.reading import LONGEST_NAME, Probed
from ingest.dumps.source import Document, Dump
from ingest.probes.tally import quantiles
from ingest.quarantine import Kind

__all__ = ["PINGMESH", "RPINGMESH"]

_WINDOW_S: Final = 20
_ENTRY: Final = 10
_MOST: Final = 2**62
_BILLION: Final = 1_000_000_000
_MICROSECONDS_FROM, _MILLISECONDS_FROM = 1e14, 1e11
"""A number of seconds as large lies beyond the year 5000, of milliseconds beyond 5000, too."""
_RETRIED_S: Final = 2.5
"""A TCP connection that took so long had its first SYN dropped; two drops are counted once (Pingmesh, section 4.2)."""


def _names(value: Mapping[str, object]) -> dict[str, object]:
    """Fields by their name in the .proto, however JSON writes it.

    >>> _names({"sourceGid": 1, "target_gid": 2})
    {'source_gid': 1, 'target_gid': 2}
    """
    return {
        "".join(f"_{mark.lower()}" if mark.isupper() else mark for mark in name): each for name, each in value.items()
    }


def _is_summary(value: object) -> bool:
    return isinstance(value, dict) and {"source_gid", "target_gid", "window_start_unix_ns"} <= _names(value).keys()


def _knows_summaries(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    inner = value.get("summaries")
    return _is_summary(value) or (isinstance(inner, list) and bool(inner) and any(map(_is_summary, inner)))


def _read_summaries(document: Document, dump: Dump) -> Iterator[Probed]:
    value = document.value
    assert isinstance(value, dict)  # noqa: S101 - known by `_knows_summaries`
    said = value.get("summaries") if not _is_summary(value) else [value]
    for each in said if isinstance(said, list) else []:
        try:
            row = _summary(_names(each) if isinstance(each, dict) else {})
        except ValueError as error:
            gid = each.get("sourceGid", each.get("source_gid")) if isinstance(each, dict) else None
            line = dump.line_of(document, gid) if isinstance(gid, str) else document.line
            dump.doubt(Kind.ROW, line, str(error), json.dumps(each))
        else:
            yield Probed(document.line, row)


def _summary(said: Mapping[str, object]) -> dict[str, Any]:
    """One path's window; what proto3 leaves out is 0.

    Raises:
        ValueError: it says what cannot be.
    """
    total, failed = _count(said, "probe_total"), _count(said, "probe_failed")
    invalid, good = _count(said, "invalid_rtt_count"), _count(said, "probe_success")
    if total != good + failed + invalid:
        msg = "probe_total is not what succeeded, failed and had no valid RTT"
        raise ValueError(msg)
    tors = said.get("source_tor_id"), said.get("target_tor_id")
    rtt = {name: _count(said, f"network_rtt_{name}_ns") for name in ("min", "p50", "p99", "max")}
    duration_ms = _count(said, "window_duration_ms")
    if not 0 < duration_ms <= 3_600_000:  # noqa: PLR2004 - an hour
        msg = "window_duration_ms is no length of a window"
        raise ValueError(msg)
    return {
        "time": _time(_count(said, "window_start_unix_ns") / _BILLION),
        "window_s": duration_ms / 1e3,
        "source_address": _gid(said.get("source_gid")),
        "target_address": _gid(said.get("target_gid")),
        "protocol": "rdma_ud",
        "kind": "tor_mesh" if tors[0] and tors[0] == tors[1] else "inter_tor",
        "sent": total,
        "lost": failed,
        "invalid_rtt": invalid,
        **{f"rtt_{name}_ns": value if good else None for name, value in rtt.items()},
    }


def _count(said: Mapping[str, object], name: str) -> int:
    value = whole(said.get(name, 0))
    if value is None or not 0 <= value < _MOST:
        msg = f"{name} is no count"
        raise ValueError(msg)
    return value


def _gid(said: object) -> str:
    """Address of a RoCEv2 GID: an IPv4 one where it maps one."""
    found = _address(said)
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


def _address(said: object) -> Any:
    try:
        return ip_address(said if isinstance(said, str) else "")
    except ValueError:
        msg = "an end that is no address"
        raise ValueError(msg) from None


def _time(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        msg = "a time that cannot be"
        raise ValueError(msg) from None


RPINGMESH: Final = JsonFormat("rpingmesh-summaries", _knows_summaries, _read_summaries)


@dataclass(slots=True)
class _Window:
    """Probes of one 5-tuple in one window."""

    line: int
    sent: int = 0
    lost: int = 0
    rtt_ns: list[int] = field(default_factory=list)


_Flow = tuple[int, str, int, str, int, str, str]
"""Number of the window, source, its port, target, its port, protocol, tier."""


def _log_line(line: str) -> dict[str, object] | None:
    """One line of a log, its names in small letters; None where it is none."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    found = {name.lower(): value for name, value in said.items()}
    return found if isinstance(found.get("entries"), list) and "host" in found else None


def _knows_log(head: str) -> bool:
    return any(_log_line(line) is not None for line in head.splitlines()[:20])


def _read_log(dump: Dump) -> Iterator[Probed]:
    windows: dict[_Flow, _Window] = {}
    for number, line in dump.lines():
        if not line.strip():
            continue
        said = _log_line(line)
        if said is None:
            dump.doubt(Kind.ROW, number, "no JSON object with host and entries", line)
            continue
        entries = said["entries"]
        for entry in entries if isinstance(entries, list) else []:
            try:
                _count_entry(windows, entry, number)
            except ValueError as error:
                dump.doubt(Kind.ROW, number, str(error), json.dumps(entry))
    for flow, window in windows.items():
        yield Probed(window.line, _window_row(flow, window))


def _count_entry(windows: dict[_Flow, _Window], entry: object, line: int) -> None:
    """Count a probe where it belongs.

    Raises:
        ValueError: it is no entry.
    """
    if not isinstance(entry, list) or len(entry) != _ENTRY:
        msg = f"an entry is no list of {_ENTRY}"
        raise ValueError(msg)
    seconds, scale = _seconds(entry[0])
    protocol, tier = entry[5], entry[6]
    if not (isinstance(protocol, str) and isinstance(tier, str) and max(len(protocol), len(tier)) <= LONGEST_NAME):
        msg = "protocol and tier are no names"
        raise ValueError(msg)
    rtt, failed = decimal(entry[8]), whole(entry[9])
    if failed is None or rtt is None or not 0.0 <= rtt * scale < _MOST / _BILLION:
        msg = "RTT or error is no number"
        raise ValueError(msg)
    ports = _port(entry[2]), _port(entry[4])
    source, target = str(_address(entry[1])), str(_address(entry[3]))
    flow = (int(seconds // _WINDOW_S), source, ports[0], target, ports[1], protocol, tier)
    window = windows.setdefault(flow, _Window(line))
    window.sent += 1
    if failed or (protocol == "tcp" and rtt * scale >= _RETRIED_S):
        window.lost += 1
    else:
        window.rtt_ns.append(round(rtt * scale * _BILLION))


def _seconds(said: object) -> tuple[float, float]:
    """Seconds since 1970, and what a unit of the entry's numbers is in seconds: logs give time and RTT in the same."""
    value = decimal(said)
    if value is None or value < 0.0:
        msg = "a time that cannot be"
        raise ValueError(msg)
    scale = 1e-6 if value >= _MICROSECONDS_FROM else 1e-3 if value >= _MILLISECONDS_FROM else 1.0
    _time(value * scale)
    return value * scale, scale


def _port(said: object) -> int:
    value = whole(said)
    if value is None or not 0 <= value <= 65_535:  # noqa: PLR2004 - of 16 bits
        msg = "a port that is none"
        raise ValueError(msg)
    return value


def _window_row(flow: _Flow, window: _Window) -> dict[str, Any]:
    number, source, source_port, target, target_port, protocol, tier = flow
    return {
        "time": _time(float(number * _WINDOW_S)),
        "window_s": float(_WINDOW_S),
        "source_address": source,
        "source_port": source_port,
        "target_address": target,
        "target_port": target_port,
        "protocol": protocol,
        "kind": tier,
        "sent": window.sent,
        "lost": window.lost,
        **quantiles("rtt", window.rtt_ns, least=True),
    }


PINGMESH: Final = TextFormat("pingmesh-log", _knows_log, _read_log)
