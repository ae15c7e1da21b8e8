"""What both engines are opened with."""

from dataclasses import dataclass, field

from ingest.snmp.guards import MAX_CELLS, Repetitions
from ingest.snmp.users import SnmpUser

__all__ = ["Access"]

_GET_AT_ONCE = 32
"""OIDs of one GET: with 16 to 20 octets of name and value each, the answer fits an Ethernet frame."""


@dataclass
class Access:
    """How one device is asked.

    Attributes:
        address: IP literal.
        port: UDP port.
        community: as the agent wants it; versions 1 and 2c.
        version: "1", "2c" or "3".
        timeout_s: for one answer.
        retries: how often silence is asked again.
        max_repetitions: rows an answer, at first.
        user: version 3's.
        max_cells: of a column; more is an error.
    """

    address: str
    port: int
    community: str = field(repr=False)
    version: str = "2c"
    timeout_s: float = 3.0
    retries: int = 2
    max_repetitions: int = 25
    user: SnmpUser | None = None
    max_cells: int = MAX_CELLS

    def __post_init__(self) -> None:
        self._rows = Repetitions(self.max_repetitions)
        self._gets = Repetitions(_GET_AT_ONCE)

    @property
    def _where(self) -> str:
        return f"{self.address}:{self.port}"
