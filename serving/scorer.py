"""Batch scoring: the whole fleet at one time, scores to the lake, alarms to the store.

A run is known by its time: run again, it changes nothing. Scores go to the lake first, so a crash
between the two is mended by the next run, and a reader never sees a run whose scores are missing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.cube import LakeTiles
from features.fleet import Fleet
from features.pipeline import Block, FeaturePipeline
from ingest.errors import ModelError
from ingest.lake import Lake
from ingest.schema import SCORES, Action, FailureType
from models.alarm import Alarm, Diagnosis, diagnose_all
from models.artifact import Artifact
from models.base import HORIZONS_H
from models.policy import ALARM_HORIZON_H, Policy, Scored, Standing, Verb, calm_storms
from models.walk import LinkRisks, Work, ends_of, link_risks, links_of, make_alarm, serial_at, touched_at
from serving.alarms import AlarmRecord, Applied, Clear, ScoreRun
from serving.errors import RunOrderError
from serving.store import AlarmStore

__all__ = ["Scoring", "score_fleet"]

Floats = NDArray[np.float32]
PortName = tuple[str, str, str]

_RISK: Final = f"risk_{ALARM_HORIZON_H}h"


@dataclass(frozen=True, slots=True)
class Scoring:
    """What a run did.

    Attributes:
        run: as it is recorded.
        applied: what it changed in the store; ``new`` is False where it had been done before.
        held_back: alarms held back by the storm breaker.
    """

    run: ScoreRun
    applied: Applied
    held_back: int


def score_fleet(
    lake: Lake,
    store: AlarmStore,
    artifact: Artifact,
    at: datetime,
    *,
    check: Callable[[], None] = lambda: None,
) -> Scoring:
    """Score every module at a time, raise, renew and clear alarms.

    Args:
        lake: tiles are up to date.
        store: open and migrated.
        artifact: the champion.
        at: whole hour.
        check: called before something is written; raises where the right to write was lost.

    Raises:
        ModelError: the model was trained on what came after `at`, or no module spoke lately.
        RunOrderError: a later time was scored before.
    """
    last = store.latest_run()
    if last is not None and last.at == at:
        return Scoring(last, Applied(new=False), 0)
    if last is not None and last.at > at:
        msg = f"{last.at.isoformat()} was scored before; {at.isoformat()} comes too late"
        raise RunOrderError(msg)
    if at < artifact.trained_until:
        msg = f"the model knows what came after {at.isoformat()}: trained until {artifact.trained_until.isoformat()}"
        raise ModelError(msg)
    started = datetime.now(UTC)
    fleet = Fleet.load(lake)
    blocks = list(FeaturePipeline().blocks(LakeTiles(lake), fleet, [at]))
    if not blocks or not blocks[0].present.any():
        msg = f"no module has sent telemetry in the six hours before {at.isoformat()}: there is nothing to score"
        raise ModelError(msg)
    block = blocks[0]
    risks = link_risks(artifact, block)
    scores = _scores(artifact, block, risks, fleet, at)
    history = _history(lake, block, at)
    check()
    lake.append(SCORES, scores, transaction=f"scores:{at.isoformat()}:{artifact.version}")
    known = scores.filter(pl.col("status") == "scored")
    newest = at - timedelta(seconds=float(known["data_age_s"].min() or 0.0))  # type: ignore[arg-type]
    run = ScoreRun(
        at=at,
        started_at=started,
        finished_at=datetime.now(UTC),
        model_version=artifact.version,
        modules_scored=known.height,
        modules_unknown=scores.height - known.height,
        newest_data_at=newest,
    )
    raised, updated, cleared, held = _decide(artifact, block, risks, history, store.open_alarms(), Work.of(fleet), at)
    check()
    return Scoring(run, store.apply(run, raised, updated, cleared), held)


def _history(lake: Lake, block: Block, at: datetime) -> dict[str, list[Scored]]:
    """The scores of each link on the day before, oldest first."""
    columns = ["site", "device", "interface", "time", _RISK]
    rows = lake.latest(SCORES, since=at - timedelta(days=1), until=at, columns=columns).collect()
    rows = rows.filter(pl.col("time") > at - timedelta(days=1), pl.col(_RISK).is_not_null()).sort("time")
    link_of = dict(zip(block.cube.port_of, block.history.links, strict=True))
    found: dict[str, dict[datetime, float]] = {}
    for site, device, interface, time, risk in rows.iter_rows():
        if link := link_of.get((site, device, interface)):
            found.setdefault(link, {})[time] = risk
    return {link: [Scored(time, risk) for time, risk in scores.items()] for link, scores in found.items()}


def _decide(
    artifact: Artifact,
    block: Block,
    risks: LinkRisks,
    history: Mapping[str, list[Scored]],
    standing: Sequence[AlarmRecord],
    work: Work,
    at: datetime,
) -> tuple[list[AlarmRecord], list[AlarmRecord], list[Clear], int]:
    policy, column = artifact.policy, HORIZONS_H.index(ALARM_HORIZON_H)
    held = {alarm.link_id: alarm for alarm in standing}
    raises: dict[str, tuple[int, str]] = {}
    updated, cleared = [], []
    for i, port in enumerate(risks.port.tolist()):
        link = block.history.links[port]
        alarm = held.get(link)
        scores = [*history.get(link, []), Scored(at, float(risks.risk[i, column]))]
        change = policy.decide(
            scores,
            Standing(alarm.raised_at, alarm.level) if alarm else None,
            busy=work.busy(ends_of(block, port), at),
            touched_at=touched_at(block, port, 0),
        )
        if change is not None and change.verb is Verb.RAISE:
            raises[link] = (i, change.level)
        elif change is not None and change.verb is Verb.CLEAR and alarm:
            cleared.append(Clear(alarm_id=alarm.alarm_id, at=at, why=change.why))
        elif alarm:
            level = change.level if change else alarm.level
            updated.append(_renewed(alarm, make_alarm(artifact, block, risks, i, level)))
    cleared += _unheard(policy, held, {block.history.links[port] for port in risks.port}, links_of(block), at)
    stormy = calm_storms(policy, {link: ends_of(block, int(risks.port[i])) for link, (i, _) in raises.items()})
    raised = [
        _record(make_alarm(artifact, block, risks, i, level))
        for link, (i, level) in raises.items()
        if link not in stormy
    ]
    return raised, updated, cleared, len(stormy)


def _unheard(
    policy: Policy, held: Mapping[str, AlarmRecord], scored: set[str], there: set[str], at: datetime
) -> Iterator[Clear]:
    """The ends of alarms on links that are silent or no longer there."""
    for link in held.keys() - scored:
        alarm = held[link]
        change = policy.unheard(Standing(alarm.raised_at, alarm.level), at, exists=link in there)
        if change is not None:
            yield Clear(alarm_id=alarm.alarm_id, at=at, why=change.why)


def _record(alarm: Alarm) -> AlarmRecord:
    return AlarmRecord(**{field.name: getattr(alarm, field.name) for field in fields(Alarm)})


def _renewed(before: AlarmRecord, now: Alarm) -> AlarmRecord:
    """What stands, with the risk, the diagnosis and the window of now."""
    kept = {name: getattr(before, name) for name in ("alarm_id", "raised_at", "status", "cleared_at")}
    values = {field.name: getattr(now, field.name) for field in fields(Alarm)}
    return AlarmRecord(**{**values, **kept})


def _scores(artifact: Artifact, block: Block, risks: LinkRisks, fleet: Fleet, at: datetime) -> pl.DataFrame:
    """A row of the table ``scores`` for every module known or heard."""
    of_link = {block.history.links[port]: i for i, port in enumerate(risks.port.tolist())}
    spoken = np.flatnonzero(block.present[:, 0])
    diagnoses = dict(zip(spoken.tolist(), diagnose_all(artifact, block, spoken, 0), strict=True))
    age = _age_s(block, at)
    rows = [
        _scored(artifact, block, port, risks.risk[of_link[block.history.links[port]]], diagnoses[port], age[port], at)
        for port in spoken.tolist()
    ]
    heard = {block.cube.ports.row(port) for port in spoken.tolist()}
    rows += [
        _unknown(artifact, name, at, serial)
        for *port, serial in fleet.as_of(at).in_cages().select("site", "device", "interface", "serial").iter_rows()
        if (name := tuple(port)) not in heard
    ]
    return pl.DataFrame(rows, schema=pl.from_arrow(SCORES.schema.empty_table()).schema)  # type: ignore[union-attr]


def _scored(
    artifact: Artifact, block: Block, port: int, risk: Floats, found: Diagnosis, age_s: float, at: datetime
) -> dict[str, Any]:
    site, device, interface = block.cube.ports.row(port)
    far = block.history.ends.get((site, device, interface), ("", None, None))[1]
    return {
        **_key(artifact, (site, device, interface), at),
        "serial": serial_at(block, (site, device, interface), 0),
        "status": "scored",
        **{f"risk_{hours}h": float(r) for hours, r in zip(HORIZONS_H, risk, strict=True)},
        "failure_type": str(found.failure_type),
        "type_probabilities": {str(kind): found.types.get(kind, 0.0) for kind in FailureType},
        "suspect": found.suspect,
        "suspect_device": found.end[1],
        "suspect_interface": found.end[2],
        "suspect_probability": found.probability,
        "action": str(found.action),
        "reasons": list(found.reasons),
        "peer_device": far[1] if far else None,
        "peer_interface": far[2] if far else None,
        "data_age_s": age_s,
    }


def _unknown(artifact: Artifact, name: tuple[Any, ...], at: datetime, serial: str | None) -> dict[str, Any]:
    return {
        **_key(artifact, name, at),
        "serial": serial,
        "status": "unknown",
        "action": str(Action.NONE),
        "reasons": ["no telemetry in the last six hours"],
    }


def _key(artifact: Artifact, name: tuple[Any, ...], at: datetime) -> dict[str, Any]:
    site, device, interface = name
    return {
        "time": at,
        "received_at": datetime.now(UTC),
        "site": site,
        "device": device,
        "interface": interface,
        "model_version": artifact.version,
    }


def _age_s(block: Block, at: datetime) -> list[float]:
    """Of each port the age of its newest reading before `at`."""
    last = block.cube.states["last_s"]
    hours = np.arange(last.shape[1])
    newest = np.where(np.isnan(last), -1, hours).max(axis=1)
    taken = np.take_along_axis(last, np.maximum(newest, 0)[:, None], axis=1)[:, 0]
    stamp = (block.cube.start + newest) * 3600.0 + np.nan_to_num(taken)
    return [float(at.timestamp() - s) for s in stamp]
