"""``forelight collect``: poll the switches of a configuration into the lake."""

import asyncio
import json
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column, Table

from ingest.collect.book import Book
from ingest.collect.gaps import write_gaps
from ingest.collect.known import Known
from ingest.collect.poller import Poll, Poller, Sweep
from ingest.collect.refused import write_refused
from ingest.collect.spool import Spool
from ingest.collect.status import STATUS_FILE, read_status, write_status
from ingest.config import Config, load_config
from ingest.errors import IngestError, LakeError, TransportError
from ingest.lake import Lake
from ingest.syslog.events import SyslogEvents
from ingest.syslog.listener import Listener
from serving.cli.collect_metrics import serve_metrics
from serving.settings import Settings

__all__ = ["allow_sockets", "run"]

_WIDTH = 120  # of a table that goes to a file or a pipe
_OTHER_FILES = 256  # of the lake, the spool, metrics and their clients
_ERR = Console(stderr=True, highlight=False)


def run(config: Path, *, once: bool, as_json: bool) -> None:
    """Sweep once, or at every interval until SIGTERM or Ctrl-C.

    Raises:
        ConfigError: the configuration cannot be used.
        TransportError: with `once`, a target gave nothing; the others' rows were kept.
        LakeError: with `once`, rows wait for the lake; or it does not answer, and what it holds was never read here.
    """
    wanted = load_config(config)
    for warning in wanted.warnings():
        _say(f"warning: {warning}")
    allow_sockets(len(wanted.target))
    with _kept(wanted, Settings.from_env()) as keeper:
        if once:
            _once(wanted, keeper, as_json=as_json)
        else:
            with serve_metrics(wanted.collect, lambda: keeper.book.status):
                asyncio.run(_for_ever(wanted, keeper, as_json=as_json))


def allow_sockets(targets: int) -> None:
    """Each target keeps one socket: raise the soft limit of open files towards the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = targets + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        if allowed < wanted:
            _say(f"warning: {targets} targets need {wanted} open files, of which {allowed} are allowed (ulimit -Hn)")


class _Keeper:
    """Where rows go, and what is noted of each sweep beside them."""

    def __init__(self, config: Config, settings: Settings, lake: Lake, spool: Spool) -> None:
        self._path, self._quarantine = settings.home / STATUS_FILE, settings.home / "quarantine"
        self._unwritten: str | None = None
        self._idle: asyncio.Future[bool] | None = None
        self.spool = spool
        self.known = Known(lake, spool, settings.home / "cache")
        if self.known.warning:
            _say(f"warning: the lake does not answer ({self.known.warning}): a copy says what is installed")
        try:
            before = read_status(self._path)
        except IngestError:
            before = None  # of another version: begun anew
        self.book = Book(config, before)
        self._write(None)

    def poller(
        self, config: Config, done: Callable[[Poll], None] = lambda _: None, listener: Listener | None = None
    ) -> Poller:
        """One that writes here; `done` is called after each poll, and what a listener hears is written, too."""

        def polled(poll: Poll) -> None:
            self.book.polled(poll)
            done(poll)

        syslog = None
        if listener is not None and config.syslog is not None:
            syslog = SyslogEvents(listener, config.syslog, config.target, self.known.ports)
        links = self.known.links()
        return Poller(config, self.known, self.known.installations(), polled, links=links, syslog=syslog)

    def swept(self, sweep: Sweep) -> None:
        """Note what a sweep brought; a sweep must not fail because that cannot be written."""
        self.book.swept(sweep, self.spool.state)
        self._write(sweep.polls)

    def replay(self, loop: asyncio.AbstractEventLoop, limit_s: float) -> None:
        """Between two sweeps there is time for what waits."""
        if self.spool.state.rows and (self._idle is None or self._idle.done()):
            self._idle = loop.run_in_executor(None, self.spool.replay, limit_s)

    def _write(self, polls: list[Poll] | None) -> None:
        """Write what is known, what the polls refused, and, after a sweep, the status."""
        try:
            write_refused(self._quarantine, polls or (), datetime.now(UTC))
            write_gaps(self._path.parent / "gaps", polls or ())
            if not self.spool.owned:
                return  # another collector runs, and it is its place to tell
            self.known.save()
            if polls is not None:
                write_status(self._path, self.book.status)
        except OSError as error:
            if self._unwritten != error.strerror:
                _say(f"{error.filename or self._path}: {error.strerror}: the status is not written")
            self._unwritten = error.strerror
        else:
            self._unwritten = None


@contextmanager
def _kept(config: Config, settings: Settings) -> Iterator[_Keeper]:
    lake = Lake(settings.lake_uri)
    spool = Spool(lake, settings.home / "spool", max_mb=config.collect.spool_max_mb, say=_say)
    try:
        yield _Keeper(config, settings, lake, spool)
    finally:
        spool.close()


def _once(config: Config, keeper: _Keeper, *, as_json: bool) -> None:
    columns = (TextColumn("polling"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=_ERR, transient=True, disable=not _ERR.is_terminal) as bars:
        task = bars.add_task("", total=len(config.target))

        def done(poll: Poll) -> None:
            bars.update(task, advance=1, description=poll.target.device)

        sweep = asyncio.run(_one(keeper.poller(config, done)))
    keeper.swept(sweep)
    for note in sweep.notes:
        _say(note)
    _show(sweep, as_json=as_json)
    if sweep.failed:
        first, *others = sweep.failed
        more = f"; and {len(others)} more" if others else ""
        msg = f"{first.target.device}: {first.error}{more}"
        raise TransportError(msg)
    if keeper.spool.state.rows:
        msg = f"{keeper.spool.state.rows} rows wait in the spool for the next run: {keeper.spool.state.error}"
        raise LakeError(msg)


async def _one(poller: Poller) -> Sweep:
    try:
        return await poller.sweep()
    finally:
        poller.close()


async def _for_ever(config: Config, keeper: _Keeper, *, as_json: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if not keeper.spool.owned:
        _say("warning: another collector has this FORELIGHT_HOME: rows that the lake does not take are lost")

    def report(outcome: Sweep | IngestError) -> None:
        if isinstance(outcome, Sweep):
            keeper.swept(outcome)
        _tell(outcome, as_json=as_json)
        if not stop.is_set():
            keeper.replay(loop, config.collect.interval_s / 4)

    listener = Listener(config.syslog) if config.syslog is not None else None
    poller = keeper.poller(config, listener=listener)
    try:
        if listener is not None:
            await listener.open()
        await poller.run(stop, report)
    finally:
        poller.close()
        if listener is not None:
            await listener.close()


def _say(line: str) -> None:
    _ERR.print(f"forelight: {line}", soft_wrap=True, markup=False)


def _tell(outcome: Sweep | IngestError, *, as_json: bool) -> None:
    """One line a sweep, and one a target that failed."""
    if isinstance(outcome, IngestError):
        _say(str(outcome))
        return
    if as_json:
        print(json.dumps(_as_json(outcome)), flush=True)  # noqa: T201 - the answer
    else:
        lanes = sum(poll.lane_count for poll in outcome.polls)
        polled, waiting = len(outcome.polls) - len(outcome.failed), len(outcome.waiting)
        alone = f" ({waiting} left alone, they failed before)" if waiting else ""
        every = len(outcome.polls) + waiting
        _ERR.print(f"{polled} of {every} targets{alone}, {lanes} lane rows in {outcome.duration_s:.1f} s")
    if outcome.overrun_s:
        _say(f"the sweep took {outcome.overrun_s:.1f} s longer than its interval; the next one is left out")
    for note in outcome.notes:
        _say(note)
    for poll in outcome.polls:
        if poll.error:
            _say(f"{poll.target.device}: {poll.error}")
        for gap in poll.gaps:
            _say(f"{poll.target.device}: not heard from {gap.start:%H:%M:%S} to {gap.end:%H:%M:%SZ}: {gap.reason}")


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
                "events": len(poll.events),
                "gaps": len(poll.gaps),
                "duration_s": round(poll.duration_s, 3),
                "error": poll.error,
            }
            for poll in sweep.polls
        ],
    }
