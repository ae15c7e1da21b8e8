"""Downs that a device explains and no optic: it rebooted, or many of its links went down at once.

A link has two ends, and either device may have told of it, over syslog or gNMI; so the reboot of a device explains its
own downs and those at the far ends of its links.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from ingest.exports.records import Port

__all__ = ["Downs", "explain_downs"]

_Device = tuple[str, str]
_Event = dict[str, Any]

_REBOOT: Final = timedelta(minutes=10)
_AT_ONCE: Final = timedelta(seconds=30)
_MANY: Final = 3  # links, and half of those that the device has
_MOST: Final = 100_000


def explain_downs(events: Sequence[_Event], peers: Mapping[Port, Port]) -> list[_Event]:
    """Say in the cause of each down what explains it.

    Args:
        events: rows of `port_events`, whose causes are changed.
        peers: the port at the far end of each.

    Returns:
        Those whose cause has changed.
    """
    reboots: dict[_Device, list[datetime]] = defaultdict(list)
    lost: dict[_Device, list[tuple[datetime, Port]]] = defaultdict(list)
    for event in events:
        if event["kind"] == "reboot":
            reboots[event["site"], event["device"]].append(event["time"])
        elif event["kind"] == "down":
            for device in _ends(event, peers):
                lost[device].append((event["time"], _port(event)))
    for downs in lost.values():
        downs.sort()
    links: dict[_Device, set[Port]] = defaultdict(set)
    for port in peers:
        links[port[:2]].add(port)
    changed = []
    for event in events:
        told = next(_reasons(event, peers, reboots, lost, links), None) if event["kind"] == "down" else None
        if told and told not in event["cause"]:
            event["cause"] = f"{event['cause']}; {told}"
            changed.append(event)
    return changed


def _reasons(
    event: _Event,
    peers: Mapping[Port, Port],
    reboots: Mapping[_Device, list[datetime]],
    lost: Mapping[_Device, list[tuple[datetime, Port]]],
    links: Mapping[_Device, set[Port]],
) -> Iterator[str]:
    at, own = event["time"], (event["site"], event["device"])
    for device in _ends(event, peers):
        if any(abs(at - reboot) <= _REBOOT for reboot in reboots.get(device, ())):
            yield f"{device[1]} rebooted" if device == own else f"{device[1]}, at the far end, rebooted"
    if "rebooted" in event["cause"] or "went down at once" in event["cause"]:
        return
    for device in _ends(event, peers):
        downs = lost[device]
        first, last = bisect_left(downs, (at - _AT_ONCE,)), bisect_right(downs, (at + _AT_ONCE, ("\U0010ffff",) * 3))
        gone = {min(port, peers.get(port, port)) for _, port in downs[first:last]}
        if len(gone) >= _MANY and 2 * len(gone) >= len(links.get(device, ())):
            yield f"{len(gone)} links of {device[1]} went down at once"


def _ends(event: _Event, peers: Mapping[Port, Port]) -> list[_Device]:
    """The device of a port, and the one at its far end."""
    far = peers.get(_port(event))
    return [(event["site"], event["device"]), *([far[:2]] if far else [])]


def _port(event: _Event) -> Port:
    return event["site"], event["device"], event["interface"]


class Downs:
    """Downs and reboots of the last minutes: what explains a down may be told after it."""

    def __init__(self) -> None:
        self._recent: list[_Event] = []

    def take(self, events: Iterable[_Event], peers: Mapping[Port, Port], now: datetime) -> list[_Event]:
        """Rows to write: the events, and of those before what has become explained, once more.

        Args:
            events: new ones.
            peers: the port at the far end of each.
            now: when they are written.
        """
        new = list(events)
        if not new:
            return []
        before = [event for event in self._recent if now - event["time"] <= 2 * _REBOOT]
        fresh = set(map(id, new))
        again = [event for event in explain_downs([*before, *new], peers) if id(event) not in fresh]
        for event in again:
            event["received_at"] = now
        self._recent = [event for event in (*before, *new) if event["kind"] in ("down", "reboot")][-_MOST:]
        return [*new, *again]
