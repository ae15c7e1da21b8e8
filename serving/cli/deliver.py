"""``forelight deliver``: tells consumers what the outbox holds, until it is told to stop."""

import json
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Final
from uuid import uuid4

from rich.console import Console

from ingest.errors import ConfigError
from ingest.lake import Lake
from serving.adapters.config import AdapterConfig, DeliverConfig, load_config
from serving.adapters.make import make_adapter
from serving.alarms import utc_now
from serving.deliveries.delivering import Courier, World
from serving.deliveries.letters import Letters
from serving.deliveries.nodes import Nodes
from serving.deliveries.outbox import Outbox, Retries
from serving.errors import StoreError
from serving.settings import Settings
from serving.store import AlarmStore
from serving.upkeep import sweep

__all__ = ["run"]

_SWEEP_S: Final = 60.0
_PRUNE_S: Final = 3_600.0
_LONGEST_PAUSE_S: Final = 30.0
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Office:
    """All couriers of a configuration."""

    config: DeliverConfig
    settings: Settings
    store: AlarmStore
    couriers: dict[str, Courier]
    letters: Letters
    stop: threading.Event


def run(path: Path, *, once: bool, dry_run: bool, only: Sequence[str]) -> None:
    """Deliver what is due, for ever unless `once`.

    Args:
        path: of the configuration.
        once: end when nothing is due any more.
        dry_run: print what would be sent; send and change nothing.
        only: adapters by name; all where none is given.

    Raises:
        ConfigError: the configuration is wrong, or a secret is missing.
        StoreError: the database cannot be reached at the start.
    """
    logging.basicConfig(format="forelight: %(message)s", level=logging.WARNING)
    with _opened(load_config(path), only) as office:
        if dry_run:
            _show(office)
        elif once:
            _all_once(office)
        else:
            _for_ever(office)


@contextmanager
def _opened(config: DeliverConfig, only: Sequence[str]) -> Iterator[_Office]:
    settings, stop = Settings.from_env(), threading.Event()
    chosen = _chosen(config, only)
    with ExitStack() as opened:
        store = opened.enter_context(AlarmStore(settings.database_url))
        nodes = Nodes(Lake(settings.lake_uri), no_act_share=settings.no_act_share)
        fresh = _Fresh(store, config.deliver.withdraw_after_s)
        world = World(nodes, fresh, utc_now, stop.is_set)
        couriers = {each.name: _courier(each, config, settings, world, opened) for each in chosen}
        yield _Office(config, settings, store, couriers, opened.enter_context(Letters(settings.database_url)), stop)


def _courier(
    each: AdapterConfig, config: DeliverConfig, settings: Settings, world: World, opened: ExitStack
) -> Courier:
    adapter = make_adapter(each)
    opened.callback(adapter.close)
    deliver = config.deliver
    retries = Retries(tries=deliver.tries, first_s=deliver.first_retry_s, most_s=deliver.most_retry_s)
    owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
    outbox = opened.enter_context(Outbox(settings.database_url, owner=owner, retries=retries))
    return Courier(each, adapter, outbox, world, lease_s=deliver.lease_s)


def _chosen(config: DeliverConfig, only: Sequence[str]) -> list[AdapterConfig]:
    names = [adapter.name for adapter in config.adapter]
    if unknown := sorted(set(only) - set(names)):
        msg = f"there is no adapter {unknown[0]!r}; there are {', '.join(names)}"
        raise ConfigError(msg)
    return [adapter for adapter in config.adapter if not only or adapter.name in only]


class _Fresh:
    """Whether alarms may stand on the latest scores; asked of the store once in ten seconds at most."""

    def __init__(self, store: AlarmStore, limit_s: float) -> None:
        self._store = store
        self._limit_s = limit_s
        self._until = 0.0
        self._known = False

    def __call__(self) -> bool:
        if time.monotonic() >= self._until:
            run = self._store.latest_run()
            self._known = run is not None and abs((utc_now() - run.at).total_seconds()) <= self._limit_s
            self._until = time.monotonic() + 10.0
        return self._known


def _show(office: _Office) -> None:
    for name, courier in office.couriers.items():
        for claimed, sent in courier.peek():
            line = {"delivery": f"{name}/{claimed.notice.message_id}", "kind": claimed.notice.kind, "would_send": sent}
            print(json.dumps(line, allow_nan=False))  # noqa: T201 - the answer


def _all_once(office: _Office) -> None:
    """Each courier until it finds nothing to do; what failed stays in the outbox."""
    for courier in office.couriers.values():
        while courier.round():
            pass
    for name, count in office.letters.counts().items():
        if name in office.couriers:
            Console(soft_wrap=True, highlight=False).print(f"{name}: {count.waiting} waiting, {count.dead} dead")


def _for_ever(office: _Office) -> None:
    """A thread for each courier, until SIGTERM or Ctrl-C; what is being delivered then is settled first."""

    def end(_number: int, _frame: FrameType | None) -> None:
        office.stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    names = ", ".join(office.couriers)
    Console(soft_wrap=True, highlight=False).print(f"forelight delivers to {names} (Ctrl-C ends)")
    threads = [threading.Thread(target=_work, args=(office, name), name=name) for name in office.couriers]
    for thread in threads:
        thread.start()
    try:
        _keep_house(office)
    finally:
        office.stop.set()
        for thread in threads:
            thread.join()
        for number, handler in before.items():
            signal.signal(number, handler)


def _work(office: _Office, name: str) -> None:
    """Rounds of one courier; a database that is away is waited for."""
    pause_s = office.config.deliver.poll_s
    while not office.stop.is_set():
        try:
            if office.couriers[name].round():
                continue
            pause_s = office.config.deliver.poll_s
        except StoreError as error:
            _log.warning("%s: %s", name, error)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        office.stop.wait(pause_s)


def _keep_house(office: _Office) -> None:
    """Let alarms expire, and messages of long ago go: a predictor or a service that is dead does neither."""
    prune_at = 0.0
    while not office.stop.is_set():
        try:
            sweep(office.store, office.settings.alarm_ttl_s, utc_now())
            if time.monotonic() >= prune_at:
                office.letters.prune(timedelta(days=office.config.deliver.keep_days))
                prune_at = time.monotonic() + _PRUNE_S
        except StoreError as error:
            _log.warning("%s", error)
        office.stop.wait(_SWEEP_S)
