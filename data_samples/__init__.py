"""Synthetic fleets: a small committed sample and the generator that makes larger ones.

Everything here is invented: no number that comes out of it says anything about a real fleet, vendor or module.
"""

from data_samples.config import FleetConfig, FleetSummary
from data_samples.fleet import generate

__all__ = ["FleetConfig", "FleetSummary", "generate"]
