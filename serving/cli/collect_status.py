"""``forelight collect --status``: what the collector did last, from the file that it leaves after each sweep."""

import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Final

from rich.console import Console
from rich.table import Table

from ingest.collect.status import STATUS_FILE, Status, TargetStatus, read_status
from ingest.errors import IngestError
from serving.settings import Settings

__all__ = ["run"]

_WIDTH: Final = 200  # of a table that goes to a file or a pipe
_ERR = Console(stderr=True, highlight=False)
_UNITS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def run(*, as_json: bool) -> None:
    """Print the status; nothing is polled.

    Raises:
        IngestError: no collector has run here, or its file cannot be read.
    """
    path = Settings.from_env().home / STATUS_FILE
    status = read_status(path)
    if status is None:
        msg = f"{path}: there is none: no collector has ended a sweep with this FORELIGHT_HOME"
        raise IngestError(msg)
    now = datetime.now(UTC)
    if as_json:
        print(json.dumps(_as_json(status, now), indent=2))  # noqa: T201 - the answer
    else:
        console = Console(markup=False, highlight=False, width=None if sys.stdout.isatty() else _WIDTH)
        console.print(_table(status, now))
        for text in filter(None, (_errors(status), _summary(status))):
            console.print(text, soft_wrap=True)
    if status.stale(now):
        _ERR.print(
            f"forelight: warning: the last sweep ended {_ago(status.written_at, now)} ago and the interval is "
            f"{status.interval_s:g} s: the collector does not run, or hangs",
            soft_wrap=True,
        )


def _table(status: Status, now: datetime) -> Table:
    table = Table()
    for name in ("device", "state", "profile"):
        table.add_column(name, no_wrap=True)
    for name in ("success", "seconds", "rows", "ports", "cover", "failed", "retry"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, target in _named(status):
        table.add_row(*_cells(target, now, name))
    return table


def _named(status: Status) -> list[tuple[str, TargetStatus]]:
    """Targets by device, with its site where there are several."""
    one_site = len({target.site for target in status.targets}) == 1
    return [(target.device if one_site else f"{target.site}/{target.device}", target) for target in status.targets]


def _cells(target: TargetStatus, now: datetime, name: str) -> list[str]:
    polled = target.last_attempt is not None
    wait_s = (target.retry_at - now).total_seconds() if target.retry_at else 0.0
    return [
        name,
        "-" if not polled else "failed" if target.failures else "partial" if target.partial else "ok",
        target.profile or "-",
        "never" if target.last_success is None else _ago(target.last_success, now),
        f"{target.duration_s:.1f}" if polled else "-",
        str(target.rows) if polled else "-",
        str(target.ports) if polled else "-",
        "-" if target.coverage is None else f"{100 * target.coverage:.0f}%",
        str(target.failures or "-"),
        f"{wait_s:.0f} s" if wait_s > 0 else "-",
    ]


def _errors(status: Status) -> str:
    """A line for each target that has one: in a table it would be cut or folded."""
    return "\n".join(f"{name}: {target.error}" for name, target in _named(status) if target.error)


def _summary(status: Status) -> str:
    """The sweeps and the spool, a line each."""
    spool = status.spool
    sweeps = (
        f"last sweep {status.written_at:%Y-%m-%d %H:%M:%SZ}, {status.sweep_s:.1f} s of {status.interval_s:g} s; "
        f"{status.sweeps} sweeps, {status.overruns} longer than the interval, "
        f"since {status.started_at:%Y-%m-%d %H:%M:%SZ}"
    )
    waiting = (
        f"spool: {spool.rows} rows wait in {spool.files} files of {spool.size_bytes / 1e6:.1f} MB, "
        f"{spool.memory_rows} rows of them in memory; {spool.dropped_rows} dropped, {spool.bad_files} files set aside"
    )
    return "\n".join([sweeps, waiting, *([f"the lake is not written: {spool.error}"] if spool.error else [])])


def _ago(then: datetime, now: datetime) -> str:
    seconds = max(0.0, (now - then).total_seconds())
    for unit_s, name in _UNITS:
        if seconds >= 2 * unit_s:
            return f"{seconds / unit_s:.0f} {name}"
    return f"{seconds:.0f} s"


def _as_json(status: Status, now: datetime) -> dict[str, object]:
    plain = json.loads(json.dumps(asdict(status), default=lambda value: value.isoformat()))
    return {"stale": status.stale(now), "age_s": round(status.age_s(now), 3), **plain}
