"""What technicians write for what, where a map says nothing of its own."""

from typing import Final, Literal

from ingest.schema import Action, FailureType

__all__ = ["ACTIONS", "BENCH", "FAILURES", "OUTCOMES", "WORK"]

FAILURES: Final[dict[FailureType, tuple[str, ...]]] = {
    FailureType.LASER_DEGRADATION: ("laser", "tx power low", "low tx", "tx low", "bias high", "high bias", "tx fault"),
    FailureType.CONTAMINATION: ("dirt", "clean", "dust", "contaminat", "smudge", "oil on"),
    FailureType.FIBER_DAMAGE: (
        *("fiber cut", "fibre cut", "broken fiber", "broken fibre", "bend", "bent", "kink", "damaged fiber"),
        *("damaged fibre", "bad patch", "patch cord", "cable damage", "fiber damage", "fibre damage", "crushed"),
    ),
    FailureType.RECEIVER_DEGRADATION: ("receiver", "rx sensitivity", "photodiode", "rosa"),
    FailureType.MODULE_ELECTRONICS: (
        "eeprom",
        "i2c",
        "dsp",
        "firmware hang",
        "module not recogni",
        "overheat",
        "dead optic",
    ),
    FailureType.LOOSE_SEATING: ("loose", "not seated", "reseat", "unseated", "not fully inserted", "re seat"),
    FailureType.NO_FAULT_FOUND: (
        *(
            "no fault found",
            "no trouble found",
            "ntf",
            "nff",
            "cannot reproduce",
            "could not reproduce",
            "no issue found",
        ),
        *("false alarm", "self cleared", "cleared by itself", "no problem found"),
    ),
}

ACTIONS: Final[dict[Action, tuple[str, ...]]] = {
    Action.REPLACE_TRANSCEIVER: (
        *(
            "replaced optic",
            "replaced the optic",
            "replaced transceiver",
            "replaced module",
            "replaced sfp",
            "swapped optic",
        ),
        *(
            "swapped transceiver",
            "swapped module",
            "replaced qsfp",
            "swapped qsfp",
            "swapped sfp",
            "new optic",
            "new module",
        ),
        *("new transceiver", "optic replac", "transceiver replac", "module replac", "rma"),
    ),
    Action.CLEAN_CONNECTOR: ("clean",),
    Action.RESEAT: ("reseat", "re seat", "reinsert", "pushed in"),
    Action.RESET: ("reset", "bounced port", "bounced the port", "shut no shut", "power cycle", "reboot"),
    Action.REPLACE_FIBER: (
        *("replaced fiber", "replaced fibre", "replaced patch", "new patch", "new fiber", "new fibre", "swapped patch"),
        *("swapped fiber", "swapped fibre", "fiber replac", "fibre replac", "patch cord replac"),
    ),
    Action.REPLACE_CABLE: (
        "replaced cable",
        "replaced dac",
        "replaced aoc",
        "new cable",
        "swapped cable",
        "cable replac",
    ),
    Action.NONE: ("no action", "nothing done"),
}

BENCH: Final[dict[Literal["confirmed", "no_trouble_found", "unknown"], tuple[str, ...]]] = {
    "confirmed": ("fault confirmed", "vendor confirmed", "failed on bench"),
    "no_trouble_found": ("ntf", "no trouble found", "no fault found", "passed on bench"),
}

OUTCOMES: Final[dict[Literal["fixed", "no_change"], tuple[str, ...]]] = {
    "no_change": (
        *(
            "no change",
            "no improvement",
            "still down",
            "still error",
            "still flapping",
            "did not help",
            "same",
            "no effect",
        ),
        *("didn t help", "came back", "without success"),
    ),
    "fixed": (
        "fixed",
        "link up",
        "link is up",
        "resolved",
        "ok now",
        "clean since",
        "errors gone",
        "stable",
        "cleared",
    ),
}

WORK: Final[dict[Literal["drain", "firmware", "recable", "power"], tuple[str, ...]]] = {
    "firmware": ("firmware", "upgrade", "update", "nos", "reboot", "patching", "software"),
    "recable": ("recabl", "cabling", "cable", "patch", "fiber", "fibre", "move", "optic"),
    "power": ("power", "pdu", "ups", "generator", "electrical"),
    "drain": ("drain", "maintenance", "cordon", "freeze"),
}
