"""Whatever callers, clocks, crashes and the network do, the guard is never broken.

The machine keeps the truth beside the service: which links are really drained, which leases their holders may still
act on, and what devices would say. Holders keep to the contract, to drain only before the end of their lease; they may
die at any point. The service's clock jumps; devices' clocks are right.
"""

import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from serving.drains.advice import Mode
from serving.drains.config import DrainConfig
from serving.drains.desk import Desk, Known
from serving.drains.fabric import Fabric
from serving.drains.observed import Observed
from serving.drains.records import Drain
from serving.drains.sight import Sight
from serving.drains.store import DrainStore, Writing
from serving.errors import DrainNotFoundError, LeaseOwnerError, LinkNotFoundError
from serving.store import AlarmStore

PLACES = ["leaf01 Ethernet1", "leaf01 Ethernet2", "leaf01 Ethernet3", "leaf02 Ethernet1"]
"""Of one leaf one link may go: two that are out at once break the guard."""

CONFIG = DrainConfig.model_validate(
    {
        "guard": {
            "least_path_share": 0.75,
            "most_per_device": 100,
            "most_per_hour": 1000,
            "most_per_shared_risk": 10,
            "bundle_min_links": 0,
            "cool_down_h": 0,
        }
    }
)


class Died(Exception):  # noqa: N818 - no error: what happens to processes
    """The service died in the middle of a transaction."""


class Machine(RuleBasedStateMachine):
    """One service, its database, three callers and the network."""

    known_at: Any
    fabric: Fabric

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="forelight-")
        self.time = datetime.fromisoformat("2026-11-29T12:00:00+00:00")
        self.skew = timedelta()
        self.out: set[str] = set()
        self.broken: set[str] = set()
        self.leases: dict[str, Drain] = {}
        self.observed = Observed(self.time)

    @initialize()
    def start(self) -> None:
        self.store = AlarmStore(f"sqlite:///{Path(self.folder.name) / 'forelight.db'}", clock=self.clock).open()
        self.desk = Desk(DrainStore(self.store.engine, clock=self.clock), CONFIG)
        with self.desk.store.writing() as writing:
            writing.switch("fabric", Mode.ACTIVE, "ann", "")
        self.look()

    def clock(self) -> datetime:
        return self.time + self.skew

    def known(self) -> Known:
        known: Known = type(self).known_at(self.observed)
        return known

    def link(self, place: str) -> str:
        device, interface = place.split()
        return self.fabric.at_port["default", device, interface][0]

    @rule()
    def look(self) -> None:
        """The service reads the state of every link; devices stamp it with the right time."""
        down = dict.fromkeys(self.out | self.broken, "seen down")
        self.observed = Observed(
            self.clock(), down, frozenset(), {name: self.time for name in self.fabric.links if name not in down}
        )

    @rule(place=st.sampled_from(PLACES), holder=st.sampled_from(["a", "b"]), ttl_s=st.sampled_from([60, 600]))
    def ask(self, place: str, holder: str, ttl_s: float) -> None:
        device, interface = place.split()
        _, answer = self.desk.lease(self.known(), ("default", device, interface), holder, ttl_s)
        if isinstance(answer, Drain):
            self.leases[answer.drain_id] = answer

    @rule(places=st.lists(st.sampled_from([*PLACES, "nowhere Ethernet1"]), min_size=2, max_size=4))
    def ask_at_once(self, places: list[str]) -> None:
        """Callers share a transaction, or not; one may ask for what there is not."""
        known, answers = self.known(), list[Drain]()
        start = threading.Barrier(len(places))

        def ask(number: int, place: str) -> None:
            device, interface = place.split()
            start.wait()
            with _allowed(LinkNotFoundError):
                _, answer = self.desk.lease(known, ("default", device, interface), f"caller {number}", 600)
                answers.extend([answer] if isinstance(answer, Drain) else [])

        with ThreadPoolExecutor(len(places)) as callers:
            list(callers.map(ask, range(len(places)), places))
        self.leases |= {answer.drain_id: answer for answer in answers}

    @rule(place=st.sampled_from(PLACES), ttl_s=st.sampled_from([60, 600]))
    def ask_drain_and_say_nothing(self, place: str, ttl_s: float) -> None:
        """A holder drains under its lease and dies before it reports."""
        before = set(self.leases)
        self.ask(place, "silent", ttl_s)
        for drain_id in self.leases.keys() - before:
            lease = self.leases[drain_id]
            if lease.expires_at and self.time < lease.expires_at:
                self.out |= set(lease.links)

    @rule(place=st.sampled_from(PLACES))
    def ask_and_die(self, place: str) -> None:
        device, interface = place.split()
        before = len(self.desk.store.standing().out)
        with mock.patch.object(Writing, "log", side_effect=Died), _allowed(Died):
            self.desk.lease(self.known(), ("default", device, interface), "dying", 600)
        assert len(self.desk.store.standing().out) <= before

    @rule(data=st.data(), told=st.booleans())
    def drain(self, data: st.DataObject, told: bool) -> None:
        """A holder acts on a lease that stands by the right time; it may die before it reports."""
        able = [lease for lease in self.leases.values() if lease.expires_at and self.time < lease.expires_at]
        if able:
            lease = data.draw(st.sampled_from(sorted(able, key=lambda one: one.granted_at.isoformat() + one.link_id)))
            self.out |= set(lease.links)
            if told:
                self.desk.drained(self.known(), (lease.site, lease.device, lease.interface), lease.holder, "")

    @rule(data=st.data(), told=st.booleans())
    def bring_back(self, data: st.DataObject, told: bool) -> None:
        """A link comes back, whether or not anybody tells; its lease is used up."""
        if self.out:
            name = data.draw(st.sampled_from(sorted(self.out)))
            self.out.discard(name)
            self.leases = {k: lease for k, lease in self.leases.items() if name not in lease.links}
            if told:
                with _allowed(DrainNotFoundError):
                    self.desk.undrained(self.known(), self.fabric.links[name].ends[0], "technician", "", [])

    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        """A holder that has not drained gives its lease back."""
        unused = [lease for lease in self.leases.values() if not self.out & set(lease.links)]
        if unused:
            lease = data.draw(st.sampled_from(sorted(unused, key=lambda one: one.granted_at.isoformat() + one.link_id)))
            with _allowed(LeaseOwnerError):
                self.desk.release(lease.drain_id, lease.holder)
                del self.leases[lease.drain_id]

    @rule(place=st.sampled_from(PLACES))
    def break_or_mend(self, place: str) -> None:
        self.broken ^= {self.link(place)}

    @rule(seconds=st.sampled_from([1, 61, 601, 3600]))
    def pass_time(self, seconds: int) -> None:
        self.time += timedelta(seconds=seconds)

    @rule(hours=st.sampled_from([-30, -1, 0, 1, 30]))
    def jump(self, hours: int) -> None:
        self.skew = timedelta(hours=hours)

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.start_again()

    def start_again(self) -> None:
        self.store = AlarmStore(f"sqlite:///{Path(self.folder.name) / 'forelight.db'}", clock=self.clock).open()
        self.desk = Desk(DrainStore(self.store.engine, clock=self.clock), CONFIG)

    @invariant()
    def each_leaf_keeps_three_of_its_four_paths(self) -> None:
        """Whatever holders drained and may still drain; what broke by itself is not the guard's doing."""
        may = {
            name for one in self.leases.values() if one.expires_at and self.time < one.expires_at for name in one.links
        }
        for (_, leaf), left in self.fabric.paths(self.fabric.design, self.out | may).items():
            assert left >= 3, f"{leaf} may be left with {left} of 4 paths"

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


@contextmanager
def _allowed(error: type[Exception]) -> Iterator[None]:
    """What the service may answer where the truth has moved on."""
    try:
        yield
    except error:
        return


def test_the_guard_is_never_broken(fabric: Fabric, make_known: Any, scores_at: Any, act_on: Any) -> None:
    scores = scores_at(*PLACES, risk_24h=0.7)
    alarms = [act_on(place, suspect="fiber") for place in PLACES]

    def known_at(observed: Observed) -> Known:
        known: Known = make_known(scores, alarms, observed=observed)
        return Known(known.snapshot, Sight(fabric, observed))

    kind = type("Fabric", (Machine,), {"known_at": staticmethod(known_at), "fabric": fabric})
    run_state_machine_as_test(
        kind,
        settings=settings(
            max_examples=60,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
