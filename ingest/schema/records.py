"""What people and inventories tell: modules, links, tickets, repairs, maintenance."""

from typing import Final

import pyarrow as pa

from ingest.schema.table import PORT, TIME, F, S, Table, schema

__all__ = ["LIMITS", "LINKS", "MAINTENANCE", "MODULES", "REPAIRS", "REPLACEMENTS", "TICKETS"]

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
    schema(
        ("received_at", TIME),
        ("site", S),
        ("device", S),
        ("interface", S),  # the cage
        ("serial", S),
        ("vendor", S),
        ("part_number", S),
        ("lot", S),
        ("media", S),  # 400GBASE-DR4 and so on
        ("form_factor", S),
        ("speed_gbps", F),
        ("fec_mode", S),
        ("firmware", S),
        ("role", S),  # switch or nic
        ("installed_at", TIME),
        ("removed_at", TIME),
        *((name, F) for name in LIMITS),
        ("source", S),  # telemetry: seen in an export's readings and listed nowhere; else null
        required=("received_at", *PORT),
    ),
    (*PORT, "serial", "installed_at"),
    history=True,
)

LINKS: Final = Table(
    "links",
    schema(
        ("received_at", TIME),
        ("a_site", S),
        ("a_device", S),
        ("a_interface", S),
        ("z_site", S),
        ("z_device", S),
        ("z_interface", S),
        ("cable_id", S),
        ("kind", S),  # fiber, aoc, dac, acc, aec
        ("shared_risk", pa.list_(S)),  # trunk, panel, line card
        ("valid_from", TIME),
        ("valid_to", TIME),
        ("source", S),  # file, lldp
        required=("received_at", "a_site", "a_device", "a_interface", "z_site", "z_device", "z_interface"),
    ),
    ("a_site", "a_device", "a_interface", "z_site", "z_device", "z_interface", "valid_from"),
    history=True,
)

TICKETS: Final = Table(
    "tickets",
    schema(
        ("received_at", TIME),
        ("ticket_id", S),
        ("site", S),
        ("device", S),
        ("interface", S),
        ("serial", S),
        ("opened_at", TIME),
        ("closed_at", TIME),
        ("failure_type", S),  # a FailureType
        ("action", S),  # an Action
        ("bench_verdict", S),  # confirmed, no_trouble_found, unknown
        ("alarm_id", S),
        ("drained_at", TIME),
        ("summary", S),
        required=("received_at", "ticket_id", *PORT, "opened_at"),
    ),
    ("ticket_id",),
    history=True,
)

REPAIRS: Final = Table(
    "repairs",
    schema(
        ("received_at", TIME),
        ("ticket_id", S),
        ("seq", pa.int32()),
        ("at", TIME),
        ("end", S),  # which end of the link: device/interface, or empty for the fibre
        ("action", S),
        ("old_serial", S),
        ("new_serial", S),
        ("outcome", S),
        required=("received_at", "ticket_id", "seq", "at"),
    ),
    ("ticket_id", "seq"),
    history=True,
)

REPLACEMENTS: Final = Table(
    "replacements",
    schema(
        ("time", TIME),  # when the new serial was first known to be in the cage
        ("received_at", TIME),
        ("site", S),
        ("device", S),
        ("interface", S),  # the cage
        ("old_serial", S),
        ("new_serial", S),
        ("reason", S),  # an Action where a ticket says it; seen (by a poll), listed (in an inventory)
        ("source", S),  # ticket, snmp, file
        ("ticket_id", S),
        required=("time", "received_at", *PORT, "source"),
    ),
    (*PORT, "time"),
    history=True,
)

MAINTENANCE: Final = Table(
    "maintenance",
    schema(
        ("received_at", TIME),
        ("site", S),
        ("device", S),
        ("interface", S),  # null: the whole device
        ("start", TIME),
        ("end", TIME),
        ("announced_at", TIME),  # when we could know of it; `start` where nothing is said
        ("kind", S),  # drain, firmware, recable, power
        required=("received_at", "site", "device", "start", "end", "announced_at"),
    ),
    ("site", "device", "interface", "start", "kind"),
    history=True,
)
