"""What goes over the wire about models."""

import math
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, JsonValue, field_validator

from models.artifact import Artifact
from models.registry import Version as Registered
from serving.wire.base import Said

__all__ = ["Champion", "Judged", "Model", "ModelCard", "ModelComparison", "Models", "Readiness", "Version"]


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Model(Said):
    """A registered version."""

    version: str
    aliases: Annotated[list[str], Field(description="`champion` scores, `challenger` is compared with it.")]
    trained_until: str
    metrics: dict[str, float | None]
    tags: Annotated[dict[str, str], Field(description="Who promoted it or rolled back from it, when and why.")]

    @classmethod
    def of(cls, version: Registered) -> Self:
        """As the registry has it."""
        return cls(
            version=version.version,
            aliases=list(version.aliases),
            trained_until=version.trained_until,
            metrics=_finite(dict(version.metrics)),
            tags=dict(version.tags),
        )


class Models(Said):
    """The newest first."""

    models: list[Model]


class ModelCard(Model):
    """A version with what it was trained on, and the policy that makes alarms of its risks."""

    facts: dict[str, JsonValue]
    policy: dict[str, JsonValue]

    @field_validator("facts", "policy", mode="before")
    @classmethod
    def _without_nan(cls, value: Any) -> Any:
        return _finite(value)


class Judged(Said):
    """What became of one model's alarms."""

    failures: int
    false: Annotated[int, Field(description="Alarms that no failure followed.")]
    caught: Annotated[dict[str, int], Field(description="Failures that were alarmed on so many hours before.")]
    module_weeks: Annotated[float, Field(description="Watched; false alarms are counted in them.")]


class ModelComparison(Said):
    """Champion and challenger on the hours that both scored. The champion's alarms are those that people dealt with."""

    compared_at: datetime
    champion: Annotated[list[str], Field(description="Artefacts that scored as champion in these hours.")]
    challenger: Annotated[str, Field(description="Its artefact.")]
    start: datetime
    end: datetime
    hours: Annotated[int, Field(description="That both scored.")]
    modules: Annotated[int, Field(description="That both scored in the last of them.")]
    rank_correlation: Annotated[float | None, Field(description="Spearman's, of the risks within 24 h.")]
    champion_alarms: Annotated[int, Field(description="Links with an alarm in these hours.")]
    challenger_alarms: Annotated[int, Field(description="Likewise, as it would have raised them.")]
    in_common: Annotated[int, Field(description="Links with one of each.")]
    share_in_common: Annotated[float | None, Field(description="Of the links that either raised an alarm on.")]
    judged_until: Annotated[datetime | None, Field(description="Tickets of later failures may still come.")]
    champion_judged: Judged | None
    challenger_judged: Judged | None


class Readiness(Said):
    """Whether answers may be asked for."""

    status: Literal["ready", "degraded"]
    reasons: Annotated[list[str], Field(description="Why it is degraded; else none.", default_factory=list)]


class Champion(Said):
    """The model in memory that bears the alias `champion`."""

    model_version: str
    trained_until: datetime
    watch: Annotated[float, Field(description="Risk within 24 h from which an alarm is raised.")]
    act: Annotated[float | None, Field(description="The same for what a drain may rest on; null where it cannot be.")]

    @classmethod
    def of(cls, artifact: Artifact) -> Self:
        """What it was trained on, and its thresholds."""
        policy = artifact.policy
        return cls(
            model_version=artifact.version, trained_until=artifact.trained_until, watch=policy.watch, act=policy.act
        )


class Version(Said):
    """What answers here."""

    version: Annotated[str, Field(description="Of forelight.")]
    api: str
    schema_revision: str | None
    feature_schema: Annotated[str, Field(description="Fingerprint of the features; a model of another is refused.")]
    model_name: str | None
    model_version: Annotated[str | None, Field(description="Of the latest run.")]
    scored_at: datetime | None
    champion: Annotated[Champion | None, Field(description="Null until something has asked for it: `/readyz` does.")]
