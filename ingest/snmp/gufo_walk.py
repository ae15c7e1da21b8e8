"""One walk of a column over a gufo socket: answers whole, and how it ended.

gufo ends a walk in silence where the column ends, where the device's tree ends, and where the agent answers with an
error. Only the first shows (a row of the next column); else one GETNEXT, its error status read from the packet itself,
tells which it was.
"""

import socket
from dataclasses import dataclass
from enum import Enum
from itertools import chain

from gufo.snmp._fast import GetIter, SnmpV1ClientSocket

from ingest.errors import TransportError
from ingest.snmp.ber import error_status
from ingest.snmp.guards import KnownOrders, not_increasing, too_long
from ingest.snmp.gufo_line import Line, Socket
from ingest.snmp.transport import Cell, Column, oid_key

__all__ = ["End", "GufoWalk"]

_NO_SUCH_NAME = 2
"""Version 1's end of the tree."""


class End(Enum):
    """How a walk ended."""

    WHOLE = ""
    CUT = "an error"  # there are more rows, for whoever asks for fewer at a time
    BROKEN = "errors"  # at the next row, however it is asked for


@dataclass
class GufoWalk:
    """A walk that goes on.

    Attributes:
        oid: the column.
        socket: gufo's.
        asked: rows an answer.
        max_cells: more is an error.
        rows: how many have come.
        left: whether a row behind the column has come: then nothing is missing.
    """

    oid: str
    socket: Socket
    asked: int
    max_cells: int
    rows: int = 0
    left: bool = False

    def __post_init__(self) -> None:
        self._context = GetIter(self.oid, self.asked)
        self._pages: list[list[tuple[str, Cell]]] = []
        self._last, self._last_key = self.oid, oid_key(self.oid)
        self._single = isinstance(self.socket, SnmpV1ClientSocket)

    async def run(self, line: Line) -> None:
        """Ask until it ends; a packet lost on the way costs one time-out.

        Raises:
            TimeoutError: silence from the start, or twice in a row.
        """
        ask, take = (self._ask_next, self._take_next) if self._single else (self._ask, self._take)
        before = 0
        while True:
            try:
                await line.converse(ask, take)
            except TimeoutError:
                if self.rows == before:
                    raise
                before = self.rows
            else:
                return

    async def end(self, line: Line) -> End:
        """Find out how it ended: asks for one more row, unless one behind the column has come.

        Raises:
            TimeoutError: silence, twice.
        """
        if self.left:
            return End.WHOLE
        probe = _Probe(self.socket, self._context)
        try:
            await line.converse(probe.ask, probe.take)
        except TimeoutError:
            await line.converse(probe.ask, probe.take)
        if probe.more:
            return End.CUT
        return End.BROKEN if probe.status and not (self._single and probe.status == _NO_SUCH_NAME) else End.WHOLE

    def column(self, orders: KnownOrders) -> Column:
        """The cells by index.

        Raises:
            TransportError: they did not come in order.
        """
        skip = len(self.oid) + 1
        cells = {oid[skip:]: value for oid, value in chain.from_iterable(self._pages)}
        if len(cells) != self.rows:
            msg = f"the agent's OIDs do not increase (one below {self.oid} came twice)"
            raise TransportError(msg)
        orders.check(self.oid, cells)
        return cells

    def _ask(self) -> None:
        self.socket.send_get_bulk(self._context)

    def _take(self) -> bool:
        try:
            page = self.socket.recv_get_bulk(self._context)
        except StopAsyncIteration:
            return True
        if page[-1] is None:
            self.left = True
            page.pop()
        self._keep(page)  # type: ignore[arg-type]  # None stood at the end
        return self.left

    def _ask_next(self) -> None:
        self.socket.send_get_next(self._context)

    def _take_next(self) -> bool:
        try:
            row = self.socket.recv_get_next(self._context)
        except StopAsyncIteration:
            return True
        self._keep([row])  # type: ignore[list-item]  # gufo's stub says None, which its walks leave out
        return False

    def _keep(self, page: list[tuple[str, Cell]]) -> None:
        """Keep an answer, and stop a walk that does not come forward."""
        if not page:
            return
        last = page[-1][0]
        key = oid_key(last)
        if key <= self._last_key:
            raise not_increasing(last, self._last)
        self._last, self._last_key = last, key
        self._pages.append(page)
        self.rows += len(page)
        if self.rows > self.max_cells:
            raise too_long(self.oid, self.max_cells)


class _Probe:
    """One GETNEXT whose error status is looked at before gufo drops it."""

    def __init__(self, sock: Socket, context: GetIter) -> None:
        self._socket, self._context = sock, context
        self.status, self.more = 0, False

    def ask(self) -> None:
        self._socket.send_get_next(self._context)

    def take(self) -> bool:
        with socket.fromfd(self._socket.get_fd(), socket.AF_INET, socket.SOCK_DGRAM) as same:
            packet = same.recv(65_535, socket.MSG_PEEK)
        try:
            self.more = bool(self._socket.recv_get_next(self._context))
        except StopAsyncIteration:
            self.status = error_status(packet)
        return True
