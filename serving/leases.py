"""A lease as a row of the database, for machines that share a lake.

It expires when its holder is gone, and is renewed by a thread while the holder lives. The token rises each time the
lease is taken, so that a holder that was asleep beyond its time finds out before it commits. The lake holds out even
then: of two rewrites of the same files Delta refuses the second. The lease spares the work.
"""

import os
import socket
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Final, Self
from uuid import uuid4

from sqlalchemy import Connection, insert, select, text, update

from ingest.errors import BusyError, LakeError
from ingest.lake.lease import FileLease, Lease
from serving import migrate
from serving.database import make_engine, writing
from serving.errors import StoreError
from serving.settings import Settings
from serving.tables import leases

__all__ = ["DatabaseLease", "rewrite_lease", "score_lease"]

_TTL_S: Final = 60.0
"""A machine that died holds the lake's rewrites up for a minute at most; renewals come three times as often."""


def rewrite_lease(settings: Settings) -> Lease:
    """The lease for rewrites of the lake: a row of the database where machines share either, else a locked file."""
    if _shared(settings):
        return DatabaseLease(settings.database_url, f"lake:{settings.lake_uri.rstrip('/')}")
    return FileLease(settings.home / "compact.lock")


def score_lease(settings: Settings) -> Lease:
    """The lease for batch runs over the fleet, kept as `rewrite_lease` is."""
    if _shared(settings):
        return DatabaseLease(settings.database_url, f"score:{settings.lake_uri.rstrip('/')}", work=_RUN)
    return FileLease(settings.home / "score.lock", _RUN)


_RUN: Final = "run of forelight score"


def _shared(settings: Settings) -> bool:
    return "://" in settings.lake_uri or settings.database_url.startswith("postgresql")


class DatabaseLease:
    """A lease by name in SQLite or PostgreSQL.

    Args:
        url: SQLAlchemy's.
        name: of what is leased.
        work: what its holder does, for whoever is refused.
        ttl_s: how long it stands without being renewed.
        clock: the time where the database has none of its own (SQLite); PostgreSQL's is used where it is there.
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        work: str = "rewrite of the lake",
        ttl_s: float = _TTL_S,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._engine = make_engine(url)
        self._name = name
        self._work = work
        self._ttl_s = ttl_s
        self._clock = clock
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._token = 0
        self._good_until = 0.0  # of the monotonic clock
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Take the lease or fail at once.

        Raises:
            BusyError: someone else holds it.
            StoreError: the database does not answer.
        """
        began = time.monotonic()
        try:
            with writing(self._engine) as connection:
                migrate.upgrade(connection)
                self._token = self._take(connection)
        except BaseException:
            self._engine.dispose()
            raise
        self._good_until = began + self._ttl_s
        self._stop.clear()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back; where the database is away it expires by itself."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        try:
            self._renew(timedelta())
        except StoreError:
            pass
        finally:
            self._token = 0
            self._engine.dispose()

    def check(self) -> None:
        """Make sure that the lease is still ours.

        Raises:
            LakeError: it was lost: not renewed in time, or taken by another.
        """
        if not self._token or time.monotonic() >= self._good_until:
            msg = f"the lease {self._name} was lost (it could not be renewed within {self._ttl_s:g} s); nothing is done"
            raise LakeError(msg)

    def _take(self, connection: Connection) -> int:
        now = self._now(connection)
        row = connection.execute(select(leases).where(leases.c.name == self._name)).mappings().one_or_none()
        ours = {"owner": self._owner, "expires_at": now + timedelta(seconds=self._ttl_s)}
        if row is None:
            connection.execute(insert(leases).values(name=self._name, token=1, **ours))
            return 1
        if row["expires_at"] > now:
            host, process = row["owner"].split(":")[:2]
            msg = f"another {self._work} is running (process {process} on {host}); try again when it is done"
            raise BusyError(msg)
        token = int(row["token"]) + 1
        connection.execute(update(leases).where(leases.c.name == self._name).values(token=token, **ours))
        return token

    def _now(self, connection: Connection) -> datetime:
        """One clock for all machines where the database has one."""
        if connection.dialect.name != "postgresql":
            return self._clock()
        now: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return now.astimezone(UTC)

    def _keep(self) -> None:
        """Renew until stopped; a database that is away is tried again until the lease has run out."""
        while not self._stop.wait(self._ttl_s / 3):
            began = time.monotonic()
            try:
                kept = self._renew(timedelta(seconds=self._ttl_s))
            except StoreError:
                continue
            if not kept:
                self._good_until = 0.0
                return
            self._good_until = began + self._ttl_s

    def _renew(self, by: timedelta) -> bool:
        """Move the expiry; False where another holder has taken the lease since."""
        with writing(self._engine) as connection:
            ours = (leases.c.name == self._name) & (leases.c.token == self._token)
            expires_at = self._now(connection) + by
            return connection.execute(update(leases).where(ours).values(expires_at=expires_at)).rowcount == 1
