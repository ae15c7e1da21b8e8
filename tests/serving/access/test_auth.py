"""Who is asking, and where the service may be bound."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from serving.access.auth import Caller, OperatorToken, TokenBook, allow, bearer, check_bind
from serving.access.tokens import Scope, TokenStore
from serving.errors import OperatorError, ScopeError, ServingError, StoreError, TokenError
from serving.store import AlarmStore

SECRET = "0123456789abcdef"


class Seconds:
    """A monotonic clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Tokens:
    """The tokens of a database that can be away."""

    def __init__(self, store: TokenStore) -> None:
        self.store = store
        self.reads = 0
        self.away = False

    def by_digest(self) -> object:
        self.reads += 1
        if self.away:
            msg = "the database is away"
            raise StoreError(msg)
        return self.store.by_digest()


@pytest.fixture(name="tokens")
def _tokens(store: AlarmStore, clock: Callable[[], datetime]) -> TokenStore:
    return TokenStore(store.engine, clock=clock)


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


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (f"Bearer {SECRET}", SECRET),
        (f"bearer  {SECRET} ", SECRET),
        ("", None),
        (SECRET, None),
        (f"Basic {SECRET}", None),
        ("Bearer", None),
        ("Bearer  ", None),
    ],
)
def test_a_header_holds_a_token_or_none(header: str, expected: str | None) -> None:
    assert expected == bearer(header)


class TestBook:
    """The valid tokens in memory, on both databases."""

    @pytest.mark.parametrize("scope", Scope)
    def test_a_token_is_known_by_its_text(
        self, tokens: TokenStore, clock: Callable[[], datetime], scope: Scope
    ) -> None:
        made, text = tokens.create("nhc", scope, who="ann", expires_at=None)
        book = TokenBook(tokens, None, clock)

        assert Caller("nhc", scope, made.token_id) == asyncio.run(book.caller(text))

    @pytest.mark.parametrize("change", [lambda text: text[:-1], lambda text: text + "x", lambda _: "é\udcff"])
    def test_anything_else_is_not(
        self, tokens: TokenStore, clock: Callable[[], datetime], change: Callable[[str], str]
    ) -> None:
        _, text = tokens.create("nhc", Scope.ADMIN, who="ann", expires_at=None)

        assert asyncio.run(TokenBook(tokens, None, clock).caller(change(text))) is None

    def test_the_environments_token_may_do_everything_under_a_name_of_its_own(
        self, tokens: TokenStore, clock: Callable[[], datetime]
    ) -> None:
        book = TokenBook(tokens, OperatorToken.of(SECRET), clock)

        assert Caller("bootstrap", Scope.ADMIN) == asyncio.run(book.caller(SECRET))

    def test_an_expired_one_is_none_from_that_moment(
        self, tokens: TokenStore, clock: Callable[[], datetime], advance: Callable[..., None]
    ) -> None:
        _, text = tokens.create("nhc", Scope.READ, who="ann", expires_at=clock() + timedelta(hours=1))
        book = TokenBook(tokens, None, clock)

        async def before_and_after() -> list[bool]:
            before = await book.caller(text)
            advance(hours=1)
            return [before is not None, await book.caller(text) is not None]

        assert [True, False] == asyncio.run(before_and_after())

    def test_a_revoked_one_is_none_within_two_seconds_and_between_them_nothing_is_read(
        self, tokens: TokenStore, clock: Callable[[], datetime]
    ) -> None:
        _, text = tokens.create("nhc", Scope.READ, who="ann", expires_at=None)
        counted, seconds = Tokens(tokens), Seconds()
        book = TokenBook(counted, None, clock, seconds)  # type: ignore[arg-type]  # all that it asks for

        async def revoked() -> tuple[bool, bool]:
            for _ in range(100):
                await book.caller(text)
            tokens.revoke("nhc", who="ann")
            soon = await book.caller(text)
            seconds.now += 2.0
            return soon is not None, await book.caller(text) is not None

        assert (True, False) == asyncio.run(revoked())
        assert 2 == counted.reads

    def test_while_the_database_is_away_tokens_hold_for_a_minute_and_then_nobody_is_let_in(
        self, tokens: TokenStore, clock: Callable[[], datetime]
    ) -> None:
        """A revocation could not be seen: who may do what is not known then, which is said as such."""
        _, text = tokens.create("nhc", Scope.READ, who="ann", expires_at=None)
        database, seconds = Tokens(tokens), Seconds()
        book = TokenBook(database, None, clock, seconds)  # type: ignore[arg-type]  # all that it asks for

        async def outage() -> None:
            await book.caller(text)
            database.away = True
            seconds.now += 59.0
            assert await book.caller(text) is not None
            seconds.now += 2.0
            await book.caller(text)

        with pytest.raises(StoreError, match="away"):
            asyncio.run(outage())


class TestAllow:
    @pytest.mark.parametrize(
        ("has", "needs", "allowed"),
        [
            (Scope.READ, Scope.READ, True),
            (Scope.READ, Scope.OPERATE, False),
            (Scope.OPERATE, Scope.READ, True),
            (Scope.OPERATE, Scope.ADMIN, False),
            (Scope.ADMIN, Scope.OPERATE, True),
        ],
    )
    def test_a_scope_allows_what_those_below_it_do(
        self, tokens: TokenStore, clock: Callable[[], datetime], has: Scope, needs: Scope, allowed: bool
    ) -> None:
        book, caller = TokenBook(tokens, None, clock), Caller("nhc", has)

        if allowed:
            assert caller == asyncio.run(allow(caller, needs, book))
        else:
            with pytest.raises(ScopeError, match=f"has the scope {has}; this needs {needs}"):
                asyncio.run(allow(caller, needs, book))

    def test_nobody_is_asked_for_a_token_where_there_is_one(
        self, tokens: TokenStore, clock: Callable[[], datetime]
    ) -> None:
        tokens.create("nhc", Scope.READ, who="ann", expires_at=None)

        with pytest.raises(TokenError, match="present a valid token"):
            asyncio.run(allow(None, Scope.READ, TokenBook(tokens, None, clock)))

    def test_without_any_token_nobody_is_allowed(self, tokens: TokenStore, clock: Callable[[], datetime]) -> None:
        tokens.create("nhc", Scope.READ, who="ann", expires_at=None)
        tokens.revoke("nhc", who="ann")

        with pytest.raises(OperatorError, match="there is no token: `forelight token create`"):
            asyncio.run(allow(None, Scope.READ, TokenBook(tokens, None, clock)))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "leaf01", ""])
def test_binding_wide_needs_a_token(host: str) -> None:
    check_bind(host, has_token=True)

    with pytest.raises(ServingError, match="lets others in: make a token first"):
        check_bind(host, has_token=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_loopback_needs_none(host: str) -> None:
    check_bind(host, has_token=False)
