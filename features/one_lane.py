"""Modules of one lane, whose readings some sources number 1 and others 0, as one series: lane 1.

Lane 0 of a sample is "one value for the module", as SNMP's sensors, `ethtool -m` and EOS tell it of an SFP; OpenConfig
and SONiC number the same laser 1. Beside lanes above 1 it is a value of the whole module, and stays what it is.
"""

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["joined", "lanes_joined"]

_HOURS_BITS: Final = 24  # hours since 1970 until the year 3883

_HOUR: Final = (*("site", "device", "interface"), "hour")


def joined(names: pl.DataFrame, samples: pl.DataFrame) -> pl.DataFrame:
    """Samples whose lane 0 has become 1 in hours in which their port has no lane above 1.

    Args:
        names: site, device and interface of each sample.
        samples: lane and time of each, and more.
    """
    if samples["lane"].min() != 0:
        return samples
    keys = names.select(_HOUR[:-1]).with_columns(samples["lane"], hour=samples["time"].dt.truncate("1h"))
    several = keys.filter(pl.col("lane") > 1).select(_HOUR).unique()
    zeros = keys.with_row_index("row").filter(pl.col("lane") == 0)
    lanes = samples["lane"].to_numpy().copy()
    lanes[zeros.join(several, on=_HOUR, how="anti")["row"].to_numpy()] = 1
    return samples.with_columns(pl.Series("lane", lanes))


def lanes_joined(port: NDArray[np.int64], lane: NDArray[np.int64], hour: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same of arrays: lanes of readings, by the number of their port and hour.

    >>> lanes_joined(np.array([7, 7, 8, 8]), np.array([0, 1, 0, 2]), np.array([5, 5, 5, 5]))
    array([1, 1, 0, 2])
    """
    if not (lane == 0).any():
        return lane
    zero = np.flatnonzero(lane == 0)
    key = port << _HOURS_BITS | hour
    found = lane.copy()
    found[zero[~np.isin(key[zero], key[lane > 1])]] = 1
    return found
