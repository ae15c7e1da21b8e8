"""Batch scoring: the whole fleet at one time, scores to the lake, alarms to the store.

A run is known by its time: run again, it changes nothing. Scores go to the lake first, so a crash
between the two is mended by the next run, and a reader never sees a run whose scores are missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.cube import PORT
from features.engine import Engine
from features.fleet import NO_OPTICS, Fleet, polars_schema
from features.pipeline import Block
from features.shards import fleet_block
from ingest.errors import ModelError
from ingest.lake import Lake
from ingest.schema import SCORES, Action, FailureType
from models.alarm import KINDS, Alarm, Diagnoses, Diagnosis, diagnoses
from models.artifact import Artifact
from models.base import HORIZONS_H
from models.policy import ALARM_HORIZON_H, Standing
from models.walk import LinkRisks, Work, link_risks, make_alarm
from serving.alarms import AlarmRecord, Applied, Clear, ScoreRun
from serving.errors import RunOrderError
from serving.scoring.deciding import Past, Steps, View, decide
from serving.store import AlarmStore
from serving.storms import HeldBack

__all__ = ["Scoring", "Seen", "look_at", "score_fleet"]

Ints = NDArray[np.int64]

_NEGLIGIBLE: Final = 0.5
"""Below this share of the risk at which alarms are raised it is not said what would fail, where and why: that takes
longer than the risk, and nobody asks."""
_SCORES: Final = polars_schema(SCORES)
_SILENT: Final = "no telemetry in the last six hours"


@dataclass(frozen=True, slots=True)
class Seen:
    """The fleet at the time that was scored, for whoever looks at it, too."""

    block: Block
    fleet: Fleet


@dataclass(frozen=True, slots=True)
class Scoring:
    """What a run did.

    Attributes:
        run: as it is recorded.
        applied: what it changed in the store; ``new`` is False where it had been done before.
        held_back: alarms held back by the storm breaker.
        seen: what was looked at; None where nothing was.
    """

    run: ScoreRun
    applied: Applied
    held_back: int
    seen: Seen | None = field(default=None, repr=False, compare=False)


def score_fleet(
    lake: Lake,
    store: AlarmStore,
    artifact: Artifact,
    at: datetime,
    *,
    engine: Engine | None = None,
    check: Callable[[], None] = lambda: None,
    progress: Callable[[float], None] | None = None,
) -> Scoring:
    """Score every module at a time, raise, renew and clear alarms.

    Args:
        lake: tiles are up to date.
        store: open and migrated.
        artifact: the champion.
        at: whole hour.
        engine: where features are computed; this process where not given. Its memory bounds how much at once.
        check: called before something is written; raises where the right to write was lost.
        progress: called with the fraction of the features done.

    Raises:
        ModelError: the model was trained on what came after `at`, or no module spoke lately.
        RunOrderError: a later time was scored before.
    """
    last = store.latest_run()
    if last is not None and last.at == at:
        return Scoring(last, Applied(new=False), 0)
    _refuse(last, artifact, at)
    started, seen = datetime.now(UTC), look_at(lake, at, engine=engine, progress=progress)
    if seen is None:
        msg = f"no module has sent telemetry in the six hours before {at.isoformat()}: there is nothing to score"
        raise ModelError(msg)
    block, fleet = seen.block, seen.fleet
    risks, standing = link_risks(artifact, block), store.open_alarms()
    told = _told(artifact, block, risks, standing)
    found = diagnoses(artifact, block, told, 0)
    scores = _scores(artifact, block, risks, told, found, fleet, at)
    check()
    lake.append(SCORES, scores, transaction=f"scores:{at.isoformat()}:{artifact.version}")
    run = _run(scores, artifact, started, at)
    place = {port: i for i, port in enumerate(told.tolist())}
    now = _Now(artifact, block, risks, lambda port: found.of(place[port]), at)
    held = {alarm.link_id: Standing(alarm.raised_at, alarm.level) for alarm in standing}
    steps = decide(View(artifact.policy, block, risks, Work.of(fleet), at), held, Past(lake, SCORES))
    check()
    applied = store.apply(run, *now.changes(steps, standing), now.held_back(steps))
    return Scoring(run, applied, len(steps.held_back), seen)


def look_at(
    lake: Lake, at: datetime, *, engine: Engine | None = None, progress: Callable[[float], None] | None = None
) -> Seen | None:
    """The fleet with its features at a time; None where nobody spoke lately. Arguments as of `score_fleet`."""
    fleet = Fleet.load(lake)
    block = fleet_block(lake, fleet, at, engine=engine, progress=progress)
    return None if block is None or not block.present.any() else Seen(block, fleet)


def _told(artifact: Artifact, block: Block, risks: LinkRisks, standing: Sequence[AlarmRecord]) -> Ints:
    """The ports of which it is said what would fail: their risk is not negligible, or an alarm stands on their link."""
    high = risks.risk[:, HORIZONS_H.index(ALARM_HORIZON_H)] >= _NEGLIGIBLE * artifact.policy.watch
    links = block.history.links
    told = {links[port] for port in risks.port[high].tolist()} | {alarm.link_id for alarm in standing}
    spoken = np.flatnonzero(block.present[:, 0])
    return spoken[[links[port] in told for port in spoken.tolist()]]


def _refuse(last: ScoreRun | None, artifact: Artifact, at: datetime) -> None:
    """Raise where a time cannot be scored any more, or not by this model."""
    if last is not None and last.at > at:
        msg = f"{last.at.isoformat()} was scored before; {at.isoformat()} comes too late"
        raise RunOrderError(msg)
    if at < artifact.trained_until:
        msg = f"the model knows what came after {at.isoformat()}: trained until {artifact.trained_until.isoformat()}"
        raise ModelError(msg)


def _run(scores: pl.DataFrame, artifact: Artifact, started: datetime, at: datetime) -> ScoreRun:
    """What is recorded of a run whose scores are in the lake; copper is nothing that should have been scored."""
    copper = int(scores["reasons"].list.contains(NO_OPTICS).sum())
    known = scores.filter(pl.col("status") == "scored")
    return ScoreRun(
        at=at,
        started_at=started,
        finished_at=datetime.now(UTC),
        model_version=artifact.version,
        modules_scored=known.height,
        modules_unknown=scores.height - known.height - copper,
        newest_data_at=at - timedelta(seconds=float(known["data_age_s"].min() or 0.0)),  # type: ignore[arg-type]
    )


@dataclass(frozen=True)
class _Now:
    """What is known at the time that is scored."""

    artifact: Artifact
    block: Block
    risks: LinkRisks
    diagnosis: Callable[[int], Diagnosis]
    at: datetime

    def alarm(self, i: int, level: str) -> Alarm:
        """The alarm on the link of row `i` of the risks."""
        found = self.diagnosis(int(self.risks.port[i]))
        return make_alarm(self.artifact, self.block, self.risks, i, level, found)

    def changes(
        self, steps: Steps, standing: Sequence[AlarmRecord]
    ) -> tuple[list[AlarmRecord], list[AlarmRecord], list[Clear]]:
        """What the store is told: raised, renewed, cleared."""
        held = {alarm.link_id: alarm for alarm in standing}
        return (
            [_record(self.alarm(i, level)) for i, level in steps.raised.values()],
            [_renewed(held[link], self.alarm(i, level)) for link, (i, level) in steps.kept.items()],
            [Clear(alarm_id=held[link].alarm_id, at=self.at, why=why) for link, why in steps.cleared.items()],
        )

    def held_back(self, steps: Steps) -> list[HeldBack]:
        """What a storm kept from being raised, each as it would have been."""
        return [HeldBack.of(_record(self.alarm(i, level)), self.at, why) for i, level, why in steps.held_back.values()]


def _record(alarm: Alarm) -> AlarmRecord:
    return AlarmRecord(**{each.name: getattr(alarm, each.name) for each in fields(Alarm)})


def _renewed(before: AlarmRecord, now: Alarm) -> AlarmRecord:
    """What stands, with the risk, the diagnosis and the window of now."""
    kept = {name: getattr(before, name) for name in ("alarm_id", "raised_at", "status", "cleared_at")}
    values = {each.name: getattr(now, each.name) for each in fields(Alarm)}
    return AlarmRecord(**{**values, **kept, "act_at": before.act_at or now.act_at})


def _scores(
    artifact: Artifact, block: Block, risks: LinkRisks, told: Ints, found: Diagnoses, fleet: Fleet, at: datetime
) -> pl.DataFrame:
    """A row of the table ``scores`` for every module known or heard."""
    scored = _scored(block, risks, at).join(_diagnosed(block, told, found), on=PORT, how="left", maintain_order="left")
    known = fleet.as_of(at)
    copper = known.ends().filter("copper").select(PORT).unique().with_columns(why=pl.lit(NO_OPTICS))
    silent = known.in_cages().select(*PORT, "serial").join(scored, on=PORT, how="anti", maintain_order="left")
    silent = silent.join(copper, on=PORT, how="left", maintain_order="left").with_columns(
        status=pl.lit("unknown"), reasons=pl.concat_list(pl.col("why").fill_null(_SILENT))
    )
    rows = pl.concat([scored, silent.drop("why")], how="diagonal_relaxed").with_columns(
        pl.col("action").fill_null(str(Action.NONE)),
        pl.col("reasons").fill_null(pl.lit([], dtype=pl.List(pl.String))),
        time=pl.lit(at),
        received_at=pl.lit(datetime.now(UTC)),
        model_version=pl.lit(artifact.version),
    )
    return rows.select(pl.col(name).cast(kind) for name, kind in _SCORES.items())


def _scored(block: Block, risks: LinkRisks, at: datetime) -> pl.DataFrame:
    """Risks of those of the modules that speak, in the order of the cube."""
    spoken, history = np.flatnonzero(block.present[:, 0]), block.history
    of_link = {history.links[port]: i for i, port in enumerate(risks.port.tolist())}
    risk = risks.risk[[of_link[history.links[port]] for port in spoken.tolist()]]
    serials = pl.concat([history.table.frame["serial"], pl.Series([None], dtype=pl.String)])
    ports, nowhere = block.cube.ports[spoken], ("", ("", None, None))
    far = [history.ends.get(name, nowhere)[1] or nowhere[1] for name in ports.iter_rows()]
    return ports.with_columns(
        serials[history.installation[spoken, 0]].alias("serial"),
        pl.lit("scored").alias("status"),
        *(pl.Series(f"risk_{hours}h", risk[:, k]) for k, hours in enumerate(HORIZONS_H)),
        pl.Series("peer_device", [device for _, device, _ in far], pl.String),
        pl.Series("peer_interface", [interface for _, _, interface in far], pl.String),
        pl.Series("data_age_s", at.timestamp() - block.cube.newest_s[spoken]),
    )


def _diagnosed(block: Block, told: Ints, found: Diagnoses) -> pl.DataFrame:
    """What is said of those ports whose risk is not negligible."""
    every = range(told.size)
    suspects = [found.ends(i)[0] for i in every]
    types = {kind: pl.lit(found.types[:, KINDS.index(kind)] if kind in KINDS else 0.0) for kind in FailureType}
    return block.cube.ports[told].with_columns(
        pl.Series("failure_type", [str(KINDS[kind]) for kind in found.kind.tolist()], pl.String),
        pl.struct(p.alias(str(kind)) for kind, p in types.items()).alias("type_probabilities"),
        pl.Series("suspect", [found.suspect(i) for i in every], pl.String),
        pl.Series("suspect_device", [device for _, device, _ in suspects], pl.String),
        pl.Series("suspect_interface", [interface for _, _, interface in suspects], pl.String),
        pl.Series("suspect_probability", found.probability),
        pl.Series("action", [str(found.action(i)) for i in every], pl.String),
        pl.Series("reasons", [found.reasons(i) for i in every], pl.List(pl.String)),
        pl.Series("evidence", [[asdict(each) for each in one] for one in found.evidence], _SCORES["evidence"]),
    )
