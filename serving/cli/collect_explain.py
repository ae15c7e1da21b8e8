"""``forelight collect --explain DEVICE``: which profile reads a device and why, what it gives, and what is not read."""

import asyncio
import json
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from ingest.collect.explain import Explanation, explain
from ingest.config import Target, load_config
from ingest.decode.discover import Decoded
from ingest.errors import ConfigError, TransportError

__all__ = ["run"]

_WIDTH: Final = 160  # of a table that goes to a file or a pipe
_SHOWN: Final = 40  # of what is not read; JSON has all


def run(config: Path, device: str, *, as_json: bool) -> None:
    """Ask the device and print what was found; nothing is written.

    Raises:
        ConfigError: no such device in the configuration.
        TransportError: it does not answer; the text says why, as far as its agent lets on.
    """
    found = asyncio.run(explain(_target(config, device)))
    if found.silence:
        msg = f"{device}: {found.silence}"
        raise TransportError(msg)
    if as_json:
        print(json.dumps(_as_json(found), indent=2))  # noqa: T201 - the answer
    else:
        _show(found)


def _target(config: Path, device: str) -> Target:
    targets = load_config(config).target
    named = [t for t in targets if device in {t.device, f"{t.site}/{t.device}"}]
    if len(named) == 1:
        return named[0]
    if named:
        msg = f"{device!r} is at several sites; say {' or '.join(f'{t.site}/{t.device}' for t in named)}"
    else:
        msg = f"{config}: no target {device!r}; there are {', '.join(t.device for t in targets)}"
    raise ConfigError(msg)


def _show(found: Explanation) -> None:
    console = Console(markup=False, highlight=False, width=None if sys.stdout.isatty() else _WIDTH)
    say = partial(console.print, soft_wrap=True)
    say(f"{found.target.device}: {' '.join(found.description.split()) or 'no sysDescr'}")
    streams = found.target.protocol == "gnmi"
    if not streams:
        say(f"sysObjectID {found.object_id or 'none'}")
    for tried in found.tried:
        say(f"{'paths' if streams else 'profile'} {tried.profile}: {tried.why}; {tried.numbers} numbers of optics")
    empty = [column for column, rows in found.rows.items() if not rows]
    if empty:
        say(f"{'not told' if streams else 'columns without rows'}: {', '.join(empty)}")
    if found.decoded:
        console.print(_ports(found.decoded))
    for neighbour in found.lldp.neighbours:
        say(f"neighbour: {neighbour.interface} sees {neighbour.peer_device} {neighbour.peer_interface}")
    unread = [*found.unread, *found.lldp.doubts]
    say(f"not read: {len(unread)}" if unread else "everything that looks like an optic is read")
    for line in unread[:_SHOWN]:
        say(f"  {line}")
    if len(unread) > _SHOWN:
        say(f"  and {len(unread) - _SHOWN} more (--json has all)")


def _ports(decoded: Decoded) -> Table:
    table = Table()
    for name in ("interface", "state", "serial", "part number"):
        table.add_column(name, no_wrap=True)
    for name in ("lanes", "rx dBm", "tx dBm", "bias mA", "C", "V", "limits"):
        table.add_column(name, justify="right")
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    lanes: dict[str, set[int]] = defaultdict(set)
    for reading in decoded.readings:
        if reading.value is not None:
            values[reading.interface][reading.quantity].append(reading.value)
            lanes[reading.interface].add(reading.lane)
    for name, state in decoded.states.items():
        module = decoded.inventory.get(name)
        table.add_row(
            name,
            {True: "up", False: "down", None: "?"}[state.oper_up],
            (module and module.serial) or "-",
            (module and module.part_number) or "-",
            str(len(lanes[name] - {0}) or ("module" if lanes[name] else "-")),
            *(
                _span(values[name][q])
                for q in ("rx_power_dbm", "tx_power_dbm", "tx_bias_ma", "temperature_c", "voltage_v")
            ),
            str(len(decoded.map.limits.get(name, {})) or "-"),
        )
    return table


def _span(values: list[float]) -> str:
    if not values:
        return "-"
    low, high = min(values), max(values)
    return f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"


def _as_json(found: Explanation) -> dict[str, object]:
    decoded = found.decoded
    return {
        "device": found.target.device,
        "description": found.description,
        "sys_object_id": found.object_id,
        "tried": [{"profile": t.profile, "why": t.why, "numbers": t.numbers} for t in found.tried],
        "rows": found.rows,
        "readings": [
            {"interface": r.interface, "lane": r.lane, "quantity": r.quantity, "value": r.value, "raw": r.raw}
            for r in (decoded.readings if decoded else [])
        ],
        "limits": {port: dict(limits) for port, limits in decoded.map.limits.items()} if decoded else {},
        "neighbours": [
            {"interface": n.interface, "peer_device": n.peer_device, "peer_interface": n.peer_interface}
            for n in found.lldp.neighbours
        ],
        "unread": [*found.unread, *found.lldp.doubts],
    }
