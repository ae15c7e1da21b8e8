"""An agent goes over from one pinglist to another, to none, and back."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest

from ingest.errors import ConfigError
from ingest.probes.limits import Limits
from ingest.probes.pinglist import Pinglist
from ingest.probes.running import run

Row = dict[str, Any]


@dataclass
class Host:
    """An agent in a thread, whose pinglist can be changed under it."""

    wanted: Pinglist | None
    limits: Limits = field(default_factory=Limits)
    rows: list[Row] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(
            target=run, args=(lambda: self.wanted, self, self.limits, self.stop, self.said.append)
        )
        self._thread.start()

    def put(self, probes: list[Row], paths: list[Row]) -> None:
        """As an outlet."""
        self.rows += probes

    def close(self) -> None:
        """As an outlet."""

    def end(self) -> None:
        """Stop it."""
        self.stop.set()
        self._thread.join(10.0)

    def more(self, since: int) -> list[Row]:
        """Rows after the first so many, as soon as there are any."""
        return until(lambda: self.rows[since:])


Found = TypeVar("Found")


def until(there: Callable[[], Found]) -> Found:
    """What is there, within a while."""
    end = time.monotonic() + 10.0
    while not (found := there()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


@pytest.fixture(name="host")
def _host() -> Iterator[Callable[..., Host]]:
    started: list[Host] = []

    def make(wanted: Pinglist | None, **more: Any) -> Host:
        started.append(Host(wanted, **more))
        return started[-1]

    yield make
    for each in started:
        each.end()


def _bound(address: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 4791))
        except OSError:
            return True
    return False


def test_without_a_pinglist_nothing_is_sent_and_nothing_answered(
    host: Callable[..., Host], asking: Pinglist, ends: tuple[str, str]
) -> None:
    near = host(asking)
    near.more(0)
    near.wanted = None
    assert until(lambda: not _bound(ends[0]))
    stopped = len(near.rows)
    time.sleep(1.5)
    assert stopped == len(near.rows)

    near.wanted = asking
    assert near.more(stopped)


def test_a_later_pinglist_that_is_not_for_this_host_is_said_and_the_last_goes_on(
    host: Callable[..., Host], asking: Pinglist
) -> None:
    near = host(asking)
    near.more(0)
    near.wanted = replace(asking, flows=(replace(asking.flows[0], source_address="192.168.99.99"),))

    assert until(lambda: [line for line in near.said if "192.168.99.99" in line])
    assert near.more(len(near.rows))


def test_what_is_left_out_of_a_pinglist_is_said(host: Callable[..., Host], asking: Pinglist) -> None:
    near = host(asking, limits=Limits(20.0))

    assert until(lambda: near.said) == ["the pinglist wants 60 probes a second, 15 are allowed here: all are slowed"]


def test_a_first_pinglist_that_is_not_for_this_host_ends_it(asking: Pinglist) -> None:
    strange = replace(asking, flows=(replace(asking.flows[0], source_address="192.168.99.99"),))

    with pytest.raises(ConfigError, match=r"192\.168\.99\.99"):
        run(lambda: strange, Host.__new__(Host), Limits(), threading.Event(), lambda _: None)
