"""The page about the model: what it was measured to be worth, whether it still fits, and who would follow it."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Depends, Request, Response

from models.registry import CHALLENGER, CHAMPION
from serving.deps import ServicesDep, no_query
from serving.web.model_book import ModelBook, Models
from serving.web.model_charts import calibration_chart, lead_chart, reliability_chart
from serving.web.pages import PageRoute, page
from serving.web.scorecards import comparison, honest
from serving.web.visit import VisitDep, freshness

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_OURS: Final = "forelight"
_SHOWN: Final = 20
_SIDES: Final = ("trained on failures", "links", "watch from", "act from", "Brier skill", "calibration slope")


@router.get("/model", dependencies=[Depends(no_query)])
async def model(request: Request, visit: VisitDep, services: ServicesDep) -> Response:
    """What MLflow keeps of it, in words and plots."""
    snapshot = await services.scores.get()
    book: ModelBook = request.app.state.model_book
    models = await book.get()
    cards = {} if models.backtest is None else models.backtest.found
    champion = models.facts.get(CHAMPION, {})
    charts = (lead_chart(cards), calibration_chart(cards.get(_OURS, {})), reliability_chart(champion))
    return page(
        "model",
        visit=visit,
        fresh=freshness(services, snapshot),
        models=models,
        versions=models.versions[:_SHOWN],
        champion=champion,
        challenger=models.facts.get(CHALLENGER, {}),
        card=honest(models),
        rows=comparison(models),
        leads=list(next((card["leads"] for card in cards.values() if "leads" in card), {})),
        charts=[chart for chart in charts if chart is not None],
        importance=sorted(_importance(champion), key=lambda pair: -pair[1])[:_SHOWN],
        sides=_side_by_side(models),
        shadow={} if models.shadow is None else models.shadow.found,
        shadowed=_shadowed({} if models.shadow is None else models.shadow.found),
        drift={} if models.drift is None else models.drift.found,
    )


def _importance(facts: Mapping[str, Any]) -> list[tuple[str, float]]:
    """What the score leans on, by name of the feature."""
    return list(facts.get("unseen_links", {}).get("importance", {}).items())


def _side_by_side(models: Models) -> list[tuple[str, Any, Any]]:
    """Champion and challenger by what both say of themselves; empty where there are not both."""
    both = [models.facts.get(alias) for alias in (CHAMPION, CHALLENGER)]
    if any(facts is None or "trouble" in facts for facts in both):
        return []
    told = [_told(facts) for facts in both if facts is not None]
    return [(name, told[0][name], told[1][name]) for name in _SIDES]


def _shadowed(found: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Champion and challenger by what came of the hours that both scored: counts, the challenger's likewise."""
    if not found:
        return []
    rows = [("links with an alarm", found["champion_alarms"], found["challenger_alarms"])]
    one, other = found["champion_judged"], found["challenger_judged"]
    if one is not None and other is not None:
        rows += [
            (f"failures foreseen {lead} h ahead, of {one['failures']}", one["caught"][lead], other["caught"][lead])
            for lead in one["caught"]
        ]
        rows.append(("false alarms", one["false"], other["false"]))
    return rows


def _told(facts: Mapping[str, Any]) -> dict[str, float | None]:
    unseen, policy = facts.get("unseen_links", {}), facts.get("policy", {})
    values = (
        *(facts.get("failures"), facts.get("links"), policy.get("watch"), policy.get("act")),
        *(unseen.get("brier_skill"), unseen.get("calibration_slope")),
    )
    return dict(zip(_SIDES, values, strict=True))
