"""Ad-hoc scores, and the models that make scores."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path

from models.base import HORIZONS_H
from models.card import told
from models.kept import SHADOW
from models.registry import Version
from serving.bodies import BodyRoute
from serving.deps import ServicesDep, no_query, reader
from serving.errors import ModelNotFoundError, QueryError
from serving.scoring.adhoc import newest_hour
from serving.wire.base import Name
from serving.wire.models import Model, ModelCard, ModelComparison, Models
from serving.wire.problems import problem_responses
from serving.wire.scores import ScoreAnswer, ScoredModule, ScoreRequest

__all__ = ["router"]

_READ: Final = [Depends(reader), Depends(no_query)]
router = APIRouter(route_class=BodyRoute, dependencies=_READ)


@router.post("/v1/score", tags=["score"], responses=problem_responses(401, 413, 422, 429, 503))
async def score(body: ScoreRequest, services: ServicesDep) -> ScoreAnswer:
    """Risks of modules that the lake does not know, from their readings; nothing is stored."""
    modules = [asked.module() for asked in body.modules]
    at = body.at or newest_hour(modules)
    if at is None:
        msg = "there is no reading, and no `at`"
        raise QueryError(msg)
    artifact, scored = await services.scorer.score(modules, at)
    return ScoreAnswer(
        at=at,
        model_version=artifact.version,
        modules=[ScoredModule.of(*pair, HORIZONS_H) for pair in zip(body.modules, scored, strict=True)],
    )


@router.get("/v1/models", tags=["models"], responses=problem_responses(401, 422, 429, 503))
async def list_models(services: ServicesDep) -> Models:
    """Registered versions, the newest first, with what they are called."""
    return Models(models=[Model.of(version) for version in await services.champion.versions()])


@router.get("/v1/models/comparison", tags=["models"], responses=problem_responses(401, 404, 422, 429, 503))
async def compare_models(services: ServicesDep) -> ModelComparison:
    """Champion and challenger on the hours that both scored, as `forelight model shadow` found it last."""
    kept = await services.champion.kept(SHADOW)
    if kept is None:
        msg = "no challenger was put beside the champion yet: `forelight model shadow` does"
        raise ModelNotFoundError(msg)
    return ModelComparison(compared_at=kept.at, **kept.found)


@router.get("/v1/models/{version}", tags=["models"], responses=problem_responses(401, 404, 422, 429, 503))
async def get_model(
    version: Annotated[Name, Path(description="Its number, or an alias: `champion`, `challenger`.")],
    services: ServicesDep,
) -> ModelCard:
    """One version with its card: what it was trained on and how it did."""
    found = _named(version, await services.champion.versions())
    artifact = await services.champion.artifact(found.version)
    return ModelCard(**Model.of(found).model_dump(), facts=told(artifact), policy=artifact.policy.to_dict())


def _named(name: str, versions: tuple[Version, ...]) -> Version:
    for version in versions:
        if name == version.version or name in version.aliases:
            return version
    msg = f"there is no model {name!r}"
    raise ModelNotFoundError(msg)
