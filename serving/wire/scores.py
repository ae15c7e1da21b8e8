"""What goes over the wire of ``POST /v1/score``: readings in columns, as arrays are an order of magnitude cheaper."""

from datetime import datetime
from typing import Annotated, Final, Self

from pydantic import AwareDatetime, Field, model_validator

from ingest.schema import LIMITS, Action, FailureType
from serving.scoring.adhoc import LOOKED_BACK, Module, Scored
from serving.wire.base import Asked, Name, Said, Time

__all__ = ["AskedModule", "Lanes", "Ports", "ScoreAnswer", "ScoreRequest", "ScoredModule"]

_MOST_MODULES: Final = 1_000
_MOST_ROWS: Final = 200_000
_SITE: Final = "asked"
_Reading = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
_Gauge = list[_Reading | None] | None
_Count = list[Annotated[int, Field(ge=0, lt=2**63)] | None] | None
_Flag = list[bool | None] | None


class _Columns(Asked):
    """Readings, a column each; null where there is none. All are as long as ``time``."""

    time: Annotated[list[AwareDatetime], Field(max_length=50_000)]

    @model_validator(mode="after")
    def _equally_long(self) -> Self:
        for name in type(self).model_fields:
            column = getattr(self, name)
            if column is not None and len(column) != len(self.time):
                msg = f"{name} has {len(column)} values and time {len(self.time)}"
                raise ValueError(msg)
        return self

    def columns(self) -> dict[str, list[object]]:
        """Those that are given."""
        return {name: getattr(self, name) for name in type(self).model_fields if getattr(self, name) is not None}


class Lanes(_Columns):
    """Rows of the canonical table ``lane_samples``."""

    lane: list[Annotated[int, Field(ge=0, le=16)]]
    tx_power_dbm: _Gauge = None
    rx_power_dbm: _Gauge = None
    tx_bias_ma: _Gauge = None
    pre_fec_ber: _Gauge = None


class Ports(_Columns):
    """Rows of the canonical table ``port_samples``; counters are cumulative, as the device has them."""

    temperature_c: _Gauge = None
    voltage_v: _Gauge = None
    pre_fec_ber: _Gauge = None
    oper_up: _Flag = None
    admin_up: _Flag = None
    rx_los: _Flag = None
    tx_fault: _Flag = None
    fec_corrected: _Count = None
    fec_uncorrected: _Count = None
    crc_errors: _Count = None
    symbol_errors: _Count = None
    link_flaps: _Count = None
    read_errors: _Count = None


class _End(Asked):
    """A port."""

    device: Name
    interface: Name


class AskedModule(_End):
    """One module with its readings; device and interface are only names here, nothing is looked up by them."""

    serial: Name | None = None
    media: Annotated[Name | None, Field(description="400GBASE-DR4 and so on.")] = None
    limits: Annotated[
        dict[str, _Reading], Field(max_length=len(LIMITS), description="The module's own, as in `modules`.")
    ] = {}  # noqa: RUF012 - pydantic copies it
    peer: Annotated[_End | None, Field(description="The far end, where it is among the modules.")] = None
    lanes: Lanes | None = None
    ports: Ports | None = None

    @model_validator(mode="after")
    def _known_limits(self) -> Self:
        if unknown := sorted(set(self.limits) - set(LIMITS)):
            msg = f"there is no limit {unknown[0][:100]!r}; there are {', '.join(LIMITS)}"
            raise ValueError(msg)
        return self

    @property
    def rows(self) -> int:
        """How many readings it has."""
        return sum(len(columns.time) for columns in (self.lanes, self.ports) if columns is not None)

    def module(self) -> Module:
        """The same as it is scored."""
        return Module(
            port=(_SITE, self.device, self.interface),
            peer=None if self.peer is None else (_SITE, self.peer.device, self.peer.interface),
            record={"serial": self.serial, "media": self.media, **self.limits},
            lanes={} if self.lanes is None else self.lanes.columns(),
            ports={} if self.ports is None else self.ports.columns(),
        )


class ScoreRequest(Asked):
    """Modules that the lake does not know, with their readings."""

    at: Annotated[
        Time | None, Field(description="As of this whole hour; after the newest reading where not given.")
    ] = None
    modules: Annotated[list[AskedModule], Field(min_length=1, max_length=_MOST_MODULES)]

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if len({(m.device, m.interface) for m in self.modules}) < len(self.modules):
            msg = "a port is given twice"
            raise ValueError(msg)
        if (rows := sum(m.rows for m in self.modules)) > _MOST_ROWS:
            msg = f"{rows} readings; there may be {_MOST_ROWS}"
            raise ValueError(msg)
        if self.at is not None and (self.at.minute, self.at.second, self.at.microsecond) != (0, 0, 0):
            msg = "at is a whole hour"
            raise ValueError(msg)
        if self.at is not None and self.at.year < _FIRST_YEAR:
            msg = f"at lies before {_FIRST_YEAR}"
            raise ValueError(msg)
        return self


_FIRST_YEAR: Final = 1970 + LOOKED_BACK.days // 365 + 1


class ScoredModule(Said):
    """What the model says of one module; ``unknown`` is not healthy."""

    device: str
    interface: str
    status: Annotated[str, Field(description="`scored`, or `unknown` with `reasons` saying why.")]
    risks: Annotated[dict[str, float | None], Field(description="P(failure of its link within), by horizon.")]
    failure_type: Annotated[FailureType | None, Field(description="Null where the risk is negligible.")]
    type_probabilities: dict[FailureType, float] | None
    suspect: str | None
    action: Action | None
    reasons: list[str]
    data_age_s: Annotated[float | None, Field(description="Of the newest reading, as of `at`.")]

    @classmethod
    def of(cls, asked: AskedModule, scored: Scored, horizons_h: tuple[int, ...]) -> Self:
        """What the model said of it."""
        risks = scored.risks or dict.fromkeys(horizons_h)
        return cls(
            device=asked.device,
            interface=asked.interface,
            status="unknown" if scored.risks is None else "scored",
            risks={f"{hours}h": risk for hours, risk in risks.items()},
            failure_type=scored.failure_type,
            type_probabilities=None if scored.types is None else dict(scored.types),
            suspect=scored.suspect,
            action=scored.action,
            reasons=list(scored.reasons),
            data_age_s=scored.data_age_s,
        )


class ScoreAnswer(Said):
    """In the order in which they were asked for."""

    at: datetime
    model_version: str
    modules: list[ScoredModule]
