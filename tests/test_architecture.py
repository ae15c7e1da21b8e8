"""Who may import whom, and what may not be imported at all."""

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ["ingest", "features", "models", "diagnosis", "serving"]
"""The lowest first; each imports only what stands before it."""
PACKAGES = [*LAYERS, "data_samples"]
FILES = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]

THIRD_PARTIES = {
    "ingest": {
        *{"dateutil", "icalendar"},  # maintenance calendars; dateutil is what icalendar itself stands on
        "google",  # protobuf, which pygnmi's stubs stand on: a message that the library refuses is mended
        *{"deltalake", "grpc", "gufo", "numpy", "polars", "pyarrow", "pydantic", "pygnmi", "pysnmp", "yaml"},
    },
    "features": {"dask", "distributed", "numba", "numpy", "polars", "pyarrow", "scipy"},
    "models": {
        *{"jinja2", "lightgbm", "matplotlib", "mlflow", "numpy", "optuna", "pandas", "polars", "scipy", "sklearn"},
        "rich",  # the scorecard is one table, on the terminal and in the report
    },
    "diagnosis": {"networkx", "numpy", "polars", "scipy"},
    "serving": {
        *{"alembic", "fastapi", "numpy", "polars", "prometheus_client", "pydantic", "rich", "sqlalchemy", "starlette"},
        "pydantic_core",  # pydantic's own parser of JSON
        *{"jinja2", "markupsafe", "scipy", "typer", "uvicorn"},
        "pandas",  # what a notebook gets of the workbench
        *{"google", "grpc", "httpx2", "kubernetes", "urllib3"},  # consumers: serving/adapters
    },
    "data_samples": {"grpc", "gufo", "numpy", "polars", "pyarrow", "pygnmi", "rich"},
}
MLFLOW = {
    "models/registry.py",
    "models/mlflow_model.py",  # not imported: MLflow runs it, as the code of the logged model
}
PICKLES = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
PICKLE_CALLS = {"allow_pickle", "read_pickle", "to_pickle"}


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@cache
def _modules(file: Path) -> frozenset[str]:
    """Full names of the modules that a file imports anywhere, inside functions too."""
    return frozenset(_imported(ast.parse(file.read_text(encoding="utf-8"))))


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layer"
            yield str(node.module)


def _top(file: Path) -> set[str]:
    return {module.split(".")[0] for module in _modules(file)}


def _files(package: str) -> list[Path]:
    return [file for file in FILES if file.is_relative_to(ROOT / package)]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_lower_ones(layer: str) -> None:
    above = set(LAYERS[LAYERS.index(layer) + 1 :])

    assert {} == {_name(file): found for file in _files(layer) if (found := _top(file) & above)}


def test_synthetic_fleets_import_of_ours_the_schema_only() -> None:
    ours = {
        _name(file): found
        for file in _files("data_samples")
        if (found := {m for m in _modules(file) if m.split(".")[0] in LAYERS} - {"ingest.schema"})
    }

    assert {} == ours


def test_synthetic_fleets_are_imported_by_the_demo_only() -> None:
    users = {_name(file) for layer in LAYERS for file in _files(layer) if "data_samples" in _top(file)}

    assert [] == [name for name in sorted(users) if not name.startswith(("serving/demo", "serving/cli/demo"))]


@pytest.mark.parametrize("package", PACKAGES)
def test_third_parties_stay_in_their_layer(package: str) -> None:
    allowed = {*THIRD_PARTIES[package], *PACKAGES, *sys.stdlib_module_names}

    assert {} == {_name(file): found for file in _files(package) if (found := _top(file) - allowed)}


def test_mlflow_is_imported_in_one_place() -> None:
    users = {_name(file) for file in FILES if "mlflow" in _top(file)}

    assert set() == users - MLFLOW


def test_nothing_is_pickled() -> None:
    """A pickle runs code when it is read and breaks when a class moves; artefacts are text and JSON."""
    found = {}
    for file in FILES:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
        if bad := (_top(file) & PICKLES) | (names & PICKLE_CALLS):
            found[_name(file)] = bad

    assert {} == found


@pytest.mark.parametrize("name", PACKAGES)
def test_no_other_distribution_ships_our_names(name: str) -> None:
    """The price of plain top-level names; docs/adr/0001-packaging.md."""
    assert {"forelight"} >= set(packages_distributions().get(name, ()))


def test_tests_import_no_helpers_of_each_other() -> None:
    """Another distribution ships a package `tests`, so helpers are fixtures."""
    files = (ROOT / "tests").rglob("*.py")

    assert [] == [_name(file) for file in files if "tests" in _top(file)]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_maps_its_rooms(package: str) -> None:
    """Whoever looks for a line reads first where it would be."""
    folder = ROOT / package
    rooms = {file.stem for file in folder.glob("*.py")} | {file.parent.name for file in folder.glob("*/__init__.py")}
    told = set(re.findall(r"``(\w+)``", ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""))

    assert set() == {room for room in rooms if not room.startswith("_")} - told
    assert set() == told - rooms - set(PACKAGES)


@pytest.mark.parametrize("name", ["ingest.errors", "serving.errors", "serving.deliveries.errors"])
def test_a_tree_of_errors_is_drawn_whole(name: str) -> None:
    """Each stands under the one that it is a kind of, deeper by one, with the status that the service answers with."""
    module = importlib.import_module(name)
    own = {each for each in module.__all__ if getattr(module, each).__module__ == name}
    above: list[tuple[int, str]] = []
    for indent, error, status in re.findall(
        r"^( *)[*x+-] (\w+Error)(?: +(\d{3}\b))?", module.__doc__ or "", re.MULTILINE
    ):
        while above and above[-1][0] >= len(indent):
            above.pop()
        if error in own:
            kind = getattr(module, error)
            assert kind.__base__.__name__ == (above[-1][1] if above else "Exception")
            assert status == str(getattr(kind, "status", ""))
            own.remove(error)
        above.append((len(indent), error))

    assert set() == own
