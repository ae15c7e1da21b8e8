"""SNMP v1 and v2c over gufo-snmp, the default engine.

Found of gufo-snmp 0.13 and built around here: it takes IP literals only; it sends a request once, but its iterator
goes on after a time-out; tooBig and genErr end an iterator like the end of a table; and it follows OIDs that do not
increase for ever.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from gufo.snmp import SnmpError, SnmpVersion
from gufo.snmp.aio import SnmpSession

from ingest.errors import TransportError
from ingest.transport import Cell, Column, WalkGuard

__all__ = ["GufoTransport"]

_FEWEST = 5
"""Rows an answer that are asked for at the least: five of the longest strings (255 octets) fit any path."""


@dataclass
class GufoTransport:
    """Walks one device.

    Attributes:
        address: IP literal.
        port: UDP port.
        community: as the agent wants it.
        version: "1" or "2c".
        timeout_s: for one answer.
        retries: how often a request is sent again.
        max_repetitions: rows an answer; halved, and kept so, when the device does not answer.
    """

    address: str
    port: int
    community: str = field(repr=False)
    version: str = "2c"
    timeout_s: float = 3.0
    retries: int = 2
    max_repetitions: int = 25

    def __post_init__(self) -> None:
        self._session = self._open()

    def _open(self) -> SnmpSession:
        try:
            return SnmpSession(
                addr=self.address,
                port=self.port,
                community=self.community,
                version=SnmpVersion.v1 if self.version == "1" else SnmpVersion.v2c,
                timeout=self.timeout_s,
            )
        except (OSError, ValueError, SnmpError) as error:
            msg = f"{self.address}:{self.port}: {error}"
            raise TransportError(msg) from None

    async def walk(self, oid: str) -> Column:
        """All cells below `oid`; fewer rows an answer when the device falls silent or ends in the middle."""
        for attempt in range(self.retries + 1):
            asked = self.max_repetitions
            try:
                cells = await self._walk_once(oid, asked)
            except TimeoutError:
                if attempt == self.retries:
                    msg = f"no answer from {self.address}:{self.port}"
                    raise TransportError(msg) from None
                self._ask_for_less()
                continue
            except (SnmpError, OSError, ValueError) as error:
                msg = f"{self.address}:{self.port}: {str(error) or type(error).__name__}"
                raise TransportError(msg) from None
            if not await self._cut_short(oid, cells, asked):
                return cells
            self._ask_for_less()
        return cells

    def close(self) -> None:
        """Nothing to do: the socket goes with the session."""

    def _ask_for_less(self) -> None:
        """Huawei's agents fall silent where an answer would pass UDP's limit; others say tooBig."""
        self.max_repetitions = max(self.max_repetitions // 2, _FEWEST)

    async def _walk_once(self, oid: str, max_repetitions: int) -> Column:
        guard = WalkGuard(oid)
        async for found, value in self._iterate(oid, max_repetitions):
            if value is not None and not guard.take(found, value):
                break
        return guard.cells

    def _iterate(self, oid: str, max_repetitions: int) -> AsyncIterator[tuple[str, Cell | None]]:
        if self.version == "1":
            return self._session.getnext(oid)
        return self._session.getbulk(oid, max_repetitions=max_repetitions)

    async def _cut_short(self, oid: str, cells: Column, asked: int) -> bool:
        """Whether the walk ended by an error that gufo does not report: only at the border of an answer."""
        if self.version == "1" or asked <= _FEWEST or len(cells) % asked:
            return False
        if not cells:
            return bool([value async for _, value in _first(self._session.getnext(oid))])
        again = await self._walk_once(oid, max(asked // 2, _FEWEST))
        more = len(again) > len(cells)
        cells.update(again)
        return more


async def _first(rows: AsyncIterator[tuple[str, Cell | None]]) -> AsyncIterator[tuple[str, Cell | None]]:
    async for row in rows:
        yield row
        return
