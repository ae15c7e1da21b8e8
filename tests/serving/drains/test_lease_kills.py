"""kill -9 in the middle of groups of leases: what was told is held, nothing is half done, and the guard holds.

Callers of one process ask for leases at the same time, so that they share transactions, and give them back again. Each
says what it was told only after it was told; the process is killed at a random moment, and what the database then says
is compared with what it had told.
"""

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import select

from serving.alarms import AlarmRecord
from serving.database import reading
from serving.drains.advice import Mode
from serving.drains.config import DrainConfig
from serving.drains.desk import Desk, Known
from serving.drains.fabric import Fabric
from serving.drains.records import Drain, DrainState
from serving.drains.store import DrainStore
from serving.drains.tables import decisions, drains
from serving.store import AlarmStore

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SEED = 20261130
KILLS = 8
PLACES = [f"leaf0{leaf} Ethernet{port}" for leaf in (1, 2, 3, 4) for port in (1, 2, 3, 4)]
WIDE = {"most_per_device": 100, "most_per_tier": 100, "most_in_fleet": 100, "most_per_hour": 1_000_000}
CONFIG = DrainConfig.model_validate({"guard": {**WIDE, "least_path_share": 0.5, "cool_down_h": 0}})
"""Of the four paths of a leaf two may go."""

CALLERS = """
import os, pickle, random, sys, threading
from dataclasses import replace
from pathlib import Path
from serving.alarms import utc_now
from serving.drains.desk import Desk
from serving.drains.observed import Observed
from serving.drains.records import Drain
from serving.drains.store import DrainStore
from serving.store import AlarmStore

known, config, ports = pickle.loads(Path(sys.argv[2]).read_bytes())
desk = Desk(DrainStore(AlarmStore(sys.argv[1]).engine), config)

def seen():
    now = utc_now()
    everything = Observed(now, {}, frozenset(), dict.fromkeys(known.sight.fabric.links, now))
    return replace(known, sight=replace(known.sight, observed=everything))

def call(number):
    chance, who = random.Random(number), f"caller {number}"
    while True:
        lease = desk.lease(seen(), chance.choice(ports), who, 600)[1]
        if isinstance(lease, Drain):
            os.write(1, f"held {lease.drain_id}\\n".encode())
            if chance.random() < 0.8:
                os.write(1, f"giving {lease.drain_id}\\n".encode())
                desk.release(lease.drain_id, who)

for number in range(12):
    threading.Thread(target=call, args=(number,)).start()
"""


@pytest.fixture(name="asked")
def _asked(
    tmp_path: Path,
    make_known: Callable[..., Known],
    scores_at: Callable[..., pl.DataFrame],
    act_on: Callable[..., AlarmRecord],
) -> Path:
    """What the callers know, as a file: every uplink has an alarm that bears a drain."""
    known = make_known(scores_at(*PLACES, risk_24h=0.7), [act_on(place, suspect="fiber") for place in PLACES])
    ports = [("default", *place.split()) for place in PLACES]
    path = tmp_path / "asked.pickle"
    path.write_bytes(pickle.dumps((known, CONFIG, ports)))
    return path


def _until_killed(url: str, asked: Path, chance: random.Random) -> tuple[set[str], set[str]]:
    """Leases that were told to their callers, and those of them that may have been given back."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CALLERS, url, str(asked)]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.random())
        process.send_signal(signal.SIGKILL)
        lines = [first, *process.stdout]
    said = [line.split() for line in lines if line.endswith("\n")]
    assert said, "it was killed before anything was told"
    return {name for word, name in said if word == "held"}, {name for word, name in said if word == "giving"}


def test_no_lease_that_was_told_is_lost_and_the_guard_holds(database_url: str, asked: Path, fabric: Fabric) -> None:
    chance, told, shared = random.Random(SEED), 0, 0
    with AlarmStore(database_url) as store:
        desk = Desk(DrainStore(store.engine), CONFIG)
        with desk.store.writing() as writing:
            writing.switch("fabric", Mode.ACTIVE, "ann", "")
    for _ in range(KILLS):
        held, given = _until_killed(database_url, asked, chance)
        with AlarmStore(database_url) as store:
            desk = Desk(DrainStore(store.engine), CONFIG)
            out = {one.drain_id: one for one in desk.store.standing().out}
            granted = _granted(store)

            assert held - given <= {name for name, one in out.items() if one.state is DrainState.LEASED}
            assert held <= granted.keys(), "each is written down"
            _check_guard(fabric, out.values())
            told, shared = told + len(held), shared + _in_company(granted)
            for one in out.values():
                if one.state is DrainState.LEASED:
                    desk.release(one.drain_id, one.holder)

    assert told > KILLS
    assert shared > 0, "none shared a transaction: nothing was tried"


def _granted(store: AlarmStore) -> dict[str, object]:
    """When each drain was granted; each has its line in the log, and each line its drain."""
    logged = select(decisions.c.drain_id).where(decisions.c.kind == "lease", decisions.c.outcome == "granted")
    with reading(store.engine) as connection:
        kept = {row.drain_id: row.granted_at for row in connection.execute(select(drains))}
        lines = Counter(connection.scalars(logged))
    assert dict.fromkeys(kept, 1) == dict(lines)
    return kept


def _in_company(granted: dict[str, object]) -> int:
    """Leases that were given in the same transaction as another: its time is theirs."""
    return sum(count for count in Counter(granted.values()).values() if count > 1)


def _check_guard(fabric: Fabric, out: Iterable[Drain]) -> None:
    """Each leaf keeps two of its four paths, whatever callers hold."""
    links = {name for one in out for name in one.links}
    for (_, leaf), left in fabric.paths(fabric.design, links).items():
        assert left >= 2, f"{leaf} is left with {left} of 4 paths"
