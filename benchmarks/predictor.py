"""How well failures are foretold on synthetic fleets of several tempers, and what learning and a back-test cost.

Each world is a fleet of `data_samples` that differs from the others in what is said beside its name; its first 30 days
are learnt from, the next 20 are walked through hour by hour and judged as `forelight backtest` judges. Ten more days
are known: an alarm on the last day is right or false by the week after it. `false` is false alarms per 1,000 modules
and week; `F1 24h at 1, 2, 5` is what the ranking of the risks could do, in hindsight, with so
many. The worlds are **synthetic**: the figures tell how the predictor bears a change of the world, not how it will do
on yours.

    python benchmarks/predictor.py                     all worlds, about five minutes each on two cores
    python benchmarks/predictor.py --world rare        one of them
    python benchmarks/predictor.py --time              1,000 links x 60 days: time and memory of training and back-test
"""

import argparse
import contextlib
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from data_samples import FleetConfig, generate
from data_samples.media import VENDORS
from features.engine import Pool
from features.fleet import Fleet
from features.tiles import update_tiles
from ingest.exports import import_export
from ingest.lake import Lake
from models.alarm import alarm_frame
from models.artifact import Artifact
from models.day_one import day_one
from models.policy import ALARM_HORIZON_H
from models.risk_log import RiskLog
from models.scorecard import LeadScore, Scorecard
from serving.backtest.backtesting import judged, walked
from serving.scoring.compute import Compute
from serving.scoring.training import trained

LEARNT_DAYS, JUDGED_DAYS, AFTERWARDS_DAYS = 30, 20, 10
USUAL = FleetConfig(links=600, days=LEARNT_DAYS + JUDGED_DAYS + AFTERWARDS_DAYS, seed=2_001)
COLUMNS = (
    "F1 24h",
    "F1 1h",
    "false",
    "act R 1h",
    "act false",
    "type",
    "unit",
    "end",
    "slope 24",
    "slope 168",
    "top bins 24 h",
    "F1 24h at 1, 2, 5",
    "n",
)


@dataclass(frozen=True)
class World:
    """A fleet, and another one to learn from where it is not its own past."""

    what: str
    fleet: FleetConfig
    learnt_on: FleetConfig | None = None


def _half(first: bool) -> dict[str, object]:
    """One half of media and makers: what is in one is not in the other."""
    media = (
        {"100GBASE-SR4": 0.4, "100GBASE-CWDM4": 0.2, "400GBASE-DR4": 0.4}
        if first
        else {"100GBASE-LR4": 0.15, "400GBASE-SR8": 0.35, "400GBASE-FR4": 0.2, "800GBASE-DR8": 0.3}
    )
    makers = VENDORS[:2] if first else VENDORS[2:]
    whole = sum(vendor.share for vendor in makers)
    return {"media": media, "vendors": tuple(replace(vendor, share=vendor.share / whole) for vendor in makers)}


WORLDS = {
    "usual": World("the generator as it is", USUAL),
    "onward": World("degradations never stop for good", replace(USUAL, seed=2_002, stall_share=0.0)),
    "rare": World("failures ten times rarer", replace(USUAL, seed=2_003, failures_per_link_year=0.2, links=1_200)),
    "sudden": World("half of all failures without precursor", replace(USUAL, seed=2_004, sudden_share=0.5)),
    "unseen": World(
        "makers, media and heat that were not learnt from",
        replace(USUAL, seed=2_005, heat_waves_per_month=6.0, **_half(first=False)),  # type: ignore[arg-type]
        replace(USUAL, seed=2_006, heat_waves_per_month=1.0, **_half(first=True)),  # type: ignore[arg-type]
    ),
}


@contextlib.contextmanager
def told(what: str) -> Iterator[Callable[[float], None]]:
    """A long step, by its name on stderr."""
    begin = time.perf_counter()
    yield lambda _done: None
    print(f"  {what}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)


def lake_of(folder: Path, config: FleetConfig) -> Lake:
    """A fleet's lake with its tiles."""
    with told(f"fleet of {config.links} links"):
        generate(folder / "export", config)
        lake = Lake(str(folder / "lake"))
        import_export(folder / "export", lake)
        with Pool(2) as engine:
            update_tiles(lake, engine=engine)
    return lake


def foretold(lake: Lake, config: FleetConfig, artifact: Artifact) -> list[Scorecard]:
    """Scorecards of what is not learnt from: all alarms, those at `act` where there is one, the modules' limits."""
    begin = config.start + timedelta(days=LEARNT_DAYS)
    span = (begin, begin + timedelta(days=JUDGED_DAYS))
    fleet, log = Fleet.load(lake), RiskLog()
    walk = walked(lake, fleet, artifact, span, 1, told, Compute(), log=log)
    return judged(lake, fleet, alarm_frame(walk.alarms), span, told, risks=log.risks())


def line(name: str, card: Scorecard, act: Scorecard | None) -> str:
    """A row of the table."""
    by_lead = {lead.lead_h: lead for lead in card.leads}
    slopes = {of.horizon_h: of for of in card.calibration}
    slope_of = [slopes[h].slope if h in slopes else None for h in (ALARM_HORIZON_H, 168)]
    bins = " ".join(_two(band.ratio) for of in slopes.values() if of.horizon_h == ALARM_HORIZON_H for band in of.top)
    at = {point.budget: point.f1.get(24) for point in card.at_budgets}
    could = " ".join(_two(at.get(budget)) for budget in (1.0, 2.0, 5.0)) if at else "-"
    cells = (
        *(_f1(by_lead[24]), _f1(by_lead[1]), _two(card.false_per_1000_module_weeks)),
        *((_two(act.leads[0].recall), _two(act.false_per_1000_module_weeks)) if act else ("-", "-")),
        *(_two(x) for x in (card.attribution.type_accuracy, card.attribution.unit_accuracy)),
        *(_two(x) for x in (card.attribution.end_accuracy, *slope_of)),
        *(bins or "-", could, str(card.failures)),
    )
    return f"| {name} | " + " | ".join(cells) + " |"


def _two(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _f1(lead: LeadScore) -> str:
    return f"{_two(lead.f1)} ({_two(lead.f1_low)} to {_two(lead.f1_high)})"


def show(name: str, folder: Path) -> None:
    """Learn one world and print its rows."""
    world = WORLDS[name]
    lake = lake_of(folder / "seen", world.fleet)
    learnt = lake if world.learnt_on is None else lake_of(folder / "learnt", world.learnt_on)
    config = world.learnt_on or world.fleet
    days = LEARNT_DAYS if world.learnt_on is None else config.days - 1
    artifact = trained(learnt, config.start + timedelta(days=days), told, Compute())
    card, *rest = foretold(lake, world.fleet, artifact)
    act = next((other for other in rest if other.name.endswith("act")), None)
    print(line(name, card, act))
    print(line(f"{name}: module limits", rest[-1], None))
    if name == "usual":
        print(line("usual: day one, no labels", foretold(lake, world.fleet, day_one())[0], None), flush=True)


def timed(folder: Path) -> None:
    """Time and memory of a training and a back-test, each in a process of its own that did not make the fleet."""
    config = replace(USUAL, links=1_000, days=84)
    lake, until = lake_of(folder, config), config.start + timedelta(days=60)
    for work, bar_s in ((learnt_alone, 240), (walked_alone, 120)):
        process = multiprocessing.get_context("spawn").Process(
            target=work, args=(lake.uri, folder / "model", until, bar_s)
        )
        process.start()
        process.join()


def learnt_alone(uri: str, model: Path, until: datetime, bar_s: int) -> None:
    """Train, and say what it took."""
    begin = time.perf_counter()
    trained(Lake(uri), until, told, Compute()).save(model)
    _took("training on 1,000 links x 60 days", begin, bar_s)


def walked_alone(uri: str, model: Path, until: datetime, bar_s: int) -> None:
    """Walk through 24 days, and say what it took."""
    begin, lake = time.perf_counter(), Lake(uri)
    walked(lake, Fleet.load(lake), Artifact.load(model), (until, until + timedelta(days=24)), 1, told, Compute())
    _took("back-test of 24 days, hourly", begin, bar_s)


def _took(what: str, begin: float, bar_s: int) -> None:
    gib = [resource.getrusage(who).ru_maxrss / 2**20 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = time.perf_counter() - begin
    print(
        f"{what:35} {seconds:5.0f} s (bar {bar_s}), peak {gib[0]:.2f} GiB, of its largest worker {gib[1]:.2f} (bar 4)"
    )


def main() -> None:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", choices=WORLDS, action="append")
    parser.add_argument("--time", action="store_true")
    asked = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    with tempfile.TemporaryDirectory() as folder:
        if asked.time:
            timed(Path(folder))
            return
        print("| world | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 1), flush=True)
        for name in asked.world or WORLDS:
            show(name, Path(folder) / name)
        print("\n" + "\n".join(f"* {name}: {world.what}" for name, world in WORLDS.items()))


if __name__ == "__main__":
    main()
