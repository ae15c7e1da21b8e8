"""``forelight model watch``: drift since training, and what alarms are worth before tickets tell."""

import json
import sys

from rich.console import Console
from rich.table import Table

from ingest.lake import Lake
from models.drift import Drift
from models.kept import DRIFT
from models.registry import Registry
from serving.cli.progress import step
from serving.drains.after_run import demote_all
from serving.drains.store import DrainStore
from serving.scoring.training import fresh_tiles, newest_hour
from serving.scoring.watching import watched
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["run"]

_SHOWN = 12


def run(*, days: int, as_json: bool) -> None:
    """Print drift, the expected worth of alarms, and whether to train again; either way it is no failure.

    Raises:
        ModelError: no champion, or no telemetry.
    """
    settings = Settings.from_env()
    lake = Lake(settings.lake_uri)
    registry = Registry(settings.tracking_uri, settings.artifact_root)
    artifact = registry.champion()
    end = newest_hour(lake)
    fresh_tiles(lake, step)
    found = watched(lake, artifact, end, days, step)
    _demote(settings, found)
    registry.keep(DRIFT, {"risk_psi": found.risk_psi, "leaning": found.leaning}, found.to_dict())
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, allow_nan=False))  # noqa: T201 - the answer
        return
    _tell(found)


def _demote(settings: Settings, found: Drift) -> None:
    """A model that ought to be trained again drains nothing: classes of links that are active go back to shadow."""
    if not found.advice:
        return
    with AlarmStore(settings.database_url) as store:
        demoted = demote_all(DrainStore(store.engine), f"drift: {found.advice[0]}")
    for kind in demoted:
        print(f"forelight: {kind} links are in shadow again", file=sys.stderr)  # noqa: T201 - beside the answer


def _tell(found: Drift) -> None:
    console = Console()
    title = f"{found.model_version}, {found.start:%Y-%m-%d %H:%M} to {found.end:%Y-%m-%d %H:%M} UTC"
    table = Table("", "training", "now", title=title)
    for name in ("precision", "recall", "f1"):
        table.add_row(f"expected {name}, a week ahead", *(f"{each[name]:.2f}" for each in _expected(found)))
    table.add_row("without pre-FEC BER", f"{found.missing_ber_then:.1%}", f"{found.missing_ber_now:.1%}")
    table.add_row("part numbers not known", "", f"{found.unseen_share:.1%} of {found.modules} modules")
    table.add_row("shift of risks (PSI, KS)", "", f"{found.risk_psi:.2f}, {found.risk_ks:.2f}")
    console.print(table)
    if found.shifts:
        shifts = Table("part number", "feature", "PSI", "KS", "missing then", "now", title="Features that shifted")
        for shift in found.shifts[:_SHOWN]:
            missing = (f"{shift.missing_then:.0%}", f"{shift.missing_now:.0%}")
            shifts.add_row(shift.part_number, shift.feature, f"{shift.psi:.2f}", f"{shift.ks:.2f}", *missing)
        console.print(shifts)
    for part, count in found.unseen_parts.items():
        console.print(f"training did not know {part}: {count} modules", markup=False, highlight=False)
    for reason in found.advice:
        console.print(f"train again: {reason}", markup=False, highlight=False, soft_wrap=True)
    if not found.advice:
        console.print("no reason to train again")


def _expected(found: Drift) -> tuple[dict[str, float], dict[str, float]]:
    return found.expected_then, found.expected_now
