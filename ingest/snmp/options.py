"""`[target.snmp]` of forelight.toml: version, credentials by reference, and how patiently a device is asked."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from ingest.errors import ConfigError
from ingest.secret import read_secret
from ingest.snmp.users import AuthProtocol, KeyExpansion, PrivProtocol, SnmpUser

__all__ = ["SnmpOptions"]

_Seconds = Annotated[float, Field(gt=0)]

_COMMUNITY_KEYS = ("community", "community_env", "community_file")
_AUTH_KEYS = ("auth_protocol", "auth_env", "auth_file")
_PRIV_KEYS = ("priv_protocol", "priv_env", "priv_file")
_USER_KEYS = ("user", *_AUTH_KEYS, *_PRIV_KEYS, "context", "key_expansion")

_SHORTEST_PASSWORD = 8
"""RFC 3414, 11.2: a password is at least eight characters; agents refuse to make users with shorter ones."""

_WEAK = {"md5": "MD5", "des": "DES"}


class SnmpOptions(BaseModel):
    """How one device is asked over SNMP.

    Attributes:
        community_env, community_file: where the community is read from; `community` in the open is warned about.
        user, auth_…, priv_…: version 3; the passwords come from a variable (`_env`) or a file (`_file`).
        context: version 3's, where a device keeps its sensors in one; gufo-snmp knows none, so pysnmp asks.
        key_expansion: how AES-192 and AES-256 stretch a shorter hash: "blumenthal" (net-snmp), or "cisco".
        engine: "gufo" (Rust), or "pysnmp" for what it cannot do; chosen by that where not given.
        timeout_s: for one answer; asked again `retries` times, with fewer rows an answer.
        max_repetitions: rows an answer at first; 50 and more pass UDP's limit on some devices.
        profile: a vendor file's name, where sysObjectID should not decide.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal["1", "2c", "3"] = "2c"
    community: SecretStr | None = None
    community_env: str | None = None
    community_file: Path | None = None
    engine: Literal["gufo", "pysnmp"] = "gufo"
    timeout_s: _Seconds = 3.0
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    max_repetitions: Annotated[int, Field(ge=1, le=1_000)] = 25
    profile: str | None = None
    user: Annotated[str, Field(min_length=1, max_length=32)] | None = None
    auth_protocol: AuthProtocol | None = None
    auth_env: str | None = None
    auth_file: Path | None = None
    priv_protocol: PrivProtocol | None = None
    priv_env: str | None = None
    priv_file: Path | None = None
    context: str | None = None
    key_expansion: KeyExpansion = "blumenthal"

    @model_validator(mode="after")
    def _can_authenticate(self) -> Self:
        message = self._wrong_user() if self.version == "3" else self._wrong_community()
        if message is not None:
            raise ValueError(message)
        return self

    @property
    def engine_to_use(self) -> Literal["gufo", "pysnmp"]:
        """The engine that was asked for, or the one that can."""
        return "pysnmp" if self.context and "engine" not in self.model_fields_set else self.engine

    def warnings(self) -> list[str]:
        """What works and should not be, as what is said of a device."""
        said = ["community stands in the file; community_env or community_file keep it out"] if self.community else []
        weak = [_WEAK[name] for name in (self.auth_protocol, self.priv_protocol) if name in _WEAK]
        return said + [f"{name} is broken; use SHA-2 and AES where the device has them" for name in weak]

    def read_community(self, env: Mapping[str, str] = os.environ) -> str:
        """The community, from where the configuration says.

        Raises:
            ConfigError: the variable is not set, or the file cannot be read.
        """
        if self.community is not None:
            return self.community.get_secret_value()
        return read_secret("community", self.community_env, self.community_file, env)

    def read_user(self, env: Mapping[str, str] = os.environ) -> SnmpUser | None:
        """Version 3's user with its passwords; None for communities.

        Raises:
            ConfigError: a variable is not set, a file cannot be read, or a password is too short to be one.
        """
        if self.user is None:
            return None
        auth = self._password("auth", self.auth_protocol, self.auth_env, self.auth_file, env)
        priv = self._password("priv", self.priv_protocol, self.priv_env, self.priv_file, env)
        return SnmpUser(
            self.user, self.auth_protocol, auth, self.priv_protocol, priv, self.key_expansion, self.context or ""
        )

    @staticmethod
    def _password(
        key: str, protocol: str | None, variable: str | None, file: Path | None, env: Mapping[str, str]
    ) -> str:
        if protocol is None:
            return ""
        password = read_secret(key, variable, file, env)
        if len(password) < _SHORTEST_PASSWORD:
            where = f"in {variable} ({key}_env)" if variable else f"in {file} ({key}_file)"
            msg = f"the password {where} is shorter than {_SHORTEST_PASSWORD} characters: no agent takes such a one"
            raise ConfigError(msg)
        return password

    def _wrong_community(self) -> str | None:
        foreign = self._given(_USER_KEYS)
        if foreign:
            return f'{_listed(foreign)} belongs to version = "3", this is "{self.version}"'
        given = self._given(_COMMUNITY_KEYS)
        if len(given) != 1:
            return f"needs just one of community_env, community_file and community, not {_listed(given) or 'none'}"
        return None

    def _wrong_user(self) -> str | None:
        foreign = self._given(_COMMUNITY_KEYS)
        if foreign:
            return f'{_listed(foreign)} belongs to versions "1" and "2c", this is "3": it needs user'
        if self.user is None:
            return 'version = "3" needs user'
        if self._given(_PRIV_KEYS) and self.auth_protocol is None:
            return f"{_listed(self._given(_PRIV_KEYS))} without auth_protocol: encryption needs authentication"
        if self.context and self.engine == "gufo" and "engine" in self.model_fields_set:
            return 'engine = "gufo" knows no context; leave engine out, or set "pysnmp"'
        return self._wrong_password("auth", _AUTH_KEYS) or self._wrong_password("priv", _PRIV_KEYS)

    def _wrong_password(self, key: str, keys: tuple[str, ...]) -> str | None:
        """A protocol needs just one place of its password, and a place its protocol."""
        given = self._given(keys)
        if not given:
            return None
        if f"{key}_protocol" not in given:
            return f"{_listed(given)} without {key}_protocol"
        if len(given) != 2:  # noqa: PLR2004 - the protocol and the place of its password
            return f"{key}_protocol needs just one of {key}_env and {key}_file"
        return None

    def _given(self, keys: Iterable[str]) -> list[str]:
        return [key for key in keys if key in self.model_fields_set and getattr(self, key) is not None]


def _listed(keys: list[str]) -> str:
    return " and ".join(keys)
