"""The outbox: which message is due at which consumer, and what became of it.

Messages are written by the store with what they tell of. For each consumer (adapter) a message is a delivery:

    waiting ──► done                 delivered
       │  ▲ └─► standing ──► done    delivered, and looked at again until there is newer news of its alarm
       │  └──── (a failure: later)
       └──────► dead ──► waiting | dropped    refused or tried too often; a person decides

A delivery is claimed for a time before it is tried and settled after it: whoever dies between the two has it delivered
again by another, and none is lost. Of an alarm only the oldest waiting message of an adapter can be claimed, and
nothing while another of its messages is claimed: so they go out in order. A dead one is in nobody's way.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, and_, exists, insert, select, update

from serving.database import make_engine, reading, writing
from serving.deliveries import rows
from serving.deliveries.rows import DEAD, DONE, STANDING, Claimed
from serving.notices import Notice
from serving.tables import deliveries, outbox, outbox_adapters

__all__ = ["Claimed", "Outbox", "Outcome", "Retries"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often and after what time a delivery that failed is tried again.

    Attributes:
        tries: then it is dead.
        first_s: doubled with each try.
        most_s: bound of it.
    """

    tries: int = 60
    first_s: float = 1.0
    most_s: float = 600.0

    def wait_s(self, tries: int, asked_s: float | None, chance: float) -> float:
        """Seconds after the try of that number: of the time between half and whole, or as long as the consumer asked.

        >>> Retries(first_s=2.0).wait_s(3, None, 1.0), Retries().wait_s(99, None, 0.0), Retries().wait_s(1, 30.0, 0.5)
        (8.0, 300.0, 30.0)
        """
        usual = min(self.most_s, self.first_s * 2.0 ** min(tries - 1, 60)) * (0.5 + 0.5 * chance)
        return min(max(usual, asked_s or 0.0), self.most_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a delivery.

    Attributes:
        error: None where it was delivered.
        told: what the consumer holds since: an alarm that stands, or that none does.
        again_in_s: when to look again at an alarm that stands; None where there is nothing more to do.
        refused: for good: it is not tried again.
        after_s: the consumer asked for as long a pause.
        tried: False where it was given back untouched.
    """

    error: str | None = None
    told: bool | None = None
    again_in_s: float | None = None
    refused: bool = False
    after_s: float | None = None
    tried: bool = True


class Outbox:
    """Deliveries in the alarm store's database.

    Args:
        url: SQLAlchemy's.
        owner: who claims; another one for each process and thread.
        retries: of deliveries that fail.
        clock: the database's own where it has one (PostgreSQL), else this machine's; tests hand in theirs.
        chance: numbers from 0 to 1, so that many deliveries are not tried again at once.
    """

    def __init__(
        self,
        url: str,
        *,
        owner: str = "",
        retries: Retries | None = None,
        clock: Callable[[], datetime] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._engine = make_engine(url)
        self._owner = owner
        self._retries = retries or Retries()
        self._clock = clock
        self._chance = chance

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.dispose()

    def fan_out(self, adapter: str) -> int:
        """Make deliveries of the messages that are new to an adapter; one that is new hears of what stands.

        Raises:
            StoreError: the database does not answer.
        """
        with reading(self._engine) as connection:
            seen = rows.seen_by(connection, adapter)
            if seen is not None and rows.newest(connection) <= seen:
                return 0
        with writing(self._engine) as connection:
            return self._fan_out(connection, adapter)

    def _fan_out(self, connection: Connection, adapter: str) -> int:
        now, seen = self._now(connection), rows.seen_by(connection, adapter)
        if seen is None:
            rows.tell_of_older_alarms(connection)
            connection.execute(insert(outbox_adapters).values(adapter=adapter, seen_id=0))
        later = select(outbox.c.message_id).where(outbox.c.message_id > (seen or 0))
        which = rows.newest_of_standing() if seen is None else later
        count = rows.add(connection, adapter, which, now)
        here = outbox_adapters.c.adapter == adapter
        connection.execute(update(outbox_adapters).where(here).values(seen_id=rows.newest(connection)))
        return count

    def peek(self, adapter: str, *, limit: int) -> tuple[Claimed, ...]:
        """What would be claimed now; changes nothing.

        Raises:
            StoreError: the database does not answer.
        """
        with writing(self._engine) as connection:
            attempt = connection.begin_nested()
            self._fan_out(connection, adapter)
            due = connection.execute(rows.due(adapter, self._now(connection)).limit(limit)).mappings().all()
            found = tuple(rows.claimed(connection, adapter, row) for row in rows.one_an_alarm(due))
            attempt.rollback()
        return found

    def claim(self, adapter: str, *, limit: int, lease_s: float) -> tuple[Claimed, ...]:
        """Take deliveries that are due, the most overdue first, none of the same alarm.

        Raises:
            StoreError: the database does not answer.
        """
        with reading(self._engine) as connection:
            if connection.execute(rows.due(adapter, self._now(connection)).limit(1)).first() is None:
                return ()
        with writing(self._engine) as connection:
            now = self._now(connection)
            found = rows.one_an_alarm(connection.execute(rows.due(adapter, now).limit(limit)).mappings().all())
            values = {"owner": self._owner, "leased_until": now + timedelta(seconds=lease_s)}
            for row in found:
                connection.execute(
                    update(deliveries).where(rows.is_delivery(adapter, row["message_id"])).values(**values)
                )
            return tuple(rows.claimed(connection, adapter, row) for row in found)

    def holds(self, claimed: Claimed, *, for_s: float) -> bool:
        """Whether a delivery stays ours for so long: what is sent beyond it may come after newer news from another.

        Raises:
            StoreError: the database does not answer.
        """
        with reading(self._engine) as connection:
            until = self._now(connection) + timedelta(seconds=for_s)
            this = rows.is_delivery(claimed.adapter, claimed.notice.message_id)
            ours = and_(this, deliveries.c.owner == self._owner, deliveries.c.leased_until > until)
            return connection.execute(select(deliveries.c.message_id).where(ours)).first() is not None

    def settle(self, outcomes: Sequence[tuple[Claimed, Outcome]]) -> None:
        """Write what became of claimed deliveries; of one that was lost to another meanwhile nothing is written.

        Raises:
            StoreError: the database does not answer: they are delivered once more when their time is over.
        """
        if not outcomes:
            return
        with writing(self._engine) as connection:
            now = self._now(connection)
            for claimed, outcome in outcomes:
                self._settle(connection, claimed, outcome, now)

    def _settle(self, connection: Connection, claimed: Claimed, outcome: Outcome, now: datetime) -> None:
        this = rows.is_delivery(claimed.adapter, claimed.notice.message_id)
        values = self._values(claimed, outcome, now) | {"owner": None, "leased_until": None, "changed_at": now}
        connection.execute(update(deliveries).where(this, deliveries.c.owner == self._owner).values(**values))
        newer = rows.another("newer")
        superseded = exists().where(rows.same_alarm(newer), newer.c.message_id > deliveries.c.message_id)
        over = update(deliveries).where(this, deliveries.c.state == STANDING, superseded)
        connection.execute(over.values(state=DONE))

    def _values(self, claimed: Claimed, outcome: Outcome, now: datetime) -> dict[str, object]:
        if not outcome.tried:
            return {}
        if outcome.error is None:
            state = DONE if outcome.again_in_s is None else STANDING
            due = now + timedelta(seconds=outcome.again_in_s or 0.0)
            return {"state": state, "due_at": due, "tries": 0, "told": outcome.told, "error": None}
        tries = claimed.tries + 1
        wait_s = self._retries.wait_s(tries, outcome.after_s, self._chance())
        values: dict[str, object] = {"tries": tries, "error": outcome.error, "due_at": now + timedelta(seconds=wait_s)}
        if outcome.refused or tries >= self._retries.tries:
            values["state"] = DEAD
        return values

    def keep_nodes(self, notice: Notice, nodes: Sequence[str]) -> None:
        """Remember the nodes of an alarm: what was told of them is taken back from the same ones."""
        with writing(self._engine) as connection:
            query = update(outbox).where(outbox.c.message_id == notice.message_id, outbox.c.nodes.is_(None))
            connection.execute(query.values(nodes=list(nodes)))

    def _now(self, connection: Connection) -> datetime:
        return self._clock() if self._clock is not None else rows.database_now(connection)
