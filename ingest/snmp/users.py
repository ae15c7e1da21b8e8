"""An SNMPv3 user as the agent knows it: name, security level and secrets, which show nowhere."""

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["AuthProtocol", "KeyExpansion", "PrivProtocol", "SnmpUser", "only_engine_id"]

AuthProtocol = Literal["md5", "sha1", "sha224", "sha256", "sha384", "sha512"]
"""HMAC-MD5-96 and HMAC-SHA-96 (RFC 3414), the SHA-2 family (RFC 7860)."""

PrivProtocol = Literal["des", "aes128", "aes192", "aes256"]
"""CBC-DES (RFC 3414), CFB128-AES-128 (RFC 3826), and the two longer ones that no RFC ever covered."""

KeyExpansion = Literal["blumenthal", "cisco"]
"""How AES-192 and AES-256 get keys longer than the hash: Blumenthal's draft (net-snmp), or Reeder's (Cisco)."""


@dataclass(frozen=True, slots=True)
class SnmpUser:
    """Whom an agent believes to hear.

    Attributes:
        auth_protocol: None for noAuthNoPriv.
        priv_protocol: None for authNoPriv.
        context: name of the context that is asked; "" is the default one.
    """

    name: str
    auth_protocol: AuthProtocol | None = None
    auth_password: str = field(default="", repr=False)
    priv_protocol: PrivProtocol | None = None
    priv_password: str = field(default="", repr=False)
    key_expansion: KeyExpansion = "blumenthal"
    context: str = ""

    @property
    def level(self) -> str:
        """The security level in the standard's words."""
        if self.auth_protocol is None:
            return "noAuthNoPriv"
        return "authNoPriv" if self.priv_protocol is None else "authPriv"


def only_engine_id(user: SnmpUser) -> str:
    """What it looks like where an agent cannot decrypt a user: it drops the packet."""
    return f"an engine ID but no more for user {user.name!r} (wrong privacy password, protocol or key_expansion?)"
