"""Kubernetes: a condition on each node of an alarm, and a taint that only asks for other nodes first.

A node may hang on several links. The alarms that stand on it are kept in an annotation, which says what the condition
and the taint are to be; every change is made to the node as it was read, or made again. Taints and conditions of others
are left as they are.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from serving.adapters.base import Telling, headline, when
from serving.adapters.config import KubernetesConfig
from serving.adapters.http import failure
from serving.deliveries.errors import FailedError, RefusedError, UnreachableError

__all__ = ["ANNOTATION", "CONDITION", "TAINT", "NodeCondition"]

CONDITION: Final = "TransceiverAtRisk"
TAINT: Final = "forelight.io/transceiver-at-risk"
ANNOTATION: Final = "forelight.io/alarms"
_EFFECT: Final = "PreferNoSchedule"
_ATTEMPTS: Final = 5
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_Patch = dict[str, Any]


class NodeCondition:
    """Changes nodes of one cluster."""

    keeps = True
    repeats = True
    uses_nodes = True
    needs_nodes = True
    tells_storms = False

    def __init__(self, config: KubernetesConfig) -> None:
        self.name = config.name
        self.timeout_s = config.timeout_s
        self.check_s = config.check_s
        self._config = config
        self._api: Any = None

    def render(self, telling: Telling) -> Sequence[dict[str, object]]:
        """What is asked of each node; the rest depends on the node."""
        wanted = {"condition": self._condition(telling, active=telling.active), "taint": self._config.taint}
        verb = "add" if telling.active else "remove"
        return [{"node": node, verb: telling.notice.subject, **wanted} for node in self._nodes(telling)]

    def send(self, telling: Telling) -> None:
        """Change each of the alarm's nodes."""
        for node in self._nodes(telling):
            for _ in range(_ATTEMPTS):
                if self._change(node, telling):
                    break
            else:
                msg = f"node {node} is changed by others all the time"
                raise FailedError(msg)

    def close(self) -> None:
        """Give connections back."""
        if self._api is not None:
            self._api.api_client.close()

    def _nodes(self, telling: Telling) -> list[str]:
        return [node + self._config.node_suffix for node in telling.notice.nodes]

    def _change(self, name: str, telling: Telling) -> bool:
        """Make the node as it should be; False where it was changed in between."""
        node = self._asked(lambda api, **more: api.read_node(name, **more), missing=not telling.active)
        if node is None:
            return True  # it is gone, and its taint with it
        alarms = set(filter(None, (node.metadata.annotations or {}).get(ANNOTATION, "").split(",")))
        after = alarms | {telling.notice.subject} if telling.active else alarms - {telling.notice.subject}
        change = self._patch(node, after)
        if change:
            node = self._patched("patch_node", name, node, change, "application/merge-patch+json")
        if node is None:
            return False
        condition = self._condition(telling, active=bool(after))
        if not telling.active and after:
            condition["message"] = f"still at risk by {', '.join(sorted(after))}"[:1024]
        if _is_said(node, condition):
            return True
        status = {"status": {"conditions": [condition | _times(node, condition, when(telling.at))]}}
        kind = "application/strategic-merge-patch+json"
        return self._patched("patch_node_status", name, node, status, kind) is not None

    def _patch(self, node: Any, after: set[str]) -> _Patch:
        """What is to change of metadata and taints; empty where nothing is."""
        change: _Patch = {}
        text = ",".join(sorted(after)) or None
        if (node.metadata.annotations or {}).get(ANNOTATION) != text:
            change["metadata"] = {"annotations": {ANNOTATION: text}}
        taints = node.spec.taints or []
        ours = [taint for taint in taints if taint.key == TAINT]
        wanted = bool(after) and self._config.taint and (bool(ours) or self._may_taint())
        if wanted != bool(ours):
            kept = [client.ApiClient().sanitize_for_serialization(taint) for taint in taints if taint.key != TAINT]
            mine = [{"key": TAINT, "value": "forecast", "effect": _EFFECT}] if wanted else []
            change["spec"] = {"taints": [*kept, *mine]}
            labels = change.setdefault("metadata", {}).setdefault("labels", {})
            labels[TAINT] = "true" if wanted else None
        return change

    def _may_taint(self) -> bool:
        """Whether fewer nodes than allowed have our taint; they have a label of the same name."""
        most = self._config.max_nodes
        found = self._asked(
            lambda api, **more: api.list_node(label_selector=f"{TAINT}=true", limit=most + 1, **more), missing=False
        )
        return len(found.items) < most

    @staticmethod
    def _condition(telling: Telling, *, active: bool) -> dict[str, str]:
        alarm = telling.notice.alarm
        assert alarm is not None  # noqa: S101 - storms are not told
        if active:
            return {
                "type": CONDITION,
                "status": "True",
                "reason": "FailureForecast",
                "message": f"{headline(alarm)}, alarm {alarm.alarm_id}",
            }
        if telling.stale:
            return {"type": CONDITION, "status": "Unknown", "reason": "NoFreshScores", "message": "scores are too old"}
        return {"type": CONDITION, "status": "False", "reason": "NoForecast", "message": "no failure is expected"}

    def _patched(self, verb: str, name: str, node: Any, change: _Patch, kind: str) -> Any:
        """The node after the change; None where it was changed in between."""
        version = {"resourceVersion": node.metadata.resource_version}
        body = change | {"metadata": change.get("metadata", {}) | version}
        try:
            return self._asked(lambda api, **more: getattr(api, verb)(name, body, _content_type=kind, **more))
        except _ConflictError:
            return None

    def _asked(self, ask: Callable[..., Any], *, missing: bool = False) -> Any:
        """The API server's answer; None for a node that may be missing and is."""
        try:
            if self._api is None:
                self._api = client.CoreV1Api(_api_client(self._config))
            return ask(self._api, _request_timeout=self.timeout_s)
        except ApiException as error:
            if error.status == _CONFLICT:
                raise _ConflictError from error
            if error.status == _NOT_FOUND:
                if missing:
                    return None
                msg = "the cluster has no such node"
                raise RefusedError(msg) from error
            raise failure(error.status or 500, str(error.reason)) from error
        except (urllib3.exceptions.HTTPError, config.ConfigException, OSError) as error:
            msg = f"no answer of the API server: {' '.join(str(error).split())[:300]}"
            raise UnreachableError(msg) from error


class _ConflictError(Exception):
    """Another changed the node since it was read."""


def _api_client(settings: KubernetesConfig) -> Any:
    """A client that gives up at once: it is the outbox that tries again."""
    found = client.Configuration()
    if settings.kubeconfig is None:
        config.load_incluster_config(client_configuration=found)
    else:
        path, context = str(settings.kubeconfig), settings.context
        config.load_kube_config(config_file=path, context=context, client_configuration=found, persist_config=False)
    found.retries = False
    return client.ApiClient(found)


def _is_said(node: Any, condition: dict[str, str]) -> bool:
    """Whether the node has the condition already; its times do not count, nor a condition that never was."""
    there = _ours(node)
    if there is None:
        return condition["status"] == "False"
    return all(getattr(there, name) == condition[name] for name in ("status", "reason", "message"))


def _times(node: Any, condition: dict[str, str], now: str) -> dict[str, str]:
    there = _ours(node)
    same = there is not None and there.status == condition["status"] and there.last_transition_time is not None
    return {"lastHeartbeatTime": now, "lastTransitionTime": when(there.last_transition_time) if same else now}


def _ours(node: Any) -> Any:
    return next((each for each in node.status.conditions or [] if each.type == CONDITION), None)
