"""What technicians write for what, in English and German, where a map says nothing of its own.

Causes, not symptoms: "low rx", "LOS" or "Rx-Pegel niedrig" may be dirt, a fibre or the far laser, and stay unexplained.
"""

from typing import Final, Literal

from ingest.schema import Action, FailureType

__all__ = ["ACTIONS", "BENCH", "FAILURES", "OUTCOMES", "WORK"]

FAILURES: Final[dict[FailureType, tuple[str, ...]]] = {
    FailureType.LASER_DEGRADATION: (
        *("laser", "tx power low", "low tx", "tx low", "bias high", "high bias", "tx fault"),
        *("sendeleistung zu niedrig", "sendeleistung zu gering", "sendeleistung niedrig", "sendepegel zu niedrig"),
        *("tx pegel niedrig", "tx pegel zu niedrig", "tx zu niedrig", "bias zu hoch", "bias erhoeht"),
    ),
    FailureType.CONTAMINATION: (
        *("dirt", "clean", "dust", "contaminat", "smudge", "oil on", "clnd", "cln d", "fingerprint"),
        *("verschmutz", "schmutz", "dreck", "staub", "verstaubt", "gereinigt", "reinig", "gesaeubert", "verunreinig"),
    ),
    FailureType.FIBER_DAMAGE: (
        *("fiber cut", "fibre cut", "broken fiber", "broken fibre", "bend", "bent", "kink", "damaged fiber"),
        *("damaged fibre", "bad patch", "patch cord", "cable damage", "fiber damage", "fibre damage", "crushed"),
        *("faserbruch", "kabelbruch", "faser gebrochen", "faser defekt", "lwl defekt", "patchkabel defekt", "knick"),
        *("geknickt", "gequetscht", "biegeradius", "faser beschaedigt", "lwl beschaedigt", "patchkabel beschaedigt"),
    ),
    FailureType.RECEIVER_DEGRADATION: (
        *("receiver", "rx sensitivity", "photodiode", "rosa", "empfaenger defekt", "fotodiode"),
    ),
    FailureType.MODULE_ELECTRONICS: (
        "eeprom",
        "i2c",
        "dsp",
        "firmware hang",
        "module not recogni",
        "overheat",
        "dead optic",
        *("modul nicht erkannt", "optik nicht erkannt", "transceiver nicht erkannt", "sfp nicht erkannt", "ueberhitz"),
    ),
    FailureType.LOOSE_SEATING: (
        *("loose", "not seated", "reseat", "unseated", "not fully inserted", "re seat", "rsted optic"),
        *("locker", "stecker lose", "sass lose", "lose gesteckt", "nicht eingerastet", "nicht richtig eingerastet"),
        *("nicht richtig gesteckt", "neu gesteckt", "neu eingesteckt", "wackelkontakt"),
    ),
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
        *("false alarm", "self cleared", "cleared by itself", "no problem found", "no fault", "no issue"),
        *("kein fehler", "kein befund", "ohne befund", "keine stoerung feststellbar", "nicht reproduzierbar"),
        *("fehlalarm", "keine auffaelligkeit", "nicht nachvollziehbar", "fehler nicht gefunden"),
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
        *("new transceiver", "optic replac", "transceiver replac", "module replac", "rma", "new xcvr", "new sfp"),
        *("optic swap", "optics swap", "optics replac", "sfp swap", "sfp replac", "qsfp swap", "qsfp replac"),
        *(
            "xcvr swap",
            "xcvr replac",
            "replaced xcvr",
            "swapped xcvr",
            "repl optic",
            "repl sfp",
            "repl xcvr",
            "new qsfp",
        ),
        *(
            "optik getauscht",
            "optik ersetzt",
            "modul getauscht",
            "modul ersetzt",
            "transceiver getauscht",
            "sfp getauscht",
        ),
        *(
            "transceiver ersetzt",
            "sfp ersetzt",
            "qsfp getauscht",
            "qsfp ersetzt",
            "optiktausch",
            "modultausch",
            "neue optik",
        ),
        *("neues modul", "neuer transceiver", "neues sfp", "neue sfp"),
    ),
    Action.CLEAN_CONNECTOR: ("clean", "clnd", "cln d", "gereinigt", "reinig", "gesaeubert"),
    Action.RESEAT: (
        *("reseat", "re seat", "reinsert", "pushed in", "neu gesteckt", "neu eingesteckt", "wieder eingesteckt"),
    ),
    Action.RESET: (
        *(
            "reset",
            "bounced port",
            "bounced the port",
            "shut no shut",
            "power cycle",
            "reboot",
            "neu gestartet",
            "neustart",
        ),
    ),
    Action.REPLACE_FIBER: (
        *("replaced fiber", "replaced fibre", "replaced patch", "new patch", "new fiber", "new fibre", "swapped patch"),
        *(
            "swapped fiber",
            "swapped fibre",
            "fiber replac",
            "fibre replac",
            "patch cord replac",
            "repl fiber",
            "repl fibre",
        ),
        *("patchkabel getauscht", "patchkabel ersetzt", "neues patchkabel", "faser getauscht", "faser ersetzt"),
        *("lwl getauscht", "lwl ersetzt", "neue faser"),
    ),
    Action.REPLACE_CABLE: (
        "replaced cable",
        "replaced dac",
        "replaced aoc",
        "new cable",
        "swapped cable",
        "cable replac",
        *("kabel getauscht", "kabel ersetzt", "neues kabel", "dac getauscht", "aoc getauscht"),
    ),
    Action.NONE: ("no action", "nothing done", "keine massnahme", "nichts gemacht"),
}

BENCH: Final[dict[Literal["confirmed", "no_trouble_found", "unknown"], tuple[str, ...]]] = {
    "confirmed": ("fault confirmed", "vendor confirmed", "failed on bench", "defekt bestaetigt", "fehler bestaetigt"),
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
        *(
            "didn t help",
            "came back",
            "without success",
            "keine aenderung",
            "keine besserung",
            "ohne erfolg",
            "immer noch",
        ),
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
        *("behoben", "laeuft wieder", "wieder in ordnung", "wieder up", "stabil"),
    ),
}

WORK: Final[dict[Literal["drain", "firmware", "recable", "power"], tuple[str, ...]]] = {
    "firmware": ("firmware", "upgrade", "update", "nos", "reboot", "patching", "software", "aktualisier"),
    "recable": ("recabl", "cabling", "cable", "patch", "fiber", "fibre", "move", "optic", "umverkabel", "umbau"),
    "power": ("power", "pdu", "ups", "generator", "electrical", "strom", "netzersatz"),
    "drain": ("drain", "maintenance", "cordon", "freeze", "wartung"),
}
