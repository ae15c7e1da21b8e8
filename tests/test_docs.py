"""The docs name what the code has: commands, variables, endpoints, vendors; links lead somewhere; commands run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from features.catalogue import CATALOGUE
from ingest.config import Collect, GnmiOptions, SnmpOptions, Target
from serving.cli import app
from serving.drains.guard import Code

ROOT = Path(__file__).parents[1]
PACKAGES = ["ingest", "features", "models", "diagnosis", "serving", "data_samples"]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "data_samples/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "deploy").rglob("*.md")),
    ROOT / "notebooks" / "README.md",
]
DOCS = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
LONGEST = {"README.md": 120, "CONTRIBUTING.md": 150}
ADRS = sorted((ROOT / "docs" / "adr").glob("*.md"))


def _commands() -> list[str]:
    found: list[str] = []

    def walk(command: object, path: str) -> None:
        if isinstance(command, TyperGroup):
            for name, each in command.commands.items():
                walk(each, f"{path} {name}")
        else:
            found.append(path)

    walk(typer.main.get_command(app), "forelight")
    return found


def _variables() -> list[str]:
    """Environment variables that the code names; the collector's own are the operator's choice."""
    code = "".join(file.read_text(encoding="utf-8") for name in PACKAGES for file in (ROOT / name).rglob("*.py"))
    return sorted(set(re.findall(r"\b(?:FORELIGHT|MLFLOW|NUMBA|OMP)_[A-Z_]*[A-Z]\b", code)))


def _targets() -> list[str]:
    return re.findall(r"^([a-z]+):.* ## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("command", _commands())
def test_every_command_is_documented(command: str) -> None:
    assert f"`{command}" in DOCS


@pytest.mark.parametrize("variable", _variables())
def test_every_environment_variable_is_documented(variable: str) -> None:
    assert f"`{variable}" in (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def _metrics() -> list[str]:
    """Names of metrics in the code; the library adds `_total` to counters."""
    code = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "serving").rglob("*metrics.py"))
    return sorted(set(re.findall(r'"(forelight_[a-z_]+)"', code)))


@pytest.mark.parametrize("setting", Collect.model_fields)
def test_every_setting_of_the_collector_is_documented(setting: str) -> None:
    assert re.search(rf"^{setting} = ", (ROOT / "docs" / "vendors.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("metric", _metrics())
def test_every_metric_is_documented(metric: str) -> None:
    assert re.search(rf"`{metric}(_total)?[`{{]", DOCS)


@pytest.mark.parametrize("target", _targets())
def test_every_make_target_is_documented(target: str) -> None:
    assert f"`make {target}" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _anchors(page: Path) -> set[str]:
    """Names that a forge gives the headings of a page: small letters, no punctuation, hyphens for spaces."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+?) *$", prose, re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def _broken(page: Path) -> list[str]:
    links = re.findall(r"\]\(([^)\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    found = []
    for link in links:
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" not in link and not (
            target.exists() and (not anchor or target.suffix != ".md" or anchor in _anchors(target))
        ):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_leads_to_a_file_and_its_heading(page: Path) -> None:
    assert [] == _broken(page)


def test_a_link_to_no_heading_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Here it is: `x`\n[a](#here-it-is-x) [b](#there) [c](page.md#here-it-is-x) [d](none.md)\n")

    assert ["#there", "none.md"] == _broken(page)


VENDORS = sorted(path.stem for path in (ROOT / "ingest" / "decode" / "profiles").glob("*.yaml"))
FAMILIES = sorted(path.stem for path in (ROOT / "ingest" / "gnmi" / "paths").glob("*.yaml"))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_of_streams_is_documented(family: str) -> None:
    assert f"`{family}`" in (ROOT / "docs" / "gnmi.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_vendor_is_documented(vendor: str) -> None:
    assert f"| `{vendor}` |" in (ROOT / "docs" / "vendors.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("setting", [*SnmpOptions.model_fields, *GnmiOptions.model_fields, *Target.model_fields])
def test_every_setting_of_a_target_is_documented(setting: str) -> None:
    assert re.search(rf"\b{setting}\b", DOCS)


@pytest.mark.parametrize("feature", [feature.name for feature in CATALOGUE])
def test_every_feature_is_documented(feature: str) -> None:
    assert f"`{feature}`" in (ROOT / "docs" / "features.md").read_text(encoding="utf-8")


def _runnable() -> list[object]:
    """Blocks of shell that pages mark with ``sh run``, page by page."""
    found: list[object] = []
    for page in PAGES:
        blocks = re.findall(r"^```sh run\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        if blocks:
            found.append(pytest.param("".join(blocks), id=_name(page)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("script", _runnable())
def test_commands_of_a_page_run_as_they_stand(script: str, tmp_path: Path) -> None:
    """In a home of their own, one after the other; the first that fails ends it."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("FORELIGHT_", "MLFLOW_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=tmp_path,
        env=ours | {"PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, "" if done.returncode == 0 else done.stderr[-2000:])
    assert "Traceback" not in done.stderr


def test_a_page_has_commands_that_run() -> None:
    assert _runnable()


@pytest.mark.parametrize("code", Code)
def test_automation_is_told_what_to_do_with_each_refusal(code: str) -> None:
    assert f"`{code}`" in (ROOT / "docs" / "automation.md").read_text(encoding="utf-8")


def test_every_guide_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    guides = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]

    assert [] == [guide for guide in guides if guide != "index.md" and f"({guide})" not in index]


@pytest.mark.parametrize(("page", "lines"), LONGEST.items())
def test_what_everybody_reads_is_short(page: str, lines: int) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= lines


def test_every_fault_of_the_field_names_tests_that_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")))
    texts = (file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    there = {name for text in texts for name in re.findall(r"def (test_\w+)", text)}

    assert named
    assert set() == named - there


def test_every_report_from_the_field_has_its_row() -> None:
    """81 were collected; 64 is no fault that a reading can have, 73 and 81 are wishes."""
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| `test_", page, re.MULTILINE)

    assert sorted({*range(1, 82)} - {64, 73, 81}) == sorted(map(int, rows))


@pytest.mark.parametrize("adr", ADRS, ids=lambda adr: adr.stem)
def test_a_decision_fits_a_page_and_has_its_parts(adr: Path) -> None:
    text = adr.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= 40
    assert [] == [part for part in ("## Context", "## Decision", "## Consequences") if part not in text]


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [int(adr.name[:4]) for adr in ADRS] == list(range(1, len(ADRS) + 1))
