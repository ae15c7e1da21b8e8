"""The command line is quick: its help needs none of the heavy libraries."""

import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest
import typer
from typer.core import TyperGroup

from serving.cli import app
from serving.cli.options import utc_time

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
    assert "Missing option '--to'" in done.stderr


def test_what_is_no_time_is_a_usage_error() -> None:
    done = _forelight("backtest", "--from", "yesterday")

    assert 2 == done.returncode
    assert "'yesterday' is not an ISO 8601 time" in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize("text", ["2026-11-01", "2026-11-01Z", "2026-11-01T00:00:00Z", "2026-11-01T02:00:00+02:00"])
def test_times_are_utc_where_they_name_no_zone(text: str) -> None:
    assert datetime(2026, 11, 1, tzinfo=UTC) == utc_time(text)


def test_the_version_is_told() -> None:
    assert "forelight 0." in _forelight("--version").stdout


def test_a_status_that_no_alarm_has_is_a_usage_error() -> None:
    done = _forelight("alarms", "list", "--status", "bogus")

    assert 2 == done.returncode
    assert "'suppressed'" in done.stderr
