"""How pages say numbers, times and names: short, with their unit, and `not known` where nothing is known."""

import math
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlencode

__all__ = ["UNKNOWN", "ago", "band", "duration", "link_path", "number", "percent", "plain", "utc"]

UNKNOWN: Final = "not known"
_BANDS: Final = ((0.2, "high"), (0.05, "raised"), (0.01, "some"), (0.0, "low"))


def percent(share: float | None) -> str:
    """A probability, in two digits that count.

    >>> percent(0.371), percent(0.0042), percent(0.00002), percent(None)
    ('37 %', '0.42 %', '< 0.01 %', 'not known')
    """
    if share is None or not math.isfinite(share):
        return UNKNOWN
    if 0.0 < share < 0.0001:  # noqa: PLR2004 - a hundredth of a per cent
        return "< 0.01 %"
    return f"{float(f'{100.0 * share:.2g}'):g} %"


def band(share: float | None) -> str:
    """Which colour a risk has, and the word that says the same.

    >>> band(0.5), band(0.06), band(0.001), band(None)
    ('high', 'raised', 'low', 'unknown')
    """
    if share is None or not math.isfinite(share):
        return "unknown"
    return next(word for least, word in _BANDS if share >= least)


def number(value: float | None, digits: int = 3) -> str:
    """A reading, in some digits that count.

    >>> number(-3.14159), number(3e-9), number(12_345), number(None)
    ('-3.14', '3e-09', '12,345', 'not known')
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def utc(time: datetime | None) -> str:
    """A time for people, always in UTC.

    >>> utc(datetime(2026, 11, 29, 18, 5)), utc(None)
    ('2026-11-29 18:05Z', 'not known')
    """
    return UNKNOWN if time is None else f"{time:%Y-%m-%d %H:%M}Z"


def duration(seconds: float) -> str:
    """How long, in the unit that fits.

    >>> duration(42), duration(600), duration(7_300), duration(400_000)
    ('42 s', '10 min', '2 h', '5 d')
    """
    for unit, length_s in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length_s or (unit == "min" and seconds >= length_s):
            return f"{seconds / length_s:.0f} {unit}"
    return f"{seconds:.0f} s"


def ago(time: datetime | None, now: datetime) -> str:
    """How long ago, or how long until.

    >>> ago(datetime(2026, 1, 1), datetime(2026, 1, 2)), ago(datetime(2026, 1, 2), datetime(2026, 1, 1))
    ('24 h ago', 'in 24 h')
    """
    if time is None:
        return UNKNOWN
    seconds = (now - time).total_seconds()
    return f"{duration(seconds)} ago" if seconds >= 0 else f"in {duration(-seconds)}"


def plain(name: object) -> str:
    """A word of ours as people write it.

    >>> plain("laser_degradation"), plain(None)
    ('laser degradation', 'not known')
    """
    return UNKNOWN if name is None or name == "" else str(name).replace("_", " ")


def link_path(site: str, device: str, interface: str) -> str:
    """Address of the page about the link at a port.

    >>> link_path("default", "leaf01", "Ethernet1/1")
    '/link/leaf01/Ethernet1%2F1'
    >>> link_path("default", "pod/leaf01", "Ethernet1")  # in a path a device would end at its slash
    '/link?device=pod%2Fleaf01&interface=Ethernet1'
    """
    named = {} if site == "default" else {"site": site}
    if "/" in device:
        return f"/link?{urlencode({'device': device, 'interface': interface, **named})}"
    path = f"/link/{quote(device, safe='')}/{quote(interface, safe='')}"
    return f"{path}?{urlencode(named)}" if named else path
