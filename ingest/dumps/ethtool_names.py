"""Names that ``ethtool`` gives to things, as text and as JSON, and what they are here.

Text: ethtool 4 to 6, for SFF-8472, SFF-8636 and CMIS modules. JSON: ethtool 6.13 and later, whose keys are the text's
names in lower case with underscores; its ``module_info.json`` documents that powers are in mW.
"""

import re
from typing import Final

from ingest.decode.slots import Quantity

__all__ = ["INVENTORY", "LEVELS", "LONGEST_COMMAND", "THRESHOLDS", "command_of", "key_of", "lane_value", "level_of"]

INVENTORY: Final = {
    "vendor_name": "vendor",
    "vendor_pn": "part_number",
    "vendor_sn": "serial",
    "active_firmware_version": "firmware",
}

THRESHOLDS: Final[dict[str, Quantity]] = {
    "laser_bias_current": "tx_bias_ma",
    "laser_output_power": "tx_power_dbm",
    "laser_rx_power": "rx_power_dbm",
    "module_temperature": "temperature_c",
    "module_voltage": "voltage_v",
}

LEVELS: Final = {
    "high_alarm_threshold": "high_alarm",
    "low_alarm_threshold": "low_alarm",
    "high_warning_threshold": "high_warn",
    "low_warning_threshold": "low_warn",
}

LONGEST_COMMAND: Final = 500
"""Characters of a line that are searched for a command."""

_COMMAND: Final = re.compile(
    r"ethtool\s+(?:-\S+\s+)*(?:-m|-S|--module-info|--dump-module-eeprom|--statistics)\s+([\w.:/-]+)"
)
_LANE: Final = re.compile(
    r"^(?:"
    r"(?P<bias>laser_(?:tx_)?bias_current|tx_bias_current)"
    r"|(?P<tx>laser_output_power|transmit_avg_optical_power|transmit_average_optical_power)"
    r"|(?P<rx>receiver_signal_average_optical_power|rcvr_signal_avg_optical_power|rx_power|laser_rx_power)"
    r")(?:_?\(?(?:channel|chan|lane)_(?P<lane>\d{1,3})\)?)?$"
)
_QUANTITIES: Final[dict[str, Quantity]] = {"bias": "tx_bias_ma", "tx": "tx_power_dbm", "rx": "rx_power_dbm"}


def key_of(name: str) -> str:
    """A name of the text as the JSON writes it.

    >>> key_of("Laser tx bias current (Channel 1)"), key_of("Vendor SN")
    ('laser_tx_bias_current_(channel_1)', 'vendor_sn')
    """
    return re.sub(r"\s+", "_", name.strip().lower())


def lane_value(key: str) -> tuple[Quantity, int] | None:
    """The quantity of a reading's name and its lane, 0 where it names none.

    >>> lane_value("rcvr_signal_avg_optical_power_(channel_3)"), lane_value("laser_output_power")
    (('rx_power_dbm', 3), ('tx_power_dbm', 0))
    >>> lane_value("laser_output_power_high_alarm_threshold")
    """
    found = _LANE.match(key)
    if found is None:
        return None
    kind = next(name for name in _QUANTITIES if found[name])
    return _QUANTITIES[kind], int(found["lane"] or 0)


def level_of(key: str) -> tuple[Quantity, str] | None:
    """The quantity and level of a limit's name.

    >>> level_of("laser_rx_power_low_warning_threshold")
    ('rx_power_dbm', 'low_warn')
    """
    for name, quantity in THRESHOLDS.items():
        if key.startswith(f"{name}_") and (level := LEVELS.get(key.removeprefix(f"{name}_"))):
            return quantity, level
    return None


def command_of(text: str) -> str | None:
    """The interface of the ethtool command that a line of a shell's protocol holds.

    >>> command_of("root@gpu17:~# ethtool -m enp65s0f0np0")
    'enp65s0f0np0'
    """
    found = _COMMAND.search(text[:LONGEST_COMMAND])
    return found[1] if found else None
