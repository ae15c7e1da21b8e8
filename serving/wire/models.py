"""What goes over the wire about models."""

import math
from typing import Annotated, Any, Self

from pydantic import Field, JsonValue, field_validator

from models.registry import Version
from serving.wire.base import Said

__all__ = ["Model", "ModelCard", "Models"]


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
    def of(cls, version: Version) -> Self:
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
