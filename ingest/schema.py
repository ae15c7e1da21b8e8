"""The canonical tables: each column's type, unit and meaning, in one place.

Every key begins with ``site``. Lanes count from 1; 0 is "one value for the whole
module". Missing is null, never 0 and never NaN; no light is -40.0 dBm.
Times are microseconds in UTC. Every writer casts to these Arrow schemas.
"""

from dataclasses import dataclass
from enum import IntFlag, StrEnum
from typing import Any, Final

import pyarrow as pa

__all__ = [
    "LANE_SAMPLES",
    "LIMITS",
    "LINKS",
    "MAINTENANCE",
    "MODULES",
    "PORT_ADDRESSES",
    "PORT_EVENTS",
    "PORT_SAMPLES",
    "PROBES",
    "PROBE_PATHS",
    "REPAIRS",
    "REPLACEMENTS",
    "SCORES",
    "SHADOW_SCORES",
    "TABLES",
    "TICKETS",
    "TIME",
    "Action",
    "FailureType",
    "Quality",
    "Table",
]

TIME: Final = pa.timestamp("us", tz="UTC")
_S, _F, _B, _I = pa.string(), pa.float32(), pa.bool_(), pa.int64()


class FailureType(StrEnum):
    """What failed, as a ticket says it (CorrOpt's causes, SIGCOMM 2017, and the module's own parts)."""

    LASER_DEGRADATION = "laser_degradation"
    CONTAMINATION = "contamination"
    FIBER_DAMAGE = "fiber_damage"
    RECEIVER_DEGRADATION = "receiver_degradation"
    MODULE_ELECTRONICS = "module_electronics"
    LOOSE_SEATING = "loose_seating"
    NO_FAULT_FOUND = "no_fault_found"
    OTHER = "other"


class Action(StrEnum):
    """What a technician does about it."""

    REPLACE_TRANSCEIVER = "replace_transceiver"
    CLEAN_CONNECTOR = "clean_connector"
    RESEAT = "reseat"
    RESET = "reset"
    REPLACE_FIBER = "replace_fiber"
    REPLACE_CABLE = "replace_cable"
    NONE = "none"


class Quality(IntFlag):
    """Doubts about a reading; a bit set, 0 is none."""

    GLITCH = 1
    STALE = 2
    CLOCK_SKEW = 4
    PARTIAL_POLL = 8
    UNCALIBRATED = 16
    LIMITS_IMPLAUSIBLE = 32


@dataclass(frozen=True, slots=True)
class Table:
    """A canonical table: its columns, and what makes a row unique.

    Attributes:
        name: directory in the lake.
        schema: Arrow schema that every write is cast to.
        key: columns that identify a row; of equal keys the latest ``received_at`` wins.
        time: column that orders rows and gives the ``date`` partition; None for the small tables.
        history: whether compaction keeps every version received, since they tell what was known when.
    """

    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    time: str | None = None
    history: bool = False

    def of(self, rows: list[dict[str, Any]]) -> pa.Table:
        """Rows as an Arrow table in this schema; what a row does not have is null."""
        return pa.Table.from_pylist(rows, schema=self.schema)


def _schema(*fields: tuple[str, pa.DataType], required: tuple[str, ...]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=name not in required) for name, kind in fields])


_PORT = ("site", "device", "interface")

LANE_SAMPLES: Final = Table(
    "lane_samples",
    _schema(
        ("time", TIME),  # when the device took it; receipt where it does not say
        ("received_at", TIME),  # when we got it; an import sets it to `time`
        ("site", _S),
        ("device", _S),
        ("interface", _S),  # the cage, for breakouts
        ("lane", pa.int8()),  # media lane from 1; 0 = one value for the module
        ("serial", _S),  # of the module in the cage at that time
        ("tx_power_dbm", _F),
        ("rx_power_dbm", _F),
        ("tx_bias_ma", _F),
        ("pre_fec_ber", pa.float64()),
        ("snr_db", _F),
        ("laser_temperature_c", _F),
        ("quality", pa.int16()),  # bits of Quality
        ("source", _S),  # snmp, gnmi, agent, file
        required=("time", "received_at", *_PORT, "lane", "quality", "source"),
    ),
    (*_PORT, "lane", "time"),
    "time",
)

PORT_SAMPLES: Final = Table(
    "port_samples",
    _schema(
        ("time", TIME),
        ("received_at", TIME),
        ("site", _S),
        ("device", _S),
        ("interface", _S),
        ("serial", _S),
        ("temperature_c", _F),  # module case
        ("voltage_v", _F),
        ("oper_up", _B),
        ("admin_up", _B),
        ("rx_los", _B),
        ("tx_fault", _B),
        ("cdr_lol", _B),
        ("pre_fec_ber", pa.float64()),  # of the port, where lanes do not say
        ("fec_corrected", _I),  # counters are cumulative, as the device has them
        ("fec_uncorrected", _I),
        ("fec_bins", pa.list_(_I)),  # 16 codeword error bins
        ("crc_errors", _I),
        ("symbol_errors", _I),
        ("link_flaps", _I),
        ("in_packets", _I),
        ("out_packets", _I),
        ("host_snr_db", _F),
        ("read_errors", _I),  # failed EEPROM/I2C reads
        ("sub_interface", _S),  # where counters belong to a breakout
        ("quality", pa.int16()),
        ("source", _S),
        required=("time", "received_at", *_PORT, "quality", "source"),
    ),
    (*_PORT, "time"),
    "time",
)

PORT_EVENTS: Final = Table(
    "port_events",
    _schema(
        ("time", TIME),
        ("received_at", TIME),
        ("site", _S),
        ("device", _S),
        ("interface", _S),
        ("kind", _S),  # up, down, los, fault, inserted, removed, reboot
        ("cause", _S),
        ("source", _S),
        required=("time", "received_at", *_PORT, "kind", "source"),
    ),
    (*_PORT, "time", "kind"),
    "time",
)

LIMITS: Final = tuple(
    f"{quantity}_{side}_{level}_{unit}"
    for quantity, unit in (
        ("tx_power", "dbm"),
        ("rx_power", "dbm"),
        ("tx_bias", "ma"),
        ("temperature", "c"),
        ("voltage", "v"),
    )
    for side in ("low", "high")
    for level in ("warn", "alarm")
)
"""The module's own limits, as columns of ``modules``: ``rx_power_low_alarm_dbm`` and so on."""

MODULES: Final = Table(
    "modules",
    _schema(
        ("received_at", TIME),
        ("site", _S),
        ("device", _S),
        ("interface", _S),  # the cage
        ("serial", _S),
        ("vendor", _S),
        ("part_number", _S),
        ("lot", _S),
        ("media", _S),  # 400GBASE-DR4 and so on
        ("form_factor", _S),
        ("speed_gbps", _F),
        ("fec_mode", _S),
        ("firmware", _S),
        ("role", _S),  # switch or nic
        ("installed_at", TIME),
        ("removed_at", TIME),
        *((name, _F) for name in LIMITS),
        ("source", _S),  # telemetry: seen in an export's readings and listed nowhere; else null
        required=("received_at", *_PORT),
    ),
    (*_PORT, "serial", "installed_at"),
    history=True,
)

LINKS: Final = Table(
    "links",
    _schema(
        ("received_at", TIME),
        ("a_site", _S),
        ("a_device", _S),
        ("a_interface", _S),
        ("z_site", _S),
        ("z_device", _S),
        ("z_interface", _S),
        ("cable_id", _S),
        ("kind", _S),  # fiber, aoc, dac, acc, aec
        ("shared_risk", pa.list_(_S)),  # trunk, panel, line card
        ("valid_from", TIME),
        ("valid_to", TIME),
        ("source", _S),  # file, lldp
        required=("received_at", "a_site", "a_device", "a_interface", "z_site", "z_device", "z_interface"),
    ),
    ("a_site", "a_device", "a_interface", "z_site", "z_device", "z_interface", "valid_from"),
    history=True,
)

TICKETS: Final = Table(
    "tickets",
    _schema(
        ("received_at", TIME),
        ("ticket_id", _S),
        ("site", _S),
        ("device", _S),
        ("interface", _S),
        ("serial", _S),
        ("opened_at", TIME),
        ("closed_at", TIME),
        ("failure_type", _S),  # a FailureType
        ("action", _S),  # an Action
        ("bench_verdict", _S),  # confirmed, no_trouble_found, unknown
        ("alarm_id", _S),
        ("drained_at", TIME),
        ("summary", _S),
        required=("received_at", "ticket_id", *_PORT, "opened_at"),
    ),
    ("ticket_id",),
    history=True,
)

REPAIRS: Final = Table(
    "repairs",
    _schema(
        ("received_at", TIME),
        ("ticket_id", _S),
        ("seq", pa.int32()),
        ("at", TIME),
        ("end", _S),  # which end of the link: device/interface, or empty for the fibre
        ("action", _S),
        ("old_serial", _S),
        ("new_serial", _S),
        ("outcome", _S),
        required=("received_at", "ticket_id", "seq", "at"),
    ),
    ("ticket_id", "seq"),
    history=True,
)

REPLACEMENTS: Final = Table(
    "replacements",
    _schema(
        ("time", TIME),  # when the new serial was first known to be in the cage
        ("received_at", TIME),
        ("site", _S),
        ("device", _S),
        ("interface", _S),  # the cage
        ("old_serial", _S),
        ("new_serial", _S),
        ("reason", _S),  # an Action where a ticket says it; seen (by a poll), listed (in an inventory)
        ("source", _S),  # ticket, snmp, file
        ("ticket_id", _S),
        required=("time", "received_at", *_PORT, "source"),
    ),
    (*_PORT, "time"),
    history=True,
)

MAINTENANCE: Final = Table(
    "maintenance",
    _schema(
        ("received_at", TIME),
        ("site", _S),
        ("device", _S),
        ("interface", _S),  # null: the whole device
        ("start", TIME),
        ("end", TIME),
        ("announced_at", TIME),  # when we could know of it; `start` where nothing is said
        ("kind", _S),  # drain, firmware, recable, power
        required=("received_at", "site", "device", "start", "end", "announced_at"),
    ),
    ("site", "device", "interface", "start", "kind"),
    history=True,
)

_EVIDENCE: Final = pa.struct(
    [
        ("cause", _S),  # one of the reasons
        ("feature", _S),  # its column in docs/features.md
        ("end", _S),  # near, far or both: whose value it is
        ("value", _F),  # on the feature's own scale; null where missing is what speaks
        ("odds", _F),  # of a failure, as a multiple of those without it
    ]
)

SCORES: Final = Table(
    "scores",
    _schema(
        ("time", TIME),  # what the score is as of
        ("received_at", TIME),  # when it was computed
        ("site", _S),
        ("device", _S),
        ("interface", _S),
        ("serial", _S),
        ("status", _S),  # scored, or unknown (then risks are null and `reasons` says why)
        *((f"risk_{hours}h", _F) for hours in (6, 12, 24, 48, 96, 168)),  # P(failure of its link within)
        ("failure_type", _S),  # most probable FailureType, given failure; null, as suspects, where risk is negligible
        ("type_probabilities", pa.struct([(str(kind), _F) for kind in FailureType])),
        ("suspect", _S),  # module, fiber or unknown
        ("suspect_device", _S),  # the suspect end
        ("suspect_interface", _S),
        ("suspect_probability", _F),
        ("action", _S),
        ("reasons", pa.list_(_S)),  # in operator's words, strongest first
        ("evidence", pa.list_(_EVIDENCE)),  # the features behind the reasons, at most two of each
        ("peer_device", _S),
        ("peer_interface", _S),
        ("data_age_s", _F),  # age of the newest reading used
        ("model_version", _S),
        required=("time", "received_at", *_PORT, "status", "model_version"),
    ),
    (*_PORT, "time"),
    "time",
)

SHADOW_SCORES: Final = Table(
    "shadow_scores",
    _schema(
        ("time", TIME),
        ("received_at", TIME),
        ("site", _S),
        ("device", _S),
        ("interface", _S),
        ("status", _S),  # scored, or unknown where the link of a standing alarm is silent
        *((f"risk_{hours}h", _F) for hours in (6, 12, 24, 48, 96, 168)),
        ("link_id", _S),  # this and what follows: of the alarm that would stand on its link now, null where none would
        ("alarm_level", _S),
        ("alarm_raised_at", TIME),
        ("act_at", TIME),
        ("failure_type", _S),
        ("suspect", _S),
        ("suspect_device", _S),
        ("suspect_interface", _S),
        ("action", _S),
        ("model_version", _S),  # the challenger's
        required=("time", "received_at", *_PORT, "status", "model_version"),
    ),
    (*_PORT, "time", "model_version"),
    "time",
)
"""What a challenger would have said, beside ``scores``; no alarm, lease or message rests on it."""

_PROBE_FLOW = (
    "site",
    "source_device",
    "target_device",
    "source_address",
    "target_address",
    "source_port",
    "target_port",
    "protocol",
)
_PROBE_FIELDS = (
    ("site", _S),
    ("source_device", _S),  # who probes, as inventory calls it
    ("source_interface", _S),
    ("source_address", _S),
    ("target_device", _S),  # who answers
    ("target_interface", _S),
    ("target_address", _S),
    ("source_port", pa.int32()),  # what ECMP hashes on; replies have the two ports exchanged
    ("target_port", pa.int32()),  # 4791 is RoCEv2's
    ("protocol", _S),  # udp, rdma_ud, tcp
)

PROBES: Final = Table(
    "probes",
    _schema(
        ("time", TIME),  # start of the window
        ("received_at", TIME),
        *_PROBE_FIELDS,
        ("window_s", _F),  # its length
        ("kind", _S),  # tor_mesh, inter_tor, service, pinned; what an imported log calls its tier
        ("sent", _I),  # probes that left; of the window, as all counts here
        ("unsent", _I),  # that the source's own kernel refused to send
        ("lost", _I),  # sent and not answered when the window was closed; refused ones are among them
        ("forward_lost", _I),  # that did not reach the target, by its count; null where the count is not known
        ("reverse_lost", _I),  # of which the reply was lost
        ("refused", _I),  # answered by the target's kernel: nobody listens there
        ("late", _I),  # answered, after the timeout
        ("kernel_answers", _B),  # whether the target's kernel lives; asked where the target tells no count
        ("source_epoch", _I),  # drawn at each start of the prober
        ("target_epoch", _I),  # as the last reply told it
        ("epoch_changed", _B),  # the responder was started anew since the last window: its counts say nothing
        ("limited", _B),  # the responder answered less than it got, by its own limit
        ("invalid_rtt", _I),  # round trips below zero: a clock was set
        ("rtt_min_ns", _I),  # round trip in the network: without both ends' processing
        ("rtt_p50_ns", _I),
        ("rtt_p99_ns", _I),
        ("rtt_max_ns", _I),
        ("target_p50_ns", _I),  # processing at the responder: from receipt by its kernel to the reply
        ("target_p99_ns", _I),
        ("target_max_ns", _I),
        ("source_p50_ns", _I),  # processing at the prober
        ("source_p99_ns", _I),
        ("source_max_ns", _I),
        ("stamps", _S),  # whose clock took the prober's times: hardware, kernel, user; null: nothing came back
        ("source", _S),  # agent, file
        required=("time", "received_at", "site", "source_address", "target_address", "sent", "lost", "source"),
    ),
    (*_PROBE_FLOW, "kind", "time"),
    "time",
)
"""One row a 5-tuple, window and device that tells of it: none replaces another's.

`sent` and `lost` add up over rows; quantiles do not.
"""

PROBE_PATHS: Final = Table(
    "probe_paths",
    _schema(
        ("time", TIME),  # when it was found
        ("received_at", TIME),
        *_PROBE_FIELDS,
        ("direction", _S),  # forward: the way of probes, from the source; reverse: that of replies, from the target
        ("hops", pa.list_(_S)),  # address of each router that told itself, in order; null for one that did not
        ("reached", _B),  # whether the other end answered after the last hop
        ("method", _S),  # trace; computed, file
        ("source", _S),
        required=("time", "received_at", "site", "source_address", "target_address", "direction", "source"),
    ),
    (*_PROBE_FLOW, "direction", "time"),
    "time",
)
"""The ways of the same 5-tuples, as of a time; the latest before a window is that window's."""

PORT_ADDRESSES: Final = Table(
    "port_addresses",
    _schema(
        ("received_at", TIME),
        ("site", _S),
        ("device", _S),
        ("interface", _S),
        ("address", _S),  # IPv4 or IPv6, as Python writes it
        ("source", _S),  # file
        required=("received_at", *_PORT, "address", "source"),
    ),
    ("site", "address"),
)
"""Which port a traced hop is; of an address that is listed anew, the newest line counts."""

TABLES: Final = {
    table.name: table
    for table in (
        LANE_SAMPLES,
        PORT_SAMPLES,
        PORT_EVENTS,
        MODULES,
        LINKS,
        TICKETS,
        REPAIRS,
        REPLACEMENTS,
        MAINTENANCE,
        SCORES,
        SHADOW_SCORES,
        PROBES,
        PROBE_PATHS,
        PORT_ADDRESSES,
    )
}
"""Every table of the lake but the tiles, which ``features.tiles`` defines beside their kernel."""
