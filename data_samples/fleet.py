"""Generates a synthetic fleet: its life first, then what its sensors, counters and people tell of it."""

from collections.abc import Callable
from pathlib import Path

from data_samples.config import FleetConfig, FleetSummary
from data_samples.export import write_telemetry
from data_samples.history import History, simulate
from data_samples.layout import build_links
from data_samples.tables import has_precursor, write_tables

__all__ = ["generate", "summarise"]

_LIFE = 0.15
"""Share of the time that the simulation itself takes; writing takes the rest."""


def generate(
    out: Path, config: FleetConfig | None = None, progress: Callable[[float], None] | None = None
) -> FleetSummary:
    """Write a synthetic fleet to a directory in the form of an operator's export, with its truth beside it.

    Args:
        out: directory; made where missing, files of a former run are overwritten.
        config: size, time and temper of the fleet.
        progress: called with the share done, 0 to 1.

    Returns:
        What was made, counted from the truth.
    """
    config = config or FleetConfig()
    out.mkdir(parents=True, exist_ok=True)
    report = progress or (lambda _share: None)
    history = simulate(config, build_links(config), lambda share: report(share * _LIFE))
    rows = write_telemetry(out, history, lambda share: report(_LIFE + share * (1 - _LIFE)))
    return summarise(history, rows, write_tables(out, history))


def summarise(history: History, rows: int, tickets: int) -> FleetSummary:
    """Count the truth."""
    failures = history.failures
    failed = {id(failure.fault) for failure in failures}
    faults = [f for state in history.states for f in state.faults if f.stalled and id(f) not in failed]
    return FleetSummary(
        links=len(history.states),
        ports_with_telemetry=sum(not end.silent for state in history.states for end in state.link.ends),
        rows=rows,
        failures=len(failures),
        without_precursor=sum(not has_precursor(history, failure) for failure in failures),
        stalled=len(faults),
        tickets=tickets,
    )
