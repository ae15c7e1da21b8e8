"""Optical media and vendors: per-lane limits, technology, error correction and typical readings.

Limits from IEEE 802.3, MSA documents and the alarm thresholds of published modules; bias from live readings of
the same (VCSEL 6.5 mA, directly modulated lasers about 40 mA, silicon photonics and EML 60 to 110 mA).
"""

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["COPPER", "MEDIA", "MIX", "VENDORS", "Media", "Vendor"]


@dataclass(frozen=True, slots=True)
class Media:
    """One kind of link: what each of its lanes does when healthy.

    ``ber_limit`` is the pre-FEC BER at which error correction stops helping (without FEC: where frame loss
    hurts), ``margin_db`` the typical healthy distance to it and ``spread_db`` how far links differ from that,
    ``codewords_s`` the FEC codewords per second of the port. A typical margin is about the distance from healthy Rx
    to the module's low warning (8 to 9 dB at 100G, 5.5 to 6.5 above), so about half of the links whose light fades
    fail after crossing it and half before [judgement].
    """

    name: str
    form_factor: str
    speed_gbps: float
    lanes: int
    laser: Literal["vcsel", "dml", "eml", "siph"]
    pam4: bool
    fec: Literal["KR4", "KP4", "none"]
    ber_limit: float
    codewords_s: float
    tx_dbm: float
    tx_low_dbm: float
    tx_high_dbm: float
    rx_low_dbm: float
    rx_high_dbm: float
    loss_db: float
    bias_ma: float
    temperature_c: float
    margin_db: float
    spread_db: float


MEDIA: Final = {
    media.name: media
    for media in (
        Media("100GBASE-SR4", "QSFP28", 100, 4, "vcsel", False, "KR4", 5e-5, 1.95e7,
              0.0, -8.4, 2.4, -10.3, 2.4, 1.7, 6.5, 36, 9.2, 2.0),
        Media("100GBASE-CWDM4", "QSFP28", 100, 4, "dml", False, "KR4", 5e-5, 1.95e7,
              0.3, -6.5, 2.5, -11.5, 2.5, 2.8, 42, 42, 9.4, 2.0),
        Media("100GBASE-LR4", "QSFP28", 100, 4, "dml", False, "none", 1e-8, 0.0,
              1.0, -4.3, 4.5, -10.6, 4.5, 3.0, 45, 43, 9.2, 2.0),
        Media("400GBASE-DR4", "QSFP-DD", 400, 4, "siph", True, "KP4", 2.4e-4, 7.81e7,
              1.2, -2.9, 4.0, -5.9, 4.0, 1.6, 72, 47, 6.4, 1.5),
        Media("400GBASE-SR8", "QSFP-DD", 400, 8, "vcsel", True, "KP4", 2.4e-4, 7.81e7,
              0.0, -6.5, 4.0, -8.4, 4.0, 1.8, 7.0, 44, 6.9, 1.5),
        Media("400GBASE-FR4", "QSFP-DD", 400, 4, "eml", True, "KP4", 2.4e-4, 7.81e7,
              1.2, -3.3, 3.5, -7.3, 3.5, 2.5, 88, 50, 6.7, 1.5),
        Media("800GBASE-DR8", "OSFP", 800, 8, "siph", True, "KP4", 2.4e-4, 1.562e8,
              1.8, -2.9, 4.0, -5.9, 4.0, 1.9, 104, 55, 6.5, 1.5),
    )
}  # fmt: skip
"""Every optical medium of the fleet, by name."""

COPPER: Final = ("100GBASE-CR4", "400GBASE-CR8")
"""Direct attach copper: no optics, so no DOM; counters only."""

MIX: Final = {
    "100GBASE-SR4": 0.24,
    "100GBASE-CWDM4": 0.12,
    "100GBASE-LR4": 0.06,
    "400GBASE-DR4": 0.24,
    "400GBASE-SR8": 0.14,
    "400GBASE-FR4": 0.08,
    "800GBASE-DR8": 0.12,
}
"""Share of each medium among optical links [judgement]."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """A maker's habits: name, part number prefix, sensor offsets, limits and resolution.

    Attributes:
        tx_offset_db: mean error of its power readings (datasheets allow 3 dB).
        bias_factor: its bias beside the medium's typical.
        limit_slack_db: how far outside the standard its warning limits lie; alarms lie another 1 to 3 dB out.
        temperature_step_c: 1/256 by the register, 0.5 or 1 where the firmware rounds.
    """

    name: str
    prefix: str
    share: float
    tx_offset_db: float
    bias_factor: float
    limit_slack_db: float
    alarm_slack_db: float
    temperature_step_c: float
    bias_step_ma: float
    microwatts: bool


VENDORS: Final = (
    Vendor("ALDERLIGHT", "ALD", 0.40, 0.0, 1.0, 0.0, 1.0, 1 / 256, 0.002, microwatts=False),
    Vendor("BRISAPHOTON", "BRI", 0.30, 0.5, 0.92, 0.5, 2.0, 1.0, 0.002, microwatts=False),
    Vendor("CORVANET", "CVN", 0.20, -0.6, 1.15, 1.0, 3.0, 0.5, 0.01, microwatts=True),
    Vendor("DELTARAY", "DLR", 0.10, 0.2, 1.05, 0.0, 1.5, 1.0, 0.01, microwatts=False),
)
"""Invented makers: their names are nobody's."""
