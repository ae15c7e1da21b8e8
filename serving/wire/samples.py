"""What goes over the wire of ``POST /v1/samples``: what one host says of its ports, and what was made of it."""

import hashlib
from datetime import datetime
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from ingest.schema import LIMITS
from serving.wire.base import Asked, Name, Said, Time

__all__ = [
    "LaneReading",
    "RefusedSample",
    "SampleEvent",
    "SampleModule",
    "SampleReading",
    "SampleRequest",
    "SamplesTaken",
]

_MOST_READINGS: Final = 2_000
_MOST_EVENTS: Final = 2_000
_BINS: Final = 16
_Value = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)] | None
_Count = Annotated[int, Field(ge=0, lt=2**63)] | None
_Words = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class LaneReading(Asked):
    """One media lane; no light is -40 dBm, and what the module does not say is left out."""

    lane: Annotated[int, Field(ge=1, le=16)]
    tx_power_dbm: _Value = None
    rx_power_dbm: _Value = None
    tx_bias_ma: _Value = None
    pre_fec_ber: _Value = None
    snr_db: _Value = None
    laser_temperature_c: _Value = None


class SampleModule(Asked):
    """The module in the cage, as it names itself."""

    serial: Name | None = None
    vendor: Name | None = None
    part_number: Name | None = None
    firmware: Name | None = None
    media: Name | None = None
    form_factor: Name | None = None
    speed_gbps: Annotated[float, Field(gt=0, le=1e6)] | None = None
    fec_mode: Name | None = None
    limits: Annotated[
        dict[str, Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]],
        Field(max_length=len(LIMITS), description="The module's own, as columns of `modules`."),
    ] = {}  # noqa: RUF012 - pydantic copies it

    @model_validator(mode="after")
    def _known_limits(self) -> Self:
        if unknown := sorted(set(self.limits) - set(LIMITS)):
            msg = f"there is no limit {unknown[0][:100]!r}; there are {', '.join(LIMITS)}"
            raise ValueError(msg)
        return self


class SampleReading(Asked):
    """One port at one time; counters are cumulative, as the host has them."""

    interface: Name
    time: Time
    sub_interface: Name | None = None
    lanes: Annotated[list[LaneReading], Field(max_length=16)] = []  # noqa: RUF012 - pydantic copies it
    module: SampleModule | None = None
    temperature_c: _Value = None
    voltage_v: _Value = None
    host_snr_db: _Value = None
    pre_fec_ber: Annotated[_Value, Field(description="Of the port, where lanes do not say.")] = None
    oper_up: bool | None = None
    admin_up: bool | None = None
    rx_los: bool | None = None
    tx_fault: bool | None = None
    cdr_lol: bool | None = None
    fec_corrected: _Count = None
    fec_uncorrected: _Count = None
    fec_bins: Annotated[list[Annotated[int, Field(ge=0, lt=2**63)]], Field(max_length=_BINS)] | None = None
    crc_errors: _Count = None
    symbol_errors: _Count = None
    link_flaps: _Count = None
    in_packets: _Count = None
    out_packets: _Count = None
    read_errors: _Count = None

    @model_validator(mode="after")
    def _lanes_differ(self) -> Self:
        if len({each.lane for each in self.lanes}) < len(self.lanes):
            msg = "a lane is given twice"
            raise ValueError(msg)
        return self


class SampleEvent(Asked):
    """Something that happened between two readings."""

    interface: Name
    time: Time
    kind: Literal["up", "down", "los", "fault", "inserted", "removed", "reboot"]
    cause: _Words | None = None


class SampleRequest(Asked):
    """What one host says of its own ports."""

    site: Name = "default"
    device: Name
    readings: Annotated[list[SampleReading], Field(max_length=_MOST_READINGS)] = []  # noqa: RUF012 - pydantic copies it
    events: Annotated[list[SampleEvent], Field(max_length=_MOST_EVENTS)] = []  # noqa: RUF012 - pydantic copies it

    @property
    def digest(self) -> str:
        """The same for the same samples."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.readings or self.events):
            msg = "there is neither a reading nor an event"
            raise ValueError(msg)
        return self


class RefusedSample(Said):
    """What was not taken; the rest was."""

    interface: str
    time: datetime
    column: Annotated[str | None, Field(description="Null where the whole reading was left out.")]
    reason: str


class SamplesTaken(Said):
    """What was made of it; it is durably kept when this is answered."""

    received_at: datetime
    new: Annotated[bool, Field(description="False where the very same was sent before.")]
    lane_samples: int
    port_samples: int
    events: int
    refused: Annotated[list[RefusedSample], Field(description="The first hundred; all are counted.")]
    refused_count: int
