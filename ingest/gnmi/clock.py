"""When a device took a reading, from its stamp and ours; a stamp may be skewed, old, or from the last change.

Rows 44 to 46 of field_faults.md: the offset of a device's clock is measured, stamps from the future are clamped, and
a stamp that only says when the value last changed is not when it was read.
"""

from typing import Final

__all__ = ["SKEW_NS", "Clock", "nanoseconds"]

SKEW_NS: Final = 10_000_000_000
"""So far a device's clock may be off before its readings are marked: delivery takes seconds at most."""
_BACKLOG_NS: Final = 3_600_000_000_000
"""A stamp that is newer than the one before it is believed up to this age: a device that held its readings back."""
_WINDOW_NS: Final = 600_000_000_000
_NONE: Final = 1 << 62
_LATEST: Final = 10**19 // 2  # the year 2128: a stamp that is smaller in a larger unit is in that unit


class Clock:
    """The clock of one device, nanoseconds since 1970.

    Attributes:
        offset_ns: ours less theirs, the least of the last ten to twenty minutes; None before the first stamp.
    """

    def __init__(self) -> None:
        self._least = self._least_before = _NONE
        self._since = 0

    def heard(self, stamp: int, received: int) -> None:
        """Take the stamp of a message."""
        if stamp <= 0:
            return
        if received - self._since > _WINDOW_NS:
            self._since, self._least_before, self._least = received, self._least, _NONE
        self._least = min(self._least, received - stamp)

    @property
    def offset_ns(self) -> int | None:
        """See the class."""
        least = min(self._least, self._least_before)
        return None if least == _NONE else least

    @property
    def skewed(self) -> bool:
        """Whether all stamps lie ahead of us; one that is behind is told by stamps that move (`time`)."""
        return self.offset_ns is not None and self.offset_ns < -SKEW_NS

    def time(self, stamp: int, received: int, before: int) -> tuple[int, bool]:
        """When a reading was taken, and whether that is in doubt.

        Args:
            stamp: the device's; 0 where it gave none.
            received: ours.
            before: the same reading's stamp before this one; 0 where there was none.
        """
        if stamp <= 0:
            return received, False
        if self.skewed:
            return received, True
        age = received - stamp
        if -SKEW_NS <= age <= SKEW_NS:
            return min(stamp, received), False
        if 0 < before < stamp:
            if self.offset_ns is not None and self.offset_ns > SKEW_NS:
                return received, True
            if 0 <= age <= _BACKLOG_NS:
                return stamp, False
        return received, age < 0


def nanoseconds(stamp: int) -> int:
    """A stamp in the protocol's unit; devices were seen to send seconds, milliseconds or microseconds.

    >>> nanoseconds(1_700_000_000), nanoseconds(1_700_000_000_000_000_000)
    (1700000000000000000, 1700000000000000000)
    """
    for factor in (10**9, 10**6, 10**3):
        if 0 < stamp * factor < _LATEST:
            return stamp * factor
    return stamp
