"""forelight-deliver.toml: which consumers there are and how they are told.

Unknown keys are errors that name the nearest right one. A secret is never in the file: it names a variable of the
environment, or a file.
"""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ingest.errors import ConfigError
from ingest.toml_file import Place, load_toml, sentence
from serving.alarms import Level

__all__ = [
    "AdapterConfig",
    "AlertmanagerConfig",
    "Deliver",
    "DeliverConfig",
    "KubernetesConfig",
    "NvsentinelConfig",
    "WebhookConfig",
    "load_config",
]

_Url = Annotated[str, Field(pattern=r"^https?://[^\s@]+$", max_length=2000)]  # no user and password in it
_Label = Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$", max_length=100)]
_Seconds = Annotated[float, Field(gt=0, le=31_536_000, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Deliver(_Strict):
    """How deliveries go.

    Attributes:
        poll_s: how often is looked for new messages.
        lease_s: for which a delivery is claimed: what a deliverer had begun that died is delivered again after that.
        tries: after so many a delivery is dead.
        first_retry_s, most_retry_s: pause after the first failure, doubled up to the other.
        withdraw_after_s: scores as old as that say nothing any more: what stands on them is taken back at consumers.
        keep_days: messages of alarms that are over are kept for as long.
    """

    poll_s: _Seconds = 2.0
    lease_s: _Seconds = 120.0
    tries: Annotated[int, Field(ge=1, le=10_000)] = 60
    first_retry_s: _Seconds = 1.0
    most_retry_s: _Seconds = 600.0
    withdraw_after_s: _Seconds = 21_600.0
    keep_days: Annotated[float, Field(ge=1, le=36_500)] = 90.0


class AdapterConfig(_Strict):
    """What all consumers have.

    Attributes:
        name: by which its deliveries are known; a new name is a new consumer.
        min_level: alarms of at least that level.
        sites: of these only; of all where none is given.
        timeout_s: for an answer.
        dry_run: say what would be sent, and send nothing.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100)]
    min_level: Level = Level.ACT
    sites: tuple[str, ...] = ()
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 10.0
    dry_run: bool = False


class _HttpConfig(AdapterConfig):
    """A consumer over HTTP; TLS is verified, against `ca_file` where one is given."""

    ca_file: Path | None = None
    token_env: str | None = None
    token_file: Path | None = None

    def authorization(self) -> Mapping[str, str]:
        """The header with the token, where there is one."""
        token = read_secret(self.name, "token", self.token_env, self.token_file)
        return {} if token is None else {"Authorization": f"Bearer {token}"}


class AlertmanagerConfig(_HttpConfig):
    """One Alertmanager.

    Attributes:
        url: without ``/api/v2``.
        ttl_s: an alert that is not told again ends after that; it is told again three times as often.
        labels: of each alert, beside its own.
        external_url: of the service, for links back to the alarm.
    """

    kind: Literal["alertmanager"]
    url: _Url
    min_level: Level = Level.WATCH
    ttl_s: Annotated[float, Field(ge=30, le=86_400)] = 900.0
    labels: dict[_Label, str] = {}
    external_url: _Url | None = None


class WebhookConfig(_HttpConfig):
    """One address for CloudEvents.

    Attributes:
        source: of the events, a URI reference; with their ``id`` it is unique.
        secret_env, secret_file: for the signature.
    """

    kind: Literal["webhook"]
    url: _Url
    min_level: Level = Level.WATCH
    source: Annotated[str, Field(min_length=1, max_length=200)] = "/forelight"
    secret_env: str | None = None
    secret_file: Path | None = None

    def secret(self) -> bytes | None:
        """For the signature."""
        found = read_secret(self.name, "secret", self.secret_env, self.secret_file)
        return None if found is None else found.encode()


class NvsentinelConfig(AdapterConfig):
    """NVSentinel's platform connector.

    Attributes:
        target: ``host:port``, or ``unix:///…``.
        shadow: events are only stored there, and nothing is done about them.
        insecure: no TLS; a unix socket needs none.
        node_suffix: what makes a device's name the name of its node.
    """

    kind: Literal["nvsentinel"]
    target: Annotated[str, Field(pattern=r"^(unix:|dns:)?[^\s]+$", max_length=500)]
    shadow: bool = True
    insecure: bool = False
    ca_file: Path | None = None
    token_env: str | None = None
    token_file: Path | None = None
    node_suffix: str = ""
    component_class: Annotated[str, Field(min_length=1, max_length=100)] = "Optics"

    def token(self) -> str | None:
        """For the central service."""
        return read_secret(self.name, "token", self.token_env, self.token_file)


class KubernetesConfig(AdapterConfig):
    """Nodes of a cluster.

    Attributes:
        kubeconfig: the cluster that the process runs in where not given.
        taint: PreferNoSchedule beside the condition.
        max_nodes: so many nodes have the taint at most; the condition goes on.
        node_suffix: what makes a device's name the name of its node.
        check_s: how often what stands is looked at again.
    """

    kind: Literal["kubernetes"]
    kubeconfig: Path | None = None
    context: str | None = None
    taint: bool = True
    max_nodes: Annotated[int, Field(ge=0)] = 10
    node_suffix: str = ""
    check_s: Annotated[float, Field(ge=10, le=86_400)] = 300.0


AnyAdapter = Annotated[
    AlertmanagerConfig | WebhookConfig | NvsentinelConfig | KubernetesConfig, Field(discriminator="kind")
]
_KINDS: Final[Mapping[str, type[AdapterConfig]]] = {
    "alertmanager": AlertmanagerConfig,
    "webhook": WebhookConfig,
    "nvsentinel": NvsentinelConfig,
    "kubernetes": KubernetesConfig,
}


class DeliverConfig(_Strict):
    """The whole file."""

    deliver: Deliver = Deliver()
    adapter: Annotated[tuple[AnyAdapter, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [adapter.name for adapter in self.adapter]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            msg = f"adapter {twice[0]!r} is there twice"
            raise ValueError(msg)
        return self


def load_config(path: Path) -> DeliverConfig:
    """Read and check a configuration.

    Raises:
        ConfigError: no such file, no TOML, or a key or value that cannot be; the text names place and remedy.
    """
    return load_toml(path, DeliverConfig, _told, "docs/deliveries.md")


def read_secret(name: str, what: str, variable: str | None, file: Path | None) -> str | None:
    """A secret from the environment or a file; None where neither is named.

    Raises:
        ConfigError: it is named and is not there.
    """
    if variable is not None:
        found = os.environ.get(variable, "")
        where = f"the variable {variable}"
    elif file is not None:
        try:
            found, where = file.read_text(encoding="utf-8").strip(), str(file)
        except (OSError, UnicodeDecodeError) as error:
            msg = f"adapter {name}: the {what} in {file} cannot be read: {error}"
            raise ConfigError(msg) from None
    else:
        return None
    if not found or not found.isprintable():
        msg = f"adapter {name}: {where} holds no {what}"
        raise ConfigError(msg)
    return found


def _told(error: dict[str, Any], raw: dict[str, Any]) -> str:
    place = [part for part in error["loc"] if part not in _KINDS]
    if error["type"].startswith("union_tag"):
        return f"{_where(place, raw)}: kind is one of {', '.join(_KINDS)}{_near_kind(place, raw)}"
    if place == ["adapter"] and error["type"] != "missing":
        return _no_list(raw["adapter"])
    return sentence(error, place, lambda around: _keys(around, raw), lambda around: _where(around, raw))


def _no_list(given: object) -> str:
    """Why there is no adapter; empty where each says for itself what is wrong with it."""
    if isinstance(given, list):
        return "" if given else "there is no adapter: write [[adapter]] for each"
    return "adapter is no list: write [[adapter]] for each, with a name and a kind"


def _near_kind(place: Place, raw: dict[str, Any]) -> str:
    """The nearest to the kind that is not there."""
    given = raw["adapter"][place[1]].get("kind") if isinstance(raw["adapter"][place[1]], dict) else None
    near = difflib.get_close_matches(given, _KINDS, n=1, cutoff=0.0) if isinstance(given, str) else []
    return f"; the nearest to {given!r} is {near[0]!r}" if near else ""


def _keys(place: Place, raw: dict[str, Any]) -> list[str]:
    """Keys that may stand at a place of the file."""
    if not place:
        return list(DeliverConfig.model_fields)
    if place[0] == "deliver":
        return list(Deliver.model_fields)
    return list(_KINDS[raw["adapter"][place[1]]["kind"]].model_fields)


def _where(place: Place, raw: dict[str, Any]) -> str:
    """`[[adapter]] oncall, url`, say."""
    if not place:
        return "the file"
    if place[0] != "adapter" or len(place) < 2 or not isinstance(place[1], int):  # noqa: PLR2004 - section and number
        return f"[{place[0]}]" + "".join(f" {part}" for part in place[1:])
    given = raw["adapter"][place[1]]
    label = given.get("name", place[1] + 1) if isinstance(given, dict) else place[1] + 1
    return ", ".join([f"[[adapter]] {label}", *(str(part) for part in place[2:])])
