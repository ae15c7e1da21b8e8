"""A host's readings into rows of the canonical tables, judged by the same rules as what is polled."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, cast

from ingest.decode.slots import QUANTITIES, Quantity
from ingest.dumps.reading import Reading
from ingest.dumps.rows import rows_of
from ingest.schema import LIMITS
from serving.wire.samples import RefusedSample, SampleReading, SampleRequest

__all__ = ["OLDEST", "Batch", "against", "judged"]

OLDEST: Final = timedelta(days=31)
_AHEAD: Final = timedelta(minutes=5)
_STATES: Final = ("oper_up", "admin_up", "rx_los", "tx_fault", "cdr_lol")
_COUNTERS: Final = (
    *("fec_corrected", "fec_uncorrected", "crc_errors", "symbol_errors", "link_flaps"),
    *("in_packets", "out_packets", "read_errors"),
)
_TEXTS: Final = ("serial", "vendor", "part_number", "firmware", "media", "form_factor", "speed_gbps", "fec_mode")


@dataclass(frozen=True, slots=True)
class Batch:
    """What one request becomes.

    Attributes:
        readings: that were taken, for what they say of modules.
        refused: values and readings that were not.
    """

    site: str
    lanes: list[dict[str, Any]]
    ports: list[dict[str, Any]]
    events: list[dict[str, Any]]
    readings: list[Reading]
    refused: list[RefusedSample] = field(default_factory=list)
    probes: list[dict[str, Any]] = field(default_factory=list)
    paths: list[dict[str, Any]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(len(each) for each in (self.lanes, self.ports, self.events, self.probes, self.paths))


def against(time: datetime, now: datetime) -> str | None:
    """Why a row of that time is not taken now; None where it is."""
    if time > now + _AHEAD:
        return f"lies {(time - now).total_seconds():.0f} s in the future: set the host's clock"
    if time < now - OLDEST:
        return f"lies more than {OLDEST.days} days in the past"
    return None


def judged(asked: SampleRequest, now: datetime) -> Batch:
    """Rows of a request, and what of it no row can have."""
    refused: list[RefusedSample] = []
    taken: dict[tuple[str, str | None, datetime], Reading] = {}
    for each in asked.readings:
        key = (each.interface, each.sub_interface, each.time)
        reason = against(each.time, now) or ("the same port and time are given twice" if key in taken else None)
        if reason:
            refused.append(RefusedSample(interface=each.interface, time=each.time, column=None, reason=reason))
        else:
            taken[key] = _reading(asked.device, each)
    rows = rows_of(list(taken.values()), site=asked.site, source="agent")
    for wrong in rows.refused:
        where = wrong.quantity if wrong.lane == 0 else f"{wrong.quantity} of lane {wrong.lane}"
        reason = f"no module can give {wrong.value:g}"
        time = cast("datetime", wrong.reading.time)
        refused.append(RefusedSample(interface=str(wrong.reading.interface), time=time, column=where, reason=reason))
    for row in (*rows.lanes, *rows.ports):
        row["received_at"] = now
    events = _events(asked, now, refused)
    return Batch(asked.site, rows.lanes, rows.ports, events, list(taken.values()), refused)


def _events(asked: SampleRequest, now: datetime, refused: list[RefusedSample]) -> list[dict[str, Any]]:
    rows = []
    for event in asked.events:
        if reason := against(event.time, now):
            refused.append(RefusedSample(interface=event.interface, time=event.time, column=None, reason=reason))
            continue
        where = {"site": asked.site, "device": asked.device, "received_at": now, "source": "agent"}
        rows.append(where | event.model_dump())
    return rows


def _reading(device: str, asked: SampleReading) -> Reading:
    reading = Reading(0, device, asked.interface, asked.time, sub_interface=asked.sub_interface)
    for quantity in QUANTITIES:
        _put(reading, quantity, getattr(asked, quantity, None), 0)
        for lane in asked.lanes:
            _put(reading, quantity, getattr(lane, quantity, None), lane.lane)
    for name in _STATES:
        reading.flag(name, value=getattr(asked, name))
    for name in _COUNTERS:
        reading.count(name, getattr(asked, name))
    reading.fec_bins = asked.fec_bins or None
    if asked.module is not None:
        for name in _TEXTS:
            reading.say(name, getattr(asked.module, name))
        for column, value in asked.module.limits.items():
            reading.limit(*_limit_of(column), value)
        if reading.module:
            reading.module["role"] = "nic"
    return reading


def _put(reading: Reading, name: Quantity, value: float | None, lane: int) -> None:
    """A power is in dBm here: 0 is a milliwatt, and -40 no light."""
    reading.put(name, value, lane)
    if value == 0.0 and name in ("rx_power_dbm", "tx_power_dbm"):
        reading.watts.add((lane, name))


def _limit_of(column: str) -> tuple[Quantity, str]:
    """``rx_power_low_warn_dbm`` is the limit low_warn of rx_power_dbm."""
    assert column in LIMITS  # noqa: S101 - the wire knows no other
    stem, side, level, unit = column.rsplit("_", 3)
    return cast("Quantity", f"{stem}_{unit}"), f"{side}_{level}"
