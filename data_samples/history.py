"""A fleet's life in order of time: links fail, people repair, hands disturb neighbours, modules are swapped.

A queue of coming failures, earliest first. A repair changes its link (a new module, a clean connector) and may
touch the neighbour; both then get a new next failure, found by physics.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from data_samples import hazard
from data_samples.config import FleetConfig
from data_samples.environment import Environment
from data_samples.faults import DEAD_DB, Fault
from data_samples.layout import Link
from data_samples.modules import Modules
from data_samples.physics import State, first_failure, healthy_margin
from data_samples.repair import Repair, Visit, plan_visit
from ingest.schema import FailureType

__all__ = ["Failure", "History", "simulate"]

_WORST_MARGIN_DB: Final = 2.0
"""No link is accepted into service with less [judgement]."""
_LOSSY: Final = 0.05
"""Links with one to three dB of loss too much from the first day [judgement]."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What truly happened."""

    link: Link
    fault: Fault
    failed: int
    visit: Visit
    since: int
    """When the link last came back from the same fault, 0 for never: a repeat offender's second failure."""


@dataclass(slots=True)
class History:
    """Everything that happened to a fleet.

    Attributes:
        drained: by link and end, stretches in which it was shut on purpose.
        preventive: link, end and step of modules taken out before they failed.
    """

    config: FleetConfig
    env: Environment
    states: list[State]
    failures: list[Failure] = field(default_factory=list)
    by_link: dict[int, list[Failure]] = field(default_factory=lambda: defaultdict(list))
    preventive: list[tuple[int, int, int]] = field(default_factory=list)
    drained: dict[tuple[int, int], list[tuple[int, int, str]]] = field(default_factory=lambda: defaultdict(list))

    def down(self, index: int) -> list[tuple[int, int]]:
        """Stretches [first, last) in which a link carried nothing because it had failed."""
        return [(failure.failed, failure.visit.closed) for failure in self.by_link.get(index, [])]


def simulate(config: FleetConfig, links: list[Link], progress: Callable[[float], None] | None = None) -> History:
    """Live through the whole window."""
    return _Simulation(config, links).run(progress)


class _Simulation:
    def __init__(self, config: FleetConfig, links: list[Link]) -> None:
        self.config, self.modules = config, Modules(config)
        self.rngs = [np.random.default_rng([config.seed, 7, link.index]) for link in links]
        self.history = History(config, Environment(config), [self._new(link) for link in links])
        self.version, self.searched = [0] * len(links), [0] * len(links)
        self.queue: list[tuple[int, int, int, str]] = []
        self.ports: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for link in links:
            for end in (0, 1):
                self.ports[link.ends[end].device].append((link.index, end))

    def _new(self, link: Link) -> State:
        config, rng, media = self.config, self.rngs[link.index], link.media
        ends = tuple([self.modules.make(rng, link, end, 0)] for end in (0, 1))
        worse = rng.uniform(1.0, 3.0) if rng.random() < _LOSSY else 0.0
        loss = (media.loss_db + worse + rng.normal(0, 0.2) + rng.normal(0, 0.35, (2, media.lanes))).astype(np.float32)
        state = State(link, (ends[0], ends[1]), np.maximum(loss, 0.2))
        self._accept(state, 0)
        for end in (0, 1):
            state.faults += hazard.draw_module(rng, config, link, end, ends[end][0])
        state.faults += hazard.draw_fiber(rng, config, link, 0) + hazard.draw_benign(rng, config, link)
        return state

    def _accept(self, state: State, step: int) -> None:
        """Clean until each lane has the margin that a link must have to go into service."""
        for direction in (0, 1):
            lacking = np.maximum(_WORST_MARGIN_DB - healthy_margin(state, step, direction), 0.0)
            state.module(1 - direction, step).sensitivity_db += lacking.astype(np.float32)

    def run(self, progress: Callable[[float], None] | None) -> History:
        config = self.config
        for state in self.history.states:
            self._drains(state)
            self._push(state.link.index, 0)
        while self.queue:
            step, index, version, what = heapq.heappop(self.queue)
            if what == "swap":
                self._preventive(index, step)
            elif version == self.version[index]:
                self._fail(index, step)
            if progress:
                progress(min(step / config.steps, 1.0))
        return self.history

    def _push(self, index: int, first: int) -> None:
        """Look for a link's next failure from a step on."""
        self.version[index] += 1
        self.searched[index] = first
        if first < self.config.steps:
            step = first_failure(self.history.states[index], self.history.env, first, self.config)
            if step is not None:
                heapq.heappush(self.queue, (step, index, self.version[index], "fail"))

    def _drains(self, state: State) -> None:
        config, rng, index = self.config, self.rngs[state.link.index], state.link.index
        months = config.days / 30
        for _ in range(rng.poisson(config.drains_per_link_month * months)):
            first, length = int(rng.integers(config.steps)), int(rng.integers(1, 8))
            kind = str(rng.choice(["drain", "recable"], p=[0.8, 0.2]))
            end = int(rng.integers(2)) if state.link.ends[1].role == "switch" else 0
            self.history.drained[index, end].append((first, min(first + length, config.steps), kind))
            if kind == "recable":
                state.faults += hazard.touch(rng, config, state.link, end, first + length)
        for _ in range(rng.poisson(config.preventive_per_link_month * months)):
            heapq.heappush(self.queue, (int(rng.integers(config.steps)), index, 0, "swap"))

    def _preventive(self, index: int, step: int) -> None:
        """Somebody takes out the module that looks worse, before it fails."""
        state = self.history.states[index]
        if any(first <= step < last for first, last in self.history.down(index)) or state.link.kind != "fiber":
            return
        worst = max(
            (f for f in state.faults if f.onset <= step < f.stop and f.mode in ("laser", "receiver", "host", "eye")),
            key=lambda f: f.level_db[step - f.onset],
            default=None,
        )
        end = worst.end if worst is not None else int(self.rngs[index].integers(2))
        self.history.preventive.append((index, end, step))
        self.history.drained[index, end].append((step, min(step + 3, self.config.steps), "drain"))
        self.swap(index, end, step + 3)
        self._push(index, step + 3)

    def swap(self, index: int, end: int, step: int) -> None:
        """A new module in a cage; what was wrong with the old one leaves with it."""
        state, rng = self.history.states[index], self.rngs[index]
        if step >= self.config.steps:
            return
        state.modules[end][-1].last = step
        module = self.modules.make(rng, state.link, end, len(state.modules[end]), step)
        state.modules[end].append(module)
        self._accept(state, step)
        for fault in state.faults:
            if fault.end == end and fault.kind not in hazard.FIBER_KINDS:
                fault.stop = min(fault.stop, step)
        state.faults = [fault for fault in state.faults if fault.onset < fault.stop]
        state.faults += hazard.draw_module(rng, self.config, state.link, end, module)

    def _fail(self, index: int, step: int) -> None:
        state, rng, config = self.history.states[index], self.rngs[index], self.config
        fault = _culprit(state, step, config)
        visit = plan_visit(rng, config, state.link, fault, step)
        since = max((f.visit.closed for f in self.history.by_link[index] if f.fault is fault), default=0)
        failure = Failure(state.link, fault, step, visit, since)
        self.history.failures.append(failure)
        self.history.by_link[index].append(failure)
        for repair in visit.repairs:
            self._apply(state, repair, fault)
        if not visit.cured:
            _relieve(rng, fault, visit.closed, config)
        self._push(index, visit.closed)
        for repair in visit.repairs:
            if rng.random() < config.disturb_probability:
                self._disturb(state.link, repair)

    def _apply(self, state: State, repair: Repair, fault: Fault) -> None:
        """Do what a repair does, at its step."""
        if repair.swapped:
            self.swap(state.link.index, repair.end, repair.step)
        if repair.cures:
            fault.stop = min(fault.stop, repair.step)
            others = (f for f in state.faults if f.kind is fault.kind and f.end == fault.end and f.onset < repair.step)
            for other in others:
                other.stop = min(other.stop, repair.step)

    def _disturb(self, link: Link, repair: Repair) -> None:
        device = link.ends[repair.end].device
        ports = self.ports[device]
        place = ports.index((link.index, repair.end))
        near = [ports[i] for i in (place - 1, place + 1) if 0 <= i < len(ports)]
        if near:
            rng = self.rngs[link.index]
            index, end = near[int(rng.integers(len(near)))]
            state = self.history.states[index]
            state.faults += hazard.touch(rng, self.config, state.link, end, repair.step)
            self._push(index, self.searched[index])  # what it does before the touch stays as it was


def _culprit(state: State, step: int, config: FleetConfig) -> Fault:
    """The fault that weighs most at the time of failing; where there is none, heat and noise: nobody's fault."""
    active = [fault for fault in state.faults if fault.onset <= step < fault.stop]
    if active:
        return max(active, key=lambda fault: float(fault.level_db[step - fault.onset]))
    lanes, level = np.zeros(state.link.media.lanes, bool), np.zeros(config.steps - step, np.float32)
    return Fault(FailureType.OTHER, "path", 0, (False, False), lanes, step, level, config.steps)


def _relieve(rng: np.random.Generator, fault: Fault, step: int, config: FleetConfig) -> None:
    """Not repaired: handled, it works again for hours to days, and then it comes back."""
    at = step - fault.onset
    if at >= len(fault.level_db):
        return
    pause = max(1, int(rng.exponential(2.5) * config.steps_per_day))
    level = fault.level_db[at:]
    if level[0] >= DEAD_DB / 2:
        level[:pause] = 0.0
    else:
        level[:] = np.maximum(level - np.float32(rng.uniform(0.3, 0.8)) * level[0], 0.0)
