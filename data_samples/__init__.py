"""Synthetic fleets: a small committed sample and the generator that makes larger ones.

Everything here is invented: no number that comes out of it says anything about a real fleet, vendor or module.

* life      ``fleet`` puts together ``layout``, ``history`` (``hazard``, ``faults``, ``repair``), ``modules``,
            ``media``, ``environment``
* telemetry ``physics``, ``fec``, ``ports`` are what is so; ``readings`` and ``counters`` what is told of it
* out       ``export``, ``tables``; ``servicenow``: tickets in other people's form; ``config`` has every number and
            its source
* switches  ``snmprec`` and ``switches`` answer SNMP, ``streams`` gNMI
* probes    ``fat_tree``, ``lossy_fabric``, ``probed``: fabrics that lose packets
"""

import os
from pathlib import Path
from typing import Final

from data_samples.config import FleetConfig, FleetSummary
from data_samples.fleet import generate

__all__ = ["SAMPLE", "FleetConfig", "FleetSummary", "generate"]

SAMPLE: Final = Path(__file__).with_name("sample")
"""The small committed export: 24 links over 12 days."""

# Read when grpc is loaded, by `data_samples.streams`: each stream that ends would be a line on stderr.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
