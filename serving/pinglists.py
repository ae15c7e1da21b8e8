"""Pinglists in the database: written by the controller, handed to each agent, and stopped all at once.

The key of the probes is drawn once and kept: agents that have different ones do not hear each other.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, Engine, delete, insert, select, update

from diagnosis.fabric import Device
from diagnosis.pinglists import new_key
from ingest.probes.pinglist import Pinglist
from serving.alarms import utc_now
from serving.database import reading, writing
from serving.errors import PinglistNotFoundError
from serving.tables import pinglists, probing

__all__ = ["Kept", "PinglistStore", "Stop"]

_ONLY: Final = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """A host's pinglist as JSON, and its tag."""

    body: str
    etag: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Nobody probes since then."""

    at: datetime
    who: str
    why: str


class PinglistStore:
    """The pinglists of a database that is migrated.

    Args:
        engine: the alarm store's.
        clock: what is now.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._engine, self._clock = engine, clock

    def key(self) -> bytes:
        """Of the probes; drawn at the first call."""
        with writing(self._engine) as connection:
            return bytes.fromhex(self._key(connection))

    def put(self, planned: Mapping[Device, Pinglist]) -> int:
        """Replace all pinglists; how many are new or have changed.

        Raises:
            ConfigError: one cannot be.
        """
        now = self._clock()
        fresh = {host: _kept(Pinglist.of(todo.as_json(), host[1])) for host, todo in planned.items()}
        with writing(self._engine) as connection:
            found = connection.execute(select(pinglists.c.site, pinglists.c.device, pinglists.c.etag)).all()
            known = {(site, device): etag for site, device, etag in found}
            changed = [host for host, kept in fresh.items() if known.get(host) != kept.etag]
            for site, device in [*changed, *(known.keys() - fresh.keys())]:
                connection.execute(delete(pinglists).where(pinglists.c.site == site, pinglists.c.device == device))
            rows = [{"site": host[0], "device": host[1], "planned_at": now} for host in changed]
            kept = [{"etag": fresh[host].etag, "body": fresh[host].body} for host in changed]
            if rows:
                connection.execute(insert(pinglists), [row | more for row, more in zip(rows, kept, strict=True)])
        return len(changed)

    def get(self, site: str, device: str) -> Kept:
        """What a host shall do now: nothing, while all are stopped.

        Raises:
            PinglistNotFoundError: nothing is planned for it.
        """
        which = select(pinglists.c.body, pinglists.c.etag).where(pinglists.c.site == site, pinglists.c.device == device)
        with reading(self._engine) as connection:
            found = connection.execute(which).first()
            stop = _stop(connection)
        if found is None:
            msg = f"no probes are planned for {device} of site {site}"
            raise PinglistNotFoundError(msg)
        if stop is None:
            return Kept(found.body, found.etag)
        return _kept(replace(Pinglist.of(json.loads(found.body), device), flows=(), answered=()))

    def all(self) -> dict[Device, Pinglist]:
        """As they were planned last."""
        with reading(self._engine) as connection:
            found = connection.execute(select(pinglists.c.site, pinglists.c.device, pinglists.c.body)).all()
        return {(site, device): Pinglist.of(json.loads(body), device) for site, device, body in found}

    def stopped(self) -> Stop | None:
        """Whether nobody shall probe, since when and why."""
        with reading(self._engine) as connection:
            return _stop(connection)

    def stop(self, who: str, why: str) -> None:
        """From now on every agent that asks is told to send nothing and to answer nothing."""
        self._set(stopped_at=self._clock(), stopped_by=who, why=why)

    def resume(self) -> None:
        """Let them probe as planned."""
        self._set(stopped_at=None, stopped_by=None, why=None)

    def _set(self, **values: object) -> None:
        with writing(self._engine) as connection:
            self._key(connection)
            connection.execute(update(probing).values(**values))

    @staticmethod
    def _key(connection: Connection) -> str:
        known = connection.execute(select(probing.c.key)).scalar()
        if known is None:
            known = new_key().hex()
            connection.execute(insert(probing).values(only=_ONLY, key=known))
        return str(known)


def _stop(connection: Connection) -> Stop | None:
    row = connection.execute(select(probing.c.stopped_at, probing.c.stopped_by, probing.c.why)).first()
    return None if row is None or row.stopped_at is None else Stop(row.stopped_at, row.stopped_by, row.why)


def _kept(todo: Pinglist) -> Kept:
    body = json.dumps(todo.as_json(), separators=(",", ":"))
    return Kept(body, f'"{hashlib.sha256(body.encode()).hexdigest()[:32]}"')
