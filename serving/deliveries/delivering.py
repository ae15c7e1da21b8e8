"""Delivers what is due: persist, deliver, advance; a consumer that is away is spared, and holds no other up.

Each consumer has a courier of its own. It claims some deliveries, hands them over one by one and writes what became of
them; while it does, the claim keeps others away. Just before it sends it looks whether the claim still bears the time
that sending may take; what it does not bear is given back.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from serving.adapters.base import Adapter, Telling
from serving.adapters.config import AdapterConfig
from serving.alarms import STANDING, AlarmRecord, Level, Status
from serving.deliveries.errors import DeliveryError, RefusedError, UnreachableError
from serving.deliveries.nodes import Nodes
from serving.deliveries.outbox import Claimed, Outbox, Outcome
from serving.errors import StoreError
from serving.notices import Kind, Notice

__all__ = ["Courier", "World"]

_BATCH: Final = 32
_ANSWERS: Final = 4
"""Connecting, sending, waiting and reading each may take an adapter's timeout."""
_LONGEST_SPARE_S: Final = 60.0
_UNTRIED: Final = Outcome(tried=False)
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class World:
    """What couriers know of the rest.

    Attributes:
        nodes: servers on links.
        fresh: whether the scores are young enough for alarms to stand on them.
        clock: what is now.
        stopping: no further delivery is begun.
    """

    nodes: Nodes
    fresh: Callable[[], bool]
    clock: Callable[[], datetime]
    stopping: Callable[[], bool] = lambda: False


class Courier:
    """Delivers to one consumer.

    Args:
        config: of the consumer.
        adapter: to it.
        outbox: in which nobody else claims under the same owner.
        world: the rest.
        monotonic: seconds that only grow; tests hand in their own.
        lease_s: for which a batch is claimed; longer where the consumer's timeout asks for it.
    """

    def __init__(
        self,
        config: AdapterConfig,
        adapter: Adapter,
        outbox: Outbox,
        world: World,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        lease_s: float = 120.0,
    ) -> None:
        self._config = config
        self._adapter = adapter
        self._outbox = outbox
        self._world = world
        self._monotonic = monotonic
        self._longest_s = _ANSWERS * adapter.timeout_s
        self._lease_s = max(lease_s, 2 * self._longest_s)
        self._away = 0
        self._spare_until = 0.0

    def round(self) -> int:
        """Deliver some of what is due; returns with how many something was done.

        Raises:
            StoreError: the database does not answer.
        """
        if self._monotonic() < self._spare_until:
            return 0
        self._outbox.fan_out(self._adapter.name)
        claimed = self._outbox.claim(self._adapter.name, limit=_BATCH, lease_s=self._lease_s)
        outcomes: list[tuple[Claimed, Outcome]] = []
        try:
            for each in claimed:
                stop = self._world.stopping() or self._monotonic() < self._spare_until
                outcomes.append((each, _UNTRIED if stop else self._outcome(each)))
        finally:
            self._outbox.settle(outcomes)
        return sum(outcome.tried for _, outcome in outcomes)

    def peek(self) -> list[tuple[Claimed, list[dict[str, object]]]]:
        """What would be sent now, in the consumer's words; changes and sends nothing."""
        found = []
        for each in self._outbox.peek(self._adapter.name, limit=10_000):
            telling = self._telling(each, keep=False)
            if telling is not None and self._is_sent(each, telling):
                found.append((each, list(self._adapter.render(telling))))
        return found

    def _outcome(self, claimed: Claimed) -> Outcome:
        """Try a delivery."""
        try:
            telling = self._telling(claimed, keep=True)
            if telling is None:
                return Outcome()
            if self._is_sent(claimed, telling):
                if not self._outbox.holds(claimed, for_s=self._longest_s):
                    return _UNTRIED
                self._send(telling)
        except DeliveryError as error:
            self._note(claimed, error)
            return Outcome(error=str(error), refused=isinstance(error, RefusedError), after_s=error.after_s)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - an error of ours must end as a dead letter, not stop all others
            _log.exception("delivery %s/%s failed", claimed.adapter, claimed.notice.message_id)
            return Outcome(error=f"{type(error).__name__}: {error}")
        self._away = 0
        alarm = telling.notice.alarm
        stands = self._adapter.keeps and alarm is not None and alarm.status in STANDING
        told = telling.active if self._adapter.keeps else None
        return Outcome(told=told, again_in_s=self._adapter.check_s if stands else None)

    def _telling(self, claimed: Claimed, *, keep: bool) -> Telling | None:
        """What holds of a message now; None where it is nothing for this consumer."""
        notice, alarm = claimed.notice, claimed.notice.alarm
        if alarm is None:
            return Telling(notice, active=True, at=self._world.clock()) if self._adapter.tells_storms else None
        if self._config.sites and alarm.site not in self._config.sites:
            return None
        if self._adapter.uses_nodes and not claimed.nodes_known:
            notice = self._with_nodes(notice, alarm, keep=keep)
        high = alarm.level == Level.ACT or self._config.min_level == Level.WATCH
        if not self._adapter.keeps and not (high or alarm.act_at is not None):
            return None
        fresh = not self._adapter.keeps or self._world.fresh()
        named = bool(notice.nodes) or not self._adapter.needs_nodes
        active = high and named and fresh and alarm.status in {Status.OPEN, Status.ACKED}
        alone = self._adapter.uses_nodes and self._world.nodes.left_alone(alarm, notice.nodes)
        return Telling(notice, active=active, at=self._world.clock(), left_alone=alone, stale=not fresh)

    def _with_nodes(self, notice: Notice, alarm: AlarmRecord, *, keep: bool) -> Notice:
        nodes = self._world.nodes.of(alarm)
        if keep:
            self._outbox.keep_nodes(notice, nodes)
        return replace(notice, nodes=nodes)

    def _is_sent(self, claimed: Claimed, telling: Telling) -> bool:
        """Whether the consumer is to hear of it: what it knows already is not told again, unless it forgets."""
        if not self._adapter.keeps or telling.notice.alarm is None:
            return True
        if not telling.active:
            return claimed.told or claimed.maybe
        other_level = telling.notice.kind is Kind.CHANGED and not claimed.stands
        return self._adapter.repeats or not claimed.told or other_level

    def _send(self, telling: Telling) -> None:
        if not self._config.dry_run:
            self._adapter.send(telling)
            return
        for sent in self._adapter.render(telling):
            _log.warning("dry run: %s would be sent %s", self._config.name, sent)

    def _note(self, claimed: Claimed, error: DeliveryError) -> None:
        """Say what failed, and spare a consumer that is away."""
        _log.warning("delivery %s/%s: %s", claimed.adapter, claimed.notice.message_id, error)
        if isinstance(error, UnreachableError):
            self._away += 1
            pause_s = max(error.after_s or 0.0, 2.0 ** min(self._away - 1, 10))
            self._spare_until = self._monotonic() + min(pause_s, _LONGEST_SPARE_S)
