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
from ingest.transport import Cell, Column, Repetitions, WalkGuard

__all__ = ["GufoTransport"]


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
        max_repetitions: rows an answer, at first.
    """

    address: str
    port: int
    community: str = field(repr=False)
    version: str = "2c"
    timeout_s: float = 3.0
    retries: int = 2
    max_repetitions: int = 25

    def __post_init__(self) -> None:
        self._repetitions = Repetitions(self.max_repetitions)
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
        """All cells below `oid`."""
        reason = "no answer from"
        for asked in self._repetitions.attempts(self.retries):
            try:
                cells = await self._walk_once(oid, asked)
                if not await self._cut_short(oid, cells, asked):
                    self._repetitions.worked(asked)
                    return cells
                reason = f"errors instead of rows below {oid} from"
            except TimeoutError:
                continue
            except (SnmpError, OSError, ValueError) as error:
                msg = f"{self.address}:{self.port}: {str(error) or type(error).__name__}"
                raise TransportError(msg) from None
        msg = f"{reason} {self.address}:{self.port}"
        raise TransportError(msg)

    def close(self) -> None:
        """Nothing to do: the socket goes with the session."""

    async def _walk_once(self, oid: str, max_repetitions: int) -> Column:
        """One walk; a packet lost on the way costs one time-out, silence from the start or twice in a row all of it."""
        guard, stuck_at = WalkGuard(oid), 0
        rows = self._iterate(oid, max_repetitions)
        while True:
            try:
                found, value = await anext(rows)
            except StopAsyncIteration:
                return guard.cells
            except TimeoutError:
                if len(guard.cells) == stuck_at:
                    raise
                stuck_at = len(guard.cells)
                continue
            if value is not None and not guard.take(found, value):
                return guard.cells

    def _iterate(self, oid: str, max_repetitions: int) -> AsyncIterator[tuple[str, Cell | None]]:
        if self.version == "1":
            return self._session.getnext(oid)
        return self._session.getbulk(oid, max_repetitions=max_repetitions)

    async def _cut_short(self, oid: str, cells: Column, asked: int) -> bool:
        """Whether the walk ended by an error that gufo does not report: only at the border of an answer."""
        if self.version == "1" or asked <= Repetitions.FEWEST or len(cells) % asked:
            return False
        if not cells:
            return bool([value async for _, value in _first(self._session.getnext(oid))])
        again = await self._walk_once(oid, max(asked // 2, Repetitions.FEWEST))
        more = len(again) > len(cells)
        cells.update(again)
        return more


async def _first(rows: AsyncIterator[tuple[str, Cell | None]]) -> AsyncIterator[tuple[str, Cell | None]]:
    async for row in rows:
        yield row
        return
