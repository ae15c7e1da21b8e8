"""Words that columns may hold, and bits."""

from enum import IntFlag, StrEnum

__all__ = ["Action", "FailureType", "Quality"]


class FailureType(StrEnum):
    """What failed, as a ticket says it (CorrOpt's causes, SIGCOMM 2017, and the module's own parts)."""

    LASER_DEGRADATION = "laser_degradation"
    CONTAMINATION = "contamination"
    FIBER_DAMAGE = "fiber_damage"
    RECEIVER_DEGRADATION = "receiver_degradation"
    MODULE_ELECTRONICS = "module_electronics"
    LOOSE_SEATING = "loose_seating"
    NO_FAULT_FOUND = "no_fault_found"
    OTHER = "other"


class Action(StrEnum):
    """What a technician does about it."""

    REPLACE_TRANSCEIVER = "replace_transceiver"
    CLEAN_CONNECTOR = "clean_connector"
    RESEAT = "reseat"
    RESET = "reset"
    REPLACE_FIBER = "replace_fiber"
    REPLACE_CABLE = "replace_cable"
    NONE = "none"


class Quality(IntFlag):
    """Doubts about a reading; a bit set, 0 is none."""

    GLITCH = 1
    STALE = 2
    CLOCK_SKEW = 4
    PARTIAL_POLL = 8
    UNCALIBRATED = 16
    LIMITS_IMPLAUSIBLE = 32
