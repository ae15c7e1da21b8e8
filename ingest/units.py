"""Units of optical telemetry: pure conversions, each trap named where it bites."""

import math

__all__ = ["NOT_MEASURED_BER", "NO_LIGHT_DBM", "dbm_to_mw", "floor_dbm", "mw_to_dbm"]

NO_LIGHT_DBM = -40.0
"""What stands for "no light": the smallest power SFF-8472 can encode (0.1 uW is one bit)."""

NOT_MEASURED_BER = 1e-60
"""A bit error ratio below it that is not 0 is none: 15E-255 is how NVIDIA's ports tell one that was not measured."""


def mw_to_dbm(mw: float) -> float:
    """Optical power in dBm; no light at all is minus infinity, never 0 dBm.

    >>> mw_to_dbm(1.0)
    0.0
    >>> mw_to_dbm(0.0)
    -inf
    """
    return 10.0 * math.log10(mw) if mw > 0.0 else -math.inf


def dbm_to_mw(dbm: float) -> float:
    """Optical power in milliwatt.

    >>> dbm_to_mw(0.0)
    1.0
    """
    return float(10.0 ** (dbm / 10.0))


def floor_dbm(dbm: float) -> float:
    """Power as it is stored: whatever lies at or below the floor is no light.

    >>> floor_dbm(float("-inf"))
    -40.0
    >>> floor_dbm(-3.2)
    -3.2
    """
    return max(dbm, NO_LIGHT_DBM)
