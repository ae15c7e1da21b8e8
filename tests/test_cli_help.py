"""The command line is quick: its help needs none of the heavy libraries."""

import json
import os
import pty
import re
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


def test_help_groups_the_commands_and_ends_with_the_first_three() -> None:
    """As the only manual it must say where to begin."""
    told = " ".join(_forelight("--help").stdout.split())

    panels = [told.index(name) for name in ("Start here", "Data in", "Learn and judge", "Every day", "Keep it safe")]
    assert sorted(panels) == panels
    first = [told.index(name) for name in ("forelight demo", "forelight import DIR", "forelight backtest --from")]
    assert sorted(first) == first
    assert "Begin with:" in told


@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("bash", {"COMP_WORDS": "forelight lake c", "COMP_CWORD": "2"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "forelight lake c"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "forelight lake c", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_a_shell_completes_commands(shell: str, asked: dict[str, str]) -> None:
    """As the script does that `forelight --show-completion` prints."""
    env = os.environ | asked | {"_FORELIGHT_COMPLETE": f"complete_{shell}"}
    script = [sys.executable, "-c", "import sys; sys.argv[0] = 'forelight'; from serving.cli import main; main()"]
    done = subprocess.run(script, env=env, capture_output=True, text=True, check=False)

    assert {"check", "compact", "create"} == set(re.findall(r"\b(check|compact|create|stats|prune)\b", done.stdout))


def _on_a_terminal(**env: str) -> str:
    """What `forelight --help` writes to a terminal."""
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    script = [sys.executable, "-c", "from serving.cli import main; main()", "--help"]
    with subprocess.Popen(script, stdout=theirs, env=plain | {"TERM": "xterm-256color"} | env) as running:
        os.close(theirs)
        read = b""
        while running.poll() is None or not read.endswith(b"\n"):
            try:
                read += os.read(ours, 65536)
            except OSError:  # the other end is closed: that is its end of file
                break
    os.close(ours)
    return read.decode()


def test_colour_is_for_terminals_that_want_it() -> None:
    colour = re.compile(r"\x1b\[[0-9;]*3[0-9]")

    assert colour.search(_on_a_terminal())
    assert not colour.search(_on_a_terminal(NO_COLOR="1"))
    assert "\x1b" not in _forelight("--help").stdout


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
