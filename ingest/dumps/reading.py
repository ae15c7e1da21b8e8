"""What a dump says, before it becomes rows: of one port at one time, or of one cable."""

import math
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ingest.decode.slots import Quantity
from ingest.plain import one_line
from ingest.units import mw_to_dbm

__all__ = ["LONGEST_NAME", "MOST_LANES", "NOTHING", "Cable", "Port", "Probed", "Reading"]

MOST_LANES: Final = 16
"""CMIS has two banks of eight (revision 5.2)."""

Port = tuple[str, str]
"""Device and interface."""


@dataclass(slots=True)
class Reading:
    """One port at one time; what is not said is absent, never 0.

    Attributes:
        line: where it stands in the file.
        device: None where the file does not say; so are `interface` and `time`.
        values: by lane (from 1; 0 is the module or port) and quantity; a power of -inf is no light.
        zeros: of these the file's own number was exactly 0.
        watts: of these the file told watts, so that 0 dBm is a milliwatt and nothing else.
        states: columns of `port_samples` that are true or false.
        counters: columns of `port_samples` that only grow.
        fec_bins: codewords by number of corrected symbols.
        module: text columns of `modules`, `serial` among them; `speed_gbps` is a number.
        limits: by quantity, the module's own limits: low_alarm, low_warn, high_warn, high_alarm.
        sub_interface: where the counters belong to a breakout of the cage.
        quality: bits of `Quality` that hold for all of it.
    """

    line: int
    device: str | None = None
    interface: str | None = None
    time: datetime | None = None
    values: dict[tuple[int, str], float] = field(default_factory=dict)
    zeros: set[tuple[int, str]] = field(default_factory=set)
    watts: set[tuple[int, str]] = field(default_factory=set)
    states: dict[str, bool] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    fec_bins: list[int] | None = None
    module: dict[str, str | float] = field(default_factory=dict)
    limits: dict[str, dict[str, float]] = field(default_factory=dict)
    sub_interface: str | None = None
    quality: int = 0

    @property
    def empty(self) -> bool:
        """Whether nothing is known of the port but its name."""
        return not (self.values or self.states or self.counters or self.fec_bins or self.module or self.limits)

    def put(self, quantity: Quantity, value: float | None, lane: int = 0) -> None:
        """Take a value in the unit of its name; None and NaN say nothing."""
        if value is None or math.isnan(value) or not 0 <= lane <= MOST_LANES:
            return
        if math.isinf(value) and not (value < 0 and quantity in ("rx_power_dbm", "tx_power_dbm")):
            return
        self.values[lane, quantity] = value
        (self.zeros.add if value == 0.0 else self.zeros.discard)((lane, quantity))

    def put_milliwatts(self, quantity: Quantity, value: float | None, lane: int = 0) -> None:
        """Take a power in milliwatts; below 0 there is none."""
        if value is None or not 0.0 <= value < math.inf:
            return
        self.put(quantity, mw_to_dbm(value), lane)
        self.watts.add((lane, quantity))
        if value == 0.0:
            self.zeros.add((lane, quantity))

    def flag(self, column: str, *, value: bool | None) -> None:
        """Take a flag of one lane: one lane that has it is enough, and none that says so is unknown."""
        if value is not None:
            self.states[column] = self.states.get(column, False) or value

    def count(self, column: str, value: int | None) -> None:
        """Take a counter; a number below 0 is how some tools write "not there"."""
        if value is not None and 0 <= value < 2**63:
            self.counters[column] = value

    def add(self, column: str, value: int | None) -> None:
        """Add to a counter that the file tells in parts."""
        if value is not None and 0 <= value < 2**63:
            self.count(column, self.counters.get(column, 0) + value)

    def say(self, column: str, text: str | float | None) -> None:
        """Take a text column of `modules`; what stands for "none" is none."""
        if isinstance(text, str):
            text = " ".join(one_line(text[:LONGEST_NAME]).split())
            if text.lower() in NOTHING or text.lower().startswith("not supported"):
                return
        if text is not None:
            self.module.setdefault(column, text)

    def limit(self, quantity: Quantity, name: str, value: float | None) -> None:
        """Take a limit of the module's own, in the quantity's unit."""
        if value is not None and math.isfinite(value):
            self.limits.setdefault(quantity, {})[name] = value

    def merge(self, other: "Reading") -> None:
        """Take what another dump says of the same port at the same time; what was said first stands."""
        self.values = other.values | self.values
        self.states = other.states | self.states
        self.zeros |= other.zeros
        self.watts |= other.watts
        self.counters = other.counters | self.counters
        self.fec_bins = self.fec_bins or other.fec_bins
        self.module = other.module | self.module
        self.limits = other.limits | self.limits
        self.sub_interface = self.sub_interface or other.sub_interface
        self.quality |= other.quality


@dataclass(frozen=True, slots=True)
class Cable:
    """A link between two ports, as a discovery of the fabric saw it; `time` is None where the file does not say."""

    line: int
    a: Port
    z: Port
    kind: str | None = None
    cable_id: str | None = None
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Probed:
    """A window of one 5-tuple's probes: columns of ``probes``, but for site, devices and interfaces."""

    line: int
    row: dict[str, Any]


LONGEST_NAME: Final = 200
"""Characters of a name or text: the longest that modules hold have 16, of NOS 60."""

NOTHING: Final = frozenset(
    ("", "n/a", "na", "nan", "none", "null", "-", "--", "unknown", "unsupported", "unspecified", "undefined")
)
"""How files write that there is nothing."""
