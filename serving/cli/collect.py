"""``forelight collect``: poll the switches of a configuration into the lake."""

import asyncio
import json
import signal
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column, Table

from ingest.config import Config, load_config
from ingest.errors import IngestError, TransportError
from ingest.installed import Installations
from ingest.lake import Lake
from ingest.poller import Poll, Poller, Sweep
from ingest.schema import MODULES
from serving.settings import Settings

__all__ = ["run"]

_WIDTH = 120  # of a table that goes to a file or a pipe
_ERR = Console(stderr=True, highlight=False)


def run(config: Path, *, once: bool, as_json: bool) -> None:
    """Sweep once, or at every interval until SIGTERM or Ctrl-C.

    Raises:
        ConfigError: the configuration cannot be used.
        TransportError: with `once`, a target gave nothing; the others' rows were kept.
    """
    wanted = load_config(config)
    for warning in wanted.warnings():
        _ERR.print(f"forelight: warning: {warning}", soft_wrap=True)
    lake = Lake(Settings.from_env().lake_uri)
    known = Installations.of(lake.latest(MODULES).collect().to_dicts() if lake.exists(MODULES) else ())
    if once:
        _once(wanted, lake, known, as_json=as_json)
    else:
        asyncio.run(_for_ever(wanted, lake, known, as_json=as_json))


def _once(config: Config, lake: Lake, known: Installations, *, as_json: bool) -> None:
    columns = (TextColumn("polling"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=_ERR, transient=True, disable=not _ERR.is_terminal) as bars:
        task = bars.add_task("", total=len(config.target))
        poller = Poller(
            config, lake, known, done=lambda poll: bars.update(task, advance=1, description=poll.target.device)
        )
        sweep = asyncio.run(_one(poller))
    _show(sweep, as_json=as_json)
    if sweep.failed:
        first, *others = sweep.failed
        more = f"; and {len(others)} more" if others else ""
        msg = f"{first.target.device}: {first.error}{more}"
        raise TransportError(msg)


async def _one(poller: Poller) -> Sweep:
    try:
        return await poller.sweep()
    finally:
        poller.close()


async def _for_ever(config: Config, lake: Lake, known: Installations, *, as_json: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    poller = Poller(config, lake, known)
    try:
        await poller.run(stop, lambda outcome: _tell(outcome, as_json=as_json))
    finally:
        poller.close()


def _tell(outcome: Sweep | IngestError, *, as_json: bool) -> None:
    """One line a sweep, and one a target that failed."""
    if isinstance(outcome, IngestError):
        _ERR.print(f"forelight: {outcome}", soft_wrap=True)
        return
    if as_json:
        print(json.dumps(_as_json(outcome)), flush=True)  # noqa: T201 - the answer
    else:
        lanes = sum(poll.lane_count for poll in outcome.polls)
        polled = len(outcome.polls) - len(outcome.failed)
        _ERR.print(f"{polled} of {len(outcome.polls)} targets, {lanes} lane rows in {outcome.duration_s:.1f} s")
    for poll in outcome.polls:
        if poll.error:
            _ERR.print(f"forelight: {poll.target.device}: {poll.error}", soft_wrap=True)


def _show(sweep: Sweep, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_as_json(sweep), indent=2))  # noqa: T201 - the answer
        return
    table = Table(*(Column(name, no_wrap=True) for name in ("device", "profile")))
    for name in ("ports", "lane rows", "new modules", "seconds", "error"):
        table.add_column(name)
    for poll in sweep.polls:
        counts = (poll.port_count, poll.lane_count, len(poll.modules))
        table.add_row(
            poll.target.device, poll.profile or "-", *map(str, counts), f"{poll.duration_s:.1f}", _remark(poll)
        )
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH)
    console.print(table)


def _remark(poll: Poll) -> str:
    return poll.error or ("" if poll.port_count else "no transceiver readings found")


def _as_json(sweep: Sweep) -> dict[str, object]:
    return {
        "duration_s": round(sweep.duration_s, 3),
        "failed": len(sweep.failed),
        "targets": [
            {
                "site": poll.target.site,
                "device": poll.target.device,
                "profile": poll.profile,
                "ports": poll.port_count,
                "lane_rows": poll.lane_count,
                "module_rows": len(poll.modules),
                "partial": poll.partial,
                "duration_s": round(poll.duration_s, 3),
                "error": poll.error,
            }
            for poll in sweep.polls
        ],
    }
