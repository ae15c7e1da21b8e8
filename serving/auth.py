"""Who may change alarms: whoever presents the operator token; and where the service may be bound.

One shared token from the environment or a file, kept as its hash and compared in constant time.
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Self

from serving.errors import OperatorError, ServingError, TokenError

__all__ = ["OperatorToken", "check_bind", "check_operator", "is_loopback"]

_VARIABLE: Final = "FORELIGHT_OPERATOR_TOKEN"
_FILE_VARIABLE: Final = "FORELIGHT_OPERATOR_TOKEN_FILE"
_SHORTEST: Final = 16
"""Characters; 16 random ones of base64 are 96 bits, out of reach of guessing over a network."""


@dataclass(frozen=True, slots=True)
class OperatorToken:
    """The hash of the token; the token itself is not kept."""

    digest: bytes = field(repr=False)

    @classmethod
    def of(cls, token: str) -> Self:
        """Keep a token's hash.

        Raises:
            ServingError: the token is too short to keep anybody out.
        """
        if len(token) < _SHORTEST:
            msg = f"the operator token has {len(token)} characters; it needs {_SHORTEST} at least"
            raise ServingError(msg)
        return cls(_digest(token))

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Self | None:
        """The token of ``FORELIGHT_OPERATOR_TOKEN`` or of the file that ``…_FILE`` names; None where neither is set.

        Raises:
            ServingError: the file cannot be read, or the token is too short.
        """
        if token := env.get(_VARIABLE, ""):
            return cls.of(token)
        if not (path := env.get(_FILE_VARIABLE, "")):
            return None
        try:
            return cls.of(Path(path).read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            msg = f"{_FILE_VARIABLE} names {path}, which cannot be read: {error}"
            raise ServingError(msg) from error

    def matches(self, presented: str) -> bool:
        """Whether it is the same token, in a time that does not tell how nearly."""
        return hmac.compare_digest(self.digest, _digest(presented))


def check_operator(token: OperatorToken | None, authorization: str | None) -> None:
    """Let a request with the right ``Authorization: Bearer …`` pass.

    Raises:
        OperatorError: no token is set at all.
        TokenError: it is missing or wrong.
    """
    if token is None:
        msg = f"nothing can be changed over HTTP until {_VARIABLE} is set where the service runs"
        raise OperatorError(msg)
    scheme, _, presented = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.matches(presented.strip()):
        msg = "present the operator token as `Authorization: Bearer …`"
        raise TokenError(msg)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("leaf01")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_bind(host: str, token: OperatorToken | None) -> None:
    """Refuse to be reached from elsewhere without a token.

    Raises:
        ServingError: the address is not loopback and no token is set.
    """
    if token is None and not is_loopback(host):
        msg = f"binding {host} lets others in: set {_VARIABLE} (or {_FILE_VARIABLE}) first, or bind 127.0.0.1"
        raise ServingError(msg)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
