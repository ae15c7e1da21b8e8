"""What all that goes over the wire has in common: bases, names, numbers and times."""

import re
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from ingest.plain import PLAIN

__all__ = ["LONGEST_NAME", "Asked", "Name", "Risk", "Said", "Scored", "Time", "matches"]

_NUMBER: Final = re.compile(r"\s*[+-]?[\d.eE_]+\s*")
LONGEST_NAME: Final = 255


def _to_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        msg = "the time is out of range"
        raise ValueError(msg) from error


def matches(if_none_match: str | None, etag: str) -> bool:
    """Whether who asks has it already, by ``If-None-Match``.

    >>> matches('W/"1", "2"', '"1"'), matches("*", '"1"'), matches(None, '"1"')
    (True, True, False)
    """
    asked = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return "*" in asked or etag in asked


def _told(time: object) -> object:
    """Refuse a bare number: "2026" would be a second of 1970, and ask for everything since."""
    if isinstance(time, int | float) or (isinstance(time, str) and _NUMBER.fullmatch(time)):
        msg = "a time is ISO 8601 with its zone, such as 2026-11-29T12:00:00Z"
        raise ValueError(msg)
    return time


Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=PLAIN)]
Risk = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Time = Annotated[AwareDatetime, BeforeValidator(_told), AfterValidator(_to_utc)]


class Asked(BaseModel):
    """What a client sends: a name that does not exist is refused, not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Said(BaseModel):
    """What the service answers."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())


class Scored(Said):
    """Of which run an answer is; without it, an answer could not be trusted."""

    scored_at: Annotated[datetime, Field(description="Time the latest scores are as of.")]
    model_version: Annotated[str, Field(description="Of the latest run.")]
