"""The doctor on the clock: ages, staleness and windows all rest on it."""

import ctypes
from datetime import datetime, timedelta
from typing import Final

from serving.doctor.feeds import newest
from serving.doctor.finding import Finding, fine, warned
from serving.settings import Settings

__all__ = ["clock"]

_TIME_ERROR: Final = 5
"""What adjtimex(2) returns while the kernel's clock is not synchronised."""
_TIMEX_BYTES: Final = 512
"""More than the struct has on any architecture; all zero, it asks and sets nothing."""
_SLACK: Final = timedelta(seconds=5)


def clock(settings: Settings, now: datetime) -> Finding:
    """It has not gone back behind what was received, and the kernel keeps it by a source of time."""
    received = newest(settings, "received_at")
    if received is not None and received > now + _SLACK:
        said = f"it is {now:%Y-%m-%d %H:%M:%S}Z here, and rows were received at {received:%Y-%m-%d %H:%M:%S}Z"
        return warned("clock", said, "set this clock, or the one of the machine that wrote them")
    if _kernel() == _TIME_ERROR:
        advice = "run chrony or systemd-timesyncd here; in a container, on its host"
        return warned("clock", f"{now:%Y-%m-%d %H:%M:%S}Z, which the kernel calls unsynchronised", advice)
    return fine("clock", f"{now:%Y-%m-%d %H:%M:%S}Z")


def _kernel() -> int:
    """The state of the kernel's clock, -1 where it does not tell."""
    try:
        return int(ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES)))
    except (AttributeError, OSError):
        return -1
