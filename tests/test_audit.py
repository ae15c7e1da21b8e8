"""The audit of dependencies: what is found fails, what could not be looked up is said and is no all-clear."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "audit.py"


@pytest.fixture(name="audit")
def _audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ci_audit", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _report(*dependencies: dict[str, Any]) -> str:
    """As pip-audit 2.10 writes it."""
    return json.dumps({"dependencies": dependencies, "fixes": []})


CLEAN = {"name": "anyio", "version": "4.16.0", "vulns": []}
BAD = {
    "name": "jinja2",
    "version": "3.1.6",
    "vulns": [{"id": "GHSA-xxxx", "fix_versions": ["99.0"], "aliases": ["CVE-2026-1"]}],
}
SKIPPED = {"name": "zipp", "skip_reason": "Dependency not found on PyPI and could not be audited: zipp (4.1.2)"}


def test_a_vulnerability_is_named_with_what_mends_it(audit: ModuleType) -> None:
    assert ["jinja2 3.1.6: GHSA-xxxx, mended in 99.0"] == audit.findings(_report(CLEAN, BAD))


def test_where_all_was_looked_up_nothing_found_is_an_all_clear(audit: ModuleType) -> None:
    assert [] == audit.findings(_report(CLEAN))


@pytest.mark.parametrize("report", ["", "Traceback", "{}", "[]", _report(), _report(CLEAN, SKIPPED)])
def test_what_could_not_be_looked_up_is_no_all_clear(audit: ModuleType, report: str) -> None:
    """pip-audit itself ends with 0 where a registry knows of no package at all."""
    assert audit.findings(report) is None


def test_without_the_service_it_says_so_and_checks_the_locks(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(tmp_path)}

    ran = subprocess.run(
        [sys.executable, str(SCRIPT)], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert 0 == ran.returncode, ran.stdout + ran.stderr
    assert "audit: vulnerabilities were NOT looked up" in ran.stdout
    assert " passed" in ran.stdout
