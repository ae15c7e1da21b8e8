"""``forelight decisions evidence``: what goes with a module when it is sent back."""

from datetime import timedelta
from pathlib import Path
from typing import Final

import typer

from ingest.lake import Lake
from models.dossier import Subject, module_evidence, write_dossier
from models.tables import Small
from serving.alarms import AlarmRecord, Event, utc_now
from serving.drains.records import Entry
from serving.drains.store import DrainStore
from serving.errors import ServingError
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["run"]

_LOG: Final = 1_000


def run(alarm_id: str, out: Path, *, days: int) -> None:
    """Write the file.

    Raises:
        AlarmNotFoundError: there is no such alarm.
        ServingError: the file cannot be written.
    """
    settings = Settings.from_env()
    with AlarmStore(settings.database_url) as store:
        alarm, events = store.alarm(alarm_id), store.events(alarm_id)
        log = DrainStore(store.engine).log(link_id=alarm.link_id, limit=_LOG)
    since, until = alarm.raised_at - timedelta(days=days), utc_now()
    subject = Subject(alarm.site, alarm.device, alarm.interface, alarm.serial, since, until)
    tables, plots = module_evidence(Lake(settings.lake_uri), subject)
    note = f"{alarm.device} {alarm.interface}, {since:%Y-%m-%d} to {until:%Y-%m-%d} UTC"
    told = [_alarm(alarm), *tables, *_life(events), *_decided(log)]
    try:
        write_dossier(out, title=f"Module {alarm.serial or 'without serial'}", note=note, tables=told, plots=plots)
    except OSError as error:
        msg = f"{out} cannot be written: {error.strerror}"
        raise ServingError(msg) from error
    typer.echo(f"evidence: {out}")


def _alarm(alarm: AlarmRecord) -> Small:
    risk = "" if alarm.risk_24h is None else f"{alarm.risk_24h:.2f}"
    rows = [
        ("alarm", alarm.alarm_id),
        ("raised", f"{alarm.raised_at:%Y-%m-%d %H:%M}Z, level {alarm.level}"),
        ("failure type", alarm.failure_type or "unknown"),
        ("suspect", f"{alarm.suspect}, {alarm.device} {alarm.interface}"),
        ("other end", f"{alarm.peer_device or ''} {alarm.peer_interface or ''}".strip()),
        ("risk within 24 h", risk),
        *(("why", reason) for reason in alarm.reasons),
    ]
    return Small("The alarm", ("", ""), tuple((name, str(value)) for name, value in rows))


def _life(events: tuple[Event, ...]) -> list[Small]:
    rows = tuple((f"{e.at:%Y-%m-%d %H:%M}Z", str(e.to_status), e.who, e.why) for e in events)
    return [Small("Its life", ("at", "became", "by", "why"), rows)]


def _decided(log: tuple[Entry, ...]) -> list[Small]:
    rows = tuple((f"{e.at:%Y-%m-%d %H:%M}Z", str(e.kind), str(e.outcome), e.who, e.why) for e in reversed(log))
    return [Small("What was decided about its link", ("at", "what", "outcome", "by", "why"), rows)] if rows else []
