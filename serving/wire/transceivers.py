"""What goes over the wire about one transceiver."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, Self

from pydantic import AliasChoices, Field

from ingest.schema import Action
from serving.alarms import Level, Status
from serving.errors import QueryError
from serving.series import Column, Point, Series
from serving.wire.base import Asked, Name, Said, Scored, Time

__all__ = [
    "ActionStep",
    "Evidence",
    "SeriesPoint",
    "SeriesQuery",
    "Transceiver",
    "TransceiverAlarm",
    "TransceiverSeries",
]


class TransceiverAlarm(Said):
    """The standing alarm on a transceiver's link."""

    alarm_id: str
    status: Status
    level: Level
    device: str
    interface: str
    raised_at: datetime


class ActionStep(Said):
    """One thing to try, if those before it did not cure."""

    action: Action
    cures: Annotated[float, Field(description="P(it cures), given that the steps before did not.")]
    cost_h: Annotated[float, Field(description="Hours that trying it costs.")]


class Evidence(Said):
    """A feature behind a reason."""

    cause: Annotated[str, Field(description="One of `reasons`.")]
    feature: Annotated[str, Field(description="Its column in docs/features.md.")]
    end: Annotated[Literal["near", "far", "both"], Field(description="Whose value it is.")]
    value: Annotated[float | None, Field(description="On its own scale; null where missing is what speaks.")]
    what: Annotated[str, Field(description="What it measures.")]
    said: Annotated[str, Field(description="Its value with the unit, for people.")]
    odds: Annotated[float, Field(description="Of a failure, as a multiple of those without it.")]


class Transceiver(Scored):
    """The latest score of one module; ``unknown`` is not healthy."""

    site: str
    device: str
    interface: str
    serial: str | None
    status: Annotated[str, Field(description="`scored`, or `unknown` with `reasons` saying why.")]
    risks: Annotated[
        dict[str, float | None],
        Field(description="P(failure of its link within), by horizon.", examples=[{"24h": 0.71, "168h": 0.93}]),
    ]
    failure_type: Annotated[str | None, Field(description="Null, as suspects are, where the risk is negligible.")]
    type_probabilities: Annotated[dict[str, float | None] | None, Field(description="Given failure.")]
    suspect: str | None
    suspect_device: str | None
    suspect_interface: str | None
    suspect_probability: float | None
    action: Annotated[str | None, Field(description="What to try first.")]
    actions: Annotated[list[ActionStep], Field(description="What to try in turn, for the least expected cost.")]
    expected_cost_h: Annotated[float | None, Field(description="Hours that trying these costs in the mean.")]
    reasons: list[str]
    evidence: Annotated[list[Evidence], Field(description="The features behind the reasons, at most two of each.")]
    peer_device: str | None
    peer_interface: str | None
    alarm: TransceiverAlarm | None
    data_age_s: Annotated[float | None, Field(description="Age of the newest reading used, now.")]


_LONGEST: Final = timedelta(days=92)


class SeriesQuery(Asked):
    """Which readings, and how many points."""

    site: Name = "default"
    begin: Annotated[Time | None, Field(alias="from", description="A week before `to` where not given.")] = None
    end: Annotated[Time | None, Field(alias="to", description="Now where not given.")] = None
    columns: Annotated[list[Column], Field(max_length=len(Column), description="Repeatable.")] = [  # noqa: RUF012 - copied
        Column.RX_POWER_DBM,
        Column.TX_POWER_DBM,
    ]
    points: Annotated[int, Field(ge=2, le=2000, description="At most, of each column and lane.")] = 500

    def span(self, now: datetime) -> tuple[datetime, datetime]:
        """From when to when.

        Raises:
            QueryError: that is too long, or ends before it begins.
        """
        end = self.end or now
        begin = self.begin or end - timedelta(days=7)
        if not timedelta(0) < end - begin <= _LONGEST:
            msg = f"`from` lies before `to`, {_LONGEST.days} days at most"
            raise QueryError(msg)
        return begin, end


class SeriesPoint(Said):
    """What was read in the span that begins at a time."""

    time: datetime
    low: float | None
    high: float | None
    mean: float | None
    readings: int


class _Series(Said):
    """A column of one lane, or of the module."""

    column: str
    lane: Annotated[int | None, Field(description="From 1; 0 where one reading is of all; null for the module's own.")]
    sub_interface: Annotated[
        str | None, Field(description="Port of a breakout that this is of, where rows say so.")
    ] = None
    points: list[SeriesPoint]


class TransceiverSeries(Said):
    """Readings thinned out for a plot; no extreme between two points is lost."""

    site: str
    device: str
    interface: str
    begin: Annotated[datetime, Field(validation_alias=AliasChoices("begin", "from"), serialization_alias="from")]
    end: Annotated[datetime, Field(validation_alias=AliasChoices("end", "to"), serialization_alias="to")]
    series: list[_Series]

    @classmethod
    def of(cls, port: tuple[str, str, str], span: tuple[datetime, datetime], found: Sequence[Series]) -> Self:
        """As it was read; what is no finite number is null."""
        series = [
            _Series(
                column=one.column,
                lane=one.lane,
                sub_interface=one.sub_interface,
                points=[_point(point) for point in one.points],
            )
            for one in found
        ]
        site, device, interface = port
        return cls(site=site, device=device, interface=interface, begin=span[0], end=span[1], series=series)


def _point(point: Point) -> SeriesPoint:
    low, high, mean = (v if math.isfinite(v) else None for v in (point.low, point.high, point.mean))
    return SeriesPoint(time=point.time, low=low, high=high, mean=mean, readings=point.readings)
