"""The project's frame: files that must be there, files that must not, and how they are written."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FOLDERS = ["ingest", "features", "models", "diagnosis", "serving", "data_samples"]
ALLOWED = {
    *FOLDERS,
    *{"benchmarks", "deploy", "docs", "notebooks", "tests"},
    *{"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"},
}
REQUIRED = [
    *(f"{folder}/__init__.py" for folder in FOLDERS),
    *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"),
    *(".ci/run", ".gitignore", ".pre-commit-config.yaml"),
    *("deploy/requirements.txt", "deploy/requirements-image.txt", "deploy/requirements-dev.txt"),
    *("docs/index.md", "docs/quickstart.md", "docs/operations.md", "docs/api.md", "docs/vendors.md"),
    "docs/adr/0001-packaging.md",
]
LOCKS = ["deploy/requirements.txt", "deploy/requirements-image.txt", "deploy/requirements-dev.txt"]


@pytest.mark.parametrize("name", REQUIRED)
def test_it_has_what_a_project_needs(name: str) -> None:
    assert (ROOT / name).is_file()


def test_nothing_else_stands_at_the_root() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout: which files are the project's is not known")
    top = {name.split("/")[0] for name in listed.stdout.splitlines()}

    assert set() == {name for name in top if not name.startswith(".")} - ALLOWED


def test_no_package_stands_below_the_tests() -> None:
    """One `__init__.py` there makes pytest import tests/models as `models`."""
    assert [] == list((ROOT / "tests").rglob("__init__.py"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_says_what_it_is_for(folder: str) -> None:
    files = (ROOT / folder).rglob("*.py")

    assert [] == [file for file in files if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_with_hashes_and_names_no_registry(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    pins = re.findall(r"^[a-z0-9][^ ]*==[^ ]+.*$", text, re.MULTILINE)

    assert "://" not in text
    assert [] == [pin for pin in pins if not pin.endswith("\\")]
    assert len(pins) > 100


def test_each_lock_holds_more_than_the_one_before_in_the_same_versions() -> None:
    """What was tested is what runs."""
    run_time, image, everything = map(_pins, LOCKS)

    assert run_time.items() < image.items() < everything.items()


def test_the_image_holds_the_extras_and_nothing_of_the_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras, tests = (
        {canonicalize_name(Requirement(text).name) for text in texts}
        for texts in (
            [text for extra in project["project"]["optional-dependencies"].values() for text in extra],
            project["dependency-groups"]["dev"],
        )
    )

    assert extras <= set(_pins("deploy/requirements-image.txt"))
    assert set() == tests & set(_pins("deploy/requirements-image.txt"))


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_locked_in_a_version_that_it_allows(lock: str) -> None:
    """A lock that lags behind would install what was never asked for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [Requirement(text) for text in project["project"]["dependencies"]]
    if lock.endswith("-dev.txt"):
        wanted += [Requirement(text) for group in project["dependency-groups"].values() for text in group]
    pins = _pins(lock)
    names = {each: canonicalize_name(each.name) for each in wanted}

    assert [] == [str(each) for each, name in names.items() if not each.specifier.contains(pins.get(name, "0"))]


def _pins(lock: str) -> dict[str, str]:
    """Version by name."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)(?:\[[^]]*\])?==([^ ;]+)", text, re.MULTILINE))


def test_every_direct_dependency_says_why() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lists = re.findall(r"^(?:dependencies|dev|build) = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    lines = [line for found in lists for line in found.splitlines() if line.strip().startswith('"')]

    assert len(lines) > 20
    assert [] == [line for line in lines if "# " not in line]


def test_the_changelog_has_a_place_for_what_is_coming() -> None:
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("strict", "outcome"), [("0", "1 skipped"), ("1", "1 failed")])
def test_where_nothing_may_be_skipped_a_skip_is_a_failure(tmp_path: Path, strict: str, outcome: str) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "test_it.py").write_text("import pytest\n\n\ndef test_it():\n    pytest.skip('no such machine')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", str(tmp_path)]
    env = os.environ | {"FORELIGHT_STRICT_SKIPS": strict}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    assert outcome in done.stdout.splitlines()[-1]
    assert "no such machine" in done.stdout
