"""Metrics of exporters that say something of a transceiver or its port, and what they are here."""

import re
from collections.abc import Mapping
from typing import Final

from ingest.decode.slots import Quantity
from ingest.dumps.ethtool_stats import COUNTERS
from ingest.dumps.reading import Reading
from ingest.units import mw_to_dbm

__all__ = ["ETHTOOL", "METRICS", "PORT_METRICS", "SONIC", "take_transceiver"]


def _ethtool(name: str) -> str:
    """A statistic's name as node_exporter writes it.

    >>> _ethtool("rx_crc_errors_phy"), _ethtool("port.rx_crc_errors")
    ('node_ethtool_received_crc_errors_phy', 'node_ethtool_port_received_crc_errors')
    """
    name = re.sub(r"[^a-z0-9_]", "_", name.lower()).lstrip("_")
    name = re.sub(r"(^|_)rx(_|$)", r"\1received\2", name)
    return "node_ethtool_" + re.sub(r"(^|_)tx(_|$)", r"\1transmitted\2", name)


ETHTOOL: Final[Mapping[str, str]] = {_ethtool(name): column for name, column in reversed([*COUNTERS.items()])}
"""Statistics of ``ethtool -S`` by node_exporter's name."""

METRICS: Final[Mapping[str, str | float]] = {
    "node_ethtool_received_packets_total": "in_packets",
    "node_ethtool_transmitted_packets_total": "out_packets",
    "node_infiniband_link_downed_total": "link_flaps",
    "node_infiniband_symbol_error_total": "symbol_errors",
    "node_infiniband_port_packets_received_total": "in_packets",
    "node_infiniband_port_packets_transmitted_total": "out_packets",
    "node_network_carrier_down_changes_total": "link_flaps",
    "sonic_interface_receive_packets": "in_packets",
    "sonic_interface_transmit_packets": "out_packets",
    "node_infiniband_state_id": 4.0,  # active
}
"""Counters, and of states what means up where that is not 1."""

PORT_METRICS: Final = {
    "node_network_up": "oper_up",
    "node_infiniband_state_id": "oper_up",
}

SONIC: Final = {
    "sonic_transceiver_dom_threshold_value": "threshold",
    "sonic_transceiver_status_flag_value": "flag",
    "sonic_transceiver_status_value": "field",
}
"""Metrics that tell fields of SONiC's tables, by the label that names the field."""

_MODULE: Final[Mapping[str, Quantity]] = {
    "module_temperature_degrees_celsius": "temperature_c",
    "module_voltage_volts": "voltage_v",
}
_LASER: Final[Mapping[str, Quantity]] = {
    "laser_bias_current": "tx_bias_ma",
    "laser_tx_power": "tx_power_dbm",
    "laser_rx_power": "rx_power_dbm",
    "module_temperature": "temperature_c",
    "module_voltage": "voltage_v",
}
_LIMIT: Final = re.compile(r"(\w+?)_(high|low)_(alarm|warning)_threshold_(\w+)")
_VALUE: Final = re.compile(r"(laser_\w+?)_(milliamperes|milliwatts|dbm)")
_INFO: Final = {
    "vendor_name_info": ("vendor_name", "vendor"),
    "vendor_part_number_info": ("vendor_part_number", "part_number"),
    "vendor_serial_number_info": ("vendor_serial_number", "serial"),
    "identifier_info": ("identifier", "form_factor"),
}


def take_transceiver(reading: Reading, name: str, labels: Mapping[str, str], value: float) -> None:
    """Take a sample of wobcom's exporter, whose lasers count from 0 (its name without the prefix).

    Raises:
        ValueError: its laser has no number.
    """
    if name in _INFO:
        label, column = _INFO[name]
        reading.say(column, labels.get(label))
    elif name in _MODULE:
        reading.put(_MODULE[name], value)
    elif (found := _LIMIT.fullmatch(name)) and found[1] in _LASER:
        level = f"{found[2]}_{'warn' if found[3] == 'warning' else 'alarm'}"
        reading.limit(_LASER[found[1]], level, mw_to_dbm(value) if found[4] == "milliwatts" else value)
    elif (found := _VALUE.fullmatch(name)) and found[1] in _LASER:
        lane = int(labels.get("laser_index", "0")) + 1
        if found[2] == "milliwatts":
            reading.put_milliwatts(_LASER[found[1]], value, lane)
        else:
            reading.put(_LASER[found[1]], value, lane)
