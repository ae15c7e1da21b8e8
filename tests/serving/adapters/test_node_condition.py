"""Conditions and taints through the official client, at an API server of our own: no cluster runs here.

It answers as the API's reference says: merge patches, conditions merged by their type, versions that conflict.
"""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from serving.adapters.base import Telling, when
from serving.adapters.config import KubernetesConfig
from serving.deliveries.errors import DeliveryError, FailedError, RefusedError, UnreachableError
from serving.notices import Kind

pytest.importorskip("kubernetes", reason="the extra `kubernetes` is not installed")
MakeTelling = Callable[..., Telling]
FOREIGN_TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}


@dataclass
class Cluster:
    """Nodes, and what was asked of them."""

    url: str = ""
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    patches: list[tuple[str, str, str]] = field(default_factory=list)
    conflicts: int = 0
    fails: list[int] = field(default_factory=list)

    def add(self, name: str) -> None:
        self.nodes[name] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "resourceVersion": "1", "labels": {"kubernetes.io/hostname": name}},
            "spec": {"taints": [FOREIGN_TAINT]},
            "status": {"conditions": [READY]},
        }

    def patch(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        name, _, sub = path.partition("/")
        node = self.nodes.get(name)
        if node is None:
            return 404, {}
        if self.conflicts or body["metadata"]["resourceVersion"] != node["metadata"]["resourceVersion"]:
            self.conflicts = max(0, self.conflicts - 1)
            return 409, {}
        node["metadata"]["resourceVersion"] = str(int(node["metadata"]["resourceVersion"]) + 1)
        if sub == "status":
            new = {each["type"]: each for each in body["status"]["conditions"]}
            old = {each["type"]: each for each in node["status"]["conditions"]}
            node["status"]["conditions"] = list((old | new).values())
        else:
            merged = {key: value for key, value in body.items() if key != "status"}
            merged["metadata"] = {k: v for k, v in body["metadata"].items() if k != "resourceVersion"}
            _merge(node, merged)
        return 200, node

    def condition(self, name: str) -> dict[str, Any] | None:
        found = [c for c in self.nodes[name]["status"]["conditions"] if c["type"] == "TransceiverAtRisk"]
        return found[0] if found else None

    def taints(self, name: str) -> list[tuple[str, str]]:
        return [(taint["key"], taint["effect"]) for taint in self.nodes[name]["spec"]["taints"]]


OURS = ("forelight.io/transceiver-at-risk", "PreferNoSchedule")
FOREIGN = ("nvidia.com/gpu", "NoSchedule")


def _merge(target: dict[str, Any], patch: dict[str, Any]) -> None:
    """RFC 7386."""
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            _merge(target.setdefault(key, {}), value)
        else:
            target[key] = value


@pytest.fixture(name="cluster")
def _cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    for name in ("gpu001", "gpu002"):
        cluster.add(name)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            name = parts.path.removeprefix("/api/v1/nodes").strip("/")
            if cluster.fails:
                self._answer(cluster.fails.pop(0), {})
            elif name:
                self._answer(200 if name in cluster.nodes else 404, cluster.nodes.get(name, {}))
            else:
                label = parse_qs(parts.query)["labelSelector"][0].partition("=")[0]
                found = [node for node in cluster.nodes.values() if label in node["metadata"]["labels"]]
                self._answer(200, {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": found})

        def do_PATCH(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = urlsplit(self.path).path.removeprefix("/api/v1/nodes/")
            cluster.patches.append((path, self.headers["Content-Type"], json.dumps(body)))
            self._answer(*cluster.patch(path, body))

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        cluster.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield cluster
        server.shutdown()
        thread.join()


@pytest.fixture(name="make")
def _make(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    from serving.adapters.node_condition import NodeCondition

    made: list[Any] = []

    def make(url: str = "", **changes: Any) -> Any:
        file = tmp_path / f"kubeconfig{len(made)}"
        file.write_text(json.dumps(_kubeconfig(url or cluster.url)))
        values: dict[str, Any] = {"name": "cluster", "kind": "kubernetes", "kubeconfig": file, "timeout_s": 2.0}
        made.append(NodeCondition(KubernetesConfig(**(values | changes))))
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


def _kubeconfig(url: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": url}}],
        "users": [{"name": "test", "user": {"token": "t"}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }


def test_a_node_gets_condition_and_taint_and_keeps_those_of_others(
    cluster: Cluster, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    make().send(make_telling(nodes=("gpu001",)))

    assert [FOREIGN, OURS] == cluster.taints("gpu001")
    assert READY in cluster.nodes["gpu001"]["status"]["conditions"]
    condition = cluster.condition("gpu001")
    assert condition is not None
    assert ("True", "FailureForecast") == (condition["status"], condition["reason"])
    assert "laser degradation expected at leaf01 Ethernet1, alarm alarm-001" == condition["message"]
    assert [FOREIGN] == cluster.taints("gpu002")


def test_both_are_taken_back(cluster: Cluster, make: Callable[..., Any], make_telling: MakeTelling) -> None:
    adapter = make()
    adapter.send(make_telling(nodes=("gpu001",)))
    adapter.send(make_telling(Kind.CLEARED, active=False, nodes=("gpu001",)))

    assert [FOREIGN] == cluster.taints("gpu001")
    condition = cluster.condition("gpu001")
    assert condition is not None
    assert ("False", "NoForecast") == (condition["status"], condition["reason"])
    assert {"kubernetes.io/hostname": "gpu001"} == cluster.nodes["gpu001"]["metadata"]["labels"]


def test_a_node_on_two_links_is_free_when_the_last_alarm_is_over(
    cluster: Cluster, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    adapter = make()
    for number in (1, 2):
        adapter.send(make_telling(number=number, nodes=("gpu001",)))
    adapter.send(make_telling(Kind.CLEARED, number=1, active=False, nodes=("gpu001",)))
    condition = cluster.condition("gpu001")
    assert condition is not None
    assert ("True", "still at risk by alarm-002") == (condition["status"], condition["message"])
    assert [FOREIGN, OURS] == cluster.taints("gpu001")

    adapter.send(make_telling(Kind.CLEARED, number=2, active=False, nodes=("gpu001",)))

    assert [FOREIGN] == cluster.taints("gpu001")


def test_what_is_so_already_is_not_written_again(
    cluster: Cluster, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    """Every write of a node is seen by every scheduler."""
    adapter = make()
    for _ in range(3):
        adapter.send(make_telling(nodes=("gpu001",)))

    assert ["gpu001", "gpu001/status"] == [path for path, _, _ in cluster.patches]


def test_since_when_a_node_is_at_risk_stays_while_what_is_said_of_it_changes(
    cluster: Cluster, make: Callable[..., Any], make_telling: MakeTelling, now: datetime
) -> None:
    """Who acts on a condition by how long it has held (medik8s' node health check) must not start over."""
    adapter, later = make(), now + timedelta(minutes=30)
    adapter.send(make_telling(nodes=("gpu001",)))
    adapter.send(make_telling(Kind.CHANGED, nodes=("gpu001",), at=later, failure_type="contamination"))
    told = cluster.condition("gpu001")
    adapter.send(make_telling(Kind.CLEARED, active=False, nodes=("gpu001",), at=later))
    over = cluster.condition("gpu001")

    assert told is not None
    assert over is not None
    assert "contamination expected" in told["message"]
    assert (when(now), when(later)) == (told["lastTransitionTime"], told["lastHeartbeatTime"])
    assert when(later) == over["lastTransitionTime"]


def test_a_taint_that_went_away_comes_again(
    cluster: Cluster, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    adapter = make()
    adapter.send(make_telling(nodes=("gpu001",)))
    cluster.add("gpu001")
    adapter.send(make_telling(nodes=("gpu001",)))

    assert [FOREIGN, OURS] == cluster.taints("gpu001")


def test_where_scores_are_too_old_the_condition_is_unknown_and_the_taint_gone(
    cluster: Cluster, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    adapter = make()
    adapter.send(make_telling(nodes=("gpu001",)))
    adapter.send(make_telling(active=False, stale=True, nodes=("gpu001",)))

    condition = cluster.condition("gpu001")
    assert condition is not None
    assert ("Unknown", "NoFreshScores") == (condition["status"], condition["reason"])
    assert [FOREIGN] == cluster.taints("gpu001")


def test_no_more_nodes_than_allowed_are_tainted(
    cluster: Cluster, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    adapter = make(max_nodes=1)
    adapter.send(make_telling(number=1, nodes=("gpu001",)))
    adapter.send(make_telling(number=2, nodes=("gpu002",)))

    assert ([FOREIGN, OURS], [FOREIGN]) == (cluster.taints("gpu001"), cluster.taints("gpu002"))
    condition = cluster.condition("gpu002")
    assert condition is not None
    assert "True" == condition["status"]


def test_without_taint_only_the_condition_is_set(
    cluster: Cluster, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    make(taint=False, node_suffix="1").send(make_telling(nodes=("gpu00",)))

    assert [FOREIGN] == cluster.taints("gpu001")
    assert cluster.condition("gpu001") is not None


@pytest.mark.parametrize(("conflicts", "held"), [(1, True), (4, True), (99, False)])
def test_a_node_that_another_changes_meanwhile_is_read_again(
    cluster: Cluster, make: Callable[..., Any], make_telling: MakeTelling, conflicts: int, held: bool
) -> None:
    cluster.conflicts = conflicts
    if held:
        make().send(make_telling(nodes=("gpu001",)))
        assert [FOREIGN, OURS] == cluster.taints("gpu001")
        return
    with pytest.raises(FailedError, match="changed by others all the time"):
        make().send(make_telling(nodes=("gpu001",)))


def test_a_node_that_is_no_node_of_the_cluster_is_refused_and_one_that_is_gone_is_free(
    make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    adapter = make()
    with pytest.raises(RefusedError, match="no such node"):
        adapter.send(make_telling(nodes=("cpu001",)))

    adapter.send(make_telling(Kind.CLEARED, active=False, nodes=("cpu001",)))


@pytest.mark.parametrize(
    ("status", "error"), [(401, UnreachableError), (403, UnreachableError), (500, FailedError), (503, UnreachableError)]
)
def test_a_status_tells_whether_to_try_again(
    cluster: Cluster, make: Callable[..., Any], make_telling: MakeTelling, status: int, error: type[DeliveryError]
) -> None:
    cluster.fails.append(status)

    with pytest.raises(error, match=f"answered {status}"):
        make().send(make_telling(nodes=("gpu001",)))


def test_no_api_server_is_no_fault_of_the_message(make: Callable[..., Any], make_telling: MakeTelling) -> None:
    with pytest.raises(UnreachableError, match="no answer of the API server"):
        make(url="http://127.0.0.1:1").send(make_telling(nodes=("gpu001",)))


def test_outside_of_a_cluster_there_must_be_a_kubeconfig(make: Callable[..., Any], make_telling: MakeTelling) -> None:
    with pytest.raises(UnreachableError, match="Service host/port is not set"):
        make(kubeconfig=None).send(make_telling(nodes=("gpu001",)))
