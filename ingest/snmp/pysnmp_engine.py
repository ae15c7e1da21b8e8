"""SNMP v1, v2c and v3 over pysnmp, the second engine: pure Python, slower by two orders, for what gufo-snmp cannot do.

That is contexts of version 3. It tells an agent's error from the end of a table, and a wrong name from a wrong
password.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from pysnmp.error import PySnmpError
from pysnmp.proto import errind
from pysnmp.proto.rfc1905 import EndOfMibView, NoSuchInstance, NoSuchObject, unSpecified

from ingest.errors import AuthError, TransportError
from ingest.snmp.access import Access
from ingest.snmp.guards import Attempts, WalkGuard, get_in_parts
from ingest.snmp.pysnmp_session import Answer, CommunitySession, Session, UserSession
from ingest.snmp.transport import Cell, Column
from ingest.snmp.users import only_engine_id

__all__ = ["PysnmpTransport"]

_END = (NoSuchObject, NoSuchInstance, EndOfMibView)
_NULL = type(unSpecified)

_REFUSALS = {
    errind.UnknownUserName: "does not know user {!r}",
    errind.WrongDigest: "refuses user {!r}: its authentication password or protocol is wrong",
    errind.AuthenticationFailure: "refuses user {!r}: its authentication password or protocol is wrong",
    errind.UnsupportedSecurityLevel: "has user {!r} for another security level",
    errind.DecryptionError: "cannot decrypt user {!r}: its privacy password, protocol or key_expansion is wrong",
}
_NO_ACCESS = "shows user {!r} nothing: no access at this security level or context"


class PysnmpTransport(Access):
    """Asks one device."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._session: Session | None = None
        self._answered = False

    async def walk(self, oid: str, expect: int = 0) -> Column:
        """All cells below `oid`."""
        attempts = Attempts(self._rows, self.retries, expect)
        while not attempts.over:
            guard = WalkGuard(oid, self.max_cells)
            try:
                error = await self._walk_once(guard, attempts.asked)
            except TimeoutError as silence:
                attempts.silent(str(silence) or "no answer")
            else:
                attempts.answered(guard.cells, error=error)
        return attempts.result(oid, self._where)

    async def get(self, oids: Iterable[str]) -> dict[str, Cell]:
        """Single cells by their whole OID."""

        async def ask(part: list[str]) -> dict[str, Cell]:
            answer = await self._ask("get", part)
            cells = {oid: _cell(value) for oid, value in answer.rows if not answer.status}
            return {oid: cell for oid, cell in cells.items() if cell is not None}

        try:
            return await get_in_parts(oids, self._gets, self.retries, ask)
        except TimeoutError as error:
            msg = f"{str(error) or 'no answer'} from {self._where}"
            raise TransportError(msg) from None

    def engine_id(self) -> bytes | None:
        """The agent's engine identifier, over version 3."""
        return self._session.engine_id() if self._session else None

    def close(self) -> None:
        """Free the socket."""
        if self._session is not None:
            self._session.close()
        self._session, self._answered = None, False

    async def _walk_once(self, guard: WalkGuard, asked: int) -> str:
        """Walk until the column ends, or an error that is named; a packet lost on the way costs one time-out."""
        last, stuck_at = guard.oid, 0
        while True:
            try:
                answer = await self._ask("next" if self.version == "1" else "bulk", [last], asked)
            except TimeoutError:
                if len(guard.cells) == stuck_at:
                    raise
                stuck_at = len(guard.cells)
                continue
            if answer.status or not answer.rows:
                return "" if self.version == "1" and answer.status == "noSuchName" else answer.status
            for oid, value in answer.rows:
                if isinstance(value, _END) or not guard.take(oid, _cell(value)):
                    return ""
            last = answer.rows[-1][0]

    async def _ask(self, command: str, oids: Sequence[str], repetitions: int = 0) -> Answer:
        """One request; over a fresh session where one that had worked fails (field_faults.md, row 54).

        Raises:
            AuthError: the agent refuses the user.
            TimeoutError: no answer, or none that can be read.
        """
        while True:
            tried = self.user is not None and self._answered
            if self._session is None:
                self._session = self._open()
            try:
                answer = await self._session.ask(command, oids, repetitions)
            except PySnmpError as error:
                answer = Answer(error, "", [])
            if answer.error is None:
                self._answered = True
                return self._permitted(answer)
            if not tried:
                raise self._failure(answer.error)
            self.close()

    def _open(self) -> Session:
        if self.user is not None:
            return UserSession(self.address, self.port, self.user, self.timeout_s)
        return CommunitySession(self.address, self.port, self.community, self.version, self.timeout_s)

    def _permitted(self, answer: Answer) -> Answer:
        if answer.status == "authorizationError" and self.user is not None:
            msg = f"{self._where} {_NO_ACCESS.format(self.user.name)}"
            raise AuthError(msg)
        return answer

    def _failure(self, error: Exception) -> Exception:
        for kind, text in _REFUSALS.items():
            if isinstance(error, kind) and self.user is not None:
                return AuthError(f"{self._where} {text.format(self.user.name)}")
        if not isinstance(error, errind.RequestTimedOut):
            return TimeoutError(f"no readable answer ({error})")
        if self.user is not None and self.user.priv_protocol and self.engine_id():
            return TimeoutError(only_engine_id(self.user))
        return TimeoutError()


def _cell(value: Any) -> Cell | None:
    """A value of pysnmp as a plain one; None for what is no value."""
    if isinstance(value, (*_END, _NULL)):
        return None
    match type(value).__name__:
        case "ObjectIdentifier" | "ObjectIdentity" | "IpAddress":
            return str(value.prettyPrint())
        case "OctetString" | "Opaque" | "Bits":
            return bytes(value)
        case _:
            return int(value)
