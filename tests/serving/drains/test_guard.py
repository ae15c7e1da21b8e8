"""What the capacity guard refuses, one rule at a time, by hand count."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from serving.drains.config import Guard
from serving.drains.fabric import Fabric
from serving.drains.guard import Code, Held, Network, refusal
from serving.drains.observed import Observed

WIDE = {"least_path_share": 0.5, "most_per_device": 10}
Name = Callable[[str], str]
Seen = Callable[..., Observed]
Ask = Callable[..., Code | None]


@pytest.fixture(name="ask")
def _ask(fabric: Fabric, seen: Seen, name_of: Name, now: datetime) -> Ask:
    """The code of the refusal: ``ask(["leaf01 Ethernet1"], held=[…], down=[…], guard={…})``."""

    def ask(
        places: list[str],
        *,
        held: tuple[str, ...] = (),
        recent: tuple[Held, ...] = (),
        down: tuple[str, ...] = (),
        unseen: tuple[str, ...] = (),
        guard: dict[str, object] | None = None,
        at: datetime = now,
    ) -> Code | None:
        observed = seen(now, [name_of(place) for place in down], [name_of(place) for place in unseen])
        drains = tuple(Held((name_of(place),), now - timedelta(hours=2)) for place in held)
        network = Network(fabric, observed, drains, recent)
        found = refusal(network, [name_of(p) for p in places], Guard.model_validate(WIDE | (guard or {})), at)
        return None if found is None else found.code

    return ask


def test_a_redundant_link_may_go(ask: Ask) -> None:
    assert ask(["leaf01 Ethernet1"]) is None


def test_half_of_the_paths_must_stay(ask: Ask) -> None:
    assert ask(["leaf01 Ethernet1"], held=("leaf01 Ethernet3",)) is None
    held = ("leaf01 Ethernet1", "leaf01 Ethernet3")
    assert Code.CAPACITY == ask(["leaf01 Ethernet2"], held=held, guard={"bundle_min_links": 0})


def test_a_larger_share_refuses_sooner(ask: Ask) -> None:
    assert Code.CAPACITY == ask(["leaf01 Ethernet1"], held=("leaf01 Ethernet3",), guard={"least_path_share": 0.75})


def test_links_seen_down_count_like_drained_ones(ask: Ask) -> None:
    assert Code.CAPACITY == ask(["leaf01 Ethernet1"], down=("leaf01 Ethernet3",), guard={"least_path_share": 0.75})


def test_a_link_above_the_spine_counts_for_every_leaf_below(ask: Ask) -> None:
    assert Code.CAPACITY == ask(["spine01 Ethernet9"], held=("leaf04 Ethernet3",))


def test_links_that_nobody_has_seen_are_not_counted_on(ask: Ask) -> None:
    assert Code.STALE == ask(["leaf01 Ethernet1"], unseen=("leaf01 Ethernet3",), guard={"least_path_share": 0.75})
    assert Code.STALE == ask(["leaf01 Ethernet1"], unseen=("leaf01 Ethernet2",))


@pytest.mark.parametrize("hours", [-1, 1])
def test_an_old_or_future_state_of_the_links_is_no_ground(ask: Ask, now: datetime, hours: int) -> None:
    assert Code.STALE == ask(["leaf01 Ethernet1"], at=now + timedelta(hours=hours))


def test_a_link_to_a_server_has_no_redundancy(ask: Ask) -> None:
    assert Code.NO_REDUNDANCY == ask(["leaf01 Ethernet11"])


def test_of_parallel_links_some_stay(ask: Ask) -> None:
    assert Code.BUNDLE == ask(["leaf01 Ethernet1"], held=("leaf01 Ethernet2",))
    assert ask(["leaf01 Ethernet1"], held=("leaf01 Ethernet2",), guard={"bundle_min_links": 0}) is None


def test_of_a_shared_risk_one_link_is_out_at_once_seen_down_or_drained(ask: Ask) -> None:
    few = {"least_path_share": 0.5}

    assert Code.SHARED_RISK == ask(["spine01 Ethernet9"], held=("spine02 Ethernet9",), guard=few)
    assert Code.SHARED_RISK == ask(["spine01 Ethernet9"], down=("spine02 Ethernet9",), guard=few)


@pytest.mark.parametrize(
    ("guard", "code"),
    [
        ({"most_per_device": 1}, Code.DEVICE),
        ({"most_per_tier": 1}, Code.TIER),
        ({"most_in_fleet": 1, "most_of_fleet": 0.0}, Code.FLEET),
    ],
)
def test_so_much_may_be_out_at_once(ask: Ask, guard: dict[str, object], code: Code) -> None:
    assert code == ask(["leaf01 Ethernet1"], held=("leaf01 Ethernet3",), guard=guard)


def test_a_share_of_a_large_fleet_may_be_out_where_that_is_more(ask: Ask) -> None:
    guard = {"most_in_fleet": 1, "most_of_fleet": 0.5}

    assert ask(["leaf01 Ethernet1"], held=("leaf01 Ethernet3",), guard=guard) is None


def test_a_lease_that_came_to_nothing_asks_for_no_rest(ask: Ask, name_of: Name, now: datetime) -> None:
    unused = Held((name_of("leaf01 Ethernet1"),), now - timedelta(days=3), now - timedelta(hours=1), drained=False)

    assert ask(["leaf01 Ethernet1"], recent=(unused,)) is None


def test_so_many_leases_are_given_in_an_hour(ask: Ask, name_of: Name, now: datetime) -> None:
    lately = Held((name_of("leaf02 Ethernet1"),), now - timedelta(minutes=59), now - timedelta(minutes=30))
    before = Held((name_of("leaf02 Ethernet1"),), now - timedelta(minutes=61), now - timedelta(minutes=30))

    assert Code.HOUR == ask(["leaf01 Ethernet1"], recent=(lately,), guard={"most_per_hour": 1})
    assert ask(["leaf01 Ethernet1"], recent=(before,), guard={"most_per_hour": 1}) is None


def test_a_link_rests_after_a_drain(ask: Ask, name_of: Name, now: datetime) -> None:
    ended = Held((name_of("leaf01 Ethernet1"),), now - timedelta(days=3), now - timedelta(hours=23))

    assert Code.COOL_DOWN == ask(["leaf01 Ethernet1"], recent=(ended,))
    assert ask(["leaf01 Ethernet1"], recent=(ended,), guard={"cool_down_h": 22}) is None


def test_a_link_that_is_seen_down_has_nothing_to_drain(ask: Ask) -> None:
    assert Code.DOWN == ask(["leaf01 Ethernet1"], down=("leaf01 Ethernet1",))


def test_a_link_that_is_out_is_not_given_again(ask: Ask) -> None:
    assert Code.HELD == ask(["leaf01 Ethernet1"], held=("leaf01 Ethernet1",))


def test_without_a_tier_nobody_knows_what_is_redundant(
    fleet_without_servers: Fabric, seen: Seen, now: datetime
) -> None:
    name = next(iter(fleet_without_servers.links))
    found = refusal(Network(fleet_without_servers, Observed(now)), [name], Guard(), now)

    assert found is not None
    assert Code.TIER_UNKNOWN == found.code


@pytest.mark.parametrize(("minutes", "back"), [(-1, False), (1, True)])
def test_capacity_is_back_when_the_link_is_seen_up_after_its_end(
    seen: Seen, name_of: Name, now: datetime, minutes: int, back: bool
) -> None:
    held = Held((name_of("leaf01 Ethernet1"),), now - timedelta(hours=2), now)

    assert back is held.back(seen(now + timedelta(minutes=minutes)))


def test_capacity_is_not_back_before_the_end_nor_unseen(seen: Seen, name_of: Name, now: datetime) -> None:
    links = (name_of("leaf01 Ethernet1"),)
    later = now + timedelta(minutes=1)

    assert not Held(links, now).back(seen(later))
    assert not Held(links, now, now).back(seen(later, unseen=links))
    assert not Held(links, now, now).back(seen(later, down=links))
