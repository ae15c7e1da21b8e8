"""UFM's PDR as a manager: it isolates what the detector complains of, at most so many ports, and lets them back.

Clocks are the telemetry's. The plugin ships with a dry run on, in which nothing is isolated; here it is off.
"""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from features.fleet import PORT, Fleet
from models.baselines.limits import ALARM_SCHEMA
from models.baselines.pdr import ROUND, PdrRules

__all__ = ["isolations"]

_MOST: Final = 10
_CONSIDER: Final = timedelta(seconds=300)
"""A port stays in its state for so long."""
PortName = tuple[str, ...]
News = tuple[PortName, str | None, bool, bool]
"""A port, what it is complained of, and whether it is hot and dirty."""


@dataclass
class _Isolated:
    since: datetime
    cause: str


@dataclass
class _Manager:
    """Ports isolated now, the last word on each port, and what has been isolated so far."""

    most: int
    servers: frozenset[PortName]
    isolated: dict[PortName, _Isolated] = field(default_factory=dict)
    hot: dict[PortName, bool] = field(default_factory=dict)
    dirty: dict[PortName, bool] = field(default_factory=dict)
    done: list[dict[str, Any]] = field(default_factory=list)

    def hear(self, at: datetime, news: list[News]) -> None:
        """One round: isolate in order until the most are isolated, then let back."""
        for port, _, hot, dirty in news:
            self.hot[port], self.dirty[port] = hot, dirty
        for port, cause, _, _ in news:
            if cause is None:
                continue
            if len(self.isolated) >= self.most:
                break
            if port not in self.isolated and port not in self.servers:
                self.isolated[port] = _Isolated(at, cause)
        self.let_back(at)

    def let_back(self, at: datetime) -> None:
        """Ports that have been long enough isolated, are cool, and clean if it was for bit errors."""
        for port, state in list(self.isolated.items()):
            if self.held(port) or at - state.since < _CONSIDER:
                continue
            self.done.append(self._row(port, state, at))
            del self.isolated[port]

    def held(self, port: PortName) -> bool:
        """Whether only news can free the port."""
        dirty = self.isolated[port].cause == "ber" and self.dirty[port]
        return self.hot[port] or dirty

    def next_free(self) -> datetime | None:
        """When the next port may be let back, if nothing is heard."""
        return min(
            (state.since + _CONSIDER for port, state in self.isolated.items() if not self.held(port)), default=None
        )

    def rows(self) -> list[dict[str, Any]]:
        """All isolations; those that stand have no end."""
        return [*self.done, *(self._row(port, state, None) for port, state in self.isolated.items())]

    @staticmethod
    def _row(port: PortName, state: _Isolated, cleared_at: datetime | None) -> dict[str, Any]:
        named = dict(zip(PORT, port, strict=True))
        return {**named, "raised_at": state.since, "cleared_at": cleared_at, "quantity": state.cause}


def isolations(news: pl.DataFrame, fleet: Fleet, rules: PdrRules, *, end: datetime) -> pl.DataFrame:
    """Alarms of ``limits.ALARM_SCHEMA``: from a port's isolation until it is let back.

    Args:
        news: what `pdr_news` gives of one rule set.
        fleet: how many ports there are, and which are servers': those are never isolated.
        rules: the rule set.
        end: nothing is let back later.
    """
    ports = fleet.ends().select(PORT).unique().height
    servers = fleet.modules.filter(pl.col("role") == "nic").select(PORT).unique()
    manager = _Manager(max(_MOST, int(rules.isolated_share * ports)), frozenset(servers.iter_rows()))
    rounds = deque(_heard(told) for told in news.partition_by("round", maintain_order=True))
    while rounds or manager.next_free() is not None:
        free = manager.next_free()
        if free is None or (rounds and rounds[0][0] < free + ROUND):
            manager.hear(*rounds.popleft())
        elif free < end:
            manager.let_back(free)
        else:
            break
    return pl.DataFrame(manager.rows(), schema=ALARM_SCHEMA).sort("raised_at", *PORT)


def _heard(told: pl.DataFrame) -> tuple[datetime, list[News]]:
    """One round of the news: when it ended, and what was told of each port."""
    columns = (told[name].to_list() for name in ("quantity", "hot", "dirty"))
    return max(told["time"].to_list()), list(zip(told.select(PORT).iter_rows(), *columns, strict=True))
