"""What goes over the wire about storms."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field

from ingest.schema import FailureType
from serving.alarms import Level
from serving.storms import HeldBack, StormFilter, StormPage
from serving.wire.base import Asked, Name, Said, Time

__all__ = ["HeldBackAlarm", "StormQuery", "Storms"]


class StormQuery(Asked):
    """Filters and page of ``GET /v1/storms``."""

    site: Name | None = None
    device: Annotated[Name | None, Field(description="At either end of the link.")] = None
    since: Annotated[Time | None, Field(description="Held back by a run as of that time or later.")] = None
    cursor: Annotated[str | None, Field(max_length=1000, description="`next_cursor` of the answer before.")] = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100

    def filter(self) -> StormFilter:
        """The store's form of it."""
        return StormFilter(self.site, self.device, self.since)


class HeldBackAlarm(Said):
    """An alarm that a storm kept from being raised; it does not stand, and nothing is to be done about its link."""

    at: Annotated[datetime, Field(description="Of the run that held it back.")]
    model_version: str
    level: Level
    site: str
    device: Annotated[str, Field(description="The suspect end.")]
    interface: str
    link_id: str
    peer_device: str | None
    peer_interface: str | None
    risk_24h: float | None
    failure_type: FailureType | None
    why: Annotated[str, Field(description="Which device came up with how many.")]

    @classmethod
    def of(cls, held: HeldBack) -> Self:
        """The store's."""
        return cls(**{name: getattr(held, name) for name in cls.model_fields})


class Storms(Said):
    """Alarms that were held back, those of the newest run first."""

    held_back: list[HeldBackAlarm]
    next_cursor: Annotated[str | None, Field(description="Null on the last page.")]

    @classmethod
    def of(cls, page: StormPage) -> Self:
        """A page of the store's."""
        return cls(held_back=[HeldBackAlarm.of(held) for held in page.alarms], next_cursor=page.next_cursor)
