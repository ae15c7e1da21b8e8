"""gufo-snmp's socket driven from the event loop's own callback: a page costs no task switch and no time-out object.

gufo's asyncio session awaits each row and registers the socket anew for each answer, three quarters of what a walk
costs there. This takes the same sockets (`gufo.snmp._fast`, hence the pinned version) a whole answer at a time.
"""

import asyncio
from collections.abc import Callable

from gufo.snmp import SnmpDecodeError
from gufo.snmp._fast import SnmpV1ClientSocket, SnmpV2cClientSocket, SnmpV3ClientSocket
from gufo.snmp.user import (
    Aes128Key,
    Aes192Key,
    Aes256Key,
    BaseAuthKey,
    BasePrivKey,
    DesKey,
    KeyExpansion,
    Md5Key,
    Sha1Key,
    Sha224Key,
    Sha256Key,
    Sha384Key,
    Sha512Key,
    User,
)

from ingest.snmp.users import SnmpUser

__all__ = ["Line", "Socket", "gufo_user", "open_socket"]

Socket = SnmpV1ClientSocket | SnmpV2cClientSocket | SnmpV3ClientSocket

_AUTH: dict[str, type[BaseAuthKey]] = {
    "md5": Md5Key,
    "sha1": Sha1Key,
    "sha224": Sha224Key,
    "sha256": Sha256Key,
    "sha384": Sha384Key,
    "sha512": Sha512Key,
}
_PRIV: dict[str, type[BasePrivKey]] = {"des": DesKey, "aes128": Aes128Key, "aes192": Aes192Key, "aes256": Aes256Key}
_EXPANSION = {"blumenthal": KeyExpansion.Blumenthal, "cisco": KeyExpansion.Cisco}


class Line:
    """One socket, one conversation at a time.

    Args:
        descriptor: of the socket.
        timeout_s: for one answer.
    """

    def __init__(self, descriptor: int, timeout_s: float) -> None:
        self._descriptor = descriptor
        self._timeout_s = timeout_s
        self._loop: asyncio.AbstractEventLoop | None = None  # the one that watches the socket
        self._done: asyncio.Future[None] | None = None
        self._send: Callable[[], None]
        self._receive: Callable[[], bool]
        self._heard_at = 0.0
        self._timer: asyncio.TimerHandle | None = None  # outlives conversations: making one costs as much as 50 rows

    async def converse(self, send: Callable[[], None], receive: Callable[[], bool]) -> None:
        """Send, and send again after each answer until `receive` says that it was the last.

        `receive` raises BlockingIOError for what is no answer to the last request.

        Raises:
            TimeoutError: no answer in time.
        """
        loop = asyncio.get_running_loop()
        self._send, self._receive = send, receive
        self._done = done = loop.create_future()
        self._watch(loop)
        self._heard_at = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self._timeout_s, self._expire, loop)
        try:
            send()
            await done
        finally:
            self._done = None

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is not loop:
            self.close()
            loop.add_reader(self._descriptor, self._readable)
            self._loop = loop

    def _readable(self) -> None:
        done = self._done
        if done is None or done.done():
            self.close()  # a late answer: nobody waits, so nobody reads
            return
        try:
            if self._receive():
                done.set_result(None)
                return
            self._send()
        except BlockingIOError:
            return
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            panic = not isinstance(error, Exception)  # of the Rust code, at some packets that are no SNMP
            done.set_exception(SnmpDecodeError("no SNMP") if panic else error)
        self._heard_at = asyncio.get_running_loop().time()

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give up whoever has waited for too long; look again when the next one may have."""
        done, self._timer = self._done, None
        if done is None or done.done():
            return
        due = self._heard_at + self._timeout_s
        if due <= loop.time():
            done.set_exception(TimeoutError())
        else:
            self._timer = loop.call_at(due, self._expire, loop)

    def close(self) -> None:
        """Stop watching the socket."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
        if self._timer is not None:
            self._timer.cancel()
        self._loop = self._timer = None


def open_socket(address: str, port: int, community: str, version: str) -> Socket:
    """A socket to an agent; version 3 begins without a user, which needs the engine's identifier first.

    Raises:
        OSError, ValueError, SnmpError: gufo does not take the address.
    """
    at = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    match version:
        case "1":
            return SnmpV1ClientSocket(at, community, 0, 0, 0, 0)
        case "2c":
            return SnmpV2cClientSocket(at, community, 0, 0, 0, 0)
        case _:
            nobody = User.default()
            return SnmpV3ClientSocket(at, b"", nobody.name, *_keys(nobody), 0, 0, 0, 0)


def gufo_user(user: SnmpUser) -> tuple[str, int, bytes, int, bytes]:
    """What `SnmpV3ClientSocket.set_keys` takes."""
    auth = _AUTH[user.auth_protocol](user.auth_password.encode()) if user.auth_protocol else None
    priv = _PRIV[user.priv_protocol](user.priv_password.encode()) if user.priv_protocol else None
    known = User(user.name, auth_key=auth, priv_key=priv, key_expansion=_EXPANSION[user.key_expansion])
    return (user.name, *_keys(known))


def _keys(user: User) -> tuple[int, bytes, int, bytes]:
    return user.get_auth_alg(), user.get_auth_key(), user.get_priv_alg(), user.get_priv_key()
