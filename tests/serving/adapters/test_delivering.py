"""Couriers: what is due is sent in order, what fails later, and what holds no more is taken back."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ingest.lake import Lake
from ingest.schema import MODULES
from serving.adapters.base import Telling
from serving.adapters.config import AdapterConfig, WebhookConfig
from serving.adapters.webhook import Webhook
from serving.alarms import AlarmRecord, Level, ScoreRun, Status
from serving.deliveries.delivering import Courier, World
from serving.deliveries.letters import Letters
from serving.deliveries.nodes import Nodes
from serving.deliveries.outbox import Outbox
from serving.errors import StoreError
from serving.store import AlarmStore
from serving.storms import HeldBack

MakeRun = Callable[..., ScoreRun]
MakeAlarm = Callable[..., AlarmRecord]
Advance = Callable[..., None]


@dataclass
class State:
    """A consumer that keeps a state by alarm, as the protocol has it."""

    repeats: bool = False
    needs_nodes: bool = False
    held: dict[str, bool] = field(default_factory=dict)
    sent: list[tuple[str, bool, bool]] = field(default_factory=list)
    nodes: list[tuple[str, ...]] = field(default_factory=list)
    name = "state"
    keeps = True
    check_s = 300.0
    uses_nodes = True
    tells_storms = False
    timeout_s = 0.1

    def render(self, telling: Telling) -> list[dict[str, object]]:
        return [{"alarm": telling.notice.subject, "stands": telling.active}]

    def send(self, telling: Telling) -> None:
        self.held[telling.notice.subject] = telling.active
        self.sent.append((str(telling.notice.kind), telling.active, telling.stale))
        self.nodes.append(telling.notice.nodes)

    def close(self) -> None:
        """Nothing to close."""


@dataclass
class Switches:
    """What a test may turn."""

    fresh: bool = True
    stopping: bool = False
    monotonic_s: float = 0.0


@pytest.fixture(name="switches")
def _switches() -> Switches:
    return Switches()


@pytest.fixture(name="world")
def _world(lake: Lake, clock: Callable[[], datetime], switches: Switches) -> World:
    nodes = Nodes(lake, monotonic=lambda: switches.monotonic_s)
    return World(nodes, lambda: switches.fresh, clock, lambda: switches.stopping)


@pytest.fixture(name="courier")
def _courier(
    store: AlarmStore, database_url: str, clock: Callable[[], datetime], world: World, switches: Switches
) -> Iterator[Callable[..., Courier]]:
    outbox = Outbox(database_url, owner="ann", clock=clock, chance=lambda: 1.0)

    def make(adapter: Any, **config: Any) -> Courier:
        settings = {"name": adapter.name, "min_level": "watch"} | config
        found = Courier(AdapterConfig(**settings), adapter, outbox, world, monotonic=lambda: switches.monotonic_s)
        outbox.fan_out(adapter.name)
        return found

    with outbox:
        yield make


@pytest.fixture(name="webhook")
def _webhook(receiver: Any) -> Iterator[Webhook]:
    webhook = Webhook(WebhookConfig(name="hook", kind="webhook", url=receiver.url))
    yield webhook
    webhook.close()


@pytest.fixture(name="later")
def _later(advance: Advance, switches: Switches) -> Callable[[float], None]:
    """Moves both clocks."""

    def later(seconds: float) -> None:
        advance(seconds=seconds)
        switches.monotonic_s += seconds

    return later


@pytest.fixture(name="letters")
def _letters(database_url: str, store: AlarmStore, clock: Callable[[], datetime]) -> Iterator[Letters]:
    with Letters(database_url, clock=clock) as letters:
        yield letters


def _run() -> ScoreRun:
    now = datetime(2026, 11, 29, 12, tzinfo=UTC)
    return ScoreRun(at=now, started_at=now, finished_at=now, model_version="3", modules_scored=1, modules_unknown=0)


def _all(courier: Courier) -> None:
    while courier.round():
        pass


def _events(receiver: Any) -> list[tuple[str, str]]:
    events = [json.loads(request.body) for request in receiver.requests]
    return [(event["subject"], event["data"]["kind"]) for event in events]


class TestClaims:
    """Who was held up between claiming and sending."""

    @pytest.fixture(name="held_up")
    def _held_up(
        self, world: World, lake: Lake, database_url: str, clock: Callable[[], datetime]
    ) -> Iterator[Callable[..., Courier]]:
        """Another courier, for which looking up the nodes of an alarm takes what is done meanwhile."""
        with Outbox(database_url, owner="bob", clock=clock) as outbox:

            def make(adapter: State, meanwhile: Callable[[], object]) -> Courier:
                class Slow(Nodes):
                    def of(self, alarm: AlarmRecord) -> tuple[str, ...]:
                        meanwhile()
                        return super().of(alarm)

                config = AdapterConfig(name=adapter.name, min_level=Level.WATCH)
                return Courier(config, adapter, outbox, replace(world, nodes=Slow(lake)))

            yield make

    @pytest.fixture(name="raised")
    def _raised(self, courier: Any, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm) -> Courier:
        """A courier that has still to tell of an alarm."""
        found: Courier = courier(State(repeats=True))
        store.apply(make_run(), [make_alarm()])
        return found

    def test_what_the_claim_does_not_bear_any_more_is_not_sent_and_no_failure(
        self, raised: Courier, held_up: Callable[..., Courier], later: Callable[[float], None], letters: Letters
    ) -> None:
        """The claim is 120 s; of 119.7 s that are gone, too little is left for four times the timeout."""
        state = State()
        late = held_up(state, lambda: later(119.7))

        assert 0 == late.round()
        assert [] == state.sent
        assert (1, 0) == (letters.counts()["state"].waiting, letters.counts()["state"].dead)
        assert 1 == raised.round()

    def test_who_lost_the_claim_sends_nothing_after_the_newer_news_of_another(
        self, raised: Courier, held_up: Callable[..., Courier], later: Callable[[float], None], store: AlarmStore
    ) -> None:
        told: list[int] = []

        def meanwhile() -> None:
            later(121.0)
            told.append(raised.round())
            store.transition("alarm-001", Status.CLEARED, "ann", "")
            told.append(raised.round())

        state = State()

        assert 0 == held_up(state, meanwhile).round()
        assert ([1, 1], []) == (told, state.sent)


class TestOverTheWire:
    def test_the_whole_life_of_an_alarm_arrives_in_order(
        self,
        courier: Any,
        webhook: Webhook,
        receiver: Any,
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        held_back: Callable[[int], list[HeldBack]],
    ) -> None:
        hook = courier(webhook)
        store.apply(make_run(), [make_alarm(1), make_alarm(2)], held_back=held_back(3))
        store.transition("alarm-001", Status.ACKED, "ann", "")
        store.transition("alarm-001", Status.CLEARED, "ann", "")
        _all(hook)

        assert ["raised", "acked", "cleared"] == [kind for alarm, kind in _events(receiver) if alarm == "alarm-001"]
        assert {("alarm-002", "raised"), ("storm", "storm")} < set(_events(receiver))

    def test_a_refused_raise_is_dead_and_its_clear_is_delivered(
        self,
        courier: Any,
        webhook: Webhook,
        receiver: Any,
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        letters: Letters,
    ) -> None:
        hook = courier(webhook)
        receiver.answers.append((400, {}))
        store.apply(make_run(), [make_alarm()])
        store.transition("alarm-001", Status.CLEARED, "ann", "")
        _all(hook)

        assert [("alarm-001", "raised"), ("alarm-001", "cleared")] == _events(receiver)
        assert [("hook/1", "answered 400: because of that")] == [(x.name, x.error) for x in letters.listed()]

    def test_a_consumer_that_is_away_is_spared_and_hears_all_of_it_later(
        self, courier: Any, webhook: Webhook, receiver: Any, store: AlarmStore, make_alarm: MakeAlarm, later: Any
    ) -> None:
        hook = courier(webhook)
        receiver.answers.append((503, {"Retry-After": "30"}))
        store.apply(_run(), [make_alarm(number) for number in range(1, 6)])
        _all(hook)
        assert 1 == len(receiver.requests), "the other four are not tried on one who is away"

        later(29)
        _all(hook)
        assert 1 == len(receiver.requests)
        later(2)
        _all(hook)

        assert [f"alarm-00{number}" for number in range(1, 6)] == sorted(alarm for alarm, _ in _events(receiver)[1:])

    def test_whoever_is_told_to_stop_gives_back_what_was_not_begun(
        self,
        courier: Any,
        webhook: Webhook,
        receiver: Any,
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        switches: Switches,
    ) -> None:
        hook = courier(webhook)
        store.apply(make_run(), [make_alarm()])
        switches.stopping = True
        _all(hook)
        assert [] == receiver.requests

        switches.stopping = False
        _all(hook)

        assert [("alarm-001", "raised")] == _events(receiver)

    def test_watch_alarms_and_other_sites_are_left_out_where_it_is_said_so(
        self, courier: Any, webhook: Webhook, receiver: Any, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        hook = courier(webhook, min_level="act", sites=("north",))
        raised = [make_alarm(1), make_alarm(2, site="north", level=Level.WATCH), make_alarm(3, site="north")]
        store.apply(make_run(), raised)
        _all(hook)

        assert [("alarm-003", "raised")] == _events(receiver)

    def test_a_dry_run_of_a_consumer_sends_nothing_and_says_what_it_would(
        self,
        courier: Any,
        webhook: Webhook,
        receiver: Any,
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        hook = courier(webhook, dry_run=True)
        store.apply(make_run(), [make_alarm()])
        _all(hook)

        assert [] == receiver.requests
        assert "hook would be sent {'specversion': '1.0'" in caplog.text

    def test_a_look_at_what_is_due_changes_nothing(
        self, courier: Any, webhook: Webhook, receiver: Any, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        hook = courier(webhook)
        store.apply(make_run(), [make_alarm()])

        assert hook.peek() == hook.peek()
        assert [] == receiver.requests
        _all(hook)
        assert [("alarm-001", "raised")] == _events(receiver)
        assert [] == hook.peek()


class TestState:
    def test_what_stands_is_told_once_and_its_end_once(
        self, courier: Any, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, advance: Advance
    ) -> None:
        state = State()
        told = courier(state)
        store.apply(make_run(), [make_alarm()])
        for _ in range(3):
            _all(told)
            advance(seconds=301)
        store.transition("alarm-001", Status.ACKED, "ann", "")
        _all(told)
        store.transition("alarm-001", Status.CLEARED, "ann", "")
        for _ in range(3):
            _all(told)
            advance(seconds=301)

        assert [("raised", True, False), ("cleared", False, False)] == state.sent

    def test_one_that_forgets_is_told_again_for_as_long_as_it_stands(
        self, courier: Any, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, advance: Advance
    ) -> None:
        state = State(repeats=True)
        told = courier(state)
        store.apply(make_run(), [make_alarm()])
        for _ in range(3):
            _all(told)
            advance(seconds=301)

        assert [("raised", True, False)] * 3 == state.sent

    def test_where_scores_are_too_old_what_stands_is_taken_back_until_there_are_new_ones(
        self,
        courier: Any,
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        advance: Advance,
        switches: Switches,
    ) -> None:
        """A predictor that is dead holds no node, though nobody cleared its alarms."""
        state = State()
        told = courier(state)
        store.apply(make_run(), [make_alarm()])
        _all(told)
        for fresh in (False, False, True):
            switches.fresh = fresh
            advance(seconds=301)
            _all(told)

        assert [("raised", True, False), ("raised", False, True), ("raised", True, False)] == state.sent

    def test_a_suppressed_alarm_is_not_to_be_acted_on(
        self, courier: Any, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        state = State()
        told = courier(state)
        store.apply(make_run(), [make_alarm()])
        for status in (Status.SUPPRESSED, Status.OPEN):
            _all(told)
            store.transition("alarm-001", status, "ann", "")
        _all(told)

        assert [("raised", True), ("suppressed", False), ("reopened", True)] == [step[:2] for step in state.sent]

    def test_an_alarm_below_the_level_is_told_of_when_it_reaches_it(
        self, courier: Any, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm
    ) -> None:
        state = State()
        told = courier(state, min_level="act")
        store.apply(make_run(), [make_alarm(1, level=Level.WATCH), make_alarm(2, level=Level.WATCH)])
        _all(told)
        store.apply(make_run(make_run().at + timedelta(hours=1)), [], [make_alarm(1)])
        store.transition("alarm-002", Status.CLEARED, "ann", "")
        _all(told)

        assert [("changed", True, False)] == state.sent

    def test_only_nodes_that_are_known_and_the_same_ones_for_its_whole_life(
        self, courier: Any, store: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm, lake: Lake, switches: Switches
    ) -> None:
        """The taint is taken from the node that got it, wherever the cable leads by now."""
        _nic(lake, "gpu001")
        state = State(needs_nodes=True)
        told = courier(state)
        store.apply(make_run(), [make_alarm(1, peer_device="gpu001"), make_alarm(2)])
        _all(told)
        _nic(lake, "spine01")
        _nic(lake, "gpu001", role="switch", at=make_run().at + timedelta(hours=1))
        switches.monotonic_s = 61
        for number in (1, 2):
            store.transition(f"alarm-00{number}", Status.CLEARED, "ann", "")
        _all(told)

        assert {"alarm-001": False} == state.held
        assert [("gpu001",), ("gpu001",)] == state.nodes

    def test_an_error_of_ours_is_a_dead_letter_in_the_end_and_stops_nobody(
        self,
        courier: Any,
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        letters: Letters,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        state = State()

        def broken(telling: Telling) -> None:
            if telling.notice.subject == "alarm-001":
                raise ZeroDivisionError
            state.held[telling.notice.subject] = True

        monkeypatch.setattr(state, "send", broken)
        told = courier(state)
        store.apply(make_run(), [make_alarm(1), make_alarm(2)])
        _all(told)

        assert {"alarm-002": True} == state.held
        assert ["ZeroDivisionError: "] == [letter.error for letter in letters.listed(("waiting",))]

    def test_a_database_that_is_away_is_no_failure_of_a_message(
        self,
        courier: Any,
        store: AlarmStore,
        make_run: MakeRun,
        make_alarm: MakeAlarm,
        letters: Letters,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        state = State()
        told = courier(state)
        store.apply(make_run(), [make_alarm()])

        def away(_telling: Telling) -> None:
            msg = "away"
            raise StoreError(msg)

        monkeypatch.setattr(state, "send", away)
        with pytest.raises(StoreError):
            told.round()

        assert [0] == [letter.tries for letter in letters.listed(("waiting",))]


def _nic(lake: Lake, device: str, role: str = "nic", at: datetime | None = None) -> None:
    import polars as pl

    received = at or datetime(2026, 11, 1).astimezone()
    row = {"site": "default", "device": device, "interface": "Ethernet1", "serial": "SN1", "role": role}
    empty = pl.from_arrow(MODULES.schema.empty_table())
    assert isinstance(empty, pl.DataFrame)
    rows = pl.DataFrame([row | {"installed_at": received, "received_at": received}])
    lake.append(MODULES, pl.concat([empty, rows], how="diagonal_relaxed"))
