"""What a host allows whoever plans its probes: so many packets and no more, and to its own networks alone.

A plan that is wrong, or made by somebody else, must not make a fleet of agents flood a stranger.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, Self

from ingest.errors import ConfigError
from ingest.probes.pinglist import Pinglist

__all__ = ["PER_S", "PRIVATE", "Limits", "Policer"]

_PROBES: Final = 0.75
"""Share of all packets that probes may have; traces and questions have the rest."""
_BURST_S: Final = 2.0
_LEAST_PER_S: Final = 0.001

PER_S: Final = 200.0
"""Packets a second that a host sends where its operator says nothing: 23 kB with their headers."""

PRIVATE: Final = (
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),  # RFC 1918
    "100.64.0.0/10",  # RFC 6598
    "fc00::/7",  # RFC 4193
    *("127.0.0.0/8", "::1/128"),
)
"""Networks of which no stranger has an address."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What this host allows.

    Attributes:
        per_s: packets that it sends of its own accord: probes, questions, traces. Answers are bounded by what comes.
        networks: in which targets may be.
    """

    per_s: float = PER_S
    networks: tuple[IPv4Network | IPv6Network, ...] = tuple(map(ip_network, PRIVATE))

    @classmethod
    def of(cls, per_s: float, networks: Sequence[str] = ()) -> Self:
        """Limits as an operator says them; networks beside the private ones.

        Raises:
            ConfigError: one is no network.
        """
        try:
            return cls(per_s, tuple(map(ip_network, (*PRIVATE, *networks))))
        except ValueError as error:
            msg = f"no network to probe: {error}"
            raise ConfigError(msg) from None

    def applied(self, todo: Pinglist) -> tuple[Pinglist, list[str]]:
        """What is left of a pinglist, and in a line each what was taken from it."""
        told: list[str] = []
        flows = tuple(flow for flow in todo.flows if self._near(flow.target_address))
        answered = tuple(each for each in todo.answered if self._near(each.source_address))
        if strange := len(todo.flows) - len(flows) + len(todo.answered) - len(answered):
            told.append(f"{strange} 5-tuples are left out: their far end is in none of the networks allowed here")
        wanted, most = sum(flow.per_s for flow in flows), _PROBES * self.per_s
        if wanted > most:
            told.append(f"the pinglist wants {wanted:g} probes a second, {most:g} are allowed here: all are slowed")
            flows = tuple(replace(flow, per_s=max(flow.per_s * most / wanted, _LEAST_PER_S)) for flow in flows)
        trace_per_s = max(min(todo.trace_per_s, (1.0 - _PROBES) * self.per_s), 1.0)
        return replace(todo, flows=flows, answered=answered, trace_per_s=trace_per_s), told

    def _near(self, address: str) -> bool:
        found = ip_address(address)
        return any(found in network for network in self.networks)


class Policer:
    """Lets so many packets a second through, two seconds' worth at once.

    Args:
        per_s: packets.
        monotonic: seconds that only grow; tests hand in their own.
    """

    def __init__(self, per_s: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._monotonic = per_s, monotonic
        self._tokens, self._since = _BURST_S * per_s, monotonic()

    def may(self) -> bool:
        """Whether one more may go, which then counts."""
        now = self._monotonic()
        self._tokens = min(self._tokens + (now - self._since) * self._per_s, _BURST_S * self._per_s)
        self._since = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True
