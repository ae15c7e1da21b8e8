"""`[target.gnmi]` of forelight.toml: credentials by reference, how the device proves who it is, and its pace."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ingest.errors import ConfigError
from ingest.secret import read_secret

__all__ = ["DEFAULT_PORT", "Encoding", "GnmiOptions"]

DEFAULT_PORT: Final = 9_339
"""IANA's for gNMI; vendors have their own, such as 6030 (EOS), 8080 (SONiC), 32767 (Junos), 57400 (IOS-XR)."""

Encoding = Literal["proto", "json_ietf", "json"]
_Seconds = Annotated[float, Field(gt=0)]
_Text = Annotated[str, Field(min_length=1)]


class GnmiOptions(BaseModel):
    """How one device is asked over gNMI; TLS is verified unless told otherwise, and the two ways out differ.

    Attributes:
        username, username_env, username_file: sent as metadata, with the password.
        token_env, token_file: sent as `authorization: Bearer …` instead.
        ca_file: who may have signed the device's certificate; by default whom gRPC trusts.
        cert_file, key_file: our own certificate, where the device wants one (mTLS).
        server_name: the name in the device's certificate, where it is not its address.
        insecure: no TLS at all.
        skip_verify: TLS with whoever answers.
        paths: a family's name, where the device's Capabilities should not decide.
        encoding: likewise.
        sample_s: the device's sampling interval; that of the sweeps where not given.
        heartbeat_s: how often what does not change is told again.
        idle_s: a stream that is silent for so long is dead; two and a half samples, and ten seconds at least.
        timeout_s: for one answer, such as to Capabilities.
        max_message_mb: of one message of the device.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    username: _Text | None = None
    username_env: str | None = None
    username_file: Path | None = None
    password_env: str | None = None
    password_file: Path | None = None
    token_env: str | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    server_name: _Text | None = None
    insecure: bool = False
    skip_verify: bool = False
    paths: _Text | None = None
    encoding: Encoding | None = None
    sample_s: _Seconds | None = None
    heartbeat_s: _Seconds = 300.0
    idle_s: _Seconds | None = None
    timeout_s: _Seconds = 10.0
    max_message_mb: Annotated[int, Field(ge=1, le=1_024)] = 64

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        message = self._wrong_credentials() or self._wrong_tls()
        if message is not None:
            raise ValueError(message)
        return self

    def warnings(self) -> list[str]:
        """What works and should not be, as what is said of a device."""
        said = []
        if self.insecure:
            secret = self._given("password_env", "password_file", "token_env", "token_file")
            said.append(
                "insecure: no TLS" + (", and the password or token goes over the network as it is" * bool(secret))
            )
        if self.skip_verify:
            said.append("skip_verify: whoever answers is believed; ca_file names who signed the device's certificate")
        return said

    def metadata(self, env: Mapping[str, str] = os.environ) -> list[tuple[str, str]]:
        """What each call carries to say who asks.

        Raises:
            ConfigError: a variable is not set, a file cannot be read, or one holds what no header may.
        """
        if self._given("token_env", "token_file"):
            return [("authorization", f"Bearer {_header('token', self.token_env, self.token_file, env)}")]
        if not self._given("username", "username_env", "username_file"):
            return []
        name = self.username or _header("username", self.username_env, self.username_file, env)
        return [("username", name), ("password", _header("password", self.password_env, self.password_file, env))]

    def idle_after_s(self, sample_s: float) -> float:
        """After how long a silence the stream is dead."""
        return self.idle_s or max(2.5 * sample_s, 10.0)

    def _wrong_credentials(self) -> str | None:
        names = self._given("username", "username_env", "username_file")
        passwords = self._given("password_env", "password_file")
        tokens = self._given("token_env", "token_file")
        for given in (names, passwords, tokens):
            if len(given) > 1:
                return f"needs just one of {' and '.join(given)}"
        if bool(names) != bool(passwords):
            return f"{(names or passwords)[0]} without {'a password' if names else 'a username'}"
        return f"{tokens[0]} and {names[0]} are two ways to say who asks; choose one" if tokens and names else None

    def _wrong_tls(self) -> str | None:
        tls = self._given("ca_file", "cert_file", "key_file", "server_name")
        if self.insecure and (tls or self.skip_verify):
            return f"insecure = true is no TLS at all: {' and '.join(tls) or 'skip_verify'} would do nothing"
        if self.skip_verify and self.ca_file:
            return "skip_verify = true verifies nothing: ca_file would do nothing"
        if bool(self.cert_file) != bool(self.key_file):
            return "cert_file and key_file belong together"
        return None

    def _given(self, *keys: str) -> list[str]:
        return [key for key in keys if getattr(self, key) is not None]


def _header(key: str, variable: str | None, file: Path | None, env: Mapping[str, str]) -> str:
    value = read_secret(key, variable, file, env)
    if not value.isascii() or not value.isprintable():
        msg = f"the {key} from {variable or file} holds characters that gRPC's metadata cannot carry"
        raise ConfigError(msg)
    return value
