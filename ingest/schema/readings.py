"""What devices tell: lanes, ports, events."""

from typing import Final

import pyarrow as pa

from ingest.schema.table import PORT, TIME, B, F, I, S, Table, schema

__all__ = ["LANE_SAMPLES", "PORT_EVENTS", "PORT_SAMPLES"]

LANE_SAMPLES: Final = Table(
    "lane_samples",
    schema(
        ("time", TIME),  # when the device took it; receipt where it does not say
        ("received_at", TIME),  # when we got it; an import sets it to `time`
        ("site", S),
        ("device", S),
        ("interface", S),  # the cage, for breakouts
        ("lane", pa.int8()),  # media lane from 1; 0 = one value for the module
        ("serial", S),  # of the module in the cage at that time
        ("tx_power_dbm", F),
        ("rx_power_dbm", F),
        ("tx_bias_ma", F),
        ("pre_fec_ber", pa.float64()),
        ("snr_db", F),
        ("laser_temperature_c", F),
        ("quality", pa.int16()),  # bits of Quality
        ("source", S),  # snmp, gnmi, agent, file
        required=("time", "received_at", *PORT, "lane", "quality", "source"),
    ),
    (*PORT, "lane", "time"),
    "time",
)

PORT_SAMPLES: Final = Table(
    "port_samples",
    schema(
        ("time", TIME),
        ("received_at", TIME),
        ("site", S),
        ("device", S),
        ("interface", S),
        ("serial", S),
        ("temperature_c", F),  # module case
        ("voltage_v", F),
        ("oper_up", B),
        ("admin_up", B),
        ("rx_los", B),
        ("tx_fault", B),
        ("cdr_lol", B),
        ("pre_fec_ber", pa.float64()),  # of the port, where lanes do not say
        ("fec_corrected", I),  # counters are cumulative, as the device has them
        ("fec_uncorrected", I),
        ("fec_bins", pa.list_(I)),  # 16 codeword error bins
        ("crc_errors", I),
        ("symbol_errors", I),
        ("link_flaps", I),
        ("in_packets", I),
        ("out_packets", I),
        ("host_snr_db", F),
        ("read_errors", I),  # failed EEPROM/I2C reads
        ("sub_interface", S),  # where counters belong to a breakout
        ("quality", pa.int16()),
        ("source", S),
        required=("time", "received_at", *PORT, "quality", "source"),
    ),
    (*PORT, "time"),
    "time",
)

PORT_EVENTS: Final = Table(
    "port_events",
    schema(
        ("time", TIME),
        ("received_at", TIME),
        ("site", S),
        ("device", S),
        ("interface", S),
        ("kind", S),  # up, down, los, fault, inserted, removed, reboot
        ("cause", S),
        ("source", S),
        required=("time", "received_at", *PORT, "kind", "source"),
    ),
    (*PORT, "time", "kind"),
    "time",
)
