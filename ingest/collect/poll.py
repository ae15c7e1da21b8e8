"""What came of asking one device once."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

from ingest.config import Target
from ingest.decode.discover import Decoded
from ingest.decode.lldp import Lldp

__all__ = ["Gap", "Poll", "Refused"]


@dataclass(frozen=True, slots=True)
class Gap:
    """A time for which a stream was not heard: from its last word to its next full account."""

    start: datetime
    end: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A number that no module gives: kept as it came, in the quarantine instead of the lake."""

    interface: str
    lane: int
    quantity: str
    raw: float


@dataclass
class Poll:
    """What came of asking one device once.

    Attributes:
        profile: the vendor file that fitted; None where the device did not answer.
        lanes, ports: rows of `lane_samples` and `port_samples`.
        modules: rows of `modules` that are new.
        partial: something that the device has was not got, which `error` names.
        error: one line where the poll failed or is partial.
        coverage: ports with readings among those with a module; None where there are no modules.
        refused: numbers that went to the quarantine.
        decoded: what rows were made from; None where the device did not answer.
        lldp: what the device heard of its neighbours, where it was asked: a whole discovery does.
        discovered: whether the device was mapped anew.
        varbinds: cells that were read, or updates that came.
        events: rows of `port_events`, of devices that stream.
        gaps: that have ended.
        notes: what should be looked at, a sentence each; the same at every poll.
    """

    target: Target
    profile: str | None = None
    lanes: pa.Table | None = None
    ports: pa.Table | None = None
    modules: list[dict[str, Any]] = field(default_factory=list)
    partial: bool = False
    error: str | None = None
    duration_s: float = 0.0
    coverage: float | None = None
    refused: list[Refused] = field(default_factory=list)
    decoded: Decoded | None = None
    lldp: Lldp | None = None
    discovered: bool = False
    varbinds: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether the device gave nothing that can be used."""
        return self.error is not None and not self.partial

    @property
    def lane_count(self) -> int:
        """Rows of `lane_samples`."""
        return 0 if self.lanes is None else int(self.lanes.num_rows)

    @property
    def port_count(self) -> int:
        """Rows of `port_samples`."""
        return 0 if self.ports is None else int(self.ports.num_rows)
