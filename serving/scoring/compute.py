"""Where heavy work runs, as the command line and the environment say."""

from dataclasses import dataclass
from typing import Final

from features.engine import Engine, Here, engine_for

__all__ = ["Compute", "memory_size"]

_FEW_ROWS: Final = 2_000_000
"""Tiles of fewer samples are made before a pool of processes has started (3 s a process)."""

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True)
class Compute:
    """Workers and memory of one command.

    Attributes:
        dask: address of a scheduler; processes of this machine where None.
        memory: bytes for all processes together, or for each worker of the cluster; half of the machine where None.
    """

    dask: str | None = None
    memory: int | None = None

    def engine(self, rows: int) -> Engine:
        """An engine for so many samples.

        Raises:
            FeatureError: there is no cluster at the address.
        """
        if self.dask is None and rows <= _FEW_ROWS:
            return Here(self.memory)
        return engine_for(dask=self.dask, memory=self.memory)


def memory_size(text: str) -> int:
    """Bytes of a size as people write it.

    >>> memory_size("2GiB"), memory_size("512M"), memory_size("1.5 GB")
    (2147483648, 536870912, 1610612736)

    Raises:
        ValueError: it is not one.
    """
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = number[-1:] if number[-1:] in _UNITS else ""
    size = int(float(number.removesuffix(unit) if unit else number) * _UNITS[unit])
    if size <= 0:
        msg = f"{text!r} is not a size"
        raise ValueError(msg)
    return size
