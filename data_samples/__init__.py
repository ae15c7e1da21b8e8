"""Synthetic fleets: a small committed sample and the generator that makes larger ones.

Everything here is invented: no number that comes out of it says anything about a real fleet, vendor or module.
"""

import os

from data_samples.config import FleetConfig, FleetSummary
from data_samples.fleet import generate

__all__ = ["FleetConfig", "FleetSummary", "generate"]

# Read when grpc is loaded, by `data_samples.streams`: each stream that ends would be a line on stderr.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
