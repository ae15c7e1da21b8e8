"""The command line is quick: its help needs none of the heavy libraries."""

import json
import subprocess
import sys

import typer
from typer.core import TyperGroup

from serving.cli import app

HEAVY = {"deltalake", "fastapi", "lightgbm", "mlflow", "pandas", "polars", "scipy.stats", "shap", "sklearn"}
SCRIPT = """
import json, sys
from serving.cli import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
"""What the console script does, and then the names of all that was imported."""


def _forelight(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=False)


def _leaves(group: TyperGroup, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        found += _leaves(command, (*path, name)) if isinstance(command, TyperGroup) else [(*path, name)]
    return found


def _commands() -> list[tuple[str, ...]]:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    return _leaves(root)


def test_help_imports_nothing_heavy() -> None:
    done = _forelight("--help")
    imported = set(json.loads(done.stderr.splitlines()[-1]))

    assert 0 == done.returncode
    assert set() == HEAVY & imported
    assert "serving.cli.app" in imported


def test_every_command_explains_itself() -> None:
    root = typer.main.get_command(app)
    silent = []
    for path in _commands():
        command = root
        for name in path:
            assert isinstance(command, TyperGroup)
            command = command.commands[name]
        if not command.help:
            silent.append(path)

    assert [] == silent


def test_an_unknown_command_is_a_usage_error() -> None:
    done = _forelight("predict")

    assert 2 == done.returncode
    assert "No such command 'predict'" in done.stderr


def test_a_command_without_its_argument_is_a_usage_error() -> None:
    done = _forelight("backtest", "--from", "2026-11-01")

    assert 2 == done.returncode
    assert "write 2026-11-01Z for UTC" in " ".join(done.stderr.replace("│", " ").split())
