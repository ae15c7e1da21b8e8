"""``forelight token`` and ``forelight audit`` on a store of their own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from serving.access.tokens import Scope, TokenStore
from serving.store import AlarmStore

Console = Callable[..., Any]


@pytest.fixture(name="tokens")
def _tokens(tmp_path: Path) -> TokenStore:
    return TokenStore(AlarmStore(f"sqlite:///{tmp_path / 'forelight.db'}").open().engine)


def test_the_token_alone_is_on_stdout_so_that_a_file_can_take_it(
    console: Console, tmp_path: Path, tokens: TokenStore
) -> None:
    done = console(tmp_path, "token", "create", "nhc", "--scope", "operate")

    assert 0 == done.code
    text = done.out.strip()
    assert text.startswith("flt_")
    assert [("nhc", Scope.OPERATE)] == [(token.name, token.scope) for token in tokens.by_digest().values()]
    assert text not in done.err


def test_it_is_shown_no_second_time(console: Console, tmp_path: Path) -> None:
    text = console(tmp_path, "token", "create", "nhc").out.strip()

    for arguments in (("token", "list"), ("token", "list", "--json"), ("audit", "list", "--json")):
        assert text.split("_", 2)[2] not in console(tmp_path, *arguments).out


def test_the_list_says_which_are_still_valid(console: Console, tmp_path: Path) -> None:
    for name in ("old", "new"):
        console(tmp_path, "token", "create", name)

    done = console(tmp_path, "token", "revoke", "old")
    listed = json.loads(console(tmp_path, "token", "list", "--json").out)

    assert 0 == done.code
    assert {"old": False, "new": True} == {token["name"]: token["valid"] for token in listed}
    assert "revoked" in console(tmp_path, "token", "list").out


@pytest.mark.parametrize(("days", "expires"), [("30", True), ("0", False)])
def test_it_expires_unless_told_otherwise(console: Console, tmp_path: Path, days: str, expires: bool) -> None:
    made = json.loads(console(tmp_path, "token", "create", "nhc", "--days", days, "--json").out)

    assert expires == (made["expires_at"] is not None)


def test_what_is_done_on_the_command_line_is_in_the_audit_log_too(console: Console, tmp_path: Path) -> None:
    console(tmp_path, "token", "create", "nhc")
    console(tmp_path, "token", "revoke", "nhc")

    noted = json.loads(console(tmp_path, "audit", "list", "--json").out)

    assert ["token revoke", "token create"] == [entry["what"] for entry in noted]
    assert all(entry["who"].startswith("cli:") for entry in noted)
    assert "token revoke" in console(tmp_path, "audit", "list").out


def test_revoking_one_that_is_not_there_is_one_clear_line(console: Console, tmp_path: Path) -> None:
    done = console(tmp_path, "token", "revoke", "nobody")

    assert 1 == done.code
    assert "forelight: there is no token with the id or name 'nobody': `forelight token list` shows them\n" == done.err


def test_a_token_of_no_host_is_refused(console: Console, tmp_path: Path) -> None:
    """An empty variable in a script is no host, and such a token would open nothing."""
    done = console(tmp_path, "token", "create", "gpu0001", "--scope", "ingest", "--device", "")

    assert 1 == done.code
    assert "'' at site 'default' is no host" in done.err


def test_a_token_of_a_host_is_listed_with_it(console: Console, tmp_path: Path, tokens: TokenStore) -> None:
    done = console(tmp_path, "token", "create", "gpu0001", "--scope", "ingest", "--device", "gpu0001", "--site", "ams2")

    assert 0 == done.code
    assert [("ams2", "gpu0001")] == [(token.site, token.device) for token in tokens.by_digest().values()]
    assert "ingest of gpu0001 (ams2)" in console(tmp_path, "token", "list").out
    refused = console(tmp_path, "token", "create", "nhc", "--scope", "operate", "--device", "gpu0001")
    assert (1, True) == (refused.code, "bound to a device with the scope ingest" in refused.err)
