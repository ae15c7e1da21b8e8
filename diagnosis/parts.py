"""Which part of a directed link is at fault, from what the modules at both ends read: laser, fibre or receiver.

A packet is lost between the laser of one end and the receiver of the other. Readings are changes of the newest hour
against the weeks before, so that a link that was always dim is not blamed for it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["EndChange", "Part", "PartVerdict", "faulty_part"]

_DIMMER_DB: Final = -1.0
"""A change that readings alone do not make [SFF-8472: within 3 dB absolute, far less of one module against itself]."""
_HARDER_DRIVEN: Final = 0.10
_WORSE_DECADES: Final = 1.0


class Part(StrEnum):
    """What a technician would take into the hand."""

    LASER = "laser"
    FIBRE = "fibre"
    RECEIVER = "receiver"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class EndChange:
    """How a module's readings changed, the worst lane of each; None where it does not read them.

    Attributes:
        tx_power_db: launched power.
        tx_bias: laser bias, as a share of what it was.
        rx_power_db: received power.
        rx_lanes: share of the lanes that receive less than before.
        ber_decades: pre-FEC bit error ratio.
    """

    tx_power_db: float | None = None
    tx_bias: float | None = None
    rx_power_db: float | None = None
    rx_lanes: float | None = None
    ber_decades: float | None = None


@dataclass(frozen=True, slots=True)
class PartVerdict:
    """A part, and the reading that says so."""

    part: Part
    why: str


def faulty_part(sender: EndChange, receiver: EndChange) -> PartVerdict:
    """The part of the link from the sender to the receiver.

    >>> faulty_part(EndChange(tx_power_db=0.0, rx_power_db=0.1), EndChange(rx_power_db=-4.0)).part
    <Part.FIBRE: 'fibre'>
    """
    if _dimmer(sender.tx_power_db):
        driven = "" if sender.tx_bias is None else f", its bias changed by {sender.tx_bias:+.0%}"
        return PartVerdict(Part.LASER, f"the sender launches {sender.tx_power_db:+.1f} dB{driven}")
    if sender.tx_bias is not None and sender.tx_bias > _HARDER_DRIVEN:
        return PartVerdict(Part.LASER, f"the sender drives its laser {sender.tx_bias:+.0%} harder for the same power")
    if _dimmer(receiver.rx_power_db):
        return _dim(sender, receiver)
    if receiver.ber_decades is not None and receiver.ber_decades > _WORSE_DECADES:
        return PartVerdict(
            Part.RECEIVER, f"light is as it was, and bit errors rose by {receiver.ber_decades:.1f} decades"
        )
    known = [value for value in (sender.tx_power_db, receiver.rx_power_db, receiver.ber_decades) if value is not None]
    return PartVerdict(Part.UNKNOWN, "no reading changed" if known else "no end reads its light")


def _dim(sender: EndChange, receiver: EndChange) -> PartVerdict:
    """Less light arrives, though as much is launched as far as is known."""
    less = f"the receiver gets {receiver.rx_power_db:+.1f} dB"
    if _dimmer(sender.rx_power_db):
        return PartVerdict(Part.FIBRE, f"{less} and so does the other direction: bent or dirty")
    if sender.tx_power_db is None:
        return PartVerdict(Part.UNKNOWN, f"{less}, and what the sender launches is not known")
    if receiver.rx_lanes is not None and 0.0 < receiver.rx_lanes < 1.0:
        return PartVerdict(Part.RECEIVER, f"{less} on some lanes alone, which share one fibre's connector")
    return PartVerdict(Part.FIBRE, f"{less} of what is launched as before, in this direction alone")


def _dimmer(change: float | None) -> bool:
    return change is not None and change <= _DIMMER_DB
