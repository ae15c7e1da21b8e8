"""A fleet over UDP whose agents go away, come back, reboot, are renumbered and get other modules, sweep after sweep."""

import asyncio
import gc
import random
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ingest.collect.device import SYS_UP_TIME
from ingest.collect.poller import Poller, Sweep
from ingest.config import Config
from ingest.schema import LANE_SAMPLES, MODULES, REPLACEMENTS, Table
from ingest.snmp.transport import oid_key

_SWITCHES, _SWEEPS = 8, 40
_GET = 0xA0
_SENSOR, _SERIAL = "1.3.6.1.2.1.99.1.1.1", "1.3.6.1.2.1.47.1.1.1.1.11"
_NO_INSTANCE = b"\x81\x00"


class Leaf:
    """A switch of two ports behind a socket; the light that a module receives is its serial number in 0.01 dBm."""

    def __init__(self, switch: Any, request: Any, chance: random.Random) -> None:
        self.switch, self._request, self._chance = switch, request, chance
        self.up, self.loss, self.swaps = True, 0.0, 0
        self._next = 100
        for port in (1, 2):
            self.swap(port)
        self.swaps = 0

    def swap(self, port: int) -> None:
        """Another module."""
        self._next += 1
        self.swaps += 1
        self.switch.put(f"{_SERIAL}.{100 * port}", f"SN{self._next}".encode())
        for lane in (1, 2):
            self.switch.put(f"{_SENSOR}.4.{100 * port + 10 * lane}", -self._next)

    def reboot(self) -> None:
        """Begin to count time anew."""
        self.switch.put(SYS_UP_TIME, self._chance.randrange(100))

    def answer(self, packet: bytes) -> bytes | None:
        """As an agent does, when it does."""
        if not self.up or self._chance.random() < self.loss:
            return None
        asked = self._request(packet)
        cells, order = self.switch._cells, self.switch._order
        if asked.kind == _GET:
            found = asked.oids
        else:
            start = bisect_right(order, (oid_key(asked.oids[0]), "~"))
            found = [oid for _, oid in order[start : start + asked.rows]]
        return bytes(asked.reply([(oid, _ber(cells[oid]) if oid in cells else _NO_INSTANCE) for oid in found]))


def _ber(cell: int | bytes | str) -> int | bytes:
    """Text as an octet string; an object identifier as the text that it is: only its presence counts here."""
    if isinstance(cell, int):
        return cell
    body = cell if isinstance(cell, bytes) else cell.encode()
    return bytes((4, len(body))) + body


class Sink:
    """Keeps all rows."""

    def __init__(self) -> None:
        self.tables: dict[str, list[pa.Table]] = defaultdict(list)

    def append(self, table: Table, rows: pa.Table) -> None:
        self.tables[table.name].append(rows)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        return [row for part in self.tables[table.name] for row in part.to_pylist()]


async def _soak(poller: Poller, leaves: list[Leaf], chance: random.Random) -> list[Sweep]:
    sweeps = [await poller.sweep()]
    for _ in range(_SWEEPS):
        for leaf in leaves:
            match chance.randrange(12):
                case 0:
                    leaf.up = not leaf.up
                case 1:
                    leaf.loss = chance.choice([0.0, 0.0, 0.1])
                case 2:
                    leaf.reboot()
                case 3:
                    leaf.swap(chance.choice([1, 2]))
        sweeps.append(await poller.sweep())
    for leaf in leaves:
        leaf.up, leaf.loss = True, 0.0
    for _ in range(2):  # a device that was down last is asked again after its wait
        await asyncio.sleep(0.7)
        sweeps.append(await poller.sweep())
    poller.close()
    return sweeps


@pytest.mark.slow
@pytest.mark.snmpd
@pytest.mark.parametrize("engine", ["gufo", "pysnmp"])
def test_agents_come_and_go_and_no_reading_is_anothers(
    engine: str, agent: Callable[..., Any], switch_of: Any, heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.collect.patience._LONGEST_WAIT_S", 0.5)
    chance = random.Random(7)
    leaves = [Leaf(switch_of(), heard, random.Random(i)) for i in range(_SWITCHES)]
    options = {"community": "x", "timeout_s": 0.1, "retries": 1, "engine": engine}
    targets = [
        {"device": f"leaf{i:02d}", "address": "127.0.0.1", "port": agent(leaf.answer).port, "snmp": options}
        for i, leaf in enumerate(leaves)
    ]
    config = Config.model_validate({"collect": {"interval_s": 0.1, "deadline_s": 5}, "target": targets})
    sink, sockets = Sink(), _sockets()
    started = time.monotonic()
    poller = Poller(config, sink)
    sweeps = asyncio.run(_soak(poller, leaves, chance))
    lanes, modules = sink.rows(LANE_SAMPLES), sink.rows(MODULES)

    assert time.monotonic() - started < 120
    assert not [poll.error for sweep in sweeps for poll in sweep.polls if "unexpected" in str(poll.error)]
    assert {f"leaf{i:02d}" for i in range(_SWITCHES)} == {
        poll.target.device for poll in sweeps[-1].polls if not poll.failed
    }
    assert len(lanes) > _SWITCHES * _SWEEPS
    assert [] == [
        row
        for row in lanes
        if row["rx_power_dbm"] is not None and f"SN{-round(row['rx_power_dbm'] * 100)}" != row["serial"]
    ]
    assert _disjoint(modules)
    assert 0 < len(sink.rows(REPLACEMENTS)) <= sum(leaf.swaps for leaf in leaves)
    assert _sockets() <= sockets + 2


def _disjoint(modules: list[dict[str, Any]]) -> bool:
    """Installations of one cage follow each other, and the last one stands."""
    latest = {tuple(row[name] for name in MODULES.key): row for row in modules}
    cages = defaultdict(list)
    for row in latest.values():
        cages[row["device"], row["interface"]].append(row)
    return all(
        all(before["removed_at"] == after["installed_at"] for before, after in pairwise(rows))
        and rows[-1]["removed_at"] is None
        for rows in (sorted(rows, key=lambda row: row["installed_at"]) for rows in cages.values())
    )


def _sockets() -> int:
    gc.collect()  # a failed session's frames hold its socket until then
    return len(list(Path("/proc/self/fd").iterdir()))
