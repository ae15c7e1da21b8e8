"""The notebooks: text and notebook say the same, nothing private is used, and each runs as it stands."""

import ast
import importlib
import resource
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
TEXTS = sorted((ROOT / "notebooks").glob("*.py"))
QUICK = {"01_dom_and_a_failing_link"}
"""Run each time; the others train, and are marked slow."""
OURS = {"ingest", "features", "models", "diagnosis", "serving", "data_samples"}
LONGEST_CPU_S = 180
"""Three minutes of one core, so less than that of two; seconds of the wall clock are the machine's affair."""
EACH = pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.stem)
RUNS = [pytest.param(text, id=text.stem, marks=[] if text.stem in QUICK else pytest.mark.slow) for text in TEXTS]


def _notebook(text: Path) -> Any:
    return nbformat.read(text.with_suffix(".ipynb"), as_version=4)  # type: ignore[no-untyped-call]  # nbformat's own


def _imports(text: Path) -> list[tuple[str, str]]:
    """Module and name of everything of ours that a notebook imports."""
    nodes = list(ast.walk(ast.parse(text.read_text(encoding="utf-8"))))
    plain = [(alias.name, "") for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    named = [
        (str(node.module), alias.name) for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    return [(module, name) for module, name in plain + named if module.split(".")[0] in OURS]


def test_there_is_a_notebook_of_each_text_and_no_other() -> None:
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}

    assert {text.stem for text in TEXTS} == notebooks


@EACH
def test_text_and_notebook_say_the_same(text: Path) -> None:
    """After an edit of either: `make notebooks`, or jupytext --to py:percent."""
    ours, theirs = jupytext.read(text), _notebook(text)

    assert [(cell.cell_type, cell.source) for cell in ours.cells] == [
        (cell.cell_type, cell.source) for cell in theirs.cells
    ]


@EACH
def test_a_notebook_is_committed_without_output(text: Path) -> None:
    code = [cell for cell in _notebook(text).cells if cell.cell_type == "code"]

    assert [] == [cell.source for cell in code if cell.outputs or cell.execution_count]


@EACH
def test_a_notebook_uses_public_names_only(text: Path) -> None:
    """What a module does not list in `__all__` may change without a word."""
    found = _imports(text)

    assert found
    assert [] == [
        f"{module}.{name}"
        for module, name in found
        if name not in getattr(importlib.import_module(module), "__all__", ())
    ]


@EACH
def test_a_notebook_says_that_its_data_are_synthetic(text: Path) -> None:
    first, *_ = (cell.source for cell in _notebook(text).cells if cell.cell_type == "markdown")

    assert "**synthetic**" in first


def _cpu_s() -> float:
    """Of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("text", RUNS)
def test_a_notebook_runs_and_shows_what_it_promises(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a kernel of its own, as Jupyter runs it; each has a plot, and nothing goes to stderr."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook, began = _notebook(text), _cpu_s()

    NotebookClient(notebook, timeout=1800, kernel_name="python3").execute()

    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [] == [output.text for output in outputs if output.get("name") == "stderr"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert 0 < _cpu_s() - began < LONGEST_CPU_S
