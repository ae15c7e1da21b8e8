"""A pinglist that says what cannot be is refused when it is read, not when it is probed."""

from pathlib import Path
from typing import Any

import pytest

from ingest.errors import ConfigError
from ingest.probes.pinglist import Pinglist

FLOW = {
    "source_interface": "eth0",
    "source_address": "10.1.0.2",
    "source_port": 49_152,
    "target_device": "host7",
    "target_interface": "eth0",
    "target_address": "10.1.7.2",
    "kind": "inter_tor",
    "per_s": 1.0,
}
SAID = {"key": "00" * 16, "flows": [FLOW]}


def test_what_a_pinglist_says_is_read_back() -> None:
    todo = Pinglist.of(SAID, "todo.json")

    assert todo == Pinglist.of(todo.as_json(), "todo.json")


@pytest.mark.parametrize(
    "wrong",
    [
        {"source_address": 10},
        {"target_address": "255.255.255.255"},
        {"target_address": "224.0.0.1"},
        {"source_address": "0.0.0.0"},
        {"source_port": 49_152.5},
        {"source_port": 4791},  # where replies to it would be taken by this host's responder
        {"per_s": True},
        {"per_s": float("nan")},
        {"target_device": ""},
        {"target_device": None},
        {"target_device": "a\nb"},
        {"source_interface": ["eth0"]},
        {"kind": ["service"]},
    ],
    ids=str,
)
def test_a_flow_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"todo\.json: no pinglist"):
        Pinglist.of(SAID | {"flows": [FLOW | wrong]}, "todo.json")


@pytest.mark.parametrize("wrong", [{"port": 4791.5}, {"port": True}, {"answered": None}, {"flows": "all"}], ids=str)
def test_a_pinglist_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"todo\.json: no pinglist"):
        Pinglist.of(SAID | wrong, "todo.json")


def test_more_probes_than_a_window_can_hold_are_refused() -> None:
    flows = [FLOW | {"source_port": 10_000 + number, "per_s": 10_000.0} for number in range(6)]

    with pytest.raises(ConfigError, match="more than 1000000 probes in a window"):
        Pinglist.of(SAID | {"flows": flows}, "todo.json")


def test_json_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "todo.json"
    path.write_text("[" * 200_000)

    with pytest.raises(ConfigError, match="no pinglist"):
        Pinglist.read(path)
