"""Whoever plans: a host sends no more than its operator allows, and to allowed networks alone."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.errors import ConfigError
from ingest.probes.agent import ProbeLoop
from ingest.probes.limits import Limits, Policer
from ingest.probes.pinglist import Answered, Flow, Pinglist

FLOW = Flow("eth0", "10.1.0.2", 61_000, "far", "eth0", "10.1.7.2", "inter_tor", 10.0)


def _todo(*flows: Flow, **more: float) -> Pinglist:
    return Pinglist(flows, (), bytes(16), **more)  # type: ignore[arg-type]  # the numbers of a pinglist


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.floats(0.01, 9_000.0), min_size=1, max_size=20), st.floats(4.0, 500.0))
def test_no_pinglist_makes_a_host_send_more_than_its_limit(rates: list[float], per_s: float) -> None:
    flows = [replace(FLOW, source_port=61_000 + number, per_s=rate) for number, rate in enumerate(rates)]

    applied, told = Limits(per_s).applied(_todo(*flows, trace_per_s=1e5))

    assert sum(flow.per_s for flow in applied.flows) + applied.trace_per_s <= per_s + 0.001 * len(rates) + 1e-6
    assert bool(told) == (sum(rates) > 0.75 * per_s)


def test_a_pinglist_within_the_limit_is_left_as_it_is() -> None:
    todo = _todo(FLOW, trace_per_s=50.0)

    assert (todo, []) == Limits().applied(todo)


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "224.0.0.1", "169.254.169.254"])
def test_a_stranger_is_not_probed(address: str) -> None:
    """Nor does the way of replies to one get traced."""
    todo = replace(
        _todo(FLOW, replace(FLOW, target_address=address)),
        answered=(Answered("far", "eth0", address, 61_000, "eth0", "10.1.0.2"),),
    )

    applied, told = Limits().applied(todo)

    assert ((FLOW,), ()) == (applied.flows, applied.answered)
    assert told[0].startswith("2 5-tuples are left out")


def test_networks_are_an_operators_to_add() -> None:
    todo = _todo(replace(FLOW, target_address="203.0.113.9"))

    assert todo.flows == Limits.of(200.0, ["203.0.113.0/24"]).applied(todo)[0].flows
    with pytest.raises(ConfigError, match=r"203\.0\.113\.9/24"):
        Limits.of(200.0, ["203.0.113.9/24"])


def test_a_policer_lets_two_seconds_worth_through_and_then_its_rate() -> None:
    now = [0.0]
    policer = Policer(10.0, lambda: now[0])

    assert 20 == sum(policer.may() for _ in range(100))
    now[0] += 0.5
    assert 5 == sum(policer.may() for _ in range(100))


def test_a_lying_plan_ends_at_the_socket_too(run: Callable[..., object], ends: tuple[str, str]) -> None:
    """A loop that is given more than it may send counts the rest as not sent."""
    flow = Flow("lo", ends[0], 50_100, "far", "lo", ends[1], "tor_mesh", 1_000.0)
    rows: list[dict[str, int]] = []
    loop = ProbeLoop(_todo(flow, window_s=1.0, timeout_s=0.1), lambda probes, _: rows.extend(probes), per_s=20.0)
    until = time.monotonic() + 5.0
    while not any(row["sent"] + row["unsent"] > 500 for row in rows) and time.monotonic() < until:
        loop.step()
    loop.close()

    last = max(rows, key=lambda row: row["unsent"])
    assert last["unsent"] > 500
    assert last["sent"] <= 60  # two seconds' worth, and one second
