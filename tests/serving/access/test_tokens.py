"""Tokens in the database, of either kind."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from serving.access.tables import tokens as table
from serving.access.tokens import Scope, TokenStore
from serving.database import reading
from serving.errors import ServingError
from serving.store import AlarmStore


@pytest.fixture(name="tokens")
def _tokens(store: AlarmStore, clock: Callable[[], datetime]) -> TokenStore:
    return TokenStore(store.engine, clock=clock)


def test_the_database_holds_no_text_of_a_token(tokens: TokenStore, store: AlarmStore) -> None:
    _, text = tokens.create("nhc", Scope.READ, who="ann", expires_at=None)
    secret = text.split("_", 2)[2]

    with reading(store.engine) as connection:
        row = connection.execute(select(table)).one()

    assert 40 < len(secret)
    assert secret not in repr(row)


def test_a_token_says_by_its_form_what_it_is_and_which(tokens: TokenStore) -> None:
    made, text = tokens.create("nhc", Scope.READ, who="ann", expires_at=None)

    assert text.startswith(f"flt_{made.token_id}_")


def test_no_two_are_alike_though_their_names_may_be(tokens: TokenStore) -> None:
    """So that a new one is there before the old one is revoked."""
    texts = {tokens.create("nhc", Scope.READ, who="ann", expires_at=None)[1] for _ in range(20)}

    assert 20 == len(texts)


@pytest.mark.parametrize("name", ["", "bootstrap", "x" * 101, "a\nb", "a\x00b"])
def test_a_name_that_is_none_is_refused(tokens: TokenStore, name: str) -> None:
    with pytest.raises(ServingError, match="cannot be a token's name"):
        tokens.create(name, Scope.READ, who="ann", expires_at=None)


def test_one_that_has_expired_already_is_refused(tokens: TokenStore, now: datetime) -> None:
    with pytest.raises(ServingError, match="would open nothing"):
        tokens.create("nhc", Scope.READ, who="ann", expires_at=now)


def test_it_is_revoked_by_its_id_or_with_all_of_its_name(tokens: TokenStore) -> None:
    first, second, third, other = (
        tokens.create(name, Scope.READ, who="ann", expires_at=None)[0] for name in ("nhc", "nhc", "nhc", "kured")
    )

    assert [first.token_id] == [token.token_id for token in tokens.revoke(first.token_id, who="bob")]
    assert {first.token_id, second.token_id, third.token_id} == {t.token_id for t in tokens.revoke("nhc", who="cy")}

    by = {token.token_id: token.revoked_by for token in tokens.tokens()}
    assert {first.token_id: "bob", second.token_id: "cy", third.token_id: "cy", other.token_id: None} == by


def test_revoking_one_that_is_not_there_is_an_error(tokens: TokenStore) -> None:
    with pytest.raises(ServingError, match="no token with the id or name 'nobody'"):
        tokens.revoke("nobody", who="ann")


def test_somebody_can_get_in_while_a_token_is_valid(
    tokens: TokenStore, now: datetime, advance: Callable[..., None]
) -> None:
    assert not tokens.any_valid()
    tokens.create("nhc", Scope.READ, who="ann", expires_at=now + timedelta(days=1))
    assert tokens.any_valid()

    advance(days=1)

    assert not tokens.any_valid()
