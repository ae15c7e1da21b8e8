"""SNMP v1, v2c and v3 over gufo-snmp, the default engine.

Found of gufo-snmp 0.13 and built around here: it takes IP literals only and knows no contexts; it sends a request once;
an error of the agent ends a walk like the end of the table, and empties a GET; it follows OIDs that do not increase for
ever; it does not see that a version 3 agent got another engine ID, and keeps that agent's clock as of its last answer.
"""

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from gufo.snmp import SnmpAuthError, SnmpError
from gufo.snmp._fast import SnmpV3ClientSocket

from ingest.errors import AuthError, TransportError
from ingest.snmp.access import Access
from ingest.snmp.guards import Attempts, KnownOrders, get_in_parts
from ingest.snmp.gufo_line import Line, Socket, gufo_user, open_socket
from ingest.snmp.gufo_walk import End, GufoWalk
from ingest.snmp.transport import Cell, Column
from ingest.snmp.users import SnmpUser, only_engine_id

__all__ = ["GufoTransport"]

_T = TypeVar("_T")

_CLOCK_HOLDS_S = 100.0
"""RFC 3414 refuses messages whose clock is 150 s behind the agent's: before that it is asked for again."""

_FAULTS = (SnmpError, OSError, RuntimeError, ValueError)
"""What gufo raises at silence (an OSError, too) and at packets that it cannot read."""

_SYS_UP_TIME = "1.3.6.1.2.1.1.3.0"


class GufoTransport(Access):
    """Asks one device."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._orders = KnownOrders()
        self._open()

    def _open(self) -> None:
        """A fresh session; nothing is sent yet."""
        try:
            self._socket: Socket = open_socket(self.address, self.port, self.community, self.version)
        except (OSError, ValueError, SnmpError) as error:
            msg = f"{self._where}: {error}"
            raise TransportError(msg) from None
        self._line = Line(self._socket.get_fd(), self.timeout_s)
        self._has_user, self._answered, self._gave_values = False, False, False
        self._clock_at = 0.0

    async def walk(self, oid: str, expect: int = 0) -> Column:
        """All cells below `oid`."""
        oid = oid.strip(".")
        attempts = Attempts(self._rows, self.retries, expect)
        while not attempts.over:
            try:
                column, end = await self._asking(lambda: self._walk_once(oid, attempts.asked, expect))
            except _FAULTS as error:  # silence is an OSError, too
                attempts.silent(_reason(error))
            else:
                attempts.answered(column, error=end.value, hopeless=end is End.BROKEN)
        return attempts.result(oid, self._where)

    async def get(self, oids: Iterable[str]) -> dict[str, Cell]:
        """Single cells by their whole OID."""

        async def ask(part: list[str]) -> dict[str, Cell]:
            try:
                return await self._asking(lambda: self._get_once(part))
            except _FAULTS as error:  # silence is an OSError, too
                raise TimeoutError(_reason(error)) from None

        try:
            return await get_in_parts(oids, self._gets, self.retries, ask)
        except TimeoutError as error:
            msg = f"{error} from {self._where}"
            raise TransportError(msg) from None

    def engine_id(self) -> bytes | None:
        """The agent's engine identifier, over version 3."""
        if isinstance(self._socket, SnmpV3ClientSocket):
            return bytes(self._socket.get_engine_id()) or None
        return None

    def close(self) -> None:
        """Stop watching the socket, which goes with the transport."""
        self._line.close()

    async def _asking(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do `work` over a session that is ready; over a fresh one where a session that had worked fails.

        An agent that restarted with another engine ID is silent to the old session for ever, one whose clock was set
        refuses it (field_faults.md, row 54).

        Raises:
            AuthError: the agent refuses the user.
        """
        while True:
            tried = self.user is not None and self._answered
            try:
                await self._introduce()
                result = await work()
            except (TimeoutError, SnmpAuthError) as error:
                if not tried:
                    raise self._failure(error) from None
                self._line.close()
                self._open()
            else:
                self._answered, self._clock_at = True, time.monotonic()
                return result

    def _failure(self, error: Exception) -> Exception:
        """What it means that a fresh session fails."""
        user = self.user
        if isinstance(error, SnmpAuthError) and user is not None:
            return AuthError(
                f"{self._where} refuses user {user.name!r}: its name, authentication password or protocol is wrong, "
                "or it is there for another security level (`forelight collect --explain` tells which)"
            )
        if user is not None and user.priv_protocol and self._has_user:
            return _UnheardError(only_engine_id(user))
        return error

    async def _introduce(self) -> None:
        """Version 3: learn the engine's identifier, then its clock; the latter again before it runs out."""
        if self.user is None or not isinstance(self._socket, SnmpV3ClientSocket):
            return
        if not self._has_user:
            await self._refresh(self._socket)
            self._socket.set_keys(*gufo_user(self.user))
            self._has_user = True
        if self.user.auth_protocol and time.monotonic() - self._clock_at > _CLOCK_HOLDS_S:
            await self._refresh(self._socket)
            self._clock_at = time.monotonic()

    async def _refresh(self, sock: SnmpV3ClientSocket) -> None:
        def take() -> bool:
            sock.recv_refresh()
            return True

        await self._line.converse(sock.send_refresh, take)

    async def _walk_once(self, oid: str, asked: int, expect: int) -> tuple[Column, End]:
        walk = GufoWalk(oid, self._socket, asked, self.max_cells)
        await walk.run(self._line)
        enough = 0 < expect <= walk.rows
        end = End.WHOLE if enough else await walk.end(self._line)
        if walk.rows or walk.left:
            self._gave_values = True
        elif self.user and not self._gave_values:
            await self._check_access(self.user)
        return walk.column(self._orders), end

    async def _check_access(self, user: SnmpUser) -> None:
        """A device with nothing at all may have refused: version 3 hides the status that says so (`GufoWalk.end`)."""
        self._gave_values = bool(await self._get_once([_SYS_UP_TIME]))
        if not self._gave_values:
            msg = f"{self._where} shows user {user.name!r} nothing: no access at this security level, or no view"
            raise AuthError(msg)

    async def _get_once(self, oids: list[str]) -> dict[str, Cell]:
        got: dict[str, Cell] = {}

        def take() -> bool:
            got.update(self._socket.recv_get_many())  # type: ignore[arg-type]  # no None: gufo leaves Null out
            return True

        await self._line.converse(lambda: self._socket.send_get_many(oids), take)
        return got


class _UnheardError(TimeoutError):
    """Silence that says something."""


def _reason(error: Exception) -> str:
    """Why there is no answer, in one phrase; an agent that cannot be reached gives none, too."""
    if isinstance(error, _UnheardError):
        return str(error)
    if isinstance(error, OSError):
        why = (error.strerror or str(error)).lower()
        return f"no answer ({why})" if why else "no answer"
    return f"no readable answer ({str(error) or type(error).__name__})"
