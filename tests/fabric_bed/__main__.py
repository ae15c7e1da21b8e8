"""All trials on a fabric of four leaves, four spines and eight hosts; a table of what was named: `make test-fabric`."""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fabric_bed.hosts import Agents, Rates
from fabric_bed.net import Fabric, missing
from fabric_bed.trials import SCENARIOS, Bench, Outcome


def main() -> int:
    """Run; 1 where a bar is missed, 2 where namespaces cannot be had."""
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("--links", type=int, default=60, help="trials of lossy links")
    said.add_argument("--each", type=int, default=40, help="trials of each other scenario")
    said.add_argument("--idle", type=int, default=100, help="windows in which nothing is wrong")
    said.add_argument("--only", nargs="*", default=[], help="of the other scenarios")
    said.add_argument("--seed", type=int, default=1)
    said.add_argument("--verbose", action="store_true", help="print what was said in each trial")
    asked = said.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was built is taken away all the same
    if reason := missing():
        print(reason)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        agents = Agents(Fabric(), Path(folder), Rates())
        try:
            agents.fabric.up()
            agents.start()
            agents.ready()
            return _all(Bench(agents, random.Random(asked.seed)), asked)
        finally:
            agents.end()
            agents.fabric.down()


def _all(bench: Bench, asked: argparse.Namespace) -> int:
    print(time.strftime("%T"), "ready", flush=True)
    bench.windows(2)
    idle = bench.windows(asked.idle)
    alarms = sum(bool(each.findings or bench.links([each])) for each in idle)
    print(f"no fault: {alarms} of {len(idle)} windows with a finding", flush=True)
    if asked.verbose:
        print([each.findings for each in idle if each.findings], flush=True)
    missed = alarms > 0
    trials: list[tuple[str, int, Callable[[int], Outcome], float]] = [
        ("lossy links", asked.links, lambda number: bench.lossy_links(host_link=number % 4 == 3), 1.0)
    ]
    trials += [(name, asked.each, partial(_scenario, bench, name), 0.95) for name in asked.only or SCENARIOS]
    print(f"{'scenario':<14} {'trials':>6} {'named':>6} {'direction':>9} {'blamed':>6}")
    for name, count, trial, bar in trials:
        outcomes = []
        for number in range(count):
            outcomes.append(trial(number))
            if asked.verbose or not outcomes[-1].named or outcomes[-1].blamed:
                print(f"  {time.strftime('%T')} {name} {number}: {outcomes[-1]}", file=sys.stderr, flush=True)
        missed |= _told(name, outcomes, bar)
    return int(missed)


def _scenario(bench: Bench, name: str, _: int) -> Outcome:
    return bench.scenario(name)


def _told(name: str, outcomes: list[Outcome], bar: float) -> bool:
    """Print a line; whether its bar is missed."""
    if not outcomes:
        return False
    named = sum(each.named for each in outcomes)
    directed = [each.direction for each in outcomes if each.direction is not None]
    direction = f"{sum(directed)}" if directed else "-"
    blamed = sum(bool(each.blamed) for each in outcomes)
    print(f"{name:<14} {len(outcomes):>6} {named:>6} {direction:>9} {blamed:>6}", flush=True)
    right = sum(directed) >= 0.98 * len(directed)
    return named < bar * len(outcomes) or blamed > 0 or not right


if __name__ == "__main__":
    sys.exit(main())
