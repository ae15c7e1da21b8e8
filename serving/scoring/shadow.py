"""The challenger beside the champion: the same hours, the same features, and nobody acts on what it says.

It is scored when the champion's run is whole. Whatever goes wrong here is told and costs the run nothing.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import polars as pl

from features.cube import PORT
from features.fleet import polars_schema
from ingest.errors import ModelError
from ingest.lake import Lake
from ingest.schema import SHADOW_SCORES
from models.alarm import Diagnoses, diagnoses
from models.artifact import Artifact
from models.base import HORIZONS_H
from models.policy import Standing
from models.registry import CHALLENGER, Registry
from models.walk import Work, link_risks
from serving.scoring.deciding import Past, Steps, View, decide
from serving.scoring.scorer import Seen

__all__ = ["Shadow", "challenged"]

_log: Final = logging.getLogger(__name__)
_STANDS_FOR: Final = timedelta(days=1)
"""What no run has spoken of for so long stands no more, as alarms expire."""
_ALARM: Final = ("link_id", "alarm_level", "alarm_raised_at", "act_at")
_DIAGNOSIS: Final = ("failure_type", "suspect", "suspect_device", "suspect_interface", "action")
Look = Callable[[], Seen | None]


@dataclass(frozen=True, slots=True)
class Shadow:
    """What the challenger would have done, or why it could not be asked.

    Attributes:
        version: registered number.
        model_version: the artefact's; empty where it could not be loaded.
        new: False where it had been scored at this time before.
        modules_scored: rows with a risk.
        raised, kept, cleared, held_back: alarms.
        error: one line; empty where all went well.
    """

    version: str
    model_version: str = ""
    new: bool = False
    modules_scored: int = 0
    raised: int = 0
    kept: int = 0
    cleared: int = 0
    held_back: int = 0
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)


def challenged(
    registry: Registry, lake: Lake, at: datetime, look: Look, check: Callable[[], None] = lambda: None
) -> Shadow | None:
    """Score the fleet with the model that bears the alias ``challenger``; None where none does.

    Args:
        registry: whose aliases.
        lake: where ``shadow_scores`` is.
        at: whole hour.
        look: gives the fleet at that time; called only where there is something to score.
        check: called before something is written; raises where the right to write was lost.
    """
    number = ""
    try:
        number = registry.alias(CHALLENGER) or ""
        return _scored(number, registry.load(number), lake, at, look, check) if number else None
    except Exception as error:  # noqa: BLE001 - whatever it is, the run that is whole stays so
        _log.debug("the challenger was not scored", exc_info=True)
        return Shadow(number, error=str(error).splitlines()[0] if str(error) else type(error).__name__)


def _scored(number: str, artifact: Artifact, lake: Lake, at: datetime, look: Look, check: Callable[[], None]) -> Shadow:
    if at < artifact.trained_until:
        msg = f"it knows what came after {at.isoformat()}: trained until {artifact.trained_until.isoformat()}"
        raise ModelError(msg)
    name = f"shadow:{at.isoformat()}:{artifact.version}"
    if lake.recorded(SHADOW_SCORES, [name]):
        return Shadow(number, artifact.version)
    seen = look()
    if seen is None:
        msg = f"no module has sent telemetry in the six hours before {at.isoformat()}"
        raise ModelError(msg)
    risks = link_risks(artifact, seen.block)
    before = _standing(lake, artifact.version, at)
    view = View(artifact.policy, seen.block, risks, Work.of(seen.fleet), at)
    held = {link: Standing(raised_at, level) for link, level, raised_at, _ in before.select(_ALARM).iter_rows()}
    steps = decide(view, held, Past(lake, SHADOW_SCORES, artifact.version))
    rows = _rows(artifact, view, steps, before)
    check()
    lake.append(SHADOW_SCORES, rows, transaction=name)
    scored = int((rows["status"] == "scored").sum())
    counts = (len(steps.raised), len(steps.kept), len(steps.cleared), len(steps.held_back))
    return Shadow(number, artifact.version, True, scored, *counts)


def _standing(lake: Lake, model_version: str, at: datetime) -> pl.DataFrame:
    """Rows of alarms that stood when the challenger was last scored."""
    rows = lake.latest(SHADOW_SCORES, since=at - _STANDS_FOR, until=at)
    mine = rows.filter(pl.col("model_version") == model_version)
    return mine.filter(pl.col("time") == pl.col("time").max(), pl.col("link_id").is_not_null()).collect()


def _rows(artifact: Artifact, view: View, steps: Steps, before: pl.DataFrame) -> pl.DataFrame:
    """A row of ``shadow_scores`` for each module that speaks, or whose alarm stands in silence."""
    alarms = _alarms(artifact, view, steps, before)
    links, spoken = view.block.history.links, np.flatnonzero(view.block.present[:, 0])
    of_link = {links[port]: i for i, port in enumerate(view.risks.port.tolist())}
    risk = view.risks.risk[[of_link[links[port]] for port in spoken.tolist()]]
    scored = view.block.cube.ports[spoken].with_columns(
        pl.Series("link_id", [links[port] for port in spoken.tolist()], pl.String),
        *(pl.Series(f"risk_{hours}h", risk[:, k]) for k, hours in enumerate(HORIZONS_H)),
    )
    scored = scored.join(alarms, on="link_id", how="left", maintain_order="left").with_columns(
        pl.when(pl.col("alarm_level").is_not_null()).then(pl.col("link_id")).alias("link_id"),
        pl.lit("scored").alias("status"),
    )
    silent = before.filter(~pl.col("link_id").is_in([*of_link, *steps.cleared]))
    silent = silent.select(*PORT, *_ALARM, *_DIAGNOSIS, pl.lit("unknown").alias("status"))
    rows = pl.concat([scored, silent], how="diagonal_relaxed").with_columns(
        time=pl.lit(view.at), received_at=pl.lit(datetime.now(UTC)), model_version=pl.lit(artifact.version)
    )
    schema = polars_schema(SHADOW_SCORES)
    absent = [pl.lit(None, schema[name]).alias(name) for name in schema if name not in rows.columns]
    return rows.with_columns(absent).select(pl.col(name).cast(kind) for name, kind in schema.items())


def _alarms(artifact: Artifact, view: View, steps: Steps, before: pl.DataFrame) -> pl.DataFrame:
    """Of each link whose alarm stands after these steps and that speaks: since when, how sure, what is wrong."""
    stood = {link: (raised_at, act_at) for link, _, raised_at, act_at in before.select(_ALARM).iter_rows()}
    rows = [(link, *row) for link, row in (*steps.raised.items(), *steps.kept.items())]
    found = diagnoses(artifact, view.block, view.risks.port[[i for _, i, _ in rows]], 0) if rows else None
    told = []
    for k, (link, _, level) in enumerate(rows):
        raised_at, act_at = stood.get(link, (view.at, None))
        act_at = act_at or (view.at if level == "act" else None)
        told.append((link, level, raised_at, act_at, *_said(found, k)))
    schema = polars_schema(SHADOW_SCORES)
    return pl.DataFrame(told, schema={name: schema[name] for name in (*_ALARM, *_DIAGNOSIS)}, orient="row")


def _said(found: Diagnoses | None, k: int) -> tuple[str, str, str, str, str]:
    assert found is not None  # noqa: S101 - there are rows
    one = found.of(k)
    return str(one.failure_type), one.suspect, one.end[1], one.end[2], str(one.action)
