"""The operator token, and where the service may be bound."""

from pathlib import Path

import pytest

from serving.auth import OperatorToken, check_bind, check_operator
from serving.errors import OperatorError, ServingError, TokenError

SECRET = "0123456789abcdef"


def test_the_token_itself_is_not_kept() -> None:
    assert SECRET not in repr(OperatorToken.of(SECRET))


def test_a_short_token_is_refused() -> None:
    with pytest.raises(ServingError, match="has 5 characters; it needs 16"):
        OperatorToken.of("short")


def test_without_a_variable_there_is_no_token() -> None:
    assert OperatorToken.from_env({}) is None


def test_the_token_comes_from_the_environment_or_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{SECRET}\n")

    from_variable = OperatorToken.from_env({"FORELIGHT_OPERATOR_TOKEN": SECRET})
    from_file = OperatorToken.from_env({"FORELIGHT_OPERATOR_TOKEN_FILE": str(tmp_path / "token")})

    assert OperatorToken.of(SECRET) == from_variable == from_file


def test_a_token_file_that_is_missing_is_an_error_not_an_open_door(tmp_path: Path) -> None:
    with pytest.raises(ServingError, match=r"FORELIGHT_OPERATOR_TOKEN_FILE names .* which cannot be read"):
        OperatorToken.from_env({"FORELIGHT_OPERATOR_TOKEN_FILE": str(tmp_path / "none")})


@pytest.mark.parametrize("header", [f"Bearer {SECRET}", f"bearer  {SECRET} "])
def test_the_right_token_passes(header: str) -> None:
    check_operator(OperatorToken.of(SECRET), header)


@pytest.mark.parametrize(
    "header", [None, "", SECRET, f"Basic {SECRET}", "Bearer", f"Bearer {SECRET}x", "Bearer é\udcff"]
)
def test_anything_else_does_not(header: str | None) -> None:
    with pytest.raises(TokenError, match="present the operator token"):
        check_operator(OperatorToken.of(SECRET), header)


def test_without_a_token_nobody_is_the_operator() -> None:
    with pytest.raises(OperatorError, match="until FORELIGHT_OPERATOR_TOKEN is set"):
        check_operator(None, f"Bearer {SECRET}")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "leaf01", ""])
def test_binding_wide_needs_a_token(host: str) -> None:
    check_bind(host, OperatorToken.of(SECRET))

    with pytest.raises(ServingError, match="lets others in: set FORELIGHT_OPERATOR_TOKEN"):
        check_bind(host, None)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_loopback_needs_none(host: str) -> None:
    check_bind(host, None)
