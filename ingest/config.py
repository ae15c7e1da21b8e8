"""forelight.toml: what to poll, how often and with which credentials; unknown keys are errors that name the nearest."""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from ingest.errors import ConfigError

__all__ = ["Collect", "Config", "GnmiOptions", "SnmpOptions", "Target", "load_config"]

_Seconds = Annotated[float, Field(gt=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Collect(_Strict):
    """How the sweeps go.

    Attributes:
        interval_s: from the start of a sweep to the start of the next.
        concurrency: devices asked at the same time; one request at a time each.
        deadline_s: what one device may take in all; the interval where not given.
        spool_max_mb: what the spool may take of the disk while the lake cannot be written; then the oldest rows go.
        metrics_port, metrics_host: where Prometheus finds the collector's metrics; nowhere by default.
    """

    interval_s: _Seconds = 60.0
    concurrency: Annotated[int, Field(ge=1)] = 64
    deadline_s: _Seconds | None = None
    spool_max_mb: Annotated[int, Field(ge=1)] = 2_048
    metrics_port: Annotated[int, Field(ge=1, le=65_535)] | None = None
    metrics_host: Annotated[str, Field(min_length=1)] = "127.0.0.1"


class SnmpOptions(_Strict):
    """How one device is asked over SNMP.

    Attributes:
        community_env, community_file: where the community is read from; `community` in the open is warned about.
        engine: "gufo" (Rust), or "pysnmp" for what it cannot do.
        timeout_s: for one answer; asked again `retries` times, with fewer rows an answer.
        max_repetitions: rows an answer at first; 50 and more pass UDP's limit on some devices.
        profile: a vendor file's name, where sysObjectID should not decide.
    """

    version: Literal["1", "2c", "3"] = "2c"
    community: SecretStr | None = None
    community_env: str | None = None
    community_file: Path | None = None
    engine: Literal["gufo", "pysnmp"] = "gufo"
    timeout_s: _Seconds = 3.0
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    max_repetitions: Annotated[int, Field(ge=1, le=1_000)] = 25
    profile: str | None = None
    user: str | None = None
    auth_protocol: Literal["md5", "sha1", "sha224", "sha256", "sha384", "sha512"] | None = None
    auth_env: str | None = None
    priv_protocol: Literal["des", "aes128", "aes192", "aes256"] | None = None
    priv_env: str | None = None
    context: str | None = None
    key_expansion: Literal["blumenthal", "cisco"] = "blumenthal"

    @model_validator(mode="after")
    def _can_authenticate(self) -> Self:
        given = [key for key in ("community", "community_env", "community_file") if getattr(self, key) is not None]
        if self.version == "3":
            msg = 'version = "3" is not in this release; it polls "2c" and "1"'
            raise ValueError(msg)
        if len(given) != 1:
            msg = f"needs just one of community_env, community_file and community, not {' and '.join(given) or 'none'}"
            raise ValueError(msg)
        return self

    def read_community(self, env: Mapping[str, str] = os.environ) -> str:
        """The community, from where the configuration says.

        Raises:
            ConfigError: the variable is not set, or the file cannot be read.
        """
        if self.community is not None:
            return self.community.get_secret_value()
        if self.community_env is not None:
            if self.community_env not in env:
                msg = f"the environment variable {self.community_env} (community_env) is not set"
                raise ConfigError(msg)
            return env[self.community_env]
        try:
            return Path(self.community_file or "").read_text(encoding="utf-8").strip()
        except OSError as error:
            msg = f"community_file {self.community_file}: {error.strerror}"
            raise ConfigError(msg) from None


class GnmiOptions(_Strict):
    """How one device is asked over gNMI; TLS is verified unless told otherwise, and the two ways out differ."""

    username_env: str | None = None
    password_env: str | None = None
    ca_file: Path | None = None
    insecure: bool = False  # no TLS at all
    skip_verify: bool = False  # TLS with whoever answers


class Target(_Strict):
    """One device."""

    site: str = "default"
    device: Annotated[str, Field(min_length=1)]
    address: Annotated[str, Field(min_length=1)]
    port: Annotated[int, Field(ge=1, le=65_535)] = 161
    protocol: Literal["snmp", "gnmi"] = "snmp"
    snmp: SnmpOptions | None = None
    gnmi: GnmiOptions | None = None

    @model_validator(mode="after")
    def _has_its_section(self) -> Self:
        if self.protocol == "snmp" and self.snmp is None:
            msg = "needs a [target.snmp] section"
            raise ValueError(msg)
        return self


class Config(_Strict):
    """A whole configuration."""

    collect: Collect = Collect()
    target: Annotated[tuple[Target, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _targets_differ(self) -> Self:
        seen: set[tuple[str, str]] = set()
        for target in self.target:
            if (target.site, target.device) in seen:
                msg = f"device {target.device!r} of site {target.site!r} is there twice"
                raise ValueError(msg)
            seen.add((target.site, target.device))
        return self

    def warnings(self) -> list[str]:
        """What works and should not be."""
        named = [t.device for t in self.target if t.snmp and t.snmp.community is not None]
        shown = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")  # noqa: PLR2004 - enough
        remedy = "community_env or community_file keep it out"
        return [f"the community of {shown} stands in the file; {remedy}"] if named else []


def load_config(path: Path) -> Config:
    """Read and check a configuration.

    Raises:
        ConfigError: no such file, no TOML, or a key or value that cannot be; the text names place and remedy.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"{path}: {error.strerror}"
        raise ConfigError(msg) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path}: {error}"
        raise ConfigError(msg) from None
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        msg = f"{path}: " + "; ".join(_sentence(dict(e), raw) for e in error.errors())
        raise ConfigError(msg) from None


def _sentence(error: dict[str, Any], raw: object) -> str:
    """One of pydantic's errors in the file's own words."""
    place = list(error["loc"])
    if error["type"] == "extra_forbidden":
        key = str(place.pop())
        near = difflib.get_close_matches(key, _keys(place), n=1, cutoff=0.0)
        return f"{_where(place, raw)}: unknown key {key!r}; the nearest is {near[0]!r}"
    if error["type"] == "missing":
        key = str(place.pop())
        return f"{_where(place, raw)}: {key} is missing"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{_where(place, raw)}: {message[0].lower()}{message[1:]}"


def _keys(place: list[int | str]) -> list[str]:
    """Keys that may stand at a place of the file."""
    sections: dict[str, type[BaseModel]] = {
        "collect": Collect,
        "target": Target,
        "snmp": SnmpOptions,
        "gnmi": GnmiOptions,
    }
    names = [part for part in place if isinstance(part, str)]
    return list((sections[names[-1]] if names else Config).model_fields)


def _where(place: list[int | str], raw: object) -> str:
    """`[target.snmp] of leaf02`, say."""
    names = [str(part) for part in place if isinstance(part, str)]
    number = next((part for part in place if isinstance(part, int)), None)
    if number is None:
        return f"[{'.'.join(names)}]" if names else "the file"
    label = f"target {number + 1}"
    targets = raw.get("target") if isinstance(raw, dict) else None
    if isinstance(targets, list) and isinstance(targets[number], dict) and "device" in targets[number]:
        label = str(targets[number]["device"])
    return f"[{'.'.join(names)}] of {label}"
