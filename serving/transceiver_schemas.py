"""What goes over the wire about one transceiver."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from ingest.schema import Action
from serving.alarms import Level, Status
from serving.wire import Said, Scored

__all__ = ["ActionStep", "Transceiver", "TransceiverAlarm"]


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
    peer_device: str | None
    peer_interface: str | None
    alarm: TransceiverAlarm | None
    data_age_s: Annotated[float | None, Field(description="Age of the newest reading used, now.")]
