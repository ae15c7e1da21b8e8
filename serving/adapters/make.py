"""From a consumer's configuration to its adapter; libraries that only one of them needs are imported here."""

from ingest.errors import ConfigError
from serving.adapters.alertmanager import Alertmanager
from serving.adapters.base import Adapter
from serving.adapters.config import AdapterConfig, AlertmanagerConfig, KubernetesConfig, NvsentinelConfig, WebhookConfig
from serving.adapters.webhook import Webhook

__all__ = ["make_adapter"]


def make_adapter(config: AdapterConfig) -> Adapter:
    """The adapter; connects to nothing yet.

    Raises:
        ConfigError: a secret or a library is missing.
    """
    match config:
        case AlertmanagerConfig():
            return Alertmanager(config)
        case WebhookConfig():
            return Webhook(config)
        case NvsentinelConfig():
            return _nvsentinel(config)
        case KubernetesConfig():
            return _kubernetes(config)
    msg = f"adapter {config.name}: there is no such kind"
    raise ConfigError(msg)


def _nvsentinel(config: NvsentinelConfig) -> Adapter:
    try:
        from serving.adapters.nvsentinel import Nvsentinel
    except ModuleNotFoundError as error:
        msg = f"adapter {config.name} needs {error.name}: install forelight[nvsentinel]"
        raise ConfigError(msg) from error
    return Nvsentinel(config)


def _kubernetes(config: KubernetesConfig) -> Adapter:
    try:
        from serving.adapters.node_condition import NodeCondition
    except ModuleNotFoundError as error:
        msg = f"adapter {config.name} needs {error.name}: install forelight[kubernetes]"
        raise ConfigError(msg) from error
    return NodeCondition(config)
