"""The doctor on what should flow: telemetry, the collector's sweeps, the hourly scores."""

from datetime import UTC, datetime, timedelta

import polars as pl

from ingest.collect.status import STATUS_FILE, read_status
from ingest.lake import Lake
from ingest.schema import PORT_SAMPLES
from serving.doctor.finding import Finding, ago, failed, fine, warned
from serving.doctor.places import is_made
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["collector", "data", "newest", "scores"]

_SHOWN = 3
_SKEW = timedelta(minutes=10)


def newest(settings: Settings, column: str) -> datetime | None:
    """The latest time in the newest day of telemetry, None where there is none."""
    lake = Lake(settings.lake_uri)
    days = lake.dates(PORT_SAMPLES)
    if not days:
        return None
    since = datetime(days[-1].year, days[-1].month, days[-1].day, tzinfo=UTC)
    rows = lake.scan(PORT_SAMPLES, since=since, columns=[column])
    found: datetime | None = rows.select(pl.col(column).max()).collect().item()
    return found


def data(settings: Settings, now: datetime) -> Finding:
    """The newest reading is new."""
    last = newest(settings, "time")
    if last is None:
        return warned("data", "there is no telemetry", "forelight import DIR, or forelight collect -c forelight.toml")
    said = f"the newest reading is of {last:%Y-%m-%d %H:%M}Z, {ago(now - last)} ago"
    if last > now + _SKEW:
        return warned("data", f"the newest reading is of {last:%Y-%m-%d %H:%M}Z, in the future", "see to the clocks")
    if (now - last).total_seconds() > settings.stale_after_s:
        advice = "see that forelight collect runs; of an import this is as it should be"
        return warned("data", said, advice)
    return fine("data", said)


def collector(settings: Settings, now: datetime) -> Finding:
    """The last sweep was lately, its targets answered, and the lake took what they said."""
    status = read_status(settings.home / STATUS_FILE)
    if status is None:
        return fine("collector", "none runs with this home; imports need none")
    said = f"last sweep {ago(now - status.written_at)} ago, {len(status.targets)} targets"
    if status.stale(now):
        advice = (
            f"it sweeps each {status.interval_s:g} s and does not run, or hangs: systemctl status forelight-collect"
        )
        return failed("collector", said, advice)
    if status.spool.error:
        waits = f"{said}; {status.spool.rows:,} rows wait: {status.spool.error}"
        return failed("collector", waits, "see to the lake; what waits is kept meanwhile")
    silent = [target.device for target in status.targets if target.failures]
    if silent:
        names = ", ".join(silent[:_SHOWN]) + (", …" if len(silent) > _SHOWN else "")
        advice = f"forelight collect --explain {silent[0]}"
        return warned("collector", f"{said}, {len(silent)} do not answer: {names}", advice)
    return fine("collector", said)


def scores(settings: Settings, now: datetime) -> Finding:
    """The last run of `forelight score` is young enough for the service to answer by it."""
    if not is_made(settings.database_url):
        return warned("scores", "nothing was scored yet", "forelight score, each hour by a timer")
    store = AlarmStore(settings.database_url)
    try:
        run = None if store.revision() is None else store.latest_run()
    finally:
        store.close()
    if run is None:
        return warned("scores", "nothing was scored yet", "forelight score, each hour by a timer")
    said = f"scored as of {run.at:%Y-%m-%d %H:%M}Z, {ago(now - run.at)} ago, by {run.model_version}"
    if (now - run.at).total_seconds() > settings.stale_after_s:
        advice = "the service answers 503 until forelight score has run; is its timer on?"
        return failed("scores", said, advice)
    return fine("scores", f"{said}: {run.modules_scored} modules, {run.modules_unknown} unknown")
