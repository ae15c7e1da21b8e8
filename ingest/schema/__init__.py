"""The canonical tables: each column's type, unit and meaning, in one place.

Every key begins with ``site``. Lanes count from 1; 0 is "one value for the whole
module". Missing is null, never 0 and never NaN; no light is -40.0 dBm.
Times are microseconds in UTC. Every writer casts to these Arrow schemas.
"""

from typing import Final

from ingest.schema.probes import PORT_ADDRESSES, PROBE_PATHS, PROBES
from ingest.schema.readings import LANE_SAMPLES, PORT_EVENTS, PORT_SAMPLES
from ingest.schema.records import LIMITS, LINKS, MAINTENANCE, MODULES, REPAIRS, REPLACEMENTS, TICKETS
from ingest.schema.scores import SCORES, SHADOW_SCORES
from ingest.schema.table import TIME, Table
from ingest.schema.words import Action, FailureType, Quality

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
