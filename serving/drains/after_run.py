"""What a batch run does about drains: the advice on every standing alarm is written down, a storm ends `active`."""

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
from serving.errors import ProblemError
from serving.scoring.scorer import Scoring
from serving.settings import Settings
from serving.snapshot import LatestScores
from serving.store import AlarmStore

__all__ = ["after_run", "demote_all"]

_log: Final = logging.getLogger(__name__)


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
    if done.held_back:
        demote_all(drains, f"a storm: {done.held_back} alarms were held back at {done.run.at.isoformat()}")
    if abs((now - done.run.at).total_seconds()) > settings.stale_after_s:
        return 0
    config = load_drain_config(settings.drains_config)
    desk = Desk(drains, config, settings.no_act_share)
    try:
        known = Known(asyncio.run(LatestScores(store, lake).get()), look(lake, config.guard, now))
        return desk.record(known, f"{done.run.model_name} {done.run.model_version}")
    except ProblemError as error:
        _log.warning("no advice was written down: %s", error)
        return 0


def demote_all(store: DrainStore, why: str) -> list[LinkClass]:
    """Put every active class of links back to shadow; which they were."""
    with store.writing() as writing:
        standing = writing.standing()
        active = [kind for kind in LinkClass if standing.mode(kind) is Mode.ACTIVE]
        for kind in active:
            writing.switch(kind, Mode.SHADOW, "forelight", why)
    return active
