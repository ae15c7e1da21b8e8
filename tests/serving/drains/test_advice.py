"""The cheapest thing that may be done, with costs that one can add up by hand."""

from collections.abc import Callable
from datetime import datetime

import pytest

from serving.alarms import AlarmRecord
from serving.drains.advice import Advice, Case, Decision, advise
from serving.drains.config import Cost
from serving.drains.fabric import LinkClass
from serving.drains.guard import Code, Refusal

COST = Cost(failure=100.0, drain=10.0, cost_out=2.0, kept=0.25)
"""Waiting costs 100 p, moving traffic away 2 + 25 p, draining 10: aside from p = 0.027, a drain from p = 0.32."""


@pytest.fixture(name="ask")
def _ask(make_alarm: Callable[..., AlarmRecord]) -> Callable[..., Decision]:
    def ask(risk: float | None, level: str | None = "act", **case: object) -> Decision:
        score = {"status": "scored", "risk_24h": risk, "reasons": ["bias 38 % above its baseline"]}
        if risk is None:
            score |= {"status": "unknown", "reasons": ["no telemetry in the last six hours"]}
        alarm = None if level is None else make_alarm(level=level, risk_24h=risk, **case.pop("alarm", {}))  # type: ignore[arg-type]
        values = {"link_class": LinkClass.FABRIC, "alone": False, "refusal": None, "cost": COST}
        return advise(Case(scores=[score], alarm=alarm, **values | case))  # type: ignore[arg-type]

    return ask


@pytest.mark.parametrize(
    ("risk", "level", "advice"),
    [
        (0.02, "act", Advice.OBSERVE),
        (0.1, "act", Advice.COST_OUT),
        (0.4, "act", Advice.DRAIN),
        (0.4, "watch", Advice.COST_OUT),
        (0.4, None, Advice.OBSERVE),
    ],
)
def test_the_cheapest_that_the_level_allows_is_advised(
    ask: Callable[..., Decision], risk: float, level: str | None, advice: Advice
) -> None:
    assert advice is ask(risk, level).advice


def test_the_costs_of_all_that_may_be_done_are_told(ask: Callable[..., Decision]) -> None:
    costs = ask(0.4).costs_gpu_h

    assert {"observe": 40.0, "cost_out": 12.0, "drain": 10.0} == {str(k): pytest.approx(v) for k, v in costs.items()}


def test_a_server_gets_no_new_jobs_for_its_link_has_no_other(ask: Callable[..., Decision]) -> None:
    refused = Refusal(Code.NO_REDUNDANCY, "a server's link has no other beside it")

    assert Advice.NO_NEW_JOBS is ask(0.4, link_class=LinkClass.ACCESS, refusal=refused).advice


def test_what_the_guard_refuses_is_held_with_its_reason(ask: Callable[..., Decision]) -> None:
    held = ask(0.4, refusal=Refusal(Code.CAPACITY, "leaf01 would have 1 of 4 paths left"))

    assert (Advice.HOLD, Code.CAPACITY) == (held.advice, held.code)
    assert "1 of 4 paths" in held.why


def test_lost_capacity_does_not_stand_against_moving_traffic_away(ask: Callable[..., Decision]) -> None:
    full, stopped = (Refusal(code, "no") for code in (Code.CAPACITY, Code.STOPPED))

    assert Advice.COST_OUT is ask(0.1, refusal=full).advice
    assert Advice.HOLD is ask(0.1, refusal=stopped).advice


@pytest.mark.parametrize("case", [{"alarm": {"status": "suppressed"}}, {"alone": True}])
def test_a_suppressed_alarm_and_one_left_alone_are_held(ask: Callable[..., Decision], case: dict[str, object]) -> None:
    held = ask(0.4, **case)

    assert (Advice.HOLD, Code.ALARM) == (held.advice, held.code)


def test_an_unscored_link_is_unknown_even_with_an_alarm(ask: Callable[..., Decision]) -> None:
    unknown = ask(None)

    assert Advice.UNKNOWN is unknown.advice
    assert "no telemetry" in unknown.why
    assert unknown.risk_24h is None


def test_the_deadline_is_when_the_failure_is_expected_at_the_earliest(
    ask: Callable[..., Decision], now: datetime
) -> None:
    assert now == ask(0.4).deadline
