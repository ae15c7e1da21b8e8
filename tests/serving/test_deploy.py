"""Units, the container file and manifests are what they should be by shape; no cluster and no builder runs here."""

import configparser
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.core import TyperGroup

from serving.adapters.config import DeliverConfig
from serving.cli import app

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = [
    (file.name, manifest)
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for manifest in yaml.safe_load_all(file.read_text(encoding="utf-8"))
]
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")


def _named(kind: str) -> dict[str, Any]:
    return {manifest["metadata"]["name"]: manifest for _, manifest in MANIFESTS if manifest["kind"] == kind}


def _pods() -> Iterator[Any]:
    for manifest in [*_lasting().values(), *_named("CronJob").values()]:
        spec = manifest["spec"].get("jobTemplate", manifest)["spec"]
        claims = [{"name": claim["metadata"]["name"]} for claim in spec.get("volumeClaimTemplates", ())]
        pod = spec["template"]["spec"]
        yield pytest.param(pod | {"volumes": pod["volumes"] + claims}, id=manifest["metadata"]["name"])


def _lasting() -> dict[str, Any]:
    """What runs all the time."""
    return _named("Deployment") | _named("StatefulSet")


def _commands() -> dict[str, Any]:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return dict(group.commands)


def _check_command(arguments: list[str]) -> None:
    """The command exists, and each of its options."""
    command: Any = _commands()[arguments[0]]
    if isinstance(command, TyperGroup):
        command = command.commands[arguments[1]]
    options = {option for parameter in command.params for option in parameter.opts}
    assert set() == {argument for argument in arguments if argument.startswith("-")} - options


@pytest.mark.parametrize("pod", list(_pods()))
class TestEveryPod:
    def test_it_has_no_rights(self, pod: dict[str, Any]) -> None:
        assert pod["securityContext"]["runAsNonRoot"]
        assert "RuntimeDefault" == pod["securityContext"]["seccompProfile"]["type"]
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"]
            assert not context["allowPrivilegeEscalation"]
            assert ["ALL"] == context["capabilities"]["drop"]

    def test_it_runs_a_command_that_there_is(self, pod: dict[str, Any]) -> None:
        for container in pod["containers"]:
            _check_command(container["args"])
            probe = container.get("livenessProbe", {}).get("exec")
            if probe:
                _check_command(probe["command"][1:])

    def test_it_says_what_it_needs_and_writes_only_where_it_may(self, pod: dict[str, Any]) -> None:
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            assert {"cpu", "memory"} == set(container["resources"]["requests"])
            assert "memory" in container["resources"]["limits"]
            mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
            assert {"/var/lib/forelight", "/tmp"} <= set(mounts)
            assert set(mounts.values()) == volumes

    def test_what_it_refers_to_is_there(self, pod: dict[str, Any]) -> None:
        maps, secrets = _named("ConfigMap"), _named("Secret")
        for container in pod["containers"]:
            for source in container["envFrom"]:
                assert source.get("configMapRef", {"name": "forelight"})["name"] in maps
                assert source.get("secretRef", {"name": "forelight"})["name"] in secrets
        assert all(volume["configMap"]["name"] in maps for volume in pod["volumes"] if "configMap" in volume)
        assert pod.get("serviceAccountName", "forelight-deliver") in _named("ServiceAccount")

    def test_only_who_changes_nodes_may_speak_to_the_cluster(self, pod: dict[str, Any]) -> None:
        assert ("serviceAccountName" in pod) != (pod.get("automountServiceAccountToken") is False)


@pytest.mark.parametrize("name", ["Deployment", "StatefulSet", "Service", "PodDisruptionBudget"])
def test_a_selector_finds_its_pods(name: str) -> None:
    pods = {key: each["spec"]["template"]["metadata"]["labels"] for key, each in _lasting().items()}
    for manifest in _named(name).values():
        selector = manifest["spec"]["selector"]
        labels = selector.get("matchLabels", selector)

        assert 1 == sum(labels.items() <= pod.items() for pod in pods.values())


def test_the_service_is_probed_where_it_answers() -> None:
    (container,) = _named("StatefulSet")["forelight-serve"]["spec"]["template"]["spec"]["containers"]

    assert {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"} == {
        probe: container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    assert str(container["ports"][0]["containerPort"]) in container["args"]


def test_what_was_acknowledged_outlives_the_pod() -> None:
    """Samples wait below the home of the service while the lake is away."""
    claims = _named("StatefulSet")["forelight-serve"]["spec"]["volumeClaimTemplates"]

    assert ["home"] == [claim["metadata"]["name"] for claim in claims]


def test_runs_do_not_overlap() -> None:
    assert "Forbid" == _named("CronJob")["forelight-score"]["spec"]["concurrencyPolicy"]


def test_the_deliverer_s_configuration_is_one() -> None:
    text = _named("ConfigMap")["forelight-deliver"]["data"]["forelight-deliver.toml"]

    assert ["alertmanager", "kubernetes"] == [each.kind for each in DeliverConfig(**tomllib.loads(text)).adapter]


def test_the_role_allows_what_the_adapter_does_and_no_more() -> None:
    rules = {rule["resources"][0]: rule["verbs"] for rule in _named("ClusterRole")["forelight-deliver"]["rules"]}
    source = (ROOT / "serving" / "adapters" / "node_condition.py").read_text(encoding="utf-8")
    used = set(re.findall(r"\b(read_node|list_node|patch_node_status|patch_node)\b", source))

    assert {"nodes": ["get", "list", "patch"], "nodes/status": ["patch"]} == rules
    assert {"read_node", "list_node", "patch_node", "patch_node_status"} == used


def test_variables_are_ones_that_the_code_reads() -> None:
    code = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "serving").rglob("*.py"))
    settings = [*_named("ConfigMap").values(), *_named("Secret").values()]
    names = [name for each in settings for name in each.get("data", each.get("stringData"))]

    assert [] == [name for name in names if name.isupper() and name not in code]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_runs_a_command_that_there_is_without_rights(unit: Path) -> None:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names of units keep their case
    parser.read_string(unit.read_text(encoding="utf-8"))
    service = dict(parser["Service"])

    assert "forelight" == service["User"]
    assert ("strict", "true") == (service["ProtectSystem"], service["NoNewPrivileges"])
    for line in re.findall(r"^ExecStart=(.+)$", unit.read_text(encoding="utf-8"), re.MULTILINE):
        program, *arguments = line.split()
        assert program.endswith("/forelight")
        _check_command(arguments)


@pytest.mark.parametrize("unit", sorted((DEPLOY / "systemd").iterdir()), ids=lambda unit: unit.name)
def test_systemd_finds_nothing_wrong_with_a_unit(unit: Path, tmp_path: Path) -> None:
    """All of them, for a timer starts a service; with a program that is here in place of ours."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    for each in (DEPLOY / "systemd").iterdir():
        text = each.read_text(encoding="utf-8").replace("/opt/forelight/.venv/bin/forelight", "/bin/true")
        (tmp_path / each.name).write_text(text, encoding="utf-8")
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / unit.name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (0, "") == (done.returncode, done.stderr)


def test_what_is_deployed_bears_the_version() -> None:
    """The project file is the one place that gives it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    texts = [file.read_text(encoding="utf-8") for file in DEPLOY.rglob("*") if file.suffix in {".yaml", ".md"}]
    images = [tag for text in texts for tag in re.findall(r"\bforelight:(\d\S+)", text)]

    assert len(images) > 4
    assert {version} == set(images)
    assert [version] == re.findall(r"org\.opencontainers\.image\.version=(\S+)", CONTAINERFILE)


def test_the_container_runs_without_rights_on_what_the_lock_says() -> None:
    final = CONTAINERFILE.rsplit("\nFROM ", 1)[1]
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE, re.MULTILINE)

    assert "--require-hashes" in CONTAINERFILE
    assert re.search(r"^USER 10001:10001$", final, re.MULTILINE)
    assert [] == [name for line in copied for name in line.split() if not (ROOT / name).exists()]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert set(packages) <= {name for line in copied for name in line.split()}
    assert 'ENTRYPOINT ["forelight"]' in final
    _check_command(re.findall(r'^CMD \["(\w+)"\]$', final, re.MULTILINE))
