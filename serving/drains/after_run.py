"""What a batch run does about drains: a storm ends `active`, repairs are verified, advice is written down."""

import asyncio
import logging
from datetime import datetime
from typing import Final

from ingest.lake import Lake
from serving.drains.advice import Mode
from serving.drains.config import load_drain_config
from serving.drains.desk import Desk, Known
from serving.drains.fabric import LinkClass
from serving.drains.sight import look
from serving.drains.store import DrainStore
from serving.drains.verifying import verify_all
from serving.errors import ProblemError
from serving.scoring.scorer import Scoring
from serving.settings import Settings
from serving.snapshot import LatestScores
from serving.store import AlarmStore
from serving.storms import StormFilter, read_storms

__all__ = ["after_run", "demote_all"]

_log: Final = logging.getLogger(__name__)
_MANY: Final = 10_000


def after_run(settings: Settings, lake: Lake, store: AlarmStore, done: Scoring, now: datetime) -> int:
    """Write the advice down where it is new; the number of new entries.

    A run as of a time that is long past is advised on by nobody. What cannot be read costs the advice, not the run.

    Args:
        settings: of this installation.
        lake: with the run's scores.
        store: with its alarms.
        done: the run.
        now: the wall clock.
    """
    drains = DrainStore(store.engine, clock=lambda: now)
    _end_with_storm(drains, store, done)
    if abs((now - done.run.at).total_seconds()) > settings.stale_after_s:
        return 0
    config = load_drain_config(settings.drains_config)
    desk = Desk(drains, config, settings.no_act_share)
    try:
        known = Known(asyncio.run(LatestScores(store, lake).get()), look(lake, config.guard, now))
        verify_all(desk, lake, known, now)
        return desk.record(known, f"{done.run.model_name} {done.run.model_version}")
    except ProblemError as error:
        _log.warning("no advice was written down: %s", error)
        return 0


def _end_with_storm(drains: DrainStore, store: AlarmStore, done: Scoring) -> None:
    """Nothing stays active after a storm; a run killed before it came here is mended when it is asked for again."""
    run, new = done.run, done.applied.new
    held_back = done.held_back if new else len(read_storms(store.engine, StormFilter(since=run.at), limit=_MANY).alarms)
    if held_back:
        why = f"a storm: {held_back} alarms were held back at {run.at.isoformat()}"
        demote_all(drains, why, since_before=None if new else run.finished_at)


def demote_all(store: DrainStore, why: str, *, since_before: datetime | None = None) -> list[LinkClass]:
    """Put every active class of links back to shadow; which they were.

    Args:
        store: with the modes.
        why: is written down.
        since_before: who was made active later stays so, for it was known then; None for all.
    """
    with store.writing() as writing:
        standing = writing.standing()
        active = [kind for kind in LinkClass if standing.mode(kind) is Mode.ACTIVE]
        if since_before is not None:
            active = [kind for kind in active if standing.switches[kind].since <= since_before]
        for kind in active:
            writing.switch(kind, Mode.SHADOW, "forelight", why)
    return active
