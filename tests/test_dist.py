"""What is released: the wheel holds the packages as tracked, the sdist makes the same wheel, licences are told."""

import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("ingest", "features", "models", "diagnosis", "serving", "data_samples")


@pytest.fixture(name="dist")
def _dist() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ci_dist", ROOT / ".ci" / "dist.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _built(source: Path, out: Path, *kinds: str) -> Path:
    """A wheel or an sdist by the backend that is locked, without a network."""
    uv = ROOT / ".venv" / "bin" / "uv"
    command = [str(uv) if uv.exists() else "uv", "build", "--quiet", "--offline", "--no-build-isolation", *kinds]
    command += ["--python", sys.executable, "--out-dir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": ""})
    assert 0 == done.returncode, done.stderr
    return next(out.glob("*.whl" if "--wheel" in kinds else "*.tar.gz"))


def _files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(name="wheel", scope="module")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(ROOT, tmp_path_factory.mktemp("wheel"), "--wheel")


def test_the_wheel_holds_what_is_tracked_of_the_packages_and_nothing_else(wheel: Path) -> None:
    """Templates, scripts, migrations, vendor files and the sample fleet are among it; caches and notes are not."""
    listed = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout: which files are the project's is not known")

    held = {name for name in _files(wheel) if ".dist-info/" not in name}

    assert set(listed.stdout.splitlines()) == held


def test_each_package_says_that_it_is_typed(wheel: Path) -> None:
    """Without the mark (PEP 561) whoever imports it is told nothing of its types."""
    assert {f"{folder}/py.typed" for folder in FOLDERS} <= set(_files(wheel))


def test_the_sdist_makes_the_same_wheel_byte_by_byte(wheel: Path, tmp_path: Path) -> None:
    sdist = _built(ROOT, tmp_path / "sdist", "--sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    source = next((tmp_path / "source").iterdir())

    again = _built(source, tmp_path / "again", "--wheel")

    assert wheel.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("licenses", "said"),
    [
        ([], "no licence told"),
        ([{"license": {"id": "AGPL-3.0-only"}}], "AGPL-3.0-only"),
        ([{"license": {"name": "GNU General Public License v3 (GPLv3)"}}], "GNU General Public License v3 (GPLv3)"),
    ],
)
def test_a_licence_that_does_not_go_with_ours_is_named(dist: ModuleType, licenses: list[Any], said: str) -> None:
    bom = {"components": [{"name": "thing", "version": "1.0", "licenses": licenses}]}

    assert [f"thing 1.0: {said}"] == dist.doubtful(bom)


@pytest.mark.parametrize(
    "licenses",
    [
        [{"license": {"id": "MIT"}}],
        [{"license": {"name": "GNU Lesser General Public License v3 (LGPLv3)"}}],
        [{"expression": "GPL-2.0-only OR BSD-3-Clause"}],
        [{"license": {"name": "GPL-3.0-only"}}, {"license": {"id": "MIT"}}],
    ],
)
def test_licences_that_do_are_not(dist: ModuleType, licenses: list[Any]) -> None:
    assert [] == dist.doubtful({"components": [{"name": "thing", "version": "1.0", "licenses": licenses}]})


def test_a_licence_that_was_read_stands_where_none_was_told(dist: ModuleType) -> None:
    bom = {"components": [{"name": "pysnmp", "version": "7.1"}, {"name": "thing", "version": "1.0"}]}

    assert ["thing 1.0: no licence told"] == dist.doubtful(dist.completed(bom))


def test_the_list_is_about_forelight_and_does_not_say_where_it_was_built(dist: ModuleType) -> None:
    ours = {"name": "forelight", "version": "0.1.0", "externalReferences": [{"url": "file:///home/ann/forelight.whl"}]}
    told = dist.completed({"components": [ours, {"name": "thing", "version": "1.0"}]})

    assert {"name": "forelight", "version": "0.1.0"} == told["metadata"]["component"]
    assert ["thing"] == [part["name"] for part in told["components"]]


def test_what_the_wheel_brings_of_others_is_listed_with_its_licence(dist: ModuleType, wheel: Path) -> None:
    """Each folder of others' files is a component, and its licence goes with it."""
    folders = {name.split("/")[4] for name in _files(wheel) if name.startswith("serving/web/static/vendor/")}
    listed = dist.bundled()

    assert folders == {part["name"].lower() for part in listed}
    assert [] == dist.doubtful({"components": listed})
    assert {f"serving/web/static/vendor/{folder}/LICENSE" for folder in folders} <= set(_files(wheel))
