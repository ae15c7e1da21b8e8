"""Known vulnerabilities of what is locked: pip-audit asks OSV.

Where it cannot, that is said and the locks alone are checked. `python .ci/audit.py [more options of pip-audit]` ends
with 1 where something is found, or where a lock is not whole.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

__all__ = ["findings", "main"]

ROOT: Final = Path(__file__).parents[1]
_LOCK: Final = "deploy/requirements-dev.txt"  # the others hold the same versions and fewer
_TOOL: Final = ("uv", "tool", "run", "--quiet", "pip-audit==2.10.1")
_WHAT: Final = ("--disable-pip", "--require-hashes", "--requirement", _LOCK)
_HOW: Final = ("--vulnerability-service", "osv", "--format", "json", "--desc=off", "--progress-spinner=off")
_CHECK: Final = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_project.py", "-k", "lock")
_LONGEST_S: Final = 600


def findings(report: str) -> list[str] | None:
    """What pip-audit found, a line each; None where it could not look at everything.

    Args:
        report: its answer in JSON, or whatever it said instead.
    """
    try:
        dependencies = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return None
    if not dependencies or any("skip_reason" in each for each in dependencies):
        return None
    return list(_told(dependencies))


def _told(dependencies: Sequence[dict[str, Any]]) -> Iterator[str]:
    for each in dependencies:
        for found in each["vulns"]:
            fixed = ", ".join(found["fix_versions"]) or "no version yet"
            yield f"{each['name']} {each['version']}: {found['id']}, mended in {fixed}"


def main(options: Sequence[str]) -> int:
    """Audit, or say that it cannot be done and check the locks; the exit code."""
    command = (*_TOOL, *_WHAT, *_HOW, *options)
    report = ""
    try:
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_LONGEST_S)
        report, why = ran.stdout, (ran.stderr.strip().splitlines() or ["it said nothing"])[-1]
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    found = findings(report)
    if found is None:
        print(f"audit: vulnerabilities were NOT looked up ({why[:200]}); checking the locks instead", flush=True)
        return subprocess.run((sys.executable, *_CHECK), cwd=ROOT, check=False).returncode
    for line in found:
        print(f"audit: {line}")
    print(f"audit: {len(found)} known vulnerabilities in {_LOCK}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
